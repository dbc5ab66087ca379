// SPDX-License-Identifier: Apache-2.0

// Where planning ends: capacities, padding, and sums beyond the largest arena.

#include <gtest/gtest.h>

#include <cstdint>

#include "support/plans.h"
#include "support/problems.h"
#include "support/upstreams.h"
#include "tenure/graph_builder.h"
#include "tenure/planner.h"
#include "tenure/verify.h"

namespace tenure {
namespace {

using test::block;
using test::fixed_block;
using test::in_region;
using test::kQuarter;
using test::OwnedProblem;
using test::pair;

constexpr std::uint64_t kMax = kMaxArenaBytes;  // 2^63 - 1
Result<MemoryPlan> try_plan(const OwnedProblem& owned, const PlannerOptions& options = {}) {
  return ArenaPlanner(options).plan(owned.view());
}

TEST(ArenaPlanner, RoundsTheArenaUpToTheUnit) {
  for (const std::uint64_t size : {1U, 3U, 4U, 5U}) {
    OwnedProblem owned;
    owned.blocks = {block(8, 0, 0, 16), block(size, 0, 0, 4)};
    const Result<MemoryPlan> plan = try_plan(owned);
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->arena_bytes(), size <= 4 ? 12U : 16U) << size;  // 8 + 4 or 8 + 8
    EXPECT_EQ(plan->region(kReusableRegion).unit_bytes, 4U);
    EXPECT_EQ(plan->layouts()[0].size_bytes, plan->arena_bytes());
    EXPECT_EQ(plan->layouts()[0].alignment_bytes, 16U);
  }
}

// A3 (XNNPACK 1890, ncnn 3155): once, at the tail; the arena's own number stays.
TEST(ArenaPlanner, PadsTheTailOfEachArenaThatHasBytes) {
  OwnedProblem owned;
  owned.blocks = {block(100, 0, 0), block(0, 0, 0)};
  for (const std::uint64_t padding : {0U, 1U, 16U, 64U}) {
    const Result<MemoryPlan> plan =
        try_plan(owned, PlannerOptions().set_tail_padding_bytes(padding));
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->arena_bytes(), 100U);
    EXPECT_EQ(plan->layouts()[0].size_bytes, 100 + padding);
    EXPECT_EQ(plan->layouts()[1].size_bytes, 0U);
    EXPECT_TRUE(plan->region(kReusableRegion).is_optimal());
    EXPECT_TRUE(verify(owned.view(), *plan).ok());
  }
}

TEST(ArenaPlanner, TailPaddingThatDoesNotFit64BitsIsRefused) {
  OwnedProblem owned;
  owned.blocks = {block(100, 0, 0)};
  const auto padded = [&](std::uint64_t padding) {
    return try_plan(owned, PlannerOptions().set_tail_padding_bytes(padding));
  };
  const Result<MemoryPlan> last = padded(UINT64_MAX - 100);
  ASSERT_TRUE(last.ok());
  EXPECT_EQ(last->layouts()[0].size_bytes, UINT64_MAX);
  const Result<MemoryPlan> wraps = padded(UINT64_MAX - 99);
  EXPECT_EQ(wraps.status().reason(), Reason::kSizeOverflow);
  EXPECT_EQ(wraps.status().region, RegionIndex(0));
  owned.blocks.clear();
  EXPECT_TRUE(padded(UINT64_MAX).ok());
}

TEST(ArenaPlanner, NamesNeedAndCapacityWhereARegionIsTooSmall) {
  OwnedProblem owned;
  owned.regions = {Region{}, Region{180, 1, true}};
  owned.blocks = {block(500, 0, 0), in_region(1, block(100, 3, 4)), in_region(1, block(80, 4, 5))};
  EXPECT_TRUE(try_plan(owned).ok());
  for (const std::uint64_t capacity : {179U, 1U, 0U}) {
    owned.regions[1].capacity_bytes = capacity;
    const Status status = try_plan(owned).status();
    EXPECT_EQ(status.reason(), Reason::kCapacityExceeded);
    EXPECT_EQ(status.code(), StatusCode::kLimitExceeded);
    EXPECT_EQ(status.needed_bytes, 180U);
    EXPECT_EQ(status.available_bytes, capacity);
    EXPECT_EQ(status.step, Step(4));
    EXPECT_EQ(status.region, RegionIndex(1));
    EXPECT_TRUE(status.block.is_none());
    EXPECT_TRUE(status.other_block.is_none());
    EXPECT_TRUE(status.tensor.is_none());
    EXPECT_TRUE(status.op.is_none());
  }
}

