// SPDX-License-Identifier: Apache-2.0

// Why an arena is as large as it is: what a chain of blocks has to be, on small cases and on
// thousands of random problems.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "support/plans.h"
#include "support/problems.h"
#include "support/upstreams.h"
#include "tenure/explain.h"
#include "tenure/planner.h"
#include "tenure/verify.h"

namespace tenure {
namespace {

using test::OwnedProblem;
using test::plan_of;
using test::ProblemShape;

ArenaExplanation explain(const OwnedProblem& owned, const MemoryPlan& plan,
                         RegionIndex region = kReusableRegion) {
  Result<ArenaExplanation> explanation = explain_arena(owned.view(), plan, region);
  EXPECT_TRUE(explanation.ok()) << text_of(explanation.status().reason());
  return explanation.ok() ? static_cast<ArenaExplanation&&>(explanation.value())
                          : ArenaExplanation();
}

// A plan of one region, its blocks at those offsets.
MemoryPlan plan_at(const OwnedProblem& owned, const std::vector<std::uint64_t>& offsets) {
  test::PlanCopy copy(plan_of(owned));
  for (std::size_t i = 0; i < offsets.size(); ++i) copy.placements[i].offset_bytes = offsets[i];
  const std::uint64_t arena = test::arena_bytes(owned.view(), kReusableRegion, offsets);
  copy.regions[0].arena_bytes = copy.layouts[0].size_bytes = arena;
  MemoryPlan plan = copy.make();
  EXPECT_TRUE(verify(owned.view(), plan).ok());
  return plan;
}

struct ExpectedLink {
  std::uint32_t block;
  std::uint64_t gap_bytes;
  GapReason gap_reason;
  std::uint32_t step;
};

void expect_chain(const ArenaExplanation& explanation, const std::vector<ExpectedLink>& expected) {
  ASSERT_EQ(explanation.chain.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(explanation.chain[i].block.value, expected[i].block);
    EXPECT_EQ(explanation.chain[i].gap_bytes, expected[i].gap_bytes);
    EXPECT_EQ(explanation.chain[i].gap_reason, expected[i].gap_reason);
    EXPECT_EQ(explanation.chain[i].step.value, expected[i].step);
  }
}

constexpr std::uint32_t kNoStep = Step::kNoneValue;

//  9 |      +-----+
//  7 |   +--+--2--+      2 lies on 1, although it would fit below it, and 1 on 0: 4 + 3 + 2 bytes,
//  4 | +-+--1--+         though no more than 7 are ever live.
//    | |  0  |
//    +-0--1--2--3---> steps
TEST(ExplainArena, GoesDownFromBlockToBlockThatLiveTogether) {
  OwnedProblem owned;
  owned.blocks = {test::block(4, 0, 1), test::block(3, 1, 2), test::block(2, 2, 3)};
  const MemoryPlan plan = plan_at(owned, {0, 4, 7});
  const ArenaExplanation why = explain(owned, plan);
  EXPECT_EQ(why.arena_bytes, 9U);
  EXPECT_EQ(why.lower_bound_bytes, 7U);
  EXPECT_EQ(why.excess_bytes(), 2U);
  EXPECT_EQ(why.top_gap_bytes, 0U);
  expect_chain(why, {{2, 0, GapReason::kNone, 2},
                     {1, 0, GapReason::kNone, 1},
                     {0, 0, GapReason::kNone, kNoStep}});
  ASSERT_EQ(why.peaks.size(), 1U);
  EXPECT_EQ(why.peaks[0], (LiveRange{Step(1), Step(1)}));
}

// 10 bytes, 6 up to 16, 1 at 16, rounded up to the unit of 2.
TEST(ExplainArena, CountsAlignmentAndTheRoundedTop) {
  OwnedProblem owned;
  owned.blocks = {test::block(10, 0, 1, 2), test::block(1, 1, 2, 16)};
  const ArenaExplanation why = explain(owned, plan_of(owned));
  // By size 0 comes first: 1 lies at 16.
  EXPECT_EQ(why.arena_bytes, 18U);
  EXPECT_EQ(why.lower_bound_bytes, 12U);
  EXPECT_EQ(why.top_gap_bytes, 1U);
  expect_chain(why, {{1, 6, GapReason::kAlignment, 1}, {0, 0, GapReason::kNone, kNoStep}});
}

TEST(ExplainArena, TellsFixedOffsetsFromWhatIsLeftOpen) {
  OwnedProblem owned;
  owned.blocks = {test::block(4, 0, 1), test::fixed_block(2, 1, 2, 10), test::block(3, 2, 3)};
  // 2 could lie at 12, and lies at 14.
  const ArenaExplanation why = explain(owned, plan_at(owned, {0, 10, 14}));
  EXPECT_EQ(why.arena_bytes, 17U);
  EXPECT_EQ(why.lower_bound_bytes, 12U);
  expect_chain(why, {{2, 2, GapReason::kLeftOpen, 2},
                     {1, 6, GapReason::kFixedOffset, 1},
                     {0, 0, GapReason::kNone, kNoStep}});
  EXPECT_TRUE(why.peaks.empty());  // no step has 12 live bytes: the bound is the end of block 1

  owned.blocks = {test::fixed_block(4, 0, 1, 6)};
  expect_chain(explain(owned, plan_of(owned)), {{0, 6, GapReason::kFixedOffset, kNoStep}});
}

TEST(ExplainArena, PrefersASupportWithoutAGapAndThenTheLargest) {
  OwnedProblem owned;
  owned.blocks = {test::block(3, 0, 0), test::block(1, 1, 1), test::block(5, 2, 2),
                  test::block(4, 1, 1), test::block(6, 0, 2)};
  // Below 4, which lies at 5: 0 ends at 3; 1 lies on 3 and ends at 5; 2 ends at 5, and is larger.
  const ArenaExplanation why = explain(owned, plan_at(owned, {0, 4, 0, 0, 5}));
  expect_chain(why, {{4, 0, GapReason::kNone, 2}, {2, 0, GapReason::kNone, kNoStep}});
}

TEST(ExplainArena, PassesOverWhatMayOverlapAndFollowsListedConflicts) {
  OwnedProblem owned;
  owned.blocks = {test::block(3, 0, 0), test::block(3, 2, 2), test::block(4, 2, 2)};
  owned.conflicts = {test::pair(1, 0)};
  owned.may_overlap = {test::pair(1, 2)};
  // 1 lies at 4: 2, which ends there, might as well be there too; 0 ends at 3.
  const ArenaExplanation why = explain(owned, plan_at(owned, {0, 4, 0}));
  expect_chain(why, {{1, 1, GapReason::kLeftOpen, kNoStep}, {0, 0, GapReason::kNone, kNoStep}});
}

TEST(ExplainArena, OfNoBytesIsEmpty) {
  OwnedProblem owned;
  owned.blocks = {test::block(0, 0, 3)};
  const ArenaExplanation why = explain(owned, plan_of(owned));
  EXPECT_EQ(why.arena_bytes, 0U);
  EXPECT_TRUE(why.chain.empty());
  EXPECT_TRUE(why.peaks.empty());
}

TEST(ExplainArena, RefusesWhatDoesNotBelongTogether) {
  OwnedProblem owned;
  owned.blocks = {test::block(4, 0, 1), test::block(4, 1, 2)};
  const MemoryPlan plan = plan_of(owned);
  EXPECT_EQ(explain_arena(owned.view(), plan, RegionIndex(2)).status().reason(),
            Reason::kIndexOutOfRange);
  test::PlanCopy high(plan);
  high.placements[1].offset_bytes = 5;
  const Result<ArenaExplanation> outside = explain_arena(owned.view(), high.make());
  EXPECT_EQ(outside.status().reason(), Reason::kOutsideRegion);
  EXPECT_EQ(outside.status().block, BlockIndex(1));
  owned.blocks.push_back(test::block(4, 1, 2));
  EXPECT_EQ(explain_arena(owned.view(), plan).status().reason(), Reason::kPlanMismatch);
}

// Every chain of a plan that has been proven.
void expect_explained(const OwnedProblem& owned, const MemoryPlan& plan, RegionIndex region) {
  const PlanningProblem problem = owned.view();
  const ArenaExplanation why = explain(owned, plan, region);
  ASSERT_EQ(why.arena_bytes, plan.arena_bytes(region));
  ASSERT_EQ(why.lower_bound_bytes, plan.lower_bound_bytes(region));
  std::uint64_t sum = why.top_gap_bytes;
  std::uint64_t end = why.arena_bytes - why.top_gap_bytes;
  for (std::size_t i = 0; i < why.chain.size(); ++i) {
    SCOPED_TRACE(i);
    const ChainLink& link = why.chain[i];
    const Block& block = problem.blocks[link.block.value];
    ASSERT_EQ(block.region, region);
    ASSERT_EQ(link.size_bytes, block.size_bytes);
    ASSERT_EQ(link.offset_bytes, plan.placement(link.block).offset_bytes);
    ASSERT_EQ(link.offset_bytes + link.size_bytes, end);
    end = link.offset_bytes - link.gap_bytes;
    sum += link.size_bytes + link.gap_bytes;
    ASSERT_EQ(link.gap_reason == GapReason::kNone, link.gap_bytes == 0);
    if (link.gap_reason == GapReason::kAlignment) {
      ASSERT_LT(link.gap_bytes, block.alignment_bytes);
    }
    if (link.gap_reason == GapReason::kFixedOffset) {
      ASSERT_TRUE(block.is_fixed());
    }
    if (i + 1 == why.chain.size()) {
      ASSERT_EQ(end, 0U);
      ASSERT_TRUE(link.step.is_none());
      continue;
    }
    const BlockIndex below = why.chain[i + 1].block;
    ASSERT_TRUE(test::conflict(problem, link.block.value, below.value));
    const LiveRange own = block.live_range;
    const LiveRange other = problem.blocks[below.value].live_range;
    ASSERT_EQ(link.step.is_none(), !own.overlaps(other));
    if (link.step.is_none()) continue;
    ASSERT_TRUE(own.overlaps({link.step, link.step}));
    ASSERT_TRUE(other.overlaps({link.step, link.step}));
  }
  ASSERT_EQ(sum, why.arena_bytes);
}

void expect_peaks(const OwnedProblem& owned, RegionIndex region, const ArenaExplanation& why,
                  std::uint32_t first_step, std::uint32_t step_count) {
  std::vector<LiveRange> expected;
  const std::uint64_t bound = test::naive_bound(owned.view(), region).bytes();
  bool was_peak = false;
  for (std::uint32_t step = first_step; step < first_step + step_count; ++step) {
    const std::uint64_t live = test::counted_bytes(owned.view(), region, step);
    const bool is_peak = live != 0 && live == bound;
    if (is_peak && !was_peak) expected.push_back({Step(step), Step(step)});
    if (is_peak) expected.back().last_use = Step(step);
    was_peak = is_peak;
  }
  ASSERT_EQ(why.peaks.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(why.peaks[i], expected[i]);
}

std::vector<ProblemShape> shapes() {
  ProblemShape plain;
  plain.fixed_chance = plain.max_conflicts = plain.max_overlaps = 0;
  ProblemShape crowded;
  crowded.max_blocks = 120;
  crowded.max_steps = 40;
  crowded.max_conflicts = crowded.max_overlaps = 30;
  ProblemShape regions;
  regions.region_count = 3;
  regions.no_reuse_chance = 40;
  regions.max_blocks = 30;
  regions.fixed_chance = 25;
  return {plain, ProblemShape(), crowded, regions};
}

TEST(ExplainArena, SumsUpToEveryArenaOverBlocksThatConflict) {
  std::uint32_t above = 0;
  for (const ProblemShape& shape : shapes()) {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
      SCOPED_TRACE(seed);
      const OwnedProblem random = test::random_problem(seed, shape);
      for (const bool reuse : {true, false}) {
        const MemoryPlan plan = plan_of(random, PlannerOptions().set_reuse(reuse));
        for (std::uint32_t i = 0; i < random.regions.size(); ++i) {
          expect_explained(random, plan, RegionIndex(i));
          if (HasFatalFailure()) return;
          if (plan.arena_bytes(RegionIndex(i)) != plan.lower_bound_bytes(RegionIndex(i))) ++above;
        }
      }
    }
  }
  EXPECT_GT(above, 300U);
}

TEST(ExplainArena, NothingIsLeftOpenByFirstFitNorBySearches) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const OwnedProblem random = test::random_problem(seed, shapes()[1]);
    for (const Effort effort : {Effort::kFast, Effort::kBest}) {
      const PlannerOptions options = PlannerOptions().set_effort(effort).set_search_steps(2000);
      const ArenaExplanation why = explain(random, plan_of(random, options));
      for (const ChainLink& link : why.chain) ASSERT_NE(link.gap_reason, GapReason::kLeftOpen);
    }
  }
}

