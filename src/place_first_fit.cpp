// SPDX-License-Identifier: Apache-2.0

#include "internal/occupancy.h"
#include "internal/placement.h"

namespace tenure::internal {

Status place_first_fit(const PlanningProblem& problem, RegionIndex region,
                       Span<const std::uint32_t> order, Upstream upstream,
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
    if (!occupancy.next_gap(0, &offsets[block])) {
      return Status(Reason::kSizeOverflow)
          .with(BlockIndex(block))
          .needed(problem.blocks[block].size_bytes);
    }
    if (!occupancy.insert(block, offsets[block])) return Status(Reason::kUpstreamRefused);
  }
  return Status();
}

}  // namespace tenure::internal
