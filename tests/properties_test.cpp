// SPDX-License-Identifier: Apache-2.0

// What holds for every plan, on thousands of seeded random problems: it is the plan that plain
// first fit gives, it is safe, no better than the optimum, and the same on every machine.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/optimum.h"
#include "support/plans.h"
#include "support/problems.h"
#include "tenure/planner.h"
#include "tenure/verify.h"

namespace tenure {
namespace {

using test::OwnedProblem;
using test::plan_of;
using test::ProblemShape;

// What differs from one shape to the next is what the planner has to look at.
struct NamedShape {
  const char* name;
  std::uint64_t rounds;
  ProblemShape shape;
};

std::vector<NamedShape> all_shapes() {
  ProblemShape plain;
  plain.fixed_chance = plain.max_conflicts = plain.max_overlaps = 0;
  ProblemShape unaligned = plain;
  unaligned.alignment_count = 1;
  ProblemShape crowded = plain;
  crowded.max_blocks = 150;
  crowded.max_steps = 12;
  ProblemShape long_run = plain;
  long_run.max_blocks = 60;
  long_run.max_steps = 200;
  ProblemShape fixed;
  fixed.max_conflicts = fixed.max_overlaps = 0;
  fixed.fixed_chance = 40;
  ProblemShape paired;
  paired.max_conflicts = paired.max_overlaps = 12;
  paired.alignment_count = 3;
  ProblemShape regions;
  regions.region_count = 3;
  regions.max_blocks = 30;
  regions.no_reuse_chance = 30;
  ProblemShape everything = regions;
  everything.max_conflicts = everything.max_overlaps = 20;
  everything.fixed_chance = 25;
  everything.alignment_count = 13;
  everything.max_size_bytes = 5000;
  everything.fixed_range_bytes = 20'000;
  ProblemShape large = everything;
  large.max_blocks = 600;
  large.max_steps = 400;
  large.max_conflicts = large.max_overlaps = 80;
  large.fixed_chance = 5;
  large.fixed_range_bytes = 20'000;
  ProblemShape large_plain = plain;
  large_plain.max_blocks = 800;
  large_plain.max_steps = 300;
  ProblemShape sparse = fixed;  // many gaps of many sizes
  sparse.max_blocks = 400;
  sparse.max_steps = 60;
  sparse.max_size_bytes = 60;
  sparse.fixed_chance = 70;
  sparse.fixed_range_bytes = 20'000;
  return {{"plain", 500, plain},     {"unaligned", 500, unaligned},
          {"crowded", 60, crowded},  {"long", 60, long_run},
          {"fixed", 500, fixed},     {"paired", 500, paired},
          {"regions", 300, regions}, {"everything", 300, everything},
          {"large", 6, large},       {"large and plain", 6, large_plain},
          {"sparse", 12, sparse}};
}

void expect_first_fit(const NamedShape& named) {
  SCOPED_TRACE(named.name);
  for (std::uint64_t seed = 0; seed < named.rounds; ++seed) {
    SCOPED_TRACE(seed);
    const OwnedProblem random = test::random_problem(seed, named.shape);
    const MemoryPlan plan = plan_of(random);
    ASSERT_EQ(plan.placements().size(), random.blocks.size());
    const std::vector<std::uint64_t> expected = test::first_fit(random.view());
    for (std::uint32_t i = 0; i < random.blocks.size(); ++i) {
      const Block& block = random.blocks[i];
      if (!random.regions[block.region.value].reuse) continue;
      ASSERT_EQ(plan.placement(BlockIndex(i)).offset_bytes, expected[i]) << "block " << i;
    }
  }
}

TEST(PlanProperties, OffsetsAreExactlyThoseOfPlainFirstFit) {
  for (const NamedShape& named : all_shapes()) expect_first_fit(named);
}

// What networks look like: most blocks die soon, so that a planner that cuts time into pieces has
// many of them.
TEST(PlanProperties, OffsetsOfShortLivedBlocksAreThoseOfPlainFirstFit) {
  for (const std::uint32_t length : {1U, 3U, 12U, 60U}) {
    ProblemShape shape;
    shape.max_blocks = 700;
    shape.max_steps = 500;
    shape.max_length = length;
    shape.fixed_chance = 3;
    shape.fixed_range_bytes = 3000;
    shape.max_conflicts = 20;
    shape.max_overlaps = 0;
    expect_first_fit({"no overlaps", 3, shape});
    shape.max_overlaps = 40;
    expect_first_fit({"overlaps", 3, shape});
  }
}

TEST(PlanProperties, PlansAreSafeAndSayHowLargeTheyAre) {
  for (const NamedShape& named : all_shapes()) {
    SCOPED_TRACE(named.name);
    const std::uint64_t end = 1000 + (named.rounds + 3) / 4;
    for (std::uint64_t seed = 1000; seed < end; ++seed) {
      SCOPED_TRACE(seed);
      const OwnedProblem random = test::random_problem(seed, named.shape);
      const MemoryPlan plan = plan_of(random);
      const Status status = verify(random.view(), plan);
      ASSERT_TRUE(status.ok()) << text_of(status.reason());
      if (random.blocks.size() > 200) continue;  // the rest looks at every pair at every step
      ASSERT_TRUE(test::is_acceptable(random.view(), test::PlanCopy(plan)));
      std::vector<std::uint64_t> offsets;
      for (const Placement& placement : plan.placements()) {
        offsets.push_back(placement.offset_bytes);
      }
      for (std::uint32_t i = 0; i < random.regions.size(); ++i) {
        const RegionIndex region(i);
        ASSERT_EQ(plan.arena_bytes(region), test::arena_bytes(random.view(), region, offsets));
        ASSERT_EQ(plan.lower_bound_bytes(region), test::naive_bound(random.view(), region).bytes());
        ASSERT_GE(plan.arena_bytes(region), plan.lower_bound_bytes(region));
        ASSERT_EQ(plan.layouts()[i].size_bytes, plan.arena_bytes(region));
      }
    }
  }
}

// P9 (ONE 2994): many tensors, few of them live together.
TEST(PlanProperties, TenThousandBlocksArePlannedAndProven) {
  test::Random draw(1);
  OwnedProblem owned;
  std::vector<std::uint64_t> live_bytes(10'016);
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    const std::uint64_t size = draw.between(1, 100'000);
    const std::uint32_t last = i + draw.index(16);
    owned.blocks.push_back(test::block(size, i, last, 64));
    for (std::uint32_t step = i; step <= last; ++step) live_bytes[step] += test::round_up(size, 64);
  }
  const MemoryPlan plan = plan_of(owned);
  EXPECT_TRUE(verify(owned.view(), plan).ok());
  EXPECT_EQ(plan.lower_bound_bytes(), *std::max_element(live_bytes.begin(), live_bytes.end()));
  EXPECT_GE(plan.arena_bytes(), plan.lower_bound_bytes());
  EXPECT_LT(plan.arena_bytes(), plan.lower_bound_bytes() * 3 / 2);
}

TEST(PlanProperties, WithoutReuseNoTwoBlocksShareBytesAndTheyLieInOrder) {
  ProblemShape shape;
  shape.region_count = 2;
  shape.no_reuse_chance = 100;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    const OwnedProblem random = test::random_problem(seed, shape);
    const MemoryPlan plan = plan_of(random);
    ASSERT_TRUE(verify(random.view(), plan).ok());
    std::uint64_t ends[2] = {0, 0};
    for (std::uint32_t i = 0; i < random.blocks.size(); ++i) {
      const Block& block = random.blocks[i];
      if (block.is_fixed() || block.size_bytes == 0) continue;
      const std::uint64_t offset = plan.placement(BlockIndex(i)).offset_bytes;
      std::uint64_t& end = ends[block.region.value];
      ASSERT_GE(offset, end) << "block " << i;
      end = offset + block.size_bytes;
    }
  }
}

TEST(PlanProperties, NoPlanIsBelowTheOptimumNorTheBoundAboveIt) {
  ProblemShape shape;
  shape.max_blocks = 7;
  shape.max_steps = 6;
  std::uint32_t optimal = 0;
  std::uint32_t proven = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const OwnedProblem random = test::random_problem(seed, shape);
    const MemoryPlan plan = plan_of(random);
    const std::uint64_t optimum = test::Optimum(random.view(), kReusableRegion).arena_bytes();
    ASSERT_GE(plan.arena_bytes(), optimum);
    ASSERT_LE(plan.lower_bound_bytes(), optimum);
    if (plan.arena_bytes() == optimum) ++optimal;
    if (!plan.region(kReusableRegion).is_optimal()) continue;
    ASSERT_EQ(plan.arena_bytes(), optimum);
    ++proven;
  }
  EXPECT_GT(optimal, 250U);
  EXPECT_GT(proven, 150U);
  EXPECT_LT(optimal, 400U);  // or the problems would be too easy to tell
}

// The oracle has an oracle: trying every offset.
TEST(PlanProperties, TheOptimumIsWhatTryingEveryOffsetGives) {
  ProblemShape shape;
  shape.max_blocks = 5;
  shape.max_steps = 5;
  shape.max_size_bytes = 5;
  shape.fixed_range_bytes = 20;
  shape.alignment_count = 3;
  shape.fixed_chance = 25;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const OwnedProblem random = test::random_problem(seed, shape);
    const std::uint64_t optimum = test::Optimum(random.view(), kReusableRegion).arena_bytes();
    // Fixed ones end below 4 x 5 + 8, and five blocks on top of that at 5 x (8 + 3 padding) more.
    ASSERT_EQ(optimum, test::EveryOffset(random.view(), 100).arena_bytes());
  }
}

TEST(PlanProperties, RepeatedRunsGiveTheSameHash) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const OwnedProblem first = test::random_problem(seed);
    const OwnedProblem second = test::random_problem(seed);  // at other addresses
    ASSERT_EQ(plan_of(first).hash(), plan_of(second).hash());
    ASSERT_EQ(plan_of(first).hash(), plan_of(first).hash());
  }
}

// Law 2: one number on gcc, clang, x86-64, AArch64, ARMv7. It changes only when the default
// placement, the lower bound, MemoryPlan::hash or random_problem changes; then say so in the
// commit.
TEST(PlanProperties, PlansOfAFixedSetAreTheSameOnEveryMachine) {
  std::uint64_t golden = 0;
  for (const NamedShape& named : all_shapes()) {
    for (std::uint64_t seed = 0; seed < named.rounds && seed < 50; ++seed) {
      golden = test::mix(golden ^ plan_of(test::random_problem(seed, named.shape)).hash());
    }
  }
  EXPECT_EQ(golden, 0xC143EABF0FAAB2B8U);
}

}  // namespace
}  // namespace tenure
