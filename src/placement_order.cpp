// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "internal/placement.h"
#include "internal/widest_step.h"

namespace tenure::internal {
namespace {

// What an order goes by: larger numbers come first, `major` before `minor` before the block's size.
struct Key {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  std::uint32_t block = 0;
};

std::uint64_t length_of(LiveRange range) noexcept {
  return std::uint64_t{range.last_use.value} - range.first_use.value + 1;
}

// 96 bits of size x live range: the upper 64 and the lower 32.
Key area_of(const Block& block) noexcept {
  const std::uint64_t length = length_of(block.live_range);
  const std::uint64_t low = (block.size_bytes & UINT32_MAX) * length;
  const std::uint64_t high = (block.size_bytes >> 32) * length;
  return {high + (low >> 32), low & UINT32_MAX, 0};
}

// The live range as the ties of all orders want it: the earlier first, then the shorter.
std::uint64_t early(LiveRange range) noexcept {
  return ~(std::uint64_t{range.first_use.value} << 32 | range.last_use.value);
}

Key key_of(const Block& block, PlacementOrder order, const WidestStep::Width& width) noexcept {
  switch (order) {
    case PlacementOrder::kSize:
      return {block.size_bytes, early(block.live_range), 0};
    case PlacementOrder::kLength:
      return {length_of(block.live_range), block.size_bytes, 0};
    case PlacementOrder::kArea:
      return area_of(block);
    case PlacementOrder::kFirstUse:
      return {UINT64_MAX - block.live_range.first_use.value, block.size_bytes, 0};
    case PlacementOrder::kBreadth:
      return {width.live_bytes, UINT64_MAX - width.step.value, 0};
    case PlacementOrder::kSection:
      return {width.live_bytes, length_of(block.live_range), 0};
  }
  return {};
}

// The ties of all orders, down to the index.
bool comes_first(const Block& a, std::uint32_t index_a, const Block& b,
                 std::uint32_t index_b) noexcept {
  if (a.size_bytes != b.size_bytes) return a.size_bytes > b.size_bytes;
  const LiveRange range_a = a.live_range;
  const LiveRange range_b = b.live_range;
  if (range_a.first_use != range_b.first_use) return range_a.first_use < range_b.first_use;
  if (range_a.last_use != range_b.last_use) return range_a.last_use < range_b.last_use;
  if (a.alignment_bytes != b.alignment_bytes) return a.alignment_bytes < b.alignment_bytes;
  return index_a < index_b;
}

}  // namespace

Status order_blocks(const PlanningProblem& problem, RegionIndex region, PlacementOrder order,
                    Upstream upstream, Array<std::uint32_t>* blocks) noexcept {
  WidestStep widest(upstream);
  const bool needs_width = order == PlacementOrder::kBreadth || order == PlacementOrder::kSection;
  if (needs_width && !widest.reset(problem, region)) return Status(Reason::kUpstreamRefused);
  Array<Key> keys(upstream);
  if (!keys.reserve(problem.blocks.size())) return Status(Reason::kUpstreamRefused);
  for (std::uint32_t i = 0; i < problem.blocks.size(); ++i) {
    const Block& block = problem.blocks[i];
    if (block.region != region || block.is_fixed()) continue;
    WidestStep::Width width;
    if (needs_width) width = widest.within(block.live_range);
    Key key = key_of(block, order, width);
    key.block = i;
    if (!keys.push_back(key)) return Status(Reason::kUpstreamRefused);
  }
  std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
    if (a.major != b.major) return a.major > b.major;
    if (a.minor != b.minor) return a.minor > b.minor;
    return comes_first(problem.blocks[a.block], a.block, problem.blocks[b.block], b.block);
  });
  blocks->clear();
  if (!blocks->reserve(keys.size())) return Status(Reason::kUpstreamRefused);
  for (const Key& key : keys) {
    if (!blocks->push_back(key.block)) return Status(Reason::kUpstreamRefused);
  }
  return Status();
}

}  // namespace tenure::internal
