// SPDX-License-Identifier: Apache-2.0

// Efforts above kFast: never worse than the one before, sound, deterministic, and exact where the
// optimum is known.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <tuple>
#include <utility>
#include <vector>

#include "support/optimum.h"
#include "support/plans.h"
#include "support/problems.h"
#include "support/random.h"
#include "support/upstreams.h"
#include "tenure/planner.h"
#include "tenure/verify.h"

namespace tenure {
namespace {

using test::OwnedProblem;
using test::plan_of;
using test::ProblemShape;

PlannerOptions with(Effort effort) { return PlannerOptions().set_effort(effort); }

// A rectangle of bytes and steps, cut into pieces: they can be packed again without a gap. The first
// few may be fixed where they were.
OwnedProblem cut_rectangle(std::uint64_t seed, std::uint32_t pieces, std::uint64_t height,
                           std::uint32_t fixed = 0) {
  struct Piece {
    std::uint64_t low;
    std::uint64_t high;
    std::uint32_t first;
    std::uint32_t last;
  };
  test::Random random(seed);
  std::vector<Piece> cut{{0, height, 0, 199}};
  while (cut.size() < pieces) {
    const std::size_t index = random.index(cut.size());
    Piece rest = cut[index];
    if (random.chance(50)) {
      if (rest.high - rest.low < 2) continue;
      rest.low = cut[index].high = random.between(rest.low + 1, rest.high - 1);
    } else {
      if (rest.first == rest.last) continue;
      const auto at = static_cast<std::uint32_t>(random.between(rest.first, rest.last - 1));
      cut[index].last = at;
      rest.first = at + 1;
    }
    cut.push_back(rest);
  }
  OwnedProblem owned;
  for (const Piece& piece : cut) {
    owned.blocks.push_back(test::block(piece.high - piece.low, piece.first, piece.last, 1));
    if (owned.blocks.size() <= fixed) owned.blocks.back().fixed_offset_bytes = piece.low;
  }
  return owned;
}

// P2 of the cases: greedy by size gives 24, the optimum is 16.
TEST(Search, MeetsTheBoundWhereSizeOrderMisses) {
  OwnedProblem owned;
  for (const auto& [size, first, last] :
       std::vector<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>>{
           {1, 4, 7}, {6, 2, 4}, {8, 3, 4}, {3, 1, 2}, {3, 0, 2}, {4, 0, 2}, {6, 0, 1}}) {
    owned.blocks.push_back(test::block(size, first, last, 1));
  }
  EXPECT_EQ(plan_of(owned, with(Effort::kFast)).arena_bytes(), 24U);
  const MemoryPlan plan = plan_of(owned, with(Effort::kBalanced));
  EXPECT_EQ(plan.arena_bytes(), 16U);
  EXPECT_TRUE(plan.region(kReusableRegion).is_optimal());
}

TEST(Search, BestIsOptimalForFewBlocksAndSaysSo) {
  ProblemShape shape;
  shape.max_blocks = 8;
  shape.max_steps = 7;
  shape.alignment_count = 4;
  std::uint32_t above_the_bound = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    const OwnedProblem random = test::random_problem(seed, shape);
    const MemoryPlan plan = plan_of(random, with(Effort::kBest));
    const std::uint64_t optimum = test::Optimum(random.view(), kReusableRegion).arena_bytes();
    ASSERT_EQ(plan.arena_bytes(), optimum);
    ASSERT_TRUE(plan.region(kReusableRegion).is_optimal());
    if (plan.arena_bytes() != plan.lower_bound_bytes()) ++above_the_bound;
  }
  std::printf("%u of 500 optima are above the lower bound\n", above_the_bound);
  EXPECT_GT(above_the_bound, 50U);  // so that a proof was needed
}

// What prunes shows in how many steps a proof takes.
TEST(Search, ProvesMostSmallProblemsInAThousandSteps) {
  ProblemShape shape;
  shape.max_blocks = 8;
  shape.max_steps = 7;
  shape.alignment_count = 4;
  std::uint32_t proven = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const OwnedProblem random = test::random_problem(seed, shape);
    const MemoryPlan plan = plan_of(random, with(Effort::kBest).set_search_steps(1000));
    if (plan.region(kReusableRegion).is_optimal()) ++proven;
  }
  std::printf("%u of 500 proven\n", proven);
  EXPECT_GE(proven, 465U);
}

