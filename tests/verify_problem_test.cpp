// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "support/plans.h"
#include "support/problems.h"
#include "tenure/planner.h"
#include "tenure/verify.h"

namespace tenure {
namespace {

using test::block;
using test::fixed_block;
using test::in_region;
using test::OwnedProblem;
using test::pair;
using test::PlanCopy;

PlanCopy copy_of_plan(const OwnedProblem& owned, const PlannerOptions& options = {}) {
  return PlanCopy(test::plan_of(owned, options));
}

Status check(const OwnedProblem& owned, const PlanCopy& plan) {
  return verify(owned.view(), plan.make());
}

//  180 |   +---B---+
//  100 +---A---+   |
//      |       +---C---+
//      +-0---1---2---3-
OwnedProblem three_blocks() {
  OwnedProblem owned;
  owned.blocks = {block(100, 0, 1, 4), block(80, 1, 2, 4), block(60, 2, 3, 4)};
  return owned;
}

TEST(VerifyProblem, AcceptsAPlanOfNothing) {
  OwnedProblem owned;
  EXPECT_TRUE(check(owned, copy_of_plan(owned)).ok());
  owned.regions.clear();
  EXPECT_TRUE(verify(owned.view(), MemoryPlan()).ok());
}

TEST(VerifyProblem, RefusesAProblemThatCannotBePlanned) {
  OwnedProblem owned = three_blocks();
  const PlanCopy plan = copy_of_plan(owned);
  owned.blocks[1].alignment_bytes = 3;
  EXPECT_EQ(check(owned, plan).reason(), Reason::kNotPowerOfTwo);
  EXPECT_EQ(check(owned, plan).block, BlockIndex(1));
}

TEST(VerifyProblem, NamesThePairThatOverlapsAndTheStepWhereItBegins) {
  const OwnedProblem owned = three_blocks();
  PlanCopy plan = copy_of_plan(owned);
  plan.placements[1].offset_bytes = 96;  // B down into A's last 4 bytes
  Status status = check(owned, plan);
  EXPECT_EQ(status.reason(), Reason::kBlocksOverlap);
  EXPECT_EQ(status.code(), StatusCode::kUnsafePlan);
  EXPECT_TRUE(status.block == BlockIndex(0) || status.other_block == BlockIndex(0));
  EXPECT_TRUE(status.block == BlockIndex(1) || status.other_block == BlockIndex(1));
  EXPECT_EQ(status.step, Step(1));

  plan = copy_of_plan(owned);
  plan.placements[2].offset_bytes = 44;  // C up into B's first 4 bytes; 44 + 60 = 104
  status = check(owned, plan);
  EXPECT_EQ(status.reason(), Reason::kBlocksOverlap);
  EXPECT_TRUE(status.block == BlockIndex(2) || status.other_block == BlockIndex(2));
  EXPECT_TRUE(status.block == BlockIndex(1) || status.other_block == BlockIndex(1));
  EXPECT_EQ(status.step, Step(2));
  plan.placements[2].offset_bytes = 40;
  EXPECT_TRUE(check(owned, plan).ok());
}

// The step at which both are live: where the later of the two begins.
TEST(VerifyProblem, TheNamedStepIsOneAtWhichBothAreLive) {
  OwnedProblem owned;
  owned.blocks = {block(10, 3, 9), block(10, 0, 5)};
  PlanCopy plan = copy_of_plan(owned);
  for (const bool swapped : {false, true}) {
    plan.placements[swapped ? 1 : 0].offset_bytes = 4;
    plan.placements[swapped ? 0 : 1].offset_bytes = 0;
    const Status status = check(owned, plan);
    EXPECT_EQ(status.reason(), Reason::kBlocksOverlap);
    EXPECT_EQ(status.step, Step(3));
  }
}

TEST(VerifyProblem, NamesTheMisalignedBlock) {
  const OwnedProblem owned = three_blocks();
  for (const std::uint64_t offset : {101U, 102U, 98U}) {
    PlanCopy plan = copy_of_plan(owned);
    plan.placements[1].offset_bytes = offset;
    const Status status = check(owned, plan);
    EXPECT_EQ(status.reason(), Reason::kMisplacedAlignment);
    EXPECT_EQ(status.block, BlockIndex(1));
    EXPECT_EQ(status.needed_bytes, 4U);
  }
}

TEST(VerifyProblem, AnArenaHasToBeAlignedForItsBlocks) {
  OwnedProblem owned = three_blocks();
  owned.blocks[2].alignment_bytes = 16;
  owned.regions[0].alignment_bytes = 8;
  PlanCopy plan = copy_of_plan(owned);
  ASSERT_EQ(plan.layouts[0].alignment_bytes, 16U);
  for (const std::uint64_t bad : {0U, 1U, 4U, 24U}) {
    plan.layouts[0].alignment_bytes = bad;
    EXPECT_EQ(check(owned, plan).reason(), Reason::kMisplacedAlignment) << bad;
    EXPECT_EQ(check(owned, plan).region, RegionIndex(0));
  }
  plan.layouts[0].alignment_bytes = 8;
  EXPECT_EQ(check(owned, plan).reason(), Reason::kMisplacedAlignment);
  EXPECT_EQ(check(owned, plan).block, BlockIndex(2));
  plan.layouts[0].alignment_bytes = 4096;
  EXPECT_TRUE(check(owned, plan).ok());
}

TEST(VerifyProblem, NamesTheBlockOutsideTheArena) {
  OwnedProblem owned = three_blocks();
  for (const std::uint64_t offset : {std::uint64_t{104}, std::uint64_t{180}, std::uint64_t{184},
                                     UINT64_MAX - 3, UINT64_MAX - 79}) {
    PlanCopy plan = copy_of_plan(owned);
    plan.placements[1].offset_bytes = offset;  // UINT64_MAX - 79 + 80 wraps to 0
    const Status status = check(owned, plan);
    EXPECT_EQ(status.reason(), Reason::kOutsideRegion) << offset;
    EXPECT_EQ(status.block, BlockIndex(1));
    EXPECT_EQ(status.region, RegionIndex(0));
  }
}

TEST(VerifyProblem, AnArenaBelowItsBlocksIsFoundEvenWithALowStatedBound) {
  const OwnedProblem owned = three_blocks();
  PlanCopy plan = copy_of_plan(owned);
  plan.regions[0].arena_bytes = 179;
  EXPECT_EQ(check(owned, plan).reason(), Reason::kBoundTooHigh);  // 180 are stated
  plan.regions[0].lower_bound_bytes = 0;
  EXPECT_EQ(check(owned, plan).reason(), Reason::kOutsideRegion);
  EXPECT_EQ(check(owned, plan).block, BlockIndex(1));
}

TEST(VerifyProblem, NamesTheRegionWhoseBoundIsTooHigh) {
  const OwnedProblem owned = three_blocks();
  PlanCopy plan = copy_of_plan(owned);
  plan.regions[0].lower_bound_bytes = 181;
  EXPECT_EQ(check(owned, plan).reason(), Reason::kBoundTooHigh);
  EXPECT_EQ(check(owned, plan).region, RegionIndex(0));
  EXPECT_EQ(check(owned, plan).needed_bytes, 181U);
  EXPECT_EQ(check(owned, plan).available_bytes, 180U);
  // Even where the arena is large enough for it.
  plan.regions[0].arena_bytes = plan.layouts[0].size_bytes = 1000;
  EXPECT_EQ(check(owned, plan).reason(), Reason::kBoundTooHigh);
  plan.regions[0].lower_bound_bytes = 180;
  EXPECT_TRUE(check(owned, plan).ok());  // a larger arena is no danger
  plan.regions[1].lower_bound_bytes = 1;
  EXPECT_EQ(check(owned, plan).region, RegionIndex(1));
}

TEST(VerifyProblem, ALayoutHoldsItsArenaAndStaysBelowTheCapacity) {
  OwnedProblem owned = three_blocks();
  PlanCopy plan = copy_of_plan(owned, PlannerOptions().set_tail_padding_bytes(20));
  owned.regions[0].capacity_bytes = 200;
  EXPECT_TRUE(check(owned, plan).ok());
  owned.regions[0].capacity_bytes = 199;
  EXPECT_EQ(check(owned, plan).reason(), Reason::kCapacityExceeded);
  EXPECT_EQ(check(owned, plan).region, RegionIndex(0));
  EXPECT_EQ(check(owned, plan).needed_bytes, 200U);
  EXPECT_EQ(check(owned, plan).available_bytes, 199U);
  plan.layouts[0].size_bytes = 180;
  EXPECT_TRUE(check(owned, plan).ok());
  plan.layouts[0].size_bytes = 179;
  EXPECT_EQ(check(owned, plan).reason(), Reason::kOutsideRegion);
  EXPECT_EQ(check(owned, plan).needed_bytes, 180U);
  EXPECT_EQ(check(owned, plan).available_bytes, 179U);
}

TEST(VerifyProblem, NamesTheBlockThatIsNotPlacedOrInAnotherRegion) {
  const OwnedProblem owned = three_blocks();
  PlanCopy plan = copy_of_plan(owned);
  plan.placements[2] = Placement::none();
  EXPECT_EQ(check(owned, plan).reason(), Reason::kNotPlaced);
  EXPECT_EQ(check(owned, plan).block, BlockIndex(2));
  for (const std::uint32_t region : {1U, 2U, 77U}) {
    plan.placements[2] = {RegionIndex(region), 0};
    EXPECT_EQ(check(owned, plan).reason(), Reason::kPlanMismatch);
    EXPECT_EQ(check(owned, plan).block, BlockIndex(2));
    EXPECT_EQ(check(owned, plan).region, RegionIndex(region));
  }
}

TEST(VerifyProblem, RefusesAPlanWithMoreOrFewerBlocksOrRegions) {
  const OwnedProblem owned = three_blocks();
  PlanCopy plan = copy_of_plan(owned);
  plan.placements.pop_back();
  EXPECT_EQ(check(owned, plan).reason(), Reason::kPlanMismatch);
  plan = copy_of_plan(owned);
  plan.placements.push_back({RegionIndex(0), 0});
  EXPECT_EQ(check(owned, plan).reason(), Reason::kPlanMismatch);
  plan = copy_of_plan(owned);
  plan.regions.pop_back();
  plan.layouts.pop_back();
  EXPECT_EQ(check(owned, plan).reason(), Reason::kPlanMismatch);
  plan = copy_of_plan(owned);
  plan.regions.emplace_back();
  plan.layouts.emplace_back();
  EXPECT_EQ(check(owned, plan).reason(), Reason::kPlanMismatch);
  EXPECT_EQ(verify(owned.view(), MemoryPlan()).reason(), Reason::kPlanMismatch);
}

TEST(VerifyProblem, NamesTheFixedBlockThatMoved) {
  OwnedProblem owned;
  owned.blocks = {block(8, 0, 0), fixed_block(8, 3, 3, 64)};
  PlanCopy plan = copy_of_plan(owned);
  for (const std::uint64_t offset : {0U, 63U, 56U}) {
    plan.placements[1].offset_bytes = offset;
    EXPECT_EQ(check(owned, plan).reason(), Reason::kFixedOffsetMoved);
    EXPECT_EQ(check(owned, plan).block, BlockIndex(1));
    EXPECT_EQ(check(owned, plan).needed_bytes, 64U);
  }
}

TEST(VerifyProblem, FindsOverlapsInEveryRegion) {
  OwnedProblem owned;
  owned.regions = {Region{}, Region{}, Region{}};
  for (std::uint32_t region = 0; region < 3; ++region) {
    owned.blocks.push_back(in_region(region, block(10, 0, 5)));
    owned.blocks.push_back(in_region(region, block(8, 2, 9)));
  }
  EXPECT_TRUE(check(owned, copy_of_plan(owned)).ok());  // 0 and 10 in each: not across regions
  for (std::uint32_t region = 0; region < 3; ++region) {
    PlanCopy plan = copy_of_plan(owned);
    plan.placements[region * 2 + 1].offset_bytes = 9;
    EXPECT_EQ(check(owned, plan).reason(), Reason::kBlocksOverlap);
    EXPECT_EQ(check(owned, plan).block.value / 2, region);
    EXPECT_EQ(check(owned, plan).other_block.value / 2, region);
  }
}

TEST(VerifyProblem, HoldsConflictsAndAllowsDeclaredOverlaps) {
  OwnedProblem owned;
  owned.blocks = {block(10, 0, 0), block(10, 5, 5), block(10, 5, 5)};
  PlanCopy plan = copy_of_plan(owned);
  ASSERT_EQ(plan.placements[0], plan.placements[1]);
  EXPECT_TRUE(check(owned, plan).ok());
  owned.conflicts = {pair(1, 0)};
  plan.regions[0].lower_bound_bytes = 20;
  EXPECT_EQ(check(owned, plan).reason(), Reason::kBlocksOverlap);
  owned.may_overlap = {pair(0, 1)};
  EXPECT_TRUE(check(owned, plan).ok());
  owned.conflicts.clear();
  plan.placements[2].offset_bytes = 0;
  EXPECT_EQ(check(owned, plan).reason(), Reason::kBlocksOverlap);
  owned.may_overlap = {pair(2, 1)};
  plan.regions[0].lower_bound_bytes = 10;
  EXPECT_TRUE(check(owned, plan).ok());
}

TEST(VerifyProblem, WithoutReuseNoTwoBlocksShareBytesWhateverTheirLiveRanges) {
  OwnedProblem owned;
  owned.blocks = {block(10, 0, 0), block(10, 5, 5)};
  const PlanCopy plan = copy_of_plan(owned);
  EXPECT_TRUE(check(owned, plan).ok());
  owned.regions[0].reuse = false;
  EXPECT_EQ(check(owned, plan).reason(), Reason::kBlocksOverlap);
}

TEST(VerifyProblem, FindsOverlapsAtTheLargestSteps) {
  constexpr std::uint32_t kLast = Step::kNoneValue - 1;
  OwnedProblem owned;
  owned.blocks = {block(10, kLast, kLast), block(10, 0, kLast)};
  PlanCopy plan = copy_of_plan(owned);
  EXPECT_TRUE(check(owned, plan).ok());
  plan.placements[0] = plan.placements[1];
  EXPECT_EQ(check(owned, plan).reason(), Reason::kBlocksOverlap);
  owned.blocks[1].live_range.last_use = Step(kLast - 1);
  plan.regions[0].lower_bound_bytes = 10;
  EXPECT_TRUE(check(owned, plan).ok());
}

TEST(VerifyProblem, EmptyBlocksMayLieAnywhereAligned) {
  OwnedProblem owned;
  owned.blocks = {block(10, 0, 5), block(0, 0, 5, 4)};
  PlanCopy plan = copy_of_plan(owned);
  plan.placements[1].offset_bytes = 4;
  EXPECT_TRUE(check(owned, plan).ok());
  plan.placements[1].offset_bytes = 5;
  EXPECT_EQ(check(owned, plan).reason(), Reason::kMisplacedAlignment);
}

}  // namespace
}  // namespace tenure
