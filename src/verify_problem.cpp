// SPDX-License-Identifier: Apache-2.0

#include "internal/block_conflicts.h"
#include "tenure/verify.h"

namespace tenure {
namespace {

Status check_region(const PlanningProblem& problem, const MemoryPlan& plan, RegionIndex region,
                    Upstream upstream) noexcept {
  const RegionPlan& stated = plan.region(region);
  const RegionLayout& layout = plan.layouts()[region.value];
  const Result<RegionBound> bound = lower_bound(problem, region, upstream);
  if (!bound.ok()) return bound.status();
  if (stated.lower_bound_bytes > bound->lower_bound_bytes ||
      stated.lower_bound_bytes > stated.arena_bytes) {
    return Status(Reason::kBoundTooHigh)
        .needed(stated.lower_bound_bytes)
        .available(bound->lower_bound_bytes);
  }
  if (layout.size_bytes < stated.arena_bytes) {
    return Status(Reason::kOutsideRegion).needed(stated.arena_bytes).available(layout.size_bytes);
  }
  const Region& limits = problem.regions[region.value];
  if (layout.size_bytes > limits.capacity_bytes) {
    return Status(Reason::kCapacityExceeded)
        .needed(layout.size_bytes)
        .available(limits.capacity_bytes);
  }
  if (!is_power_of_two(layout.alignment_bytes) || layout.alignment_bytes < limits.alignment_bytes) {
    return Status(Reason::kMisplacedAlignment).needed(limits.alignment_bytes);
  }
  return Status();
}

Status check_placement(const Block& block, Placement placement, const MemoryPlan& plan) noexcept {
  if (placement.is_none()) return Status(Reason::kNotPlaced);
  if (placement.region != block.region) return Status(Reason::kPlanMismatch).with(placement.region);
  const std::uint64_t base_alignment = plan.layouts()[block.region.value].alignment_bytes;
  const bool base_suits = block.size_bytes == 0 || base_alignment >= block.alignment_bytes;
  if (placement.offset_bytes % block.alignment_bytes != 0 || !base_suits) {
    return Status(Reason::kMisplacedAlignment).needed(block.alignment_bytes);
  }
  if (block.is_fixed() && placement.offset_bytes != block.fixed_offset_bytes) {
    return Status(Reason::kFixedOffsetMoved).needed(block.fixed_offset_bytes);
  }
  const std::uint64_t arena = plan.arena_bytes(block.region);
  if (block.size_bytes != 0 &&
      (placement.offset_bytes > arena || block.size_bytes > arena - placement.offset_bytes)) {
    return Status(Reason::kOutsideRegion)
        .with(block.region)
        .needed(block.size_bytes)
        .available(arena);
  }
  return Status();
}

}  // namespace

Status verify(const PlanningProblem& problem, const MemoryPlan& plan, Upstream upstream) noexcept {
  if (Status status = validate(problem, upstream); !status.ok()) return status;
  if (plan.placements().size() != problem.blocks.size() ||
      plan.regions().size() != problem.regions.size()) {
    return Status(Reason::kPlanMismatch);
  }
  for (std::uint32_t i = 0; i < problem.regions.size(); ++i) {
    Status status = check_region(problem, plan, RegionIndex(i), upstream);
    if (!status.ok()) return status.with(RegionIndex(i));
  }
  for (std::uint32_t i = 0; i < problem.blocks.size(); ++i) {
    Status status = check_placement(problem.blocks[i], plan.placements()[i], plan);
    if (!status.ok()) return status.with(BlockIndex(i));
  }
  const Result<internal::FoundConflict> found =
      internal::find_conflict(problem, plan.placements(), upstream);
  if (!found.ok()) return found.status();
  if (found->first.is_none()) return Status();
  // Where the later of the two begins, both are live.
  const Step begin_of_first = problem.blocks[found->first.value].live_range.first_use;
  const Step begin_of_second = problem.blocks[found->second.value].live_range.first_use;
  return Status(Reason::kBlocksOverlap)
      .with(found->first, found->second)
      .with(begin_of_first < begin_of_second ? begin_of_second : begin_of_first);
}

}  // namespace tenure
