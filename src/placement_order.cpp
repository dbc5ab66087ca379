// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "internal/placement.h"

namespace tenure::internal {

Status order_by_size(const PlanningProblem& problem, RegionIndex region,
                     Array<std::uint32_t>* order) noexcept {
  order->clear();
  if (!order->reserve(problem.blocks.size())) return Status(Reason::kUpstreamRefused);
  for (std::uint32_t i = 0; i < problem.blocks.size(); ++i) {
    const Block& block = problem.blocks[i];
    if (block.region == region && !block.is_fixed() && !order->push_back(i)) {
      return Status(Reason::kUpstreamRefused);
    }
  }
  std::sort(order->begin(), order->end(), [&](std::uint32_t index_a, std::uint32_t index_b) {
    const Block& a = problem.blocks[index_a];
    const Block& b = problem.blocks[index_b];
    if (a.size_bytes != b.size_bytes) return a.size_bytes > b.size_bytes;
    if (a.live_range.first_use != b.live_range.first_use) {
      return a.live_range.first_use < b.live_range.first_use;
    }
    if (a.live_range.last_use != b.live_range.last_use) {
      return a.live_range.last_use < b.live_range.last_use;
    }
    if (a.alignment_bytes != b.alignment_bytes) return a.alignment_bytes < b.alignment_bytes;
    return index_a < index_b;
  });
  return Status();
}

}  // namespace tenure::internal
