// SPDX-License-Identifier: Apache-2.0
#pragma once

// A graph and a plan for it that is laid out by hand, so that a test can put any tensor anywhere.
//
//   HandPlan hand;
//   const TensorIndex x = hand.builder.add_input("x", 64);
//   ...
//   hand.put(x, 0);
//   EXPECT_TRUE(hand.check().ok());

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tenure/graph_builder.h"
#include "tenure/plan.h"
#include "tenure/planner.h"
#include "tenure/verify.h"

namespace tenure::test {

inline constexpr OperatorIndex kAtTheEnd = OperatorIndex::none();

[[nodiscard]] constexpr Placement at(std::uint32_t region, std::uint64_t offset_bytes) {
  return {RegionIndex(region), offset_bytes};
}

class HandPlan {
 public:
  static constexpr std::uint64_t kArenaBytes = 4096;

  TensorGraphBuilder builder;

  HandPlan() : regions(2), layouts(2, RegionLayout{kArenaBytes, 64}) {
    for (RegionPlan& region : regions) region.arena_bytes = kArenaBytes;
  }

  // Tensors that are not put anywhere are not placed.
  HandPlan& put(TensorIndex tensor, std::uint64_t offset_bytes,
                RegionIndex region = kReusableRegion) {
    if (placements.size() <= tensor.value) placements.resize(tensor.value + std::size_t{1});
    placements[tensor.value] = {region, offset_bytes};
    return *this;
  }
  HandPlan& take_away(TensorIndex tensor) {
    placements[tensor.value] = Placement::none();
    return *this;
  }
  // As the planner would, one byte of alignment, so that nothing lies apart by chance.
  HandPlan& put_all() {
    const auto options = PlannerOptions().set_default_alignment_bytes(1);
    const Result<MemoryPlan> plan = ArenaPlanner(options).plan(graph());
    EXPECT_TRUE(plan.ok()) << text_of(plan.status().reason());
    if (!plan.ok()) return *this;
    placements.assign(plan->tensor_placements().begin(), plan->tensor_placements().end());
    return *this;
  }

  [[nodiscard]] Placement placement(TensorIndex tensor) const { return placements[tensor.value]; }

  [[nodiscard]] const TensorGraph& graph() {
    if (is_built_) return graph_;
    is_built_ = true;
    Result<TensorGraph> built = builder.build();
    EXPECT_TRUE(built.ok()) << text_of(built.status().reason()) << ", tensor "
                            << built.status().tensor.value;
    if (built.ok()) graph_ = static_cast<TensorGraph&&>(built.value());
    return graph_;
  }

  [[nodiscard]] Status check() {
    placements.resize(graph().tensor_count());
    const Result<MemoryPlan> plan = MemoryPlan::create({regions, layouts, {}, placements});
    EXPECT_TRUE(plan.ok());
    return plan.ok() ? verify(graph(), *plan) : plan.status();
  }

  std::vector<RegionPlan> regions;
  std::vector<RegionLayout> layouts;
  std::vector<Placement> placements;

 private:
  TensorGraph graph_;
  bool is_built_ = false;
};

// `tensor` lost its bytes to `other`, noticed at `op` (none: at the end of the run).
inline void expect_found(const Status& status, Reason reason, TensorIndex tensor, TensorIndex other,
                         OperatorIndex op) {
  EXPECT_EQ(status.reason(), reason) << text_of(status.reason());
  EXPECT_EQ(status.code(), StatusCode::kUnsafePlan);
  EXPECT_EQ(status.tensor.value, tensor.value);
  EXPECT_EQ(status.other_tensor.value, other.value);
  EXPECT_EQ(status.op.value, op.value);
}

}  // namespace tenure::test
