// SPDX-License-Identifier: Apache-2.0

#include "internal/assembly.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "support/plans.h"
#include "support/problems.h"
#include "support/random.h"
#include "support/upstreams.h"
#include "tenure/planner.h"

namespace tenure::internal {
namespace {

using test::block;
using test::OwnedProblem;

constexpr AssemblyRules kEveryRule[] = {
    {Stacking::kEverywhere, false},
    {Stacking::kEverywhere, true},
    {Stacking::kWhereItMatches, false},
    {Stacking::kWhereItMatches, true},
};
constexpr AssemblyRules kMatching{Stacking::kWhereItMatches, false};
constexpr AssemblyRules kEverywhere{Stacking::kEverywhere, false};

std::vector<Block> assembled(const OwnedProblem& owned, AssemblyRules rules) {
  Assembly assembly(heap_upstream());
  EXPECT_TRUE(assembly.reset(owned.view(), kReusableRegion, 1, rules));
  return test::copy_of(assembly.problem().blocks);
}

TEST(Assembly, JoinsWhatFollowsInTheSameSize) {
  OwnedProblem owned;
  owned.blocks = {block(64, 0, 3), block(64, 4, 9), block(64, 10, 10)};
  for (const AssemblyRules rules : kEveryRule) {
    const std::vector<Block> blocks = assembled(owned, rules);
    ASSERT_EQ(blocks.size(), 1U);
    EXPECT_EQ(blocks[0].size_bytes, 64U);
    EXPECT_EQ(blocks[0].live_range.first_use, Step(0));
    EXPECT_EQ(blocks[0].live_range.last_use, Step(10));
  }
}

TEST(Assembly, DoesNotJoinWhereTwoCouldFollow) {
  OwnedProblem owned;
  owned.blocks = {block(64, 0, 3), block(64, 4, 9), block(64, 4, 7)};
  for (const AssemblyRules rules : kEveryRule) EXPECT_EQ(assembled(owned, rules).size(), 3U);
  owned.blocks = {block(64, 0, 3), block(64, 5, 9)};  // a step lies between
  for (const AssemblyRules rules : kEveryRule) EXPECT_EQ(assembled(owned, rules).size(), 2U);
}

TEST(Assembly, StacksWhatALargerOneMatches) {
  OwnedProblem owned;
  owned.blocks = {block(10, 0, 3), block(20, 0, 3), block(30, 4, 6)};
  for (const AssemblyRules rules : kEveryRule) EXPECT_EQ(assembled(owned, rules).size(), 1U);
  owned.blocks[2].size_bytes = 31;
  EXPECT_EQ(assembled(owned, kMatching).size(), 3U);
  EXPECT_EQ(assembled(owned, kEverywhere).size(), 2U);
  owned.blocks.push_back(block(1, 0, 2));  // a third makes them match
  EXPECT_EQ(assembled(owned, kMatching).size(), 4U);
  owned.blocks.back().live_range.last_use = Step(3);
  EXPECT_EQ(assembled(owned, kMatching).size(), 1U);
}

TEST(Assembly, MakesAPinwheelOfFive) {
  OwnedProblem owned;  // 10 steps wide, 100 bytes high
  owned.blocks = {block(70, 0, 2), block(30, 0, 6), block(80, 7, 9), block(20, 3, 9),
                  block(50, 3, 6)};
  for (const AssemblyRules rules : kEveryRule) {
    const std::vector<Block> blocks = assembled(owned, rules);
    ASSERT_EQ(blocks.size(), 1U);
    EXPECT_EQ(blocks[0].size_bytes, 100U);
    EXPECT_EQ(blocks[0].live_range.last_use, Step(9));
  }
  owned.blocks[2].size_bytes = 81;
  for (const AssemblyRules rules : kEveryRule) EXPECT_EQ(assembled(owned, rules).size(), 5U);
}

TEST(Assembly, LeavesAloneWhatIsBound) {
  OwnedProblem owned;
  owned.blocks = {block(64, 0, 3), block(64, 4, 9), block(64, 4, 9)};
  owned.blocks[2].region = RegionIndex(1);
  for (const AssemblyRules rules : kEveryRule) EXPECT_EQ(assembled(owned, rules).size(), 1U);
  OwnedProblem fixed = owned;
  fixed.blocks[1].fixed_offset_bytes = 128;
  for (const AssemblyRules rules : kEveryRule) {
    EXPECT_EQ(assembled(fixed, rules)[1].fixed_offset_bytes, 128U);
  }
  OwnedProblem aligned = owned;
  aligned.blocks[0].alignment_bytes = 64;
  for (const AssemblyRules rules : kEveryRule) EXPECT_EQ(assembled(aligned, rules).size(), 2U);
}

TEST(Assembly, NamesPairsAnew) {
  OwnedProblem owned;
  owned.blocks = {block(64, 0, 3), block(64, 4, 9), block(8, 0, 1), block(8, 5, 6), block(9, 5, 6)};
  owned.conflicts = {test::pair(2, 3)};
  owned.may_overlap = {test::pair(4, 3)};
  for (const AssemblyRules rules : kEveryRule) {
    Assembly assembly(heap_upstream());
    ASSERT_TRUE(assembly.reset(owned.view(), kReusableRegion, 1, rules));
    const PlanningProblem problem = assembly.problem();
    ASSERT_EQ(problem.blocks.size(), 4U);  // the joined one is last
    ASSERT_EQ(problem.conflicts.size(), 1U);
    EXPECT_EQ(problem.conflicts[0].first, BlockIndex(0));
    EXPECT_EQ(problem.conflicts[0].second, BlockIndex(1));
    ASSERT_EQ(problem.may_overlap.size(), 1U);
    EXPECT_EQ(problem.may_overlap[0].first, BlockIndex(2));
    EXPECT_EQ(problem.may_overlap[0].second, BlockIndex(1));
  }
}

// Every plan of what is assembled is a plan of the blocks, and no larger. Few sizes and steps, so
// that much matches.
TEST(Assembly, PlansOfAssembledBlocksArePlansOfTheirParts) {
  test::ProblemShape shape;
  shape.max_blocks = 60;
  shape.max_steps = 12;
  shape.max_size_bytes = 6;
  shape.fixed_chance = 3;
  shape.max_overlaps = 1;
  std::size_t before = 0;
  std::size_t after = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    shape.alignment_count = seed % 4 == 0 ? 2 : 1;
    const OwnedProblem owned = test::random_problem(seed, shape);
    const Result<RegionBound> bound = lower_bound(owned.view(), kReusableRegion);
    ASSERT_TRUE(bound.ok());
    test::PlanCopy copy(test::plan_of(owned));
    for (const AssemblyRules rules : kEveryRule) {
      Assembly assembly(heap_upstream());
      ASSERT_TRUE(assembly.reset(owned.view(), kReusableRegion, bound->unit_bytes, rules));
      before += owned.blocks.size();
      after += assembly.problem().blocks.size();
      const Result<MemoryPlan> plan = ArenaPlanner().plan(assembly.problem());
      ASSERT_TRUE(plan.ok()) << text_of(plan.status().reason());
      std::vector<std::uint64_t> small;
      for (const Placement& placement : plan->placements()) small.push_back(placement.offset_bytes);
      std::vector<std::uint64_t> offsets(owned.blocks.size());
      assembly.spread(small, offsets);
      std::uint64_t arena_bytes = 0;
      for (std::size_t i = 0; i < offsets.size(); ++i) {
        const Block& one = owned.blocks[i];
        if (one.region != kReusableRegion || one.size_bytes == 0) continue;
        copy.placements[i].offset_bytes = offsets[i];
        arena_bytes = std::max(arena_bytes, offsets[i] + one.size_bytes);
      }
      EXPECT_LE(arena_bytes, plan->arena_bytes());
      copy.regions[0].arena_bytes = plan->arena_bytes();
      copy.layouts[0].size_bytes = plan->layouts()[0].size_bytes;
      const Status status = verify(owned.view(), copy.make());
      EXPECT_TRUE(status.ok()) << text_of(status.reason());
    }
  }
  std::printf("%zu blocks became %zu\n", before, after);
  EXPECT_LT(after, before * 4 / 5);
}

TEST(Assembly, ARefusedUpstreamIsAnAnswer) {
  OwnedProblem owned;
  owned.blocks = {block(70, 0, 2), block(30, 0, 6), block(80, 7, 9), block(20, 3, 9),
                  block(25, 3, 6), block(25, 3, 6), block(8, 0, 1),  block(8, 0, 2)};
  owned.conflicts = {test::pair(6, 7)};
  owned.may_overlap = {test::pair(6, 7)};
  std::uint64_t k_max = 0;
  for (;; ++k_max) {
    test::TestUpstream upstream;
    Assembly assembly(upstream.get());
    upstream.refuse_call(k_max);
    if (assembly.reset(owned.view(), kReusableRegion, 1, kMatching)) break;
  }
  EXPECT_GT(k_max, 8U);
}

}  // namespace
}  // namespace tenure::internal