TEST(ExplainArena, PeaksAreTheStepsThatHaveAsManyBytesAsTheBound) {
  std::uint32_t in_many_pieces = 0;
  for (const ProblemShape& shape : shapes()) {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
      SCOPED_TRACE(seed);
      OwnedProblem random = test::random_problem(seed, shape);
      // Few sizes, so that several steps have equally many bytes.
      for (Block& block : random.blocks) block.size_bytes = block.size_bytes == 0 ? 0 : 64;
      if (!validate(random.view()).ok()) continue;
      const MemoryPlan plan = plan_of(random);
      std::uint32_t first = 0;
      for (const Block& block : random.blocks) {
        if (block.live_range.first_use.value > 1000) first = Step::kNoneValue - shape.max_steps;
      }
      const ArenaExplanation why = explain(random, plan);
      if (!random.regions[0].reuse) {
        ASSERT_TRUE(why.peaks.empty());
        continue;
      }
      expect_peaks(random, kReusableRegion, why, first, shape.max_steps);
      if (HasFatalFailure()) return;
      if (why.peaks.size() > 1) ++in_many_pieces;
    }
  }
  EXPECT_GT(in_many_pieces, 20U);
}

TEST(ExplainArena, ARefusedUpstreamIsAStatus) {
  const OwnedProblem random = test::random_problem(3, shapes()[2]);
  const MemoryPlan plan = plan_of(random);
  std::uint64_t call = 0;
  for (;; ++call) {
    ASSERT_LT(call, 1000U);
    test::TestUpstream upstream;
    upstream.refuse_call(call);
    const Result<ArenaExplanation> why =
        explain_arena(random.view(), plan, kReusableRegion, upstream.get());
    if (upstream.refusals() == 0) {
      EXPECT_TRUE(why.ok());
      break;
    }
    ASSERT_EQ(why.status().reason(), Reason::kUpstreamRefused) << "call " << call;
  }
  std::printf("no call was refused from k = %llu on\n", static_cast<unsigned long long>(call));
  EXPECT_GT(call, 10U);
}

}  // namespace
}  // namespace tenure
