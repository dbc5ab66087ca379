// SPDX-License-Identifier: Apache-2.0

#include "common/wrong_live_range.h"

#include <vector>

#include "tenure/planner.h"

namespace example {

using tenure::MemoryPlan;
using tenure::Placement;
using tenure::Result;

Result<MemoryPlan> plan_with_wrong_live_range(const tenure::Lifetimes& lifetimes,
                                              WrongLiveRange wrong) {
  tenure::PlanningProblem problem = lifetimes.problem();
  std::vector<tenure::Block> blocks(problem.blocks.begin(), problem.blocks.end());
  blocks[lifetimes.place(wrong.tensor).block.value].live_range.last_use = wrong.last_use;
  problem.blocks = blocks;
  Result<MemoryPlan> plan = tenure::ArenaPlanner().plan(problem);
  if (!plan.ok()) return plan;

  // The plan of a bare problem knows blocks only; each tensor lies inside its block.
  std::vector<Placement> tensor_placements;
  for (const tenure::StoragePlace place : lifetimes.places()) {
    Placement placement;
    if (!place.block.is_none()) placement = plan->placement(place.block);
    placement.offset_bytes += place.offset_bytes;
    tensor_placements.push_back(placement);
  }
  return MemoryPlan::create(
      {plan->regions(), plan->layouts(), plan->placements(), tensor_placements});
}

}  // namespace example
