// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cstdint>

#include "support/optimum.h"
#include "support/problems.h"
#include "tenure/problem.h"

namespace tenure {
namespace {

using test::block;
using test::fixed_block;
using test::in_region;
using test::kQuarter;
using test::OwnedProblem;
using test::pair;
using test::ProblemShape;

RegionBound bound_of(const OwnedProblem& owned, std::uint32_t region = 0) {
  const Result<RegionBound> bound = lower_bound(owned.view(), RegionIndex(region));
  EXPECT_TRUE(bound.ok()) << text_of(bound.status().reason());
  return bound.ok() ? *bound : RegionBound();
}

std::uint64_t bytes_of(const OwnedProblem& owned, std::uint32_t region = 0) {
  return bound_of(owned, region).lower_bound_bytes;
}

TEST(LowerBound, OfNothingIsNothing) {
  OwnedProblem owned;
  EXPECT_EQ(bytes_of(owned), 0U);
  EXPECT_EQ(bound_of(owned).unit_bytes, 1U);
  EXPECT_TRUE(bound_of(owned).peak_step.is_none());
  owned.blocks = {block(0, 0, 5, 64), in_region(1, block(100, 0, 5, 64))};
  EXPECT_EQ(bytes_of(owned), 0U);
  EXPECT_EQ(bound_of(owned).unit_bytes, 1U);
}

// bytes |  +--+        10 + 20 = 30 at step 1, 20 + 30 = 50 at steps 3 and 4.
//       |  |30|
//       |+-+--+--+
//       ||10|20  |
//       +-0-1-2-3-4-5
TEST(LowerBound, IsTheLargestSumOverOneStepAndNamesTheFirst) {
  OwnedProblem owned;
  owned.blocks = {block(10, 0, 1), block(20, 1, 5), block(30, 3, 4)};
  EXPECT_EQ(bytes_of(owned), 50U);
  EXPECT_EQ(bound_of(owned).peak_step, Step(3));
}

TEST(LowerBound, LiveRangesMeetAtBothEnds) {
  OwnedProblem owned;
  owned.blocks = {block(10, 0, 2), block(20, 2, 4)};
  EXPECT_EQ(bytes_of(owned), 30U);
  owned.blocks[1].live_range.first_use = Step(3);
  EXPECT_EQ(bytes_of(owned), 20U);
  EXPECT_EQ(bound_of(owned).peak_step, Step(3));
}

TEST(LowerBound, RoundsToTheSmallestAlignmentAndNotToEachBlocksOwn) {
  OwnedProblem owned;
  owned.blocks = {block(5, 0, 0, 64), block(3, 0, 0, 4), block(1, 9, 9, 16)};
  EXPECT_EQ(bound_of(owned).unit_bytes, 4U);
  EXPECT_EQ(bytes_of(owned), 12U);  // 8 + 4: the 3 fit into the 64's padding
  // Empty blocks and other regions do not set the unit.
  owned.blocks.push_back(block(0, 0, 0, 1));
  owned.blocks.push_back(in_region(1, block(1, 0, 0, 1)));
  EXPECT_EQ(bound_of(owned).unit_bytes, 4U);
  owned.blocks = {block(1, 0, 0, 4096)};
  EXPECT_EQ(bytes_of(owned), 4096U);
}

TEST(LowerBound, IsNoLessThanTheEndOfAFixedBlock) {
  OwnedProblem owned;
  owned.blocks = {block(10, 0, 0, 4), fixed_block(5, 7, 7, 1000, 4)};
  EXPECT_EQ(bytes_of(owned), 1008U);  // 1000 + 5, rounded up to 4
  EXPECT_EQ(bound_of(owned).peak_step, Step(7));
  owned.blocks[1].size_bytes = 0;
  EXPECT_EQ(bytes_of(owned), 12U);
}

TEST(LowerBound, IsNoLessThanAConflictingPair) {
  OwnedProblem owned;
  owned.blocks = {block(10, 0, 0), block(20, 5, 5), in_region(1, block(90, 9, 9)), block(0, 3, 3)};
  EXPECT_EQ(bytes_of(owned), 20U);
  owned.conflicts = {pair(1, 0)};
  EXPECT_EQ(bytes_of(owned), 30U);
  EXPECT_EQ(bound_of(owned).peak_step, Step(5));
  owned.may_overlap = {pair(0, 1)};
  EXPECT_EQ(bytes_of(owned), 20U);
  owned.conflicts = {pair(1, 2), pair(1, 3)};  // other regions and empty blocks add nothing
  EXPECT_EQ(bytes_of(owned), 20U);
}

TEST(LowerBound, CountsOnlyTheLargerOfTwoThatMayOverlap) {
  OwnedProblem owned;
  owned.blocks = {block(10, 0, 5), block(20, 2, 8), block(5, 3, 3)};
  EXPECT_EQ(bytes_of(owned), 35U);
  owned.may_overlap = {pair(0, 1)};
  EXPECT_EQ(bytes_of(owned), 25U);  // 20 + 5 at step 3
  owned.may_overlap = {pair(1, 0), pair(0, 1), pair(1, 0)};
  EXPECT_EQ(bytes_of(owned), 25U);  // said twice it is still one
  owned.may_overlap = {pair(0, 1), pair(2, 1)};
  EXPECT_EQ(bytes_of(owned), 20U);
  // Where the larger one does not live, the smaller one counts: at step 1.
  owned.blocks.push_back(block(15, 0, 1));
  EXPECT_EQ(bytes_of(owned), 25U);  // 10 + 15
  EXPECT_EQ(bound_of(owned).peak_step, Step(0));
}

// A block that two larger partners cover, at steps that overlap, is left out once of each step.
TEST(LowerBound, LeavesABlockOutOnceHoweverManyLargerPartnersItHas) {
  OwnedProblem owned;
  owned.blocks = {block(10, 0, 9), block(20, 1, 4), block(30, 3, 6)};
  owned.may_overlap = {pair(0, 1), pair(0, 2)};
  EXPECT_EQ(bytes_of(owned), 50U);  // 20 + 30 at steps 3 and 4
  EXPECT_EQ(bound_of(owned).peak_step, Step(3));
  owned.blocks.push_back(block(45, 8, 9));  // 10 + 45: at step 8 the small one counts again
  EXPECT_EQ(bytes_of(owned), 55U);
  EXPECT_EQ(bound_of(owned).peak_step, Step(8));
}

TEST(LowerBound, CountsOneOfTwoEqualBlocksHoweverThePairIsWritten) {
  OwnedProblem owned;
  owned.blocks = {block(10, 0, 0), block(10, 0, 0)};
  for (const BlockPair& twin : {pair(0, 1), pair(1, 0)}) {
    owned.may_overlap = {pair(0, 1), twin};
    EXPECT_EQ(bytes_of(owned), 10U);
    owned.may_overlap = {pair(1, 0), twin};
    EXPECT_EQ(bytes_of(owned), 10U);
  }
}

TEST(LowerBound, WithoutReuseIsTheSumOfAllBlocks) {
  OwnedProblem owned;
  owned.blocks = {in_region(1, block(10, 0, 0)), in_region(1, block(20, 5, 5)),
                  in_region(1, block(30, 9, 9))};
  EXPECT_EQ(bytes_of(owned, 1), 60U);
  EXPECT_EQ(bytes_of(owned, 0), 0U);
  owned.may_overlap = {pair(0, 2)};
  EXPECT_EQ(bytes_of(owned, 1), 50U);
}

TEST(LowerBound, CountsAtTheLastStepThatThereIs) {
  constexpr std::uint32_t kLast = Step::kNoneValue - 1;
  OwnedProblem owned;
  owned.blocks = {block(10, 0, kLast), block(20, kLast, kLast), block(7, kLast - 1, kLast)};
  EXPECT_EQ(bytes_of(owned), 37U);
  EXPECT_EQ(bound_of(owned).peak_step, Step(kLast));
  owned.may_overlap = {pair(0, 1)};
  EXPECT_EQ(bytes_of(owned), 27U);
}

TEST(LowerBound, IsExactUpToTheLargestArena) {
  OwnedProblem owned;
  owned.blocks = {block(kQuarter, 0, 0), block(kQuarter - 1, 0, 0)};
  EXPECT_EQ(bytes_of(owned), kMaxArenaBytes);
  owned.blocks.push_back(block(1, 0, 0));
  const Status status = lower_bound(owned.view(), RegionIndex(0)).status();
  EXPECT_EQ(status.reason(), Reason::kSizeOverflow);
  EXPECT_EQ(status.step, Step(0));
  EXPECT_FALSE(status.block.is_none());
  owned.blocks[2].live_range = {Step(1), Step(1)};
  EXPECT_EQ(bytes_of(owned), kMaxArenaBytes);
}

// Four times 2^62 wraps to 0, five times to 2^62; and what wraps comes back when blocks end.
TEST(LowerBound, ASumThatWrapsIsNotTakenForASmallOne) {
  OwnedProblem owned;
  for (std::uint32_t count = 2; count <= 9; ++count) {
    owned.blocks.assign(count, block(kQuarter, 3, 3));
    owned.may_overlap.clear();
    const Status status = lower_bound(owned.view(), RegionIndex(0)).status();
    EXPECT_EQ(status.reason(), Reason::kSizeOverflow);
    EXPECT_EQ(status.step, Step(3));
    // Only one of those that may overlap is counted, so this fits.
    for (std::uint32_t other = 1; other < count; ++other) {
      owned.may_overlap.push_back(pair(0, other));
    }
    EXPECT_EQ(bytes_of(owned), kQuarter);
  }
}

TEST(LowerBound, NamesTheStepAndABlockWhereTheSumOverflows) {
  OwnedProblem owned;
  owned.blocks = {block(kQuarter, 0, 4), block(5, 1, 9), block(kQuarter, 3, 3)};
  const Status status = lower_bound(owned.view(), RegionIndex(0)).status();
  EXPECT_EQ(status.reason(), Reason::kSizeOverflow);
  EXPECT_EQ(status.step, Step(3));
  EXPECT_EQ(status.block, BlockIndex(2));
  EXPECT_EQ(status.needed_bytes, kQuarter);
  EXPECT_EQ(status.region, RegionIndex(0));
}

TEST(LowerBound, ConflictsAndFixedEndsThatOverflowNameTheirBlocks) {
  OwnedProblem owned;
  owned.blocks = {block(1, 2, 2), block(kQuarter, 0, 0), block(kQuarter - 1, 1, 1)};
  owned.conflicts = {pair(1, 2)};
  EXPECT_EQ(bytes_of(owned), kMaxArenaBytes);
  owned.blocks[2].size_bytes = kQuarter;
  const Status pairs = lower_bound(owned.view(), RegionIndex(0)).status();
  EXPECT_EQ(pairs.reason(), Reason::kSizeOverflow);
  EXPECT_EQ(pairs.block, BlockIndex(1));
  EXPECT_EQ(pairs.other_block, BlockIndex(2));

  // 2^62 + (2^62 - 63) = 2^63 - 63, which rounded up to 64 is 2^63.
  owned = OwnedProblem();
  owned.blocks = {block(64, 5, 5, 64), fixed_block(kQuarter - 63, 0, 0, kQuarter, 64)};
  ASSERT_TRUE(validate(owned.view()).ok());
  const Status end = lower_bound(owned.view(), RegionIndex(0)).status();
  EXPECT_EQ(end.reason(), Reason::kSizeOverflow);
  EXPECT_EQ(end.block, BlockIndex(1));
  EXPECT_EQ(end.needed_bytes, 2 * kQuarter - 63);
  owned.blocks[1].size_bytes -= 1;
  EXPECT_EQ(bytes_of(owned), 2 * kQuarter - 64);
}

ProblemShape shape_of_everything() {
  ProblemShape shape;
  shape.region_count = 3;
  shape.no_reuse_chance = 20;
  shape.max_overlaps = 12;
  shape.max_conflicts = 6;
  return shape;
}

TEST(LowerBound, IsWhatCountingStepByStepGives) {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    const OwnedProblem random = test::random_problem(seed, shape_of_everything());
    for (std::uint32_t region = 0; region < 3; ++region) {
      const RegionBound bound = bound_of(random, region);
      const test::NaiveBound naive = test::naive_bound(random.view(), RegionIndex(region));
      ASSERT_EQ(bound.lower_bound_bytes, naive.bytes()) << "region " << region;
      ASSERT_EQ(bound.unit_bytes, test::unit_bytes(random.view(), RegionIndex(region)));
      if (naive.live_bytes > naive.other_bytes) {
        ASSERT_EQ(bound.peak_step, Step(naive.peak_step)) << "region " << region;
      }
    }
  }
}

TEST(LowerBound, IsNeverAboveTheOptimum) {
  ProblemShape shape = shape_of_everything();
  shape.region_count = 1;
  shape.max_blocks = 6;
  shape.max_steps = 6;
  std::uint32_t reached = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    const OwnedProblem random = test::random_problem(seed, shape);
    const std::uint64_t optimum = test::Optimum(random.view(), RegionIndex(0)).arena_bytes();
    ASSERT_LE(bytes_of(random), optimum);
    if (bytes_of(random) == optimum) ++reached;
  }
  EXPECT_GT(reached, 300U);  // a bound of 0 would hold too
}

}  // namespace
}  // namespace tenure
