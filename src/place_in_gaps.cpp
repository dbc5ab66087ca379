// SPDX-License-Identifier: Apache-2.0

#include "internal/occupancy.h"
#include "internal/placement.h"

namespace tenure::internal {
namespace {

// Goes through the gaps from below; the space above everything counts as the largest.
bool find_best_gap(Occupancy* occupancy, std::uint64_t* offset_bytes) noexcept {
  std::uint64_t offset = 0;
  std::uint64_t smallest = 0;
  bool found = false;
  for (std::uint64_t from = 0; occupancy->next_gap(from, &offset);) {
    const std::uint64_t end = occupancy->gap_end(offset);
    if (!found || end - offset < smallest) {
      *offset_bytes = offset;
      smallest = end - offset;
      found = true;
    }
    if (end > kMaxArenaBytes) break;
    from = end;
  }
  return found;
}

}  // namespace

Status place_in_gaps(const PlanningProblem& problem, RegionIndex region,
                     Span<const std::uint32_t> order, Fit fit, Upstream upstream,
                     Span<std::uint64_t> offsets) noexcept {
  Occupancy occupancy(upstream);
  if (!occupancy.reset(problem)) return Status(Reason::kUpstreamRefused);
  for (std::uint32_t i = 0; i < problem.blocks.size(); ++i) {
    const Block& block = problem.blocks[i];
    if (block.region != region || !block.is_fixed()) continue;
    offsets[i] = block.fixed_offset_bytes;
    if (!occupancy.insert(i, offsets[i])) return Status(Reason::kUpstreamRefused);
  }
  for (const std::uint32_t block : order) {
    if (!occupancy.begin_search(block)) return Status(Reason::kUpstreamRefused);
    const bool found = fit == Fit::kFirst ? occupancy.next_gap(0, &offsets[block])
                                          : find_best_gap(&occupancy, &offsets[block]);
    if (!found) {
      return Status(Reason::kSizeOverflow)
          .with(BlockIndex(block))
          .needed(problem.blocks[block].size_bytes);
    }
    if (!occupancy.insert(block, offsets[block])) return Status(Reason::kUpstreamRefused);
  }
  return Status();
}

}  // namespace tenure::internal
