// SPDX-License-Identifier: Apache-2.0

// Which blocks are to blame when a limit cannot be met: what is returned really cannot fit, and
// when it is called irreducible, all but one of it can.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "support/optimum.h"
#include "support/problems.h"
#include "support/random.h"
#include "support/upstreams.h"
#include "tenure/explain.h"
#include "tenure/planner.h"

namespace tenure {
namespace {

using test::OwnedProblem;
using test::ProblemShape;

LimitExplanation explain(const OwnedProblem& owned, std::uint64_t limit_bytes,
                         const LimitOptions& options = LimitOptions()) {
  Result<LimitExplanation> explanation = explain_limit(owned.view(), limit_bytes, options);
  EXPECT_TRUE(explanation.ok()) << text_of(explanation.status().reason());
  return explanation.ok() ? static_cast<LimitExplanation&&>(explanation.value())
                          : LimitExplanation();
}

std::vector<std::uint32_t> indices(const LimitExplanation& explanation) {
  std::vector<std::uint32_t> list;
  for (const BlockIndex block : explanation.blocks) list.push_back(block.value);
  return list;
}

using Indices = std::vector<std::uint32_t>;

// All blocks but those of the list lose their bytes, and are in nobody's way.
OwnedProblem only(const OwnedProblem& owned, const Indices& kept) {
  OwnedProblem rest = owned;
  for (std::uint32_t i = 0; i < rest.blocks.size(); ++i) {
    if (std::find(kept.begin(), kept.end(), i) == kept.end()) rest.blocks[i].size_bytes = 0;
  }
  return rest;
}

// By brute force; of a limit that is a multiple of the unit.
bool fits(const OwnedProblem& owned, const Indices& kept, std::uint64_t limit_bytes,
          RegionIndex region = kReusableRegion) {
  const OwnedProblem rest = only(owned, kept);
  return test::Optimum(rest.view(), region).high_water_mark() <= limit_bytes;
}

bool all_but_one_fit(const OwnedProblem& owned, const Indices& kept, std::uint64_t limit_bytes,
                     RegionIndex region = kReusableRegion) {
  for (std::size_t i = 0; i < kept.size(); ++i) {
    Indices others = kept;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    if (!fits(owned, others, limit_bytes, region)) return false;
  }
  return true;
}

TEST(ExplainLimit, NamesTheLargestBlocksOfAStepThatIsTooFull) {
  OwnedProblem owned;
  owned.blocks = {test::block(5, 0, 3), test::block(1, 2, 2), test::block(7, 2, 4),
                  test::block(2, 1, 2), test::block(9, 5, 6)};
  // Live at step 2: 5 + 1 + 7 + 2 = 15 bytes, of which 7 + 5 are more than 11.
  const LimitExplanation who = explain(owned, 11);
  EXPECT_EQ(who.fitting, Fitting::kDoesNotFit);
  EXPECT_EQ(indices(who), (Indices{2, 0}));
  EXPECT_TRUE(who.is_irreducible);
  EXPECT_EQ(who.step, Step(2));
  EXPECT_EQ(who.lower_bound_bytes, 15U);
  EXPECT_EQ(who.search_steps, 0U);
  EXPECT_EQ(indices(explain(owned, 14)), (Indices{2, 0, 3, 1}));
  EXPECT_EQ(explain(owned, 15).fitting, Fitting::kFits);
  EXPECT_TRUE(explain(owned, 15).blocks.empty());
}

TEST(ExplainLimit, NamesABlockThatIsTooLargeByItself) {
  OwnedProblem owned;
  owned.blocks = {test::block(65, 0, 0, 64), test::block(100, 1, 1, 64), test::block(3, 0, 0, 64)};
  // 100 rounded up to the unit is 128, and 127 down to it is 64.
  EXPECT_EQ(indices(explain(owned, 127)), (Indices{1}));
  EXPECT_EQ(explain(owned, 127).step, Step(1));
  EXPECT_EQ(indices(explain(owned, 128)), (Indices{0, 2}));
  EXPECT_EQ(explain(owned, 192).fitting, Fitting::kFits);
  EXPECT_EQ(indices(explain(owned, 0)), (Indices{1}));
  EXPECT_EQ(explain(owned, UINT64_MAX).fitting, Fitting::kFits);

  owned.blocks = {test::fixed_block(4, 0, 1, 8), test::block(6, 0, 1)};
  EXPECT_EQ(indices(explain(owned, 11)), (Indices{0}));
  EXPECT_TRUE(explain(owned, 11).is_irreducible);
  EXPECT_EQ(explain(owned, 12).fitting, Fitting::kFits);
}

TEST(ExplainLimit, NamesAConflictingPairThatNeverLivesTogether) {
  OwnedProblem owned;
  owned.blocks = {test::block(4, 0, 0), test::block(5, 2, 2), test::block(3, 0, 2)};
  owned.conflicts = {test::pair(0, 1)};
  const LimitExplanation who = explain(owned, 8);
  EXPECT_EQ(indices(who), (Indices{1, 0}));
  EXPECT_TRUE(who.step.is_none());
  EXPECT_TRUE(who.is_irreducible);
}

// 6 may lie on 7: 13 bytes never have to be there at once.
TEST(ExplainLimit, LeavesOutWhatMayOverlap) {
  OwnedProblem owned;
  owned.blocks = {test::block(6, 0, 1), test::block(7, 0, 1), test::block(4, 1, 1)};
  owned.may_overlap = {test::pair(0, 1)};
  EXPECT_EQ(explain(owned, 11).fitting, Fitting::kFits);
  EXPECT_EQ(indices(explain(owned, 10)), (Indices{1, 2}));
}

// 1 + 15 padding + 1 = 17, though the bound is 2: the search has to show it, and that 16 of the
// blocks are not to blame.
TEST(ExplainLimit, NamesBlocksThatOnlyAlignmentKeepsApart) {
  OwnedProblem owned;
  owned.blocks = {test::block(1, 7, 8, 16), test::block(1, 8, 9, 16)};
  for (std::uint32_t i = 0; i < 16; ++i) owned.blocks.push_back(test::block(2, i, i, 1));
  const LimitExplanation who = explain(owned, 16);
  EXPECT_EQ(who.fitting, Fitting::kDoesNotFit);
  EXPECT_EQ(indices(who), (Indices{0, 1}));
  EXPECT_TRUE(who.is_irreducible);
  EXPECT_EQ(who.step, Step(8));
  EXPECT_EQ(explain(owned, 17).fitting, Fitting::kFits);
}

// 9 + 7 padding + 9 = 25, and the 7 bytes go between.
TEST(ExplainLimit, TakesOutOfAFullStepWhatIsNotNeeded) {
  OwnedProblem owned;
  owned.blocks = {test::block(9, 0, 1, 16), test::block(9, 1, 2, 16), test::block(7, 1, 1, 1)};
  EXPECT_EQ(explain(owned, 25).fitting, Fitting::kFits);
  const LimitExplanation who = explain(owned, 24);
  EXPECT_EQ(who.lower_bound_bytes, 25U);
  EXPECT_EQ(indices(who), (Indices{0, 1}));
  EXPECT_TRUE(who.is_irreducible);
  EXPECT_EQ(who.step, Step(1));
}

TEST(ExplainLimit, WithoutStepsIsNotKnownOrNotReduced) {
  OwnedProblem owned;
  owned.blocks = {test::block(1, 7, 8, 16), test::block(1, 8, 9, 16), test::block(2, 8, 8, 1)};
  const LimitOptions none = LimitOptions().set_search_steps(0);
  const LimitExplanation unknown = explain(owned, 16, none);
  EXPECT_EQ(unknown.fitting, Fitting::kNotKnown);
  EXPECT_TRUE(unknown.blocks.empty());
  EXPECT_FALSE(unknown.is_irreducible);
  const LimitExplanation full = explain(owned, 3, none);  // 1 + 1 + 2 bytes
  EXPECT_EQ(full.fitting, Fitting::kDoesNotFit);
  EXPECT_EQ(indices(full), (Indices{2, 0, 1}));
  EXPECT_FALSE(full.is_irreducible);  // 0 and 1 alone are too much already
  EXPECT_EQ(indices(explain(owned, 3)), (Indices{0, 1}));
}

TEST(ExplainLimit, AnswersForOtherRegionsAndRefusesThoseThatAreNotThere) {
  OwnedProblem owned;
  owned.blocks = {test::in_region(1, test::block(4, 0, 0)),
                  test::in_region(1, test::block(5, 7, 8)), test::block(100, 0, 9)};
  const LimitOptions persistent = LimitOptions().set_region(kPersistentRegion);
  // Blocks of a region without reuse are apart at all times.
  EXPECT_EQ(indices(explain(owned, 8, persistent)), (Indices{1, 0}));
  EXPECT_TRUE(explain(owned, 8, persistent).step.is_none());
  EXPECT_EQ(explain(owned, 9, persistent).fitting, Fitting::kFits);
  EXPECT_EQ(
      explain_limit(owned.view(), 8, LimitOptions().set_region(RegionIndex(2))).status().reason(),
      Reason::kIndexOutOfRange);
  owned.blocks[1].live_range = {Step(3), Step(2)};
  EXPECT_EQ(explain_limit(owned.view(), 8).status().reason(), Reason::kReversedLiveRange);
}

struct Tally {
  std::uint32_t by_adding_up = 0;
  std::uint32_t by_search = 0;
  std::uint32_t fitting = 0;
};

void expect_right(const OwnedProblem& owned, std::uint64_t limit_bytes, RegionIndex region,
                  Tally* tally) {
  const std::uint64_t unit = test::unit_bytes(owned.view(), region);
  const std::uint64_t limit = limit_bytes / unit * unit;
  const LimitExplanation who = explain(owned, limit_bytes, LimitOptions().set_region(region));
  Indices all;
  for (std::uint32_t i = 0; i < owned.blocks.size(); ++i) {
    if (owned.blocks[i].region == region) all.push_back(i);
  }
  const bool all_fit = fits(owned, all, limit, region);
  ASSERT_EQ(who.fitting, all_fit ? Fitting::kFits : Fitting::kDoesNotFit);
  ASSERT_EQ(who.blocks.empty(), all_fit);
  if (all_fit) {
    ASSERT_FALSE(who.is_irreducible);
    ++tally->fitting;
    return;
  }
  const Indices blamed = indices(who);
  ASSERT_FALSE(fits(owned, blamed, limit, region));
  ASSERT_TRUE(who.is_irreducible);  // there are steps enough for so few blocks
  ASSERT_TRUE(all_but_one_fit(owned, blamed, limit, region));
  for (const std::uint32_t i : blamed) {
    ASSERT_EQ(owned.blocks[i].region, region);
    if (who.step.is_none()) continue;
    ASSERT_TRUE(owned.blocks[i].live_range.overlaps({who.step, who.step}));
  }
  for (std::size_t i = 1; i < blamed.size(); ++i) {
    ASSERT_GE(owned.blocks[blamed[i - 1]].size_bytes, owned.blocks[blamed[i]].size_bytes);
  }
  const bool is_by_search = test::naive_bound(owned.view(), region).bytes() <= limit;
  ++(is_by_search ? tally->by_search : tally->by_adding_up);
}

TEST(ExplainLimit, IsWhatBruteForceSays) {
  ProblemShape plain;
  plain.max_blocks = 7;
  plain.max_steps = 6;
  plain.max_size_bytes = 20;
  plain.alignment_count = 3;
  plain.fixed_chance = plain.max_conflicts = plain.max_overlaps = 0;
  ProblemShape everything = plain;
  everything.fixed_chance = 25;
  everything.fixed_range_bytes = 60;
  everything.max_conflicts = everything.max_overlaps = 3;
  ProblemShape aligned = everything;
  aligned.alignment_count = 7;
  ProblemShape regions = everything;
  regions.region_count = 2;
  regions.no_reuse_chance = 50;
  Tally tally;
  for (const ProblemShape& shape : {plain, everything, aligned, regions}) {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
      SCOPED_TRACE(seed);
      const OwnedProblem random = test::random_problem(seed, shape);
      const RegionIndex region(static_cast<std::uint32_t>(shape.region_count - 1));
      const std::uint64_t optimum = test::Optimum(random.view(), region).arena_bytes();
      const std::uint64_t bound = test::naive_bound(random.view(), region).bytes();
      for (const std::uint64_t limit :
           {std::uint64_t{0}, bound / 2, bound - std::min<std::uint64_t>(bound, 1), bound,
            (bound + optimum) / 2, optimum - std::min<std::uint64_t>(optimum, 1), optimum}) {
        SCOPED_TRACE(limit);
        expect_right(random, limit, region, &tally);
        if (HasFatalFailure()) return;
      }
    }
  }
  std::printf("too large by a sum %u, by a search %u, not %u\n", tally.by_adding_up,
              tally.by_search, tally.fitting);
  EXPECT_GT(tally.by_adding_up, 500U);
  EXPECT_GT(tally.by_search, 100U);
  EXPECT_GT(tally.fitting, 500U);
}

// Seven blocks that only a search can blame, among many small ones before, beside and behind them.
TEST(ExplainLimit, FindsTheFewAmongMany) {
  ProblemShape shape;
  shape.max_blocks = 7;
  shape.max_steps = 7;
  shape.fixed_chance = shape.max_conflicts = shape.max_overlaps = 0;
  std::uint32_t asked = 0;
  std::uint32_t found = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    OwnedProblem random = test::random_problem(seed, shape);
    const std::uint64_t optimum = test::Optimum(random.view(), kReusableRegion).high_water_mark();
    if (optimum == 0 || random.blocks[0].live_range.first_use.value > 1000) continue;
    const std::uint64_t limit = optimum - 1;
    for (Block& block : random.blocks) {
      block.live_range.first_use.value += 20;
      block.live_range.last_use.value += 20;
    }
    test::Random draw(seed);
    for (std::uint32_t i = 0; i < 60; ++i) {
      const std::uint32_t first = draw.index(40);
      random.blocks.push_back(test::block(draw.between(1, 3), first, first + draw.index(5)));
    }
    if (test::naive_bound(random.view(), kReusableRegion).bytes() > limit) continue;
    ++asked;
    const LimitOptions options = LimitOptions().set_search_steps(30'000);
    const LimitExplanation who = explain(random, limit, options);
    ASSERT_NE(who.fitting, Fitting::kFits);
    if (who.is_irreducible && who.blocks.size() <= 8) {
      ASSERT_FALSE(fits(random, indices(who), limit));
      ASSERT_TRUE(all_but_one_fit(random, indices(who), limit));
      ++found;
    }
    const LimitExplanation again = explain(random, limit, options);
    ASSERT_EQ(indices(again), indices(who));
    ASSERT_EQ(again.search_steps, who.search_steps);
  }
  std::printf("found the few among many %u of %u times\n", found, asked);
  EXPECT_GT(asked, 10U);
  EXPECT_GE(found, asked * 3 / 4);
}

TEST(ExplainLimit, KeepsWithinItsStepsAndNeverBlamesWhatFits) {
  ProblemShape shape;
  shape.max_blocks = 40;
  shape.max_steps = 20;
  shape.alignment_count = 4;
  std::uint32_t blamed = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const OwnedProblem random = test::random_problem(seed, shape);
    const Result<MemoryPlan> plan =
        ArenaPlanner(PlannerOptions().set_effort(Effort::kBest).set_search_steps(5000))
            .plan(random.view());
    ASSERT_TRUE(plan.ok());
    for (const std::uint64_t steps : {0U, 1U, 50U, 1000U, 20'000U}) {
      const LimitOptions options = LimitOptions().set_search_steps(steps);
      const LimitExplanation who = explain(random, plan->arena_bytes(), options);
      ASSERT_NE(who.fitting, Fitting::kDoesNotFit);
      ASSERT_LE(who.search_steps, steps);
      if (plan->arena_bytes() == 0) continue;
      // Too small by a unit: every block that is blamed can be taken for it only when nothing fits.
      const LimitExplanation tight = explain(random, plan->arena_bytes() - 1, options);
      ASSERT_LE(tight.search_steps, steps);
      ASSERT_EQ(tight.blocks.empty(), tight.fitting != Fitting::kDoesNotFit);
      if (tight.fitting == Fitting::kDoesNotFit) ++blamed;
      if (plan->region(kReusableRegion).is_optimal()) {
        ASSERT_NE(tight.fitting, Fitting::kFits);
      }
    }
  }
  EXPECT_GT(blamed, 50U);
}

TEST(ExplainLimit, ARefusedUpstreamIsAStatus) {
  OwnedProblem owned;
  owned.blocks = {test::block(1, 7, 8, 16), test::block(1, 8, 9, 16), test::fixed_block(2, 2, 3, 6),
                  test::block(9, 3, 3, 2)};
  for (std::uint32_t i = 0; i < 16; ++i) owned.blocks.push_back(test::block(2, i, i, 1));
  owned.conflicts = {test::pair(4, 12), test::pair(5, 14)};
  owned.may_overlap = {test::pair(2, 3)};
  for (const std::uint64_t limit : {1U, 10U, 16U, 17U}) {
    std::uint64_t call = 0;
    for (;; ++call) {
      ASSERT_LT(call, 20'000U);
      test::TestUpstream upstream;
      upstream.refuse_call(call);
      const Result<LimitExplanation> who =
          explain_limit(owned.view(), limit, LimitOptions().set_upstream(upstream.get()));
      if (upstream.refusals() == 0) {
        EXPECT_TRUE(who.ok());
        break;
      }
      ASSERT_EQ(who.status().reason(), Reason::kUpstreamRefused) << "call " << call;
    }
    std::printf("limit %u: no call was refused from k = %u on\n", static_cast<unsigned>(limit),
                static_cast<unsigned>(call));
    EXPECT_GT(call, 4U);
  }
}

}  // namespace
}  // namespace tenure
