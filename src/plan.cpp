// SPDX-License-Identifier: Apache-2.0

#include "tenure/plan.h"

#include "internal/fnv1a.h"

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

std::uint64_t MemoryPlan::hash() const noexcept {
  internal::Fnv1a hash;
  for (const RegionPlan& region : regions_) {
    hash.add(region.arena_bytes).add(region.lower_bound_bytes);
  }
  for (const RegionLayout& layout : layouts_) {
    hash.add(layout.size_bytes).add(layout.alignment_bytes);
  }
  for (const Array<Placement>* placements : {&placements_, &tensor_placements_}) {
    hash.add(placements->size());
    for (const Placement& placement : *placements) {
      hash.add(placement.region.value).add(placement.offset_bytes);
    }
  }
  return hash.value();
}

}  // namespace tenure