// 4096 + 4096 at "step"; one byte less is refused, with the step that needs them.
TEST(ArenaPlanner, LimitsTheRegionsOfAGraph) {
  TensorGraphBuilder builder;
  const TensorIndex in = builder.add_input("in", 64);
  const TensorIndex x = builder.add_tensor("x", 4096);
  const TensorIndex y = builder.add_tensor("y", 4096);
  builder.add_operator("first").input(in).output(x);
  builder.add_operator("step").input(x).output(y);
  builder.mark_output(y);
  const Result<TensorGraph> graph = builder.build();
  ASSERT_TRUE(graph.ok());
  Region regions[] = {Region{8192, 1, true}, Region{kNoCapacity, 1, false}};
  EXPECT_TRUE(ArenaPlanner(PlannerOptions().set_regions(regions)).plan(*graph).ok());
  regions[0].capacity_bytes = 8191;
  const Result<MemoryPlan> refused =
      ArenaPlanner(PlannerOptions().set_regions(regions)).plan(*graph);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().reason(), Reason::kCapacityExceeded);
  EXPECT_EQ(refused.status().needed_bytes, 8192U);
  EXPECT_EQ(refused.status().available_bytes, 8191U);
  EXPECT_EQ(refused.status().step, Step(1));
}

TEST(ArenaPlanner, CountsUnitAndTailPaddingAgainstTheCapacity) {
  OwnedProblem owned;
  owned.blocks = {block(97, 0, 0, 4)};
  const PlannerOptions padded = PlannerOptions().set_tail_padding_bytes(16);
  owned.regions[0].capacity_bytes = 116;  // 97 rounded up to 100, + 16
  EXPECT_TRUE(try_plan(owned, padded).ok());
  owned.regions[0].capacity_bytes = 115;
  EXPECT_EQ(try_plan(owned, padded).status().needed_bytes, 116U);
  owned.regions[0].capacity_bytes = 99;
  EXPECT_EQ(try_plan(owned).status().needed_bytes, 100U);
  owned.regions[0].capacity_bytes = 0;
  owned.blocks = {block(0, 0, 0)};
  EXPECT_TRUE(try_plan(owned, padded).ok());
}

// P4 (tflite-micro 3552, TensorFlow 111458).
TEST(ArenaPlanner, PlansSizesUpToTheLargestArena) {
  OwnedProblem owned;
  owned.blocks = {block(kMax, 0, 0), block(kQuarter, 1, 1), block(kQuarter - 1, 1, 1)};
  const Result<MemoryPlan> plan = try_plan(owned);
  ASSERT_TRUE(plan.ok()) << text_of(plan.status().reason());
  EXPECT_EQ(plan->arena_bytes(), kMax);
  EXPECT_EQ(plan->placement(BlockIndex(1)).offset_bytes, 0U);
  EXPECT_EQ(plan->placement(BlockIndex(2)).offset_bytes, kQuarter);
  EXPECT_TRUE(plan->region(kReusableRegion).is_optimal());
  EXPECT_TRUE(verify(owned.view(), *plan).ok());
}

TEST(ArenaPlanner, NamesTheBlockOfALiveSumBeyondTheLargestArena) {
  OwnedProblem owned;
  owned.blocks = {block(1, 0, 0), block(kQuarter, 1, 2), block(kQuarter, 2, 3)};
  const Status status = try_plan(owned).status();
  EXPECT_EQ(status.reason(), Reason::kSizeOverflow);
  EXPECT_EQ(status.code(), StatusCode::kOverflow);
  EXPECT_EQ(status.block, BlockIndex(2));
  EXPECT_EQ(status.step, Step(2));
  owned.blocks[2].size_bytes -= 1;
  EXPECT_TRUE(try_plan(owned).ok());
}

// The live sum fits: 1 + (2^63 - 2). But the fixed byte leaves [0, 1) and [2, 2^63 - 1).
TEST(ArenaPlanner, NamesTheBlockThatFindsNoPlace) {
  OwnedProblem owned;
  owned.blocks = {fixed_block(1, 0, 0, 1), block(kMax - 1, 0, 0)};
  const Status status = try_plan(owned).status();
  EXPECT_EQ(status.reason(), Reason::kSizeOverflow);
  EXPECT_EQ(status.block, BlockIndex(1));
  EXPECT_EQ(status.needed_bytes, kMax - 1);
  owned.blocks[1].size_bytes -= 1;  // 2 + (2^63 - 3) = 2^63 - 1
  const Result<MemoryPlan> plan = try_plan(owned);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->placement(BlockIndex(1)).offset_bytes, 2U);
  EXPECT_EQ(plan->arena_bytes(), kMax);
}

TEST(ArenaPlanner, NamesTheBlockWhoseAlignmentLeavesNoPlace) {
  OwnedProblem owned;
  owned.blocks = {fixed_block(kQuarter + 1, 0, 0, 0), block(1, 0, 0, kQuarter)};
  const Status status = try_plan(owned).status();
  EXPECT_EQ(status.reason(), Reason::kSizeOverflow);
  EXPECT_EQ(status.block, BlockIndex(1));
  owned.blocks[0].size_bytes -= 1;
  const Result<MemoryPlan> plan = try_plan(owned);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->placement(BlockIndex(1)).offset_bytes, kQuarter);
  // A gap below is found even though the end of what is above cannot be rounded up.
  owned.blocks = {fixed_block(kQuarter, 0, 0, kQuarter / 2), block(1, 0, 0, kQuarter)};
  ASSERT_TRUE(try_plan(owned).ok());
  EXPECT_EQ(try_plan(owned)->placement(BlockIndex(1)).offset_bytes, 0U);
}