TEST(Search, NoEffortIsWorseThanTheOneBefore) {
  ProblemShape shape;
  shape.max_blocks = 60;
  shape.max_steps = 40;
  shape.alignment_count = 5;
  shape.region_count = 2;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const OwnedProblem random = test::random_problem(seed, shape);
    std::uint64_t before[2] = {UINT64_MAX, UINT64_MAX};
    for (const Effort effort : {Effort::kFast, Effort::kBalanced, Effort::kBest}) {
      const MemoryPlan plan =
          plan_of(random, with(effort).set_search_steps(3000).set_order(PlacementOrder::kLength));
      for (std::uint32_t i = 0; i < random.regions.size(); ++i) {
        ASSERT_LE(plan.arena_bytes(RegionIndex(i)), before[i]);
        before[i] = plan.arena_bytes(RegionIndex(i));
      }
    }
  }
}

TEST(Search, PacksCutRectanglesWithoutAGap) {
  for (const auto& [pieces, height] :
       std::vector<std::pair<std::uint32_t, std::uint64_t>>{{40, 1000}, {150, 1'000'000}}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const OwnedProblem owned = cut_rectangle(seed, pieces, height);
      const MemoryPlan plan = plan_of(owned, with(Effort::kBest));
      EXPECT_EQ(plan.lower_bound_bytes(), height);
      EXPECT_EQ(plan.arena_bytes(), height) << pieces << " pieces, seed " << seed;
    }
  }
}

TEST(Search, PacksCutRectanglesAroundWhatIsFixed) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const OwnedProblem owned = cut_rectangle(seed, 60, 1'000'000, 8);
    const MemoryPlan plan = plan_of(owned, with(Effort::kBest).set_search_steps(50'000));
    EXPECT_LE(plan.arena_bytes(), 1'001'000U) << seed;
  }
}

