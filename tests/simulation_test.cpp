// SPDX-License-Identifier: Apache-2.0

// verify(graph, plan) against runs on real bytes: what it accepts must compute the same as tensors
// that share nothing, for plans of the planner and for plans that were spoilt.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/graphs.h"
#include "support/random.h"
#include "support/simulate.h"
#include "tenure/graph_builder.h"
#include "tenure/lifetime.h"
#include "tenure/planner.h"
#include "tenure/verify.h"

namespace tenure {
namespace {

std::string text_of_plan(const Status& status) {
  return std::string(text_of(status.reason())) + ", tensor " + std::to_string(status.tensor.value) +
         ", operator " + std::to_string(status.op.value);
}

// A plan for some lifetimes that can be changed by hand.
struct LoosePlan {
  std::vector<RegionPlan> regions;
  std::vector<RegionLayout> layouts;
  std::vector<Placement> blocks;
  std::vector<Placement> tensors;

  explicit LoosePlan(const MemoryPlan& plan)
      : regions(plan.regions().begin(), plan.regions().end()),
        layouts(plan.layouts().begin(), plan.layouts().end()),
        blocks(plan.placements().begin(), plan.placements().end()),
        tensors(plan.tensor_placements().begin(), plan.tensor_placements().end()) {}

  [[nodiscard]] MemoryPlan build() const {
    Result<MemoryPlan> plan = MemoryPlan::create({regions, layouts, blocks, tensors});
    EXPECT_TRUE(plan.ok());
    return static_cast<MemoryPlan&&>(plan.value());
  }

  // The block and all tensors in it; inside the arena, wherever the alignment would like it.
  void move_block(const Lifetimes& lifetimes, BlockIndex block, test::Random& random) {
    const Block& moved = lifetimes.problem().blocks[block.value];
    const std::uint64_t room = layouts[moved.region.value].size_bytes - moved.size_bytes;
    const std::uint64_t step = random.chance(70) ? moved.alignment_bytes : 1;
    const std::uint64_t offset = random.between(0, room) / step * step;
    blocks[block.value].offset_bytes = offset;
    for (std::uint32_t i = 0; i < tensors.size(); ++i) {
      const StoragePlace place = lifetimes.place(TensorIndex(i));
      if (place.block == block) tensors[i].offset_bytes = offset + place.offset_bytes;
    }
  }

  // One tensor out of its class, onto the place of another of the same region.
  void move_tensor(const TensorGraph& graph, test::Random& random) {
    const std::uint32_t moved = random.index(tensors.size());
    const std::uint32_t onto = random.index(tensors.size());
    if (tensors[moved].is_none() || tensors[onto].is_none()) return;
    const Placement place = tensors[onto];
    const std::uint64_t size = graph.tensor(TensorIndex(moved)).size_bytes;
    const std::uint64_t arena = layouts[place.region.value].size_bytes;
    if (size <= arena && place.offset_bytes <= arena - size) tensors[moved] = place;
  }
};

TEST(Simulation, AgreesWithVerifyOnPlans) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TensorGraph graph = test::random_graph(seed);
    const Result<MemoryPlan> plan = ArenaPlanner().plan(graph);
    ASSERT_TRUE(plan.ok());
    const Status status = verify(graph, *plan);
    EXPECT_TRUE(status.ok()) << text_of_plan(status);
    EXPECT_EQ(test::first_difference(graph, *plan), "");
  }
}

TEST(Simulation, FindsNoHarmInPlansThatVerifyAccepts) {
  int accepted = 0;
  int harmful = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TensorGraph graph = test::random_graph(seed);
    const Result<Lifetimes> lifetimes = LifetimeAnalyzer().analyze(graph);
    ASSERT_TRUE(lifetimes.ok());
    const Result<MemoryPlan> plan = ArenaPlanner().plan(*lifetimes);
    ASSERT_TRUE(plan.ok());
    test::Random random(seed);
    LoosePlan loose(*plan);
    const std::size_t blocks = loose.blocks.size();
    if (blocks != 0 && random.chance(80)) {
      loose.move_block(*lifetimes, BlockIndex(random.index(blocks)), random);
    } else {
      loose.move_tensor(graph, random);
    }
    const MemoryPlan spoilt = loose.build();
    const Status status = verify(graph, spoilt);
    const std::string difference = test::first_difference(graph, spoilt);
    if (status.ok()) {
      EXPECT_EQ(difference, "") << "verify accepts it";
      ++accepted;
    }
    if (!difference.empty()) ++harmful;
  }
  // Both kinds are common, so that neither side of the comparison is empty.
  EXPECT_GT(accepted, 300);
  EXPECT_GT(harmful, 300);
}

// The new value of the state is a part of a whole; somewhere else in the whole is not good enough.
//
//   whole |-----------|next|     state belongs over "next", or anywhere that nobody writes
TEST(Simulation, AgreesThatAnUpdateCountsOnlyWhereItLies) {
  TensorGraphBuilder builder;
  const TensorIndex state = builder.add_persistent("state", 64);
  const TensorIndex next = builder.add_tensor("next", 64);
  const TensorIndex whole = builder.add_tensor("whole", 256);
  builder.add_operator("step").input(state).output(next, update_of(state));
  builder.add_operator("concat").input(next, view_of(whole, 192)).output(whole);
  const Result<TensorGraph> graph = builder.build();
  ASSERT_TRUE(graph.ok());
  const Result<MemoryPlan> plan = ArenaPlanner().plan(*graph);
  ASSERT_TRUE(plan.ok());
  LoosePlan loose(*plan);
  const Placement at_whole = loose.tensors[whole.value];
  for (const std::uint64_t offset : {UINT64_C(0), UINT64_C(64), UINT64_C(128)}) {
    loose.tensors[state.value] = {at_whole.region, at_whole.offset_bytes + offset};
    const MemoryPlan spoilt = loose.build();
    EXPECT_NE(test::first_difference(*graph, spoilt), "");
    EXPECT_FALSE(verify(*graph, spoilt).ok()) << offset;
  }
  loose.tensors[state.value] = {at_whole.region, at_whole.offset_bytes + 192};
  EXPECT_EQ(test::first_difference(*graph, loose.build()), "");
  EXPECT_TRUE(verify(*graph, loose.build()).ok());
}

}  // namespace
}  // namespace tenure
