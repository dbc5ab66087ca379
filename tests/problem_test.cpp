// SPDX-License-Identifier: Apache-2.0

#include "tenure/problem.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/problems.h"
#include "support/upstreams.h"

namespace tenure {
namespace {

using test::block;
using test::fixed_block;
using test::in_region;
using test::OwnedProblem;
using test::pair;

Status check(const OwnedProblem& owned) { return validate(owned.view()); }

// The culprit is in the middle, so that neither the first nor the last index is named by accident.
Status check_middle(Block culprit) {
  OwnedProblem owned;
  owned.blocks = {block(64, 0, 3, 64), culprit, block(64, 1, 2, 64)};
  const Status status = check(owned);
  if (!status.ok()) {
    EXPECT_EQ(status.block, BlockIndex(1));
    EXPECT_EQ(status.code(), code_of(status.reason()));
  }
  return status;
}

TEST(Validate, AcceptsProblemsWithoutBlocksOrRegions) {
  EXPECT_TRUE(validate(PlanningProblem{}).ok());
  OwnedProblem owned;
  owned.regions.clear();
  EXPECT_TRUE(check(owned).ok());
}

TEST(Validate, NamesTheBlockWhoseRegionDoesNotExist) {
  for (const std::uint32_t region : {2U, 3U, RegionIndex::kNoneValue}) {
    const Status status = check_middle(in_region(region, block(1, 0, 0)));
    EXPECT_EQ(status.reason(), Reason::kIndexOutOfRange);
    EXPECT_EQ(status.region, RegionIndex(region));
  }
  EXPECT_TRUE(check_middle(in_region(1, block(1, 0, 0))).ok());
  OwnedProblem none;
  none.regions.clear();
  none.blocks = {block(1, 0, 0)};
  EXPECT_EQ(check(none).reason(), Reason::kIndexOutOfRange);
}

TEST(Validate, NamesTheBlockWhoseAlignmentIsNoPowerOfTwo) {
  for (const std::uint64_t bad : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{96},
                                  (std::uint64_t{1} << 63) + 1, UINT64_MAX}) {
    const Status status = check_middle(block(1, 0, 0, bad));
    EXPECT_EQ(status.reason(), Reason::kNotPowerOfTwo);
    EXPECT_EQ(status.needed_bytes, bad);
  }
  for (std::uint64_t good = 1; good != 0; good *= 2) {
    EXPECT_TRUE(check_middle(block(0, 0, 0, good)).ok()) << good;
  }
}

TEST(Validate, NamesTheRegionWhoseAlignmentIsNoPowerOfTwo) {
  for (const std::uint64_t bad : {0U, 3U, 65U}) {
    OwnedProblem owned;
    owned.regions[1].alignment_bytes = bad;
    const Status status = check(owned);
    EXPECT_EQ(status.reason(), Reason::kNotPowerOfTwo);
    EXPECT_EQ(status.region, RegionIndex(1));
    EXPECT_EQ(status.needed_bytes, bad);
  }
}

// P4: a live range [5, 2].
TEST(Validate, NamesTheBlockWhoseLiveRangeIsReversed) {
  EXPECT_EQ(check_middle(block(1, 5, 2)).reason(), Reason::kReversedLiveRange);
  EXPECT_EQ(check_middle(block(1, 5, 2)).step, Step(5));
  EXPECT_EQ(check_middle(block(1, 1, 0)).reason(), Reason::kReversedLiveRange);
  EXPECT_EQ(check_middle(block(0, 1, 0)).reason(), Reason::kReversedLiveRange);
  EXPECT_TRUE(check_middle(block(1, 1, 1)).ok());
}

TEST(Validate, TakesTheLargestStepsButNotNone) {
  constexpr std::uint32_t kLast = Step::kNoneValue - 1;
  EXPECT_TRUE(check_middle(block(1, kLast, kLast)).ok());
  EXPECT_TRUE(check_middle(block(1, 0, kLast)).ok());
  EXPECT_EQ(check_middle(block(1, kLast, Step::kNoneValue)).reason(), Reason::kIndexOutOfRange);
  EXPECT_EQ(check_middle(block(1, Step::kNoneValue, kLast)).reason(), Reason::kIndexOutOfRange);
  Block untouched;
  untouched.size_bytes = 1;
  EXPECT_EQ(check_middle(untouched).reason(), Reason::kIndexOutOfRange);
}

// P4 (tflite-micro 3552): rounding up must neither wrap nor exceed the largest arena, 2^63 - 1.
TEST(Validate, NamesTheBlockWhoseRoundedSizeIsBeyondTheLargestArena) {
  constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
  EXPECT_TRUE(check_middle(block(kTop - 1, 5, 5, 1)).ok());
  EXPECT_TRUE(check_middle(block(kTop - 64, 5, 5, 64)).ok());
  EXPECT_TRUE(check_middle(block(kTop / 2, 5, 5, kTop / 2)).ok());
  for (const Block& bad :
       {block(kTop, 5, 5), block(UINT64_MAX, 5, 5), block(kTop - 63, 5, 5, 64),
        block(UINT64_MAX - 62, 5, 5, 64), block(UINT64_MAX, 5, 5, 64),
        block(kTop / 2 + 1, 5, 5, kTop / 2), block(1, 5, 5, kTop), block(kTop + 1, 5, 5, kTop)}) {
    const Status status = check_middle(bad);
    EXPECT_EQ(status.reason(), Reason::kSizeOverflow) << bad.size_bytes;
    EXPECT_EQ(status.needed_bytes, bad.size_bytes);
  }
}

TEST(Validate, NamesPairsOfBlocksThatDoNotExistOrAreOne) {
  OwnedProblem owned;
  owned.blocks = {block(1, 0, 0), block(1, 0, 0)};
  for (std::vector<BlockPair>* pairs : {&owned.conflicts, &owned.may_overlap}) {
    *pairs = {pair(0, 1), pair(1, 0)};
    EXPECT_TRUE(check(owned).ok());
    for (const BlockPair& bad : {pair(0, 2), pair(2, 0), pair(BlockIndex::kNoneValue, 0)}) {
      *pairs = {pair(0, 1), bad};
      const Status status = check(owned);
      EXPECT_EQ(status.reason(), Reason::kIndexOutOfRange);
      EXPECT_EQ(status.block, bad.first.value == 0 ? bad.second : bad.first);
    }
    *pairs = {pair(1, 1)};
    EXPECT_EQ(check(owned).reason(), Reason::kIndexOutOfRange);
    EXPECT_EQ(check(owned).block, BlockIndex(1));
    pairs->clear();
  }
}

// P5 (MiniMalloc 9, tflite-micro 3649): distinct answers for negative, misaligned, beyond the
// capacity and overlapping.
TEST(Validate, NamesFixedOffsetsThatAreNegative) {
  // -1 is kNoFixedOffset.
  for (const std::uint64_t offset :
       {UINT64_MAX - 1, UINT64_MAX - 63, std::uint64_t{1} << 63, (std::uint64_t{1} << 63) + 64}) {
    EXPECT_EQ(check_middle(fixed_block(64, 5, 5, offset, 64)).reason(),
              Reason::kFixedOffsetNegative)
        << offset;
  }
  constexpr std::uint64_t kHighest = (std::uint64_t{1} << 63) - 128;
  EXPECT_TRUE(check_middle(fixed_block(64, 5, 5, kHighest, 64)).ok());
}

TEST(Validate, NamesFixedOffsetsThatAreMisaligned) {
  for (const std::uint64_t offset : {1U, 32U, 63U, 65U, 127U}) {
    const Status status = check_middle(fixed_block(64, 5, 5, offset, 64));
    EXPECT_EQ(status.reason(), Reason::kFixedOffsetMisaligned) << offset;
    EXPECT_EQ(status.needed_bytes, 64U);
  }
  EXPECT_TRUE(check_middle(fixed_block(64, 5, 5, 0, 64)).ok());
  EXPECT_TRUE(check_middle(fixed_block(64, 5, 5, 128, 64)).ok());
  EXPECT_TRUE(check_middle(fixed_block(64, 5, 5, 1, 1)).ok());
}

TEST(Validate, NamesFixedOffsetsThatEndBeyondTheCapacity) {
  OwnedProblem owned;
  owned.regions = {Region{1000, 1, true}};
  for (const std::uint64_t offset :
       {std::uint64_t{937}, std::uint64_t{1001}, std::uint64_t{1} << 62}) {
    owned.blocks = {block(8, 0, 0), fixed_block(64, 1, 1, offset)};
    const Status status = check(owned);
    EXPECT_EQ(status.reason(), Reason::kFixedOffsetBeyondCapacity) << offset;
    EXPECT_EQ(status.block, BlockIndex(1));
    EXPECT_EQ(status.needed_bytes, offset + 64);
    EXPECT_EQ(status.available_bytes, 1000U);
  }
  owned.blocks = {fixed_block(64, 1, 1, 936)};  // 936 + 64 = 1000
  EXPECT_TRUE(check(owned).ok());
  owned.regions[0].capacity_bytes = 0;
  owned.blocks = {fixed_block(1, 1, 1, 0)};
  EXPECT_EQ(check(owned).reason(), Reason::kFixedOffsetBeyondCapacity);
  owned.blocks = {fixed_block(0, 1, 1, 0)};
  EXPECT_TRUE(check(owned).ok());
}

TEST(Validate, NamesFixedBlocksThatEndBeyondTheLargestArena) {
  EXPECT_TRUE(check_middle(fixed_block(1, 5, 5, kMaxArenaBytes - 1)).ok());
  EXPECT_TRUE(check_middle(fixed_block(kMaxArenaBytes, 5, 5, 0)).ok());
  EXPECT_TRUE(check_middle(fixed_block(0, 5, 5, kMaxArenaBytes)).ok());
  for (const Block& bad :
       {fixed_block(2, 5, 5, kMaxArenaBytes - 1), fixed_block(1, 5, 5, kMaxArenaBytes),
        fixed_block(kMaxArenaBytes, 5, 5, 1), fixed_block(kMaxArenaBytes, 5, 5, kMaxArenaBytes)}) {
    EXPECT_EQ(check_middle(bad).reason(), Reason::kSizeOverflow) << bad.fixed_offset_bytes;
  }
}

class FixedPair {
 public:
  // offset |  B: 100..200 at steps 3..6, A beside, below or above it.
  FixedPair(Block a, Block b) { owned_.blocks = {block(7, 0, 9), a, block(7, 0, 9), b}; }
  OwnedProblem& owned() { return owned_; }
  bool overlaps() {
    const Status status = check(owned_);
    if (status.ok()) return false;
    EXPECT_EQ(status.reason(), Reason::kFixedOffsetsOverlap);
    const bool is_named = (status.block.value == 1 && status.other_block.value == 3) ||
                          (status.block.value == 3 && status.other_block.value == 1);
    EXPECT_TRUE(is_named) << status.block.value << ", " << status.other_block.value;
    return true;
  }