TEST(Search, TheSameProblemHasTheSamePlan) {
  const OwnedProblem owned = cut_rectangle(7, 120, 5000);
  const PlannerOptions options = with(Effort::kBest).set_search_steps(20'000);
  EXPECT_EQ(plan_of(owned, options).hash(), plan_of(owned, options).hash());
}

struct Progress {
  std::uint64_t calls = 0;
  std::uint64_t cancel_at = UINT64_MAX;
  SearchReport last;

  static bool report(void* user, const SearchReport& state) noexcept {
    auto* self = static_cast<Progress*>(user);
    if (self->calls != 0) {
      EXPECT_LE(state.arena_bytes, self->last.arena_bytes);
      EXPECT_GE(state.lower_bound_bytes, self->last.lower_bound_bytes);
      EXPECT_GE(state.steps, self->last.steps);
    }
    EXPECT_LE(state.lower_bound_bytes, state.arena_bytes);
    EXPECT_LE(state.steps, state.max_steps);
    self->last = state;
    return ++self->calls < self->cancel_at;
  }
};

TEST(Search, ReportsAndStopsWhenToldTo) {
  const OwnedProblem owned = cut_rectangle(3, 200, 100'000);
  Progress progress;
  const PlannerOptions options = with(Effort::kBest).set_search_steps(20'000);
  MemoryPlan plan =
      plan_of(owned, PlannerOptions(options).set_progress({&Progress::report, &progress}));
  EXPECT_GT(progress.calls, 12U);
  EXPECT_EQ(progress.last.arena_bytes, plan.arena_bytes());
  EXPECT_EQ(progress.last.max_steps, 20'000U);

  Progress cancelling;
  cancelling.cancel_at = 13;
  plan = plan_of(owned, PlannerOptions(options).set_progress({&Progress::report, &cancelling}));
  EXPECT_EQ(cancelling.calls, 13U);
  EXPECT_EQ(cancelling.last.arena_bytes, plan.arena_bytes());
}

TEST(Search, CancellingEndsItForAllRegions) {
  OwnedProblem owned = cut_rectangle(3, 100, 100'000);
  owned.regions = {Region{}, Region{}};
  const std::size_t count = owned.blocks.size();
  for (std::size_t i = 0; i < count; ++i) {
    owned.blocks.push_back(test::in_region(1, owned.blocks[i]));
  }
  Progress cancelling;
  cancelling.cancel_at = 2;
  const MemoryPlan plan =
      plan_of(owned, with(Effort::kBest).set_progress({&Progress::report, &cancelling}));
  EXPECT_EQ(cancelling.calls, 2U);
  EXPECT_GT(plan.arena_bytes(RegionIndex(1)), plan.lower_bound_bytes(RegionIndex(1)));
}

TEST(Search, KeepsWithinItsSteps) {
  const OwnedProblem owned = cut_rectangle(3, 200, 100'000);
  std::uint64_t before = UINT64_MAX;
  for (const std::uint64_t steps : {0U, 1U, 100U, 5000U, 50'000U}) {
    Progress progress;
    const MemoryPlan plan = plan_of(
        owned,
        with(Effort::kBest).set_search_steps(steps).set_progress({&Progress::report, &progress}));
    EXPECT_LE(progress.last.steps, steps);
    EXPECT_LE(plan.arena_bytes(), before);
    before = plan.arena_bytes();
  }
}

// Too many blocks for a search: then steps are spent on strategies that learn what they placed too
// high.
TEST(Search, GoesOnWithStrategiesWhereThereAreTooManyBlocks) {
  test::Random random(1);
  OwnedProblem owned;
  for (std::uint32_t i = 0; i < 4200; ++i) {
    const auto first = static_cast<std::uint32_t>(random.below(1400));
    const auto length = static_cast<std::uint32_t>(random.below(30));
    owned.blocks.push_back(test::block(1 + random.below(1000), first, first + length, 1));
  }
  const std::uint64_t fast = plan_of(owned, with(Effort::kFast)).arena_bytes();
  const std::uint64_t balanced = plan_of(owned, with(Effort::kBalanced)).arena_bytes();
  EXPECT_LT(balanced, fast);
  std::uint64_t before = balanced;
  for (const std::uint64_t steps : {0U, 4199U, 4200U, 300'000U}) {
    Progress progress;
    const MemoryPlan plan = plan_of(
        owned,
        with(Effort::kBest).set_search_steps(steps).set_progress({&Progress::report, &progress}));
    EXPECT_LE(progress.last.steps, steps);
    if (steps == 4200) {  // one pass, a step a block
      EXPECT_EQ(progress.last.steps, steps);
    }
    EXPECT_LE(plan.arena_bytes(), before);
    before = plan.arena_bytes();
  }
  std::printf("fast %llu, balanced %llu, best %llu bytes\n", static_cast<unsigned long long>(fast),
              static_cast<unsigned long long>(balanced), static_cast<unsigned long long>(before));
}

TEST(Search, ARefusedUpstreamIsAStatus) {
  const OwnedProblem owned = cut_rectangle(5, 60, 1000);
  std::uint64_t k_max = 0;
  for (;; ++k_max) {
    test::TestUpstream upstream;
    upstream.refuse_call(k_max);
    const Result<MemoryPlan> plan =
        ArenaPlanner(with(Effort::kBest).set_search_steps(4000).set_upstream(upstream.get()))
            .plan(owned.view());
    if (plan.ok()) {
      EXPECT_EQ(upstream.refusals(), 0U);
      break;
    }
    ASSERT_EQ(plan.status().reason(), Reason::kUpstreamRefused) << "call " << k_max;
  }
  std::printf("no call was refused from k = %llu on\n", static_cast<unsigned long long>(k_max));
  EXPECT_GT(k_max, 100U);
}

}  // namespace
}  // namespace tenure
