// SPDX-License-Identifier: Apache-2.0

#include "tenure/plan.h"

namespace tenure {

Result<MemoryPlan> MemoryPlan::create(const Parts& parts, Upstream upstream) noexcept {
  if (parts.regions.size() != parts.layouts.size()) return Status(Reason::kPlanMismatch);
  MemoryPlan plan(upstream);
  if (!plan.regions_.append(parts.regions) || !plan.layouts_.append(parts.layouts) ||
      !plan.placements_.append(parts.placements) ||
      !plan.tensor_placements_.append(parts.tensor_placements)) {
    return Status(Reason::kUpstreamRefused);
  }
  return plan;
}

// FNV-1a over the numbers as little-endian bytes.
std::uint64_t MemoryPlan::hash() const noexcept {
  std::uint64_t hash = 0xCBF29CE484222325U;
  const auto mix = [&](std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte, value >>= 8) {
      hash = (hash ^ (value & 0xFFU)) * 0x100000001B3U;
    }
  };
  for (const RegionPlan& region : regions_) {
    mix(region.arena_bytes);
    mix(region.lower_bound_bytes);
  }
  for (const RegionLayout& layout : layouts_) {
    mix(layout.size_bytes);
    mix(layout.alignment_bytes);
  }
  for (const Array<Placement>* placements : {&placements_, &tensor_placements_}) {
    mix(placements->size());
    for (const Placement& placement : *placements) {
      mix(placement.region.value);
      mix(placement.offset_bytes);
    }
  }
  return hash;
}

}  // namespace tenure
