// SPDX-License-Identifier: Apache-2.0
#pragma once

// A plan that is wrong on purpose: made from a live range that ends too early, as if an analyzer
// had forgotten a use. The planner cannot know; verify does.
//
//   Result<MemoryPlan> plan = plan_with_wrong_live_range(lifetimes, {residual, Step(2)});
//   tenure::verify(lifetimes.problem(), *plan);   // kBlocksOverlap

#include "tenure/lifetime.h"
#include "tenure/plan.h"

namespace example {

struct WrongLiveRange {
  tenure::TensorIndex tensor;
  tenure::Step last_use;  // not earlier than its first
};

[[nodiscard]] tenure::Result<tenure::MemoryPlan> plan_with_wrong_live_range(
    const tenure::Lifetimes& lifetimes, WrongLiveRange wrong);

}  // namespace example