 private:
  OwnedProblem owned_;
};

TEST(Validate, NamesBothFixedBlocksThatOverlap) {
  const Block b = fixed_block(100, 3, 6, 100);
  EXPECT_TRUE(FixedPair(fixed_block(100, 6, 8, 150), b).overlaps());
  EXPECT_TRUE(FixedPair(fixed_block(1, 0, 3, 100), b).overlaps());
  EXPECT_TRUE(FixedPair(fixed_block(1, 4, 5, 199), b).overlaps());
  EXPECT_TRUE(FixedPair(fixed_block(300, 0, 9, 0), b).overlaps());
  EXPECT_TRUE(FixedPair(b, b).overlaps());
  // Just beside in bytes or steps.
  EXPECT_FALSE(FixedPair(fixed_block(100, 0, 9, 0), b).overlaps());
  EXPECT_FALSE(FixedPair(fixed_block(100, 0, 9, 200), b).overlaps());
  EXPECT_FALSE(FixedPair(fixed_block(300, 0, 2, 0), b).overlaps());
  EXPECT_FALSE(FixedPair(fixed_block(300, 7, 9, 0), b).overlaps());
  // Nothing cannot overlap.
  EXPECT_FALSE(FixedPair(fixed_block(0, 0, 9, 150), b).overlaps());
  // Other regions are other bytes.
  EXPECT_FALSE(FixedPair(in_region(1, fixed_block(100, 3, 6, 100)), b).overlaps());
}

TEST(Validate, AllowsDeclaredOverlapsOfFixedBlocks) {
  FixedPair fixed(fixed_block(100, 3, 6, 100), fixed_block(50, 4, 5, 120));
  EXPECT_TRUE(fixed.overlaps());
  fixed.owned().may_overlap = {pair(0, 1), pair(3, 1)};
  EXPECT_FALSE(fixed.overlaps());
  fixed.owned().may_overlap = {pair(0, 1), pair(2, 3)};  // not of these two
  EXPECT_TRUE(fixed.overlaps());
}

TEST(Validate, FixedBlocksConflictBeyondTheirLiveRangesWhereThatIsSaid) {
  FixedPair apart(fixed_block(100, 0, 1, 100), fixed_block(100, 8, 9, 150));
  EXPECT_FALSE(apart.overlaps());
  apart.owned().conflicts = {pair(1, 3)};
  EXPECT_TRUE(apart.overlaps());
  apart.owned().may_overlap = {pair(1, 3)};  // what may overlap on purpose wins
  EXPECT_FALSE(apart.overlaps());
  apart.owned().may_overlap.clear();
  apart.owned().conflicts.clear();
  apart.owned().regions[0].reuse = false;
  EXPECT_TRUE(apart.overlaps());
}

TEST(Validate, AcceptsEveryRandomProblem) {
  test::ProblemShape shape;
  shape.region_count = 3;
  shape.no_reuse_chance = 30;
  shape.fixed_chance = 50;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    const OwnedProblem random = test::random_problem(seed, shape);
    ASSERT_TRUE(check(random).ok()) << text_of(check(random).reason());
  }
}

