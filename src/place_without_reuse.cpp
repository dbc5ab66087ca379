// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "internal/placement.h"

namespace tenure::internal {

Status place_without_reuse(const PlanningProblem& problem, RegionIndex region, Upstream upstream,
                           Span<std::uint64_t> offsets) noexcept {
  Array<std::uint32_t> fixed(upstream);
  for (std::uint32_t i = 0; i < problem.blocks.size(); ++i) {
    const Block& block = problem.blocks[i];
    if (block.region != region || !block.is_fixed()) continue;
    offsets[i] = block.fixed_offset_bytes;
    if (block.size_bytes != 0 && !fixed.push_back(i)) return Status(Reason::kUpstreamRefused);
  }
  std::sort(fixed.begin(), fixed.end(), [&](std::uint32_t a, std::uint32_t b) {
    return offsets[a] != offsets[b] ? offsets[a] < offsets[b] : a < b;
  });
  // The cursor only moves up, so fixed blocks below it are done with.
  std::uint64_t cursor = 0;
  std::size_t next_fixed = 0;
  for (std::uint32_t i = 0; i < problem.blocks.size(); ++i) {
    const Block& block = problem.blocks[i];
    if (block.region != region || block.is_fixed()) continue;
    if (block.size_bytes == 0) {  // takes no bytes, nor padding; and lies inside the arena
      offsets[i] = 0;
      continue;
    }
    const auto overflow = [&] {
      return Status(Reason::kSizeOverflow).with(BlockIndex(i)).needed(block.size_bytes);
    };
    if (!checked_align_up(cursor, block.alignment_bytes, &cursor)) return overflow();
    for (; next_fixed < fixed.size(); ++next_fixed) {
      const std::uint32_t obstacle = fixed[next_fixed];
      const std::uint64_t begin = offsets[obstacle];
      if (begin >= cursor && begin - cursor >= block.size_bytes) break;
      const std::uint64_t end = std::max(cursor, begin + problem.blocks[obstacle].size_bytes);
      if (!checked_align_up(end, block.alignment_bytes, &cursor)) return overflow();
    }
    offsets[i] = cursor;
    if (!checked_add(cursor, block.size_bytes, &cursor) || cursor > kMaxArenaBytes)
      return overflow();
  }
  return Status();
}

}  // namespace tenure::internal
