// SPDX-License-Identifier: Apache-2.0

// Where blocks come to lie. Grids are drawn with steps to the right and offsets upwards.

#include "tenure/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/plans.h"
#include "support/problems.h"
#include "tenure/verify.h"

namespace tenure {
namespace {

using test::block;
using test::fixed_block;
using test::in_region;
using test::OwnedProblem;
using test::pair;
using test::plan_of;

// The offset of each block, after a look at everything else that a plan promises.
std::vector<std::uint64_t> offsets_of(const OwnedProblem& owned,
                                      const PlannerOptions& options = {}) {
  const Result<MemoryPlan> plan = ArenaPlanner(options).plan(owned.view());
  EXPECT_TRUE(plan.ok()) << text_of(plan.status().reason());
  std::vector<std::uint64_t> offsets;
  if (!plan.ok()) return offsets;
  const Status status = verify(owned.view(), *plan);
  EXPECT_TRUE(status.ok()) << text_of(status.reason());
  for (const Placement& placement : plan->placements()) offsets.push_back(placement.offset_bytes);
  return offsets;
}

using Offsets = std::vector<std::uint64_t>;

// P1 (XNNPACK 10800): 180, not 240.
//
//  180 |   +---B---+
//  100 +---A---+   |
//      |       +---C---+
//      +-0---1---2---3-
TEST(ArenaPlanner, FillsGapBelowLaterBlock) {
  OwnedProblem owned;
  owned.blocks = {block(100, 0, 1), block(80, 1, 2), block(60, 2, 3)};
  EXPECT_EQ(offsets_of(owned), (Offsets{0, 100, 0}));
  const MemoryPlan plan = plan_of(owned);
  EXPECT_EQ(plan.arena_bytes(), 180U);  // 100 + 80
  EXPECT_EQ(plan.lower_bound_bytes(), 180U);
  EXPECT_TRUE(plan.region(kReusableRegion).is_optimal());
  EXPECT_EQ(plan.region(kReusableRegion).peak_step, Step(1));
}

// P2: by size, 8 and both 6 go first, and what is left above them is torn.
//
//   24 | +3[1,2]                 8 [3,4] at 0; 6 [0,1] at 0; 6 [2,4] on the 8: 8
//   21 +-3[0,2]-+                4 [0,2] beside both 6: between 6 and 8 are only 2 bytes, so 14
//   18 +--4-----+                3 [0,2] likewise: 14 + 4 = 18; 3 [1,2]: 18 + 3 = 21
//   14 |     +---6---+-1-----    1 [4,7] on the 6: 8 + 6 = 14
//    8 |     | +--8--+
//    6 +-6-+ | |     |
//      +-0-1-2-3-4-5-6-7
TEST(ArenaPlanner, MissesTheOptimumWhereSizeOrderDoesAndSaysSo) {
  OwnedProblem owned;
  owned.blocks = {block(1, 4, 7), block(6, 2, 4), block(8, 3, 4), block(3, 1, 2),
                  block(3, 0, 2), block(4, 0, 2), block(6, 0, 1)};
  EXPECT_EQ(offsets_of(owned), (Offsets{14, 8, 0, 21, 18, 14, 0}));
  const MemoryPlan plan = plan_of(owned);
  EXPECT_EQ(plan.arena_bytes(), 24U);
  EXPECT_EQ(plan.lower_bound_bytes(), 16U);  // 3 + 3 + 4 + 6 at step 1
  EXPECT_FALSE(plan.region(kReusableRegion).is_optimal());
}

TEST(ArenaPlanner, PlacesTheLargestFirst) {
  OwnedProblem owned;
  owned.blocks = {block(1, 0, 0), block(3, 0, 0), block(2, 0, 0)};
  EXPECT_EQ(offsets_of(owned), (Offsets{5, 0, 3}));  // 3 at 0, 2 at 3, 1 at 3 + 2
}

TEST(ArenaPlanner, BreaksTiesByFirstUseThenLastUseThenAlignmentThenIndex) {
  OwnedProblem owned;
  owned.blocks = {block(8, 1, 2), block(8, 0, 2)};
  EXPECT_EQ(offsets_of(owned), (Offsets{8, 0}));
  owned.blocks = {block(8, 0, 3), block(8, 0, 2)};
  EXPECT_EQ(offsets_of(owned), (Offsets{8, 0}));
  owned.blocks = {block(8, 0, 2, 8), block(8, 0, 2, 4)};
  EXPECT_EQ(offsets_of(owned), (Offsets{8, 0}));
  owned.blocks = {block(8, 0, 2, 4), block(8, 0, 2, 4)};
  EXPECT_EQ(offsets_of(owned), (Offsets{0, 8}));
}

//  50 +-----------      Three fixed blocks of 10 from 0 to 9: gaps of 5, 7 and 8 bytes
//  40 +---------         below, between and between, and all above 50.
//  32 +-gap 8---
//  22 +---------
//  15 +-gap 7---
//   5 +---------
//   0 +-gap 5---
TEST(ArenaPlanner, TakesTheLowestGapThatIsLargeEnough) {
  OwnedProblem owned;
  owned.blocks = {fixed_block(10, 0, 9, 5), fixed_block(10, 0, 9, 22), fixed_block(10, 0, 9, 40),
                  block(7, 3, 4)};
  EXPECT_EQ(offsets_of(owned)[3], 15U);  // [0, 5) is too small; [15, 22) just holds 7
  owned.blocks[3].size_bytes = 8;
  EXPECT_EQ(offsets_of(owned)[3], 32U);  // [32, 40) just holds 8
  owned.blocks[3].size_bytes = 9;
  EXPECT_EQ(offsets_of(owned)[3], 50U);  // 40 + 10
  owned.blocks[3].size_bytes = 5;
  EXPECT_EQ(offsets_of(owned)[3], 0U);
}

// The gap [10, 100) holds 64 bytes at 64's multiples only from 64 on, so not at all.
TEST(ArenaPlanner, AGapHasToHoldTheAlignedBlock) {
  OwnedProblem owned;
  owned.blocks = {fixed_block(10, 0, 9, 0), fixed_block(10, 0, 9, 100), block(64, 3, 4, 64)};
  EXPECT_EQ(offsets_of(owned)[2], 128U);  // 110 rounded up to 64
  owned.blocks[2].size_bytes = 36;
  EXPECT_EQ(offsets_of(owned)[2], 64U);  // 64 + 36 = 100
  owned.blocks[2].size_bytes = 37;
  EXPECT_EQ(offsets_of(owned)[2], 128U);
}

TEST(ArenaPlanner, MixesAllAlignmentsFrom1To4096) {
  OwnedProblem owned;
  Offsets expected;
  // Sizes fall as alignments grow: 113 at 0, 112 at align_up(113, 2) = 114, ...
  std::uint64_t end = 0;
  std::uint64_t size = 113;
  for (std::uint64_t alignment = 1; alignment <= 4096; alignment *= 2, --size) {
    owned.blocks.push_back(block(size, 0, 0, alignment));
    end = (end + alignment - 1) / alignment * alignment;
    expected.push_back(end);
    end += size;
  }
  EXPECT_EQ(offsets_of(owned), expected);
  const MemoryPlan plan = plan_of(owned);
  EXPECT_EQ(plan.arena_bytes(), 8192U + 101);  // 4096's multiple after 4096 + 102; 113 - 12 bytes
  EXPECT_EQ(plan.layouts()[0].alignment_bytes, 4096U);
  EXPECT_EQ(plan.region(kReusableRegion).unit_bytes, 1U);
}

TEST(ArenaPlanner, FixedBlocksAreObstaclesWhereTheyAre) {
  // offset  |  F: [64, 128) at steps 2..3.  A (64) may lie below, B (65) may not.
  OwnedProblem owned;
  owned.blocks = {fixed_block(64, 2, 3, 64), block(64, 0, 9), block(65, 3, 3), block(65, 4, 9)};
  // Both 65 come before the 64: [3, 3] on top of F at 128; [4, 9] at 0; then A, beside all: 193.
  EXPECT_EQ(offsets_of(owned), (Offsets{64, 193, 128, 0}));
}

TEST(ArenaPlanner, KeepsConflictingBlocksApartThatAreNotLiveTogether) {
  OwnedProblem owned;
  owned.blocks = {block(10, 0, 0), block(8, 5, 5), block(6, 9, 9)};
  EXPECT_EQ(offsets_of(owned), (Offsets{0, 0, 0}));
  owned.conflicts = {pair(0, 1)};
  EXPECT_EQ(offsets_of(owned), (Offsets{0, 10, 0}));
  owned.conflicts = {pair(0, 1), pair(2, 1), pair(0, 2)};
  EXPECT_EQ(offsets_of(owned), (Offsets{0, 10, 18}));
  owned.conflicts = {pair(0, 2)};
  EXPECT_EQ(offsets_of(owned), (Offsets{0, 0, 10}));
}

TEST(ArenaPlanner, ConflictsOfFixedAndOtherBlocksHoldToo) {
  OwnedProblem owned;
  owned.blocks = {fixed_block(10, 0, 0, 0), block(8, 5, 5)};
  owned.conflicts = {pair(1, 0)};
  EXPECT_EQ(offsets_of(owned), (Offsets{0, 10}));
}

TEST(ArenaPlanner, LetsBlocksOverlapThatMay) {
  OwnedProblem owned;
  owned.blocks = {block(10, 0, 5), block(8, 2, 3), block(6, 2, 2)};
  owned.may_overlap = {pair(1, 0)};
  // 8 over the 10 at 0; 6 beside both: 10.
  EXPECT_EQ(offsets_of(owned), (Offsets{0, 0, 10}));
  owned.may_overlap = {pair(0, 1), pair(1, 2), pair(2, 0)};
  EXPECT_EQ(offsets_of(owned), (Offsets{0, 0, 0}));
  EXPECT_TRUE(plan_of(owned).region(kReusableRegion).is_optimal());
}

TEST(ArenaPlanner, EmptyBlocksLieAtTheStartAndAreInNobodysWay) {
  // P8 (ONE 4826): planned, no bytes, not absent.
  OwnedProblem owned;
  owned.blocks = {block(0, 0, 9, 64), block(10, 0, 9), block(0, 3, 3)};
  EXPECT_EQ(offsets_of(owned), (Offsets{0, 0, 0}));
  EXPECT_EQ(plan_of(owned).arena_bytes(), 10U);
  EXPECT_EQ(plan_of(owned).layouts()[0].alignment_bytes, 1U);
  EXPECT_FALSE(plan_of(owned).placement(BlockIndex(0)).is_none());
}

// Nothing conflicts with nothing, not even where a pair says so.
TEST(ArenaPlanner, EmptyFixedBlocksAreNoObstacles) {
  OwnedProblem owned;
  owned.blocks = {fixed_block(0, 0, 9, 8), block(10, 0, 9)};
  EXPECT_EQ(offsets_of(owned)[1], 0U);
  owned.conflicts = {pair(0, 1)};
  EXPECT_EQ(offsets_of(owned)[1], 0U);
}

TEST(ArenaPlanner, PlansEachRegionByItself) {
  OwnedProblem owned;
  owned.regions = {Region{}, Region{kNoCapacity, 1, false}, Region{kNoCapacity, 256, true}};
  owned.blocks = {in_region(2, block(10, 0, 0, 8)), in_region(0, block(7, 0, 0)),
                  in_region(1, block(5, 0, 0, 4)),  in_region(1, block(3, 9, 9, 4)),
                  in_region(2, block(9, 1, 1, 8)),  in_region(0, block(6, 0, 0))};
  EXPECT_EQ(offsets_of(owned), (Offsets{0, 0, 0, 8, 0, 7}));
  const MemoryPlan plan = plan_of(owned);
  ASSERT_EQ(plan.regions().size(), 3U);
  EXPECT_EQ(plan.arena_bytes(RegionIndex(0)), 13U);
  EXPECT_EQ(plan.arena_bytes(RegionIndex(1)), 12U);  // 8 + 3, rounded up to 4
  EXPECT_EQ(plan.arena_bytes(RegionIndex(2)), 16U);  // 10, rounded up to 8
  EXPECT_EQ(plan.layouts()[0].alignment_bytes, 1U);
  EXPECT_EQ(plan.layouts()[1].alignment_bytes, 4U);
  EXPECT_EQ(plan.layouts()[2].alignment_bytes, 256U);
  EXPECT_EQ(plan.arena_bytes(RegionIndex(3)), 0U);
  for (std::uint32_t i = 0; i < owned.blocks.size(); ++i) {
    EXPECT_EQ(plan.placement(BlockIndex(i)).region, owned.blocks[i].region);
  }
}

TEST(ArenaPlanner, ConflictsAcrossRegionsMoveNothing) {
  OwnedProblem owned;
  owned.regions = {Region{}, Region{}};
  owned.blocks = {in_region(0, block(10, 0, 0)), in_region(1, block(9, 0, 0))};
  owned.conflicts = {pair(0, 1)};
  EXPECT_EQ(offsets_of(owned), (Offsets{0, 0}));
}

TEST(ArenaPlanner, WithoutReuseEveryBlockHasItsOwnBytesInOrder) {
  OwnedProblem owned;
  owned.blocks = {block(10, 0, 0), block(30, 5, 5, 8), block(0, 1, 1), block(20, 9, 9, 4)};
  const PlannerOptions options = PlannerOptions().set_reuse(false);
  // 10 at 0; 10 + 6 padding = 16; nothing at 0; 16 + 30 + 2 padding = 48.
  EXPECT_EQ(offsets_of(owned, options), (Offsets{0, 16, 0, 48}));
  EXPECT_EQ(plan_of(owned, options).arena_bytes(), 68U);
  EXPECT_EQ(plan_of(owned, options).lower_bound_bytes(), 30U);
  owned.regions[0].reuse = false;
  EXPECT_EQ(offsets_of(owned), (Offsets{0, 16, 0, 48}));
  // Here nobody can do better than 60 without padding.
  EXPECT_EQ(plan_of(owned).lower_bound_bytes(), 60U);
}

TEST(ArenaPlanner, WithoutReuseBlocksGoAroundFixedOnes) {
  OwnedProblem owned;
  owned.regions[0].reuse = false;
  owned.blocks = {block(10, 0, 0),   fixed_block(10, 9, 9, 12), block(3, 1, 1),
                  block(8, 2, 2, 4), fixed_block(4, 8, 8, 26),  block(2, 3, 3)};
  // 10 at 0; 3 do not fit into [10, 12): 22; 8 not into [24, 26): 30 rounded up to 4 is 32; 40.
  EXPECT_EQ(offsets_of(owned), (Offsets{0, 12, 22, 32, 26, 40}));
  EXPECT_EQ(plan_of(owned).arena_bytes(), 42U);
}

TEST(ArenaPlanner, WithoutReuseEvenBlocksThatMayOverlapAreApart) {
  OwnedProblem owned;
  owned.blocks = {block(10, 0, 0), block(10, 0, 0)};
  owned.may_overlap = {pair(0, 1)};
  EXPECT_EQ(offsets_of(owned, PlannerOptions().set_reuse(false)), (Offsets{0, 10}));
}

// An address of an empty block must lie in its arena (one past the end at most).
TEST(ArenaPlanner, WithoutReuseEmptyBlocksStayInsideTheArena) {
  OwnedProblem owned;
  owned.regions[0].reuse = false;
  owned.blocks = {block(10, 0, 0), block(0, 1, 1, 64)};
  EXPECT_LE(offsets_of(owned)[1], plan_of(owned).layouts()[0].size_bytes);
  owned.blocks.push_back(block(5, 2, 2));
  EXPECT_EQ(plan_of(owned).arena_bytes(), 15U);  // an empty block takes no bytes, padding included
}

TEST(ArenaPlanner, PlansLiveRangesAtTheLargestSteps) {
  constexpr std::uint32_t kLast = Step::kNoneValue - 1;
  OwnedProblem owned;
  owned.blocks = {block(10, kLast, kLast), block(9, 0, kLast), block(8, 0, kLast - 1),
                  block(7, kLast - 1, kLast)};
  // 10 at 0; 9 beside it: 10; 8 not beside the 10: 0; 7 beside all: 19.
  EXPECT_EQ(offsets_of(owned), (Offsets{0, 10, 0, 19}));
}

// P6 (ExecuTorch 22508).
TEST(ArenaPlanner, BlocksOfEqualSizeInAnyOrderGiveOnePlan) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    test::ProblemShape shape;
    shape.max_conflicts = shape.max_overlaps = 0;
    OwnedProblem random = test::random_problem(seed, shape);
    const auto described = [](const OwnedProblem& owned) {
      const Offsets offsets = offsets_of(owned);
      std::vector<std::vector<std::uint64_t>> rows;
      for (std::size_t i = 0; i < owned.blocks.size(); ++i) {
        const Block& one = owned.blocks[i];
        rows.push_back({one.size_bytes, one.live_range.first_use.value,
                        one.live_range.last_use.value, one.alignment_bytes, one.fixed_offset_bytes,
                        offsets[i]});
      }
      std::sort(rows.begin(), rows.end());
      return rows;
    };
    for (Block& one : random.blocks) {
      if (one.size_bytes != 0 && !one.is_fixed()) one.size_bytes = 96;
    }
    const auto expected = described(random);
    test::Random draw(seed);
    for (int round = 0; round < 3; ++round) {
      for (std::size_t i = random.blocks.size(); i > 1; --i) {
        std::swap(random.blocks[i - 1], random.blocks[draw.index(i)]);
      }
      ASSERT_EQ(described(random), expected);
    }
  }
}

TEST(ArenaPlanner, PlansNothing) {
  const MemoryPlan plan = plan_of(OwnedProblem());
  EXPECT_EQ(plan.placements().size(), 0U);
  EXPECT_EQ(plan.tensor_placements().size(), 0U);
  ASSERT_EQ(plan.regions().size(), 2U);
  EXPECT_EQ(plan.arena_bytes(), 0U);
  EXPECT_EQ(plan.layouts()[0].size_bytes, 0U);
  EXPECT_TRUE(plan.region(kReusableRegion).is_optimal());
  OwnedProblem none;
  none.regions.clear();
  EXPECT_EQ(plan_of(none).regions().size(), 0U);
  EXPECT_EQ(plan_of(none).arena_bytes(), 0U);
}

}  // namespace
}  // namespace tenure