TEST(ArenaPlanner, WithoutReuseNamesTheBlockThatEndsBeyondTheLargestArena) {
  const PlannerOptions options = PlannerOptions().set_reuse(false);
  OwnedProblem owned;
  owned.blocks = {block(kQuarter, 0, 0), block(kQuarter - 1, 1, 1), block(0, 1, 1)};
  ASSERT_TRUE(try_plan(owned, options).ok());
  EXPECT_EQ(try_plan(owned, options)->arena_bytes(), kMax);
  owned.blocks[1].size_bytes = kQuarter;
  EXPECT_EQ(try_plan(owned, options).status().reason(), Reason::kSizeOverflow);
  EXPECT_EQ(try_plan(owned, options).status().block, BlockIndex(1));
  owned.blocks[1] = block(1, 1, 1, kQuarter);
  owned.blocks[0].size_bytes = kQuarter + 1;  // the next multiple of 2^62 is 2^63
  EXPECT_EQ(try_plan(owned, options).status().block, BlockIndex(1));
  owned.blocks = {fixed_block(2, 0, 0, kQuarter - 1), block(kQuarter, 1, 1, kQuarter)};
  EXPECT_EQ(try_plan(owned, options).status().block, BlockIndex(1));
}

// 2^62 + (2^62 - 32) fits, rounded up to 64 it does not.
TEST(ArenaPlanner, AnArenaThatCannotBeRoundedUpIsRefused) {
  OwnedProblem owned;
  owned.blocks = {block(kQuarter, 0, 0, 64), block(kQuarter - 64, 1, 1, 64)};
  EXPECT_TRUE(try_plan(owned, PlannerOptions().set_reuse(false)).ok());
  owned.blocks[1].size_bytes += 32;
  const Status status = try_plan(owned, PlannerOptions().set_reuse(false)).status();
  EXPECT_EQ(status.reason(), Reason::kSizeOverflow);
  EXPECT_EQ(status.region, RegionIndex(0));
  EXPECT_EQ(status.needed_bytes, kMax - 31);
}

TEST(ArenaPlanner, RefusesWhatValidateRefuses) {
  OwnedProblem owned;
  owned.blocks = {block(8, 0, 0), block(8, 5, 2)};
  const Status status = try_plan(owned).status();
  EXPECT_EQ(status.reason(), Reason::kReversedLiveRange);
  EXPECT_EQ(status.block, BlockIndex(1));
  EXPECT_TRUE(status.tensor.is_none());
}

// By index without reuse: a from 0, then b from 2^61 on, then c's 64, and no room is left for d.
TEST(ArenaPlanner, NamesTheTensorWhereBlocksComeFromAGraph) {
  TensorGraphBuilder builder;
  const TensorIndex unplaced = builder.add_constant("weights", 64);
  const TensorIndex a = builder.add_input("a", kQuarter / 2);
  const TensorIndex b = builder.add_tensor("b", kQuarter);
  const TensorIndex c = builder.add_tensor("c", 64);
  const TensorIndex d = builder.add_tensor("d", kQuarter);
  builder.add_operator("0").input(unplaced).input(a).output(c);
  builder.add_operator("1").input(c).output(b);
  builder.add_operator("2").output(d);
  const Result<TensorGraph> graph = builder.build();
  ASSERT_TRUE(graph.ok());
  EXPECT_TRUE(ArenaPlanner().plan(*graph).ok());
  const Status status = ArenaPlanner(PlannerOptions().set_reuse(false)).plan(*graph).status();
  EXPECT_EQ(status.reason(), Reason::kSizeOverflow);
  EXPECT_EQ(status.tensor, d);
}

TEST(ArenaPlanner, RefusesADefaultAlignmentThatIsNoPowerOfTwo) {
  TensorGraphBuilder builder;
  builder.add_input("a", 64);
  const Result<TensorGraph> graph = builder.build();
  ASSERT_TRUE(graph.ok());
  for (const std::uint64_t bad : {0U, 3U, 100U}) {
    const auto options = PlannerOptions().set_default_alignment_bytes(bad);
    const Status status = ArenaPlanner(options).plan(*graph).status();
    EXPECT_EQ(status.reason(), Reason::kNotPowerOfTwo);
    EXPECT_EQ(status.needed_bytes, bad);
  }
}

TEST(ArenaPlanner, TakesAllMemoryFromItsUpstreamAndGivesBackAllButThePlan) {
  test::TestUpstream upstream;
  OwnedProblem owned;
  owned.blocks = {fixed_block(8, 0, 0, 0), fixed_block(8, 0, 0, 8), block(9, 0, 3)};
  owned.conflicts = {pair(0, 2)};
  owned.may_overlap = {pair(1, 2)};
  {
    const Result<MemoryPlan> plan = try_plan(owned, PlannerOptions().set_upstream(upstream.get()));
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(upstream.live_blocks(), 3U);  // regions, layouts, placements
  }
  EXPECT_EQ(upstream.live_blocks(), 0U);
}

}  // namespace
}  // namespace tenure
