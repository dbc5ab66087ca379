// SPDX-License-Identifier: Apache-2.0
#pragma once

// A plan whose numbers can be changed one by one, and what makes a plan acceptable, found by
// looking at every pair.
//
//   PlanCopy copy(plan);
//   copy.placements[3].offset_bytes += 1;
//   EXPECT_FALSE(verify(problem, copy.make()).ok());

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/problems.h"
#include "tenure/plan.h"
#include "tenure/planner.h"
#include "tenure/verify.h"

namespace tenure::test {

template <class T>
[[nodiscard]] std::vector<T> copy_of(Span<const T> list) {
  return std::vector<T>(list.begin(), list.end());
}

// Fails the test where there is none, or an unsafe one.
[[nodiscard]] inline MemoryPlan plan_of(const OwnedProblem& owned,
                                        const PlannerOptions& options = {}) {
  Result<MemoryPlan> plan = ArenaPlanner(options).plan(owned.view());
  EXPECT_TRUE(plan.ok()) << text_of(plan.status().reason());
  if (!plan.ok()) return MemoryPlan();
  const Status status = verify(owned.view(), *plan);
  EXPECT_TRUE(status.ok()) << text_of(status.reason());
  return static_cast<MemoryPlan&&>(plan.value());
}

struct PlanCopy {
  explicit PlanCopy(const MemoryPlan& plan)
      : regions(copy_of(plan.regions())),
        layouts(copy_of(plan.layouts())),
        placements(copy_of(plan.placements())),
        tensor_placements(copy_of(plan.tensor_placements())) {}

  [[nodiscard]] MemoryPlan make() const {
    Result<MemoryPlan> made = MemoryPlan::create({regions, layouts, placements, tensor_placements});
    EXPECT_TRUE(made.ok());
    return made.ok() ? static_cast<MemoryPlan&&>(made.value()) : MemoryPlan();
  }

  std::vector<RegionPlan> regions;
  std::vector<RegionLayout> layouts;
  std::vector<Placement> placements;
  std::vector<Placement> tensor_placements;
};

// Of a valid problem and a plan with all lists of the right length.
[[nodiscard]] inline bool is_region_acceptable(const PlanningProblem& problem, const PlanCopy& plan,
                                               std::uint32_t region) {
  const RegionPlan& stated = plan.regions[region];
  const RegionLayout& layout = plan.layouts[region];
  const Region& limits = problem.regions[region];
  const std::uint64_t bound = naive_bound(problem, RegionIndex(region)).bytes();
  return stated.lower_bound_bytes <= bound && stated.lower_bound_bytes <= stated.arena_bytes &&
         layout.size_bytes >= stated.arena_bytes && layout.size_bytes <= limits.capacity_bytes &&
         is_power_of_two(layout.alignment_bytes) &&
         layout.alignment_bytes >= limits.alignment_bytes;
}

[[nodiscard]] inline bool is_placement_acceptable(const PlanningProblem& problem,
                                                  const PlanCopy& plan, std::size_t index) {
  const Block& block = problem.blocks[index];
  const Placement placement = plan.placements[index];
  if (placement.region != block.region) return false;
  if (placement.offset_bytes % block.alignment_bytes != 0) return false;
  if (block.is_fixed() && placement.offset_bytes != block.fixed_offset_bytes) return false;
  if (block.size_bytes == 0) return true;
  const std::uint64_t arena = plan.regions[block.region.value].arena_bytes;
  return plan.layouts[block.region.value].alignment_bytes >= block.alignment_bytes &&
         placement.offset_bytes <= arena && block.size_bytes <= arena - placement.offset_bytes;
}

[[nodiscard]] inline bool meet(const PlanningProblem& problem, const PlanCopy& plan,
                               std::uint32_t a, std::uint32_t b) {
  return conflict(problem, a, b) && share_bytes(problem.blocks[a], plan.placements[a].offset_bytes,
                                                problem.blocks[b], plan.placements[b].offset_bytes);
}

[[nodiscard]] inline bool is_acceptable(const PlanningProblem& problem, const PlanCopy& plan) {
  if (plan.placements.size() != problem.blocks.size()) return false;
  if (plan.regions.size() != problem.regions.size()) return false;
  for (std::uint32_t i = 0; i < problem.regions.size(); ++i) {
    if (!is_region_acceptable(problem, plan, i)) return false;
  }
  for (std::uint32_t i = 0; i < problem.blocks.size(); ++i) {
    if (!is_placement_acceptable(problem, plan, i)) return false;
  }
  for (std::uint32_t a = 0; a < problem.blocks.size(); ++a) {
    for (std::uint32_t b = 0; b < a; ++b) {
      if (meet(problem, plan, a, b)) return false;
    }
  }
  return true;
}

}  // namespace tenure::test