// One random offset moved: exactly what the pairwise look at fixed blocks says.
TEST(Validate, FindsOverlapsOfFixedBlocksExactlyWhereTheyAre) {
  test::ProblemShape shape;
  shape.region_count = 2;
  shape.no_reuse_chance = 20;
  shape.fixed_chance = 60;
  shape.alignment_count = 3;
  std::uint32_t found = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    OwnedProblem random = test::random_problem(seed, shape);
    if (random.blocks.empty()) continue;
    test::Random draw(seed + 7);
    const std::uint32_t index = draw.index(random.blocks.size());
    Block& moved = random.blocks[index];
    moved.fixed_offset_bytes = kNoFixedOffset;
    const std::uint64_t offset = draw.below(600) / moved.alignment_bytes * moved.alignment_bytes;
    const bool is_free = test::is_free_for(random, index, offset);
    moved.fixed_offset_bytes = offset;
    const Status status = check(random);
    ASSERT_EQ(status.ok(), is_free);
    if (is_free) continue;
    ++found;
    ASSERT_EQ(status.reason(), Reason::kFixedOffsetsOverlap);
    const std::uint32_t a = status.block.value;
    const std::uint32_t b = status.other_block.value;
    ASSERT_TRUE(a == index || b == index);
    ASSERT_TRUE(test::conflict(random.view(), a, b));
    ASSERT_TRUE(test::share_bytes(random.blocks[a], random.blocks[a].fixed_offset_bytes,
                                  random.blocks[b], random.blocks[b].fixed_offset_bytes));
  }
  EXPECT_GT(found, 100U);
}

TEST(Validate, TakesMemoryOnlyForFixedBlocks) {
  test::TestUpstream upstream;
  OwnedProblem owned;
  owned.blocks = {block(8, 0, 1), block(8, 0, 1), fixed_block(8, 0, 1, 0)};
  EXPECT_TRUE(validate(owned.view(), upstream.get()).ok());
  EXPECT_EQ(upstream.calls(), 0U);
  owned.blocks.push_back(fixed_block(8, 0, 1, 8));
  EXPECT_TRUE(validate(owned.view(), upstream.get()).ok());
  EXPECT_GT(upstream.calls(), 0U);
  EXPECT_EQ(upstream.live_blocks(), 0U);
}

TEST(FixOffsets, TakesAListOfTheRightLengthOnly) {
  Block blocks[] = {block(64, 0, 1), block(64, 0, 1), block(64, 2, 3)};
  const std::uint64_t offsets[] = {64, kNoFixedOffset, 0};
  ASSERT_TRUE(fix_offsets(offsets, blocks).ok());
  EXPECT_EQ(blocks[0].fixed_offset_bytes, 64U);
  EXPECT_FALSE(blocks[1].is_fixed());
  EXPECT_EQ(blocks[2].fixed_offset_bytes, 0U);
  const std::uint64_t too_short[] = {128, 128};
  EXPECT_EQ(fix_offsets(too_short, blocks).reason(), Reason::kFixedOffsetsCount);
  const std::uint64_t too_long[] = {128, 128, 128, 128};
  EXPECT_EQ(fix_offsets(too_long, blocks).reason(), Reason::kFixedOffsetsCount);
  EXPECT_EQ(blocks[0].fixed_offset_bytes, 64U);
}

}  // namespace
}  // namespace tenure
