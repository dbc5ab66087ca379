// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "support/statuses.h"
#include "support/traces.h"
#include "tenure/pool_allocator.h"

namespace tenure {
namespace {

class PoolMarks : public testing::Test {
 protected:
  PoolMarks() { EXPECT_TRUE(pool.reserve(1024).ok()); }
  ~PoolMarks() override {  // the whole space can be taken again
    pool.force_reset(LateFrees::kNeverCome);
    void* all = pool.fastMalloc(1024);
    EXPECT_NE(all, nullptr);
    pool.fastFree(all);
  }
  PoolMark mark() {
    const Result<PoolMark> result = pool.mark();
    EXPECT_TRUE(result.ok());
    return *result;
  }
  PoolAllocator pool;
};

TEST_F(PoolMarks, RewindGivesBackWhatWasTakenSince) {
  void* before = pool.fastMalloc(64);
  const PoolMark position = mark();
  void* first = pool.fastMalloc(64);
  void* second = pool.fastMalloc(64);
  pool.fastFree(first);
  EXPECT_EQ(pool.used_bytes(), 192U);
  pool.fastFree(second);
  ASSERT_TRUE(pool.rewind(position).ok());
  EXPECT_EQ(pool.used_bytes(), 64U);
  EXPECT_EQ(pool.statistics().live_blocks, 1U);
  EXPECT_EQ(pool.statistics().peak_bytes, 192U);
  EXPECT_EQ(pool.fastMalloc(64), first);
  pool.fastFree(first);
  ASSERT_TRUE(pool.rewind(position).ok());  // a mark stays good
  pool.fastFree(before);
  EXPECT_TRUE(pool.reset().ok());
}

TEST_F(PoolMarks, RewindRefusesWhileBlocksTakenSinceAreLive) {
  void* before = pool.fastMalloc(64);
  const PoolMark position = mark();
  void* since = pool.fastMalloc(64);
  pool.fastFree(before);  // an older one, which must not stand in for the one that is live
  const Status status = pool.rewind(position);
  EXPECT_EQ(status.reason(), Reason::kBlocksLive);
  EXPECT_EQ(status.live_blocks, 1U);
  EXPECT_EQ(pool.used_bytes(), 128U);
  pool.fastFree(since);
  EXPECT_TRUE(pool.rewind(position).ok());
  EXPECT_TRUE(pool.reset().ok());
}

TEST_F(PoolMarks, NestInEachOther) {
  const PoolMark outer = mark();
  void* first = pool.fastMalloc(64);
  const PoolMark inner = mark();
  void* second = pool.fastMalloc(64);
  const PoolMark innermost = mark();
  void* third = pool.fastMalloc(64);
  EXPECT_EQ(pool.rewind(outer).live_blocks, 3U);
  EXPECT_EQ(pool.rewind(inner).live_blocks, 2U);
  EXPECT_EQ(pool.rewind(innermost).live_blocks, 1U);
  pool.fastFree(second);
  EXPECT_EQ(pool.rewind(outer).live_blocks, 2U);
  EXPECT_EQ(pool.rewind(inner).live_blocks, 1U);
  EXPECT_EQ(pool.rewind(innermost).live_blocks, 1U);
  pool.fastFree(third);
  ASSERT_TRUE(pool.rewind(innermost).ok());
  EXPECT_EQ(pool.used_bytes(), 128U);
  ASSERT_TRUE(pool.rewind(inner).ok());
  EXPECT_EQ(pool.used_bytes(), 64U);
  EXPECT_EQ(pool.rewind(outer).live_blocks, 1U);
  pool.fastFree(first);
  ASSERT_TRUE(pool.rewind(outer).ok());
  EXPECT_EQ(pool.used_bytes(), 0U);
}

TEST_F(PoolMarks, AreStaleOnceThePoolWasRewoundPastThem) {
  const PoolMark outer = mark();
  pool.fastFree(pool.fastMalloc(64));
  void* first = pool.fastMalloc(64);
  const PoolMark inner = mark();
  pool.fastFree(first);
  ASSERT_TRUE(pool.rewind(outer).ok());
  EXPECT_EQ(pool.rewind(inner).reason(), Reason::kStaleMark);
  // Another mark at the same depth does not bring it back, wherever the position is.
  void* large = pool.fastMalloc(500);
  const PoolMark another = mark();
  EXPECT_EQ(pool.rewind(inner).reason(), Reason::kStaleMark);
  EXPECT_EQ(pool.force_rewind(inner).reason(), Reason::kStaleMark);
  EXPECT_EQ(pool.used_bytes(), 512U);
  EXPECT_TRUE(pool.rewind(another).ok());
  pool.fastFree(large);
  ASSERT_TRUE(pool.reset().ok());
  EXPECT_EQ(pool.rewind(outer).reason(), Reason::kStaleMark);
  EXPECT_EQ(pool.rewind(PoolMark()).reason(), Reason::kStaleMark);
}

TEST_F(PoolMarks, OfAPoolThatHasNoneAreStale) {
  EXPECT_EQ(pool.rewind(PoolMark()).reason(), Reason::kStaleMark);
  mark();
  EXPECT_EQ(pool.rewind(PoolMark()).reason(), Reason::kStaleMark);
}

TEST_F(PoolMarks, OfAnotherPoolAreStale) {
  PoolAllocator other;
  ASSERT_TRUE(other.reserve(1024).ok());
  void* mine = pool.fastMalloc(64);
  const PoolMark position = mark();
  void* block = pool.fastMalloc(64);
  const Result<PoolMark> elsewhere = other.mark();
  ASSERT_TRUE(elsewhere.ok());
  EXPECT_EQ(pool.rewind(*elsewhere).reason(), Reason::kStaleMark);
  EXPECT_EQ(pool.force_rewind(*elsewhere).reason(), Reason::kStaleMark);
  EXPECT_EQ(pool.used_bytes(), 128U);
  pool.fastFree(block);
  EXPECT_TRUE(pool.rewind(position).ok());
  EXPECT_TRUE(other.rewind(*elsewhere).ok());
  pool.fastFree(mine);
}

TEST_F(PoolMarks, DoNotPileUpInALoop) {
  void* before = pool.fastMalloc(64);
  for (int round = 0; round < 100; ++round) {
    const PoolMark position = mark();
    pool.fastFree(pool.fastMalloc(100));
    void* scratch = pool.fastMalloc(100);
    pool.fastFree(scratch);
    ASSERT_TRUE(pool.rewind(position).ok());
  }
  pool.fastFree(before);
  EXPECT_TRUE(pool.reset().ok());
}

// Outputs stay, scratch goes: there are as many layers as the pool has room for.
TEST_F(PoolMarks, ServeAnyNumberOfLayersThatKeepTheirOutputs) {
  ASSERT_TRUE(pool.reserve(64 * 101).ok());
  std::vector<void*> outputs;
  for (int layer = 0; layer < 100; ++layer) {
    outputs.push_back(pool.fastMalloc(64));
    const PoolMark position = mark();
    void* scratch = pool.fastMalloc(64);
    ASSERT_NE(scratch, nullptr);
    pool.fastFree(scratch);
    ASSERT_TRUE(pool.rewind(position).ok());
    ASSERT_TRUE(pool.forget(position).ok());
    EXPECT_EQ(pool.rewind(position).reason(), Reason::kStaleMark);
    EXPECT_EQ(pool.used_bytes(), 64 * outputs.size());
    EXPECT_EQ(pool.statistics().live_blocks, outputs.size());
  }
  EXPECT_EQ(pool.reset().live_blocks, 100U);
  for (void* output : outputs) pool.fastFree(output);
  EXPECT_EQ(pool.statistics().stray_frees, 0U);
  ASSERT_TRUE(pool.reset().ok());
  ASSERT_TRUE(pool.reserve(1024).ok());
}

TEST_F(PoolMarks, AtOnePositionEndOneByOne) {
  void* before = pool.fastMalloc(64);
  const PoolMark outer = mark();
  const PoolMark inner = mark();
  const PoolMark innermost = mark();
  void* since = pool.fastMalloc(64);
  ASSERT_TRUE(pool.forget(inner).ok());
  EXPECT_EQ(pool.forget(innermost).reason(), Reason::kStaleMark);
  EXPECT_EQ(pool.forget(inner).reason(), Reason::kStaleMark);
  EXPECT_EQ(pool.rewind(outer).live_blocks, 1U);
  pool.fastFree(since);
  const PoolMark another = mark();
  ASSERT_TRUE(pool.rewind(outer).ok());
  EXPECT_EQ(pool.forget(another).reason(), Reason::kStaleMark);
  ASSERT_TRUE(pool.forget(outer).ok());
  EXPECT_EQ(pool.forget(outer).reason(), Reason::kStaleMark);
  EXPECT_EQ(pool.used_bytes(), 64U);
  EXPECT_EQ(pool.reset().live_blocks, 1U);
  pool.fastFree(before);
}

// Blocks on both sides are one region again, in which the newest gives its bytes back, but not one
// that was freed while it lay below a mark.
TEST_F(PoolMarks, AreForgottenWithWhatLiesAboveThem) {
  void* first = pool.fastMalloc(64);
  const PoolMark outer = mark();
  void* second = pool.fastMalloc(64);
  mark();
  void* third = pool.fastMalloc(64);
  ASSERT_TRUE(pool.forget(outer).ok());
  EXPECT_EQ(pool.statistics().live_blocks, 3U);
  pool.fastFree(third);
  EXPECT_EQ(pool.used_bytes(), 128U);
  third = pool.fastMalloc(64);
  const PoolMark again = mark();
  pool.fastFree(third);
  ASSERT_TRUE(pool.forget(again).ok());
  pool.fastFree(third);  // a second time, which passes for that of one of the others
  EXPECT_EQ(pool.used_bytes(), 192U);
  pool.fastFree(second);
  pool.fastFree(first);
  EXPECT_EQ(pool.statistics().stray_frees, 1U);
}

TEST_F(PoolMarks, AreNotForgottenWhileLateFreesAreWaitedFor) {
  void* kept = pool.fastMalloc(64);
  const PoolMark position = mark();
  void* late = pool.fastMalloc(64);
  ASSERT_TRUE(pool.force_rewind(position).ok());
  EXPECT_EQ(pool.forget(position).live_blocks, 1U);
  pool.fastFree(late);
  ASSERT_TRUE(pool.rewind(position).ok());
  EXPECT_TRUE(pool.forget(position).ok());
  pool.fastFree(kept);
}

TEST_F(PoolMarks, AreCountedUpToALimit) {
  std::vector<PoolMark> marks;
  for (std::size_t i = 0; i < kMaxMarks; ++i) {
    marks.push_back(mark());
    EXPECT_NE(pool.fastMalloc(1), nullptr);
  }
  EXPECT_EQ(pool.mark().status().reason(), Reason::kTooMany);
  EXPECT_EQ(pool.used_bytes(), 64 * kMaxMarks);
  EXPECT_EQ(pool.rewind(marks.front()).live_blocks, kMaxMarks);
  ASSERT_TRUE(pool.force_rewind(marks[5]).ok());
  EXPECT_EQ(pool.used_bytes(), 64 * 5U);
  EXPECT_EQ(pool.statistics().live_blocks, 5U);
  EXPECT_TRUE(pool.mark().ok());
}

TEST_F(PoolMarks, BlocksBelowAMarkAreCountedWhereverTheyLie) {
  std::vector<void*> blocks;
  for (int i = 0; i < 4; ++i) {
    blocks.push_back(pool.fastMalloc(64));
    blocks.push_back(pool.fastMalloc(64));
    mark();
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    pool.fastFree(blocks[i]);
    EXPECT_EQ(pool.statistics().live_blocks, blocks.size() - i - 1);
  }
  EXPECT_EQ(pool.used_bytes(), 512U);
  for (void* block : blocks) pool.fastFree(block);  // twice: counted, and nothing else
  EXPECT_EQ(pool.statistics().stray_frees, blocks.size());
  EXPECT_EQ(pool.statistics().live_blocks, 0U);
  EXPECT_TRUE(pool.reset().ok());
}

TEST_F(PoolMarks, ABlockBelowAMarkDoesNotComeBackAtOnce) {
  void* before = pool.fastMalloc(64);
  const PoolMark position = mark();
  pool.fastFree(before);
  EXPECT_EQ(pool.used_bytes(), 64U);  // or the mark would lie above the position
  void* since = pool.fastMalloc(100);
  pool.fastFree(since);
  ASSERT_TRUE(pool.rewind(position).ok());
  EXPECT_EQ(pool.used_bytes(), 64U);
  EXPECT_TRUE(pool.reset().ok());
}

// What lies below the mark was not taken away, so that its free is never a late one.
TEST_F(PoolMarks, AfterAForcedRewindOlderBlocksAreFreedAsEver) {
  void* before = pool.fastMalloc(64);
  const PoolMark position = mark();
  void* late = pool.fastMalloc(64);
  ASSERT_TRUE(pool.force_rewind(position).ok());
  pool.fastFree(before);
  EXPECT_EQ(pool.statistics().live_blocks, 0U);
  EXPECT_EQ(pool.statistics().stray_frees, 0U);
  pool.fastFree(late);
  EXPECT_EQ(pool.statistics().stray_frees, 1U);
  EXPECT_TRUE(pool.reset().ok());
  pool.fastFree(pool.fastMalloc(64));
  EXPECT_EQ(pool.used_bytes(), 0U);
}

// Nor is it where the mark, and all above it, went with a reset since.
TEST_F(PoolMarks, AResetDoesNotWidenWhereLateFreesAreWaitedFor) {
  void* before = pool.fastMalloc(64);
  const PoolMark position = mark();
  void* late = pool.fastMalloc(64);
  ASSERT_TRUE(pool.force_rewind(position).ok());
  pool.fastFree(before);
  ASSERT_TRUE(pool.reset().ok());
  for (const std::size_t size : {64U, 256U}) {
    pool.fastFree(pool.fastMalloc(size));  // begins below the late one
    EXPECT_EQ(pool.statistics().stray_frees, 0U);
    ASSERT_TRUE(pool.reset().ok());
  }
  pool.fastFree(late);
  EXPECT_EQ(pool.statistics().stray_frees, 1U);
  ASSERT_TRUE(pool.reset().ok());
}

// The first free is taken for the late one, though it is that of the block above the mark; the late
// one then counts for the block below it, which is live.
TEST_F(PoolMarks, ALateFreeOnOneSideOfAMarkDoesNotHideABlockOnTheOther) {
  for (const bool is_forced : {false, true}) {
    void* late = pool.fastMalloc(64);
    pool.force_reset();
    void* below = pool.fastMalloc(64);
    const PoolMark position = mark();
    void* above = pool.fastMalloc(64);
    pool.fastFree(above);
    ASSERT_EQ(late, below);
    pool.fastFree(late);
    if (is_forced) {
      ASSERT_TRUE(pool.force_rewind(position, LateFrees::kNeverCome).ok());
    }
    EXPECT_EQ(pool.reset().reason(), Reason::kBlocksLive);
    pool.force_reset(LateFrees::kNeverCome);
  }
}

TEST_F(PoolMarks, RewindAgainOnceLateFreesHaveCome) {
  void* kept = pool.fastMalloc(64);
  const PoolMark position = mark();
  void* late = pool.fastMalloc(64);
  ASSERT_TRUE(pool.force_rewind(position).ok());
  void* fresh = pool.fastMalloc(64);
  pool.fastFree(fresh);
  EXPECT_EQ(pool.rewind(position).live_blocks, 1U);
  pool.fastFree(late);
  ASSERT_TRUE(pool.rewind(position).ok());
  pool.fastFree(pool.fastMalloc(64));
  EXPECT_EQ(pool.used_bytes(), 64U);  // as ever
  pool.fastFree(kept);
  EXPECT_TRUE(pool.reset().ok());
}

TEST_F(PoolMarks, AStaleFreeAfterAForcedRewindNeverRewindsLiveMemory) {
  void* before = pool.fastMalloc(64);
  const PoolMark position = mark();
  void* stale = pool.fastMalloc(64);
  ASSERT_TRUE(pool.force_rewind(position).ok());
  EXPECT_EQ(pool.statistics().live_blocks, 1U);
  void* fresh = pool.fastMalloc(64);
  ASSERT_EQ(fresh, stale);
  pool.fastFree(stale);
  EXPECT_EQ(pool.used_bytes(), 128U);
  EXPECT_EQ(pool.statistics().stray_frees, 1U);
  EXPECT_EQ(pool.statistics().live_blocks, 2U);
  pool.fastFree(fresh);
  pool.fastFree(before);
  EXPECT_TRUE(pool.reset().ok());
}

// The core without memory: a device's heap, larger than this machine can address.
TEST(BumpOffsets, CountsInLargerUnitsWhereTheSpaceIsLarge) {
  if (sizeof(std::size_t) == 4) GTEST_SKIP() << "larger than 32 bits can say";
  BumpOffsets<SingleOwner> heap;
  const auto four_gigabytes = static_cast<std::size_t>(std::uint64_t{1} << 32);
  heap.open(BumpSpace().set_capacity_bytes(2 * four_gigabytes + 1).set_alignment_bytes(1));
  EXPECT_EQ(heap.allocate(1).bytes, 0U);
  EXPECT_EQ(heap.allocate(1).bytes, 8U);  // 2^33 + 1 bytes are more than 2^31 units of 4
  EXPECT_EQ(heap.allocate(2 * four_gigabytes - 17).bytes, 16U);
  EXPECT_TRUE(heap.allocate(2).is_none());
  EXPECT_EQ(heap.allocate(1).bytes, 2 * four_gigabytes);  // 16 + 2^33 - 17 + 1 rounding
  EXPECT_TRUE(heap.allocate(0).is_none());
  EXPECT_EQ(heap.used_bytes(), 2 * four_gigabytes + 1);
  heap.force_reset();
  EXPECT_EQ(heap.allocate(2 * four_gigabytes + 1).bytes, 0U);
  EXPECT_TRUE(heap.allocate(1).is_none());
}

TEST(BumpOffsets, CountsInItsAlignmentWhereTheSpaceAllowsIt) {
  if (sizeof(std::size_t) == 4) GTEST_SKIP() << "larger than 32 bits can say";
  BumpOffsets<ThreadSafe> heap;
  const auto units = static_cast<std::size_t>((std::uint64_t{1} << 31) - 2);
  heap.open(BumpSpace().set_capacity_bytes(units * 256).set_alignment_bytes(256));
  EXPECT_EQ(heap.allocate(1).bytes, 0U);
  EXPECT_EQ(heap.allocate(257).bytes, 256U);
  EXPECT_EQ(heap.allocate(1).bytes, 768U);
  EXPECT_EQ(heap.allocate((units - 4) * 256).bytes, 1024U);
  EXPECT_TRUE(heap.allocate(0).is_none());
  EXPECT_TRUE(heap.free(Offset{1024}));
  EXPECT_EQ(heap.used_bytes(), 1024U);
}

// Where a position and a size in units are both as large as they get.
TEST(BumpOffsets, ASpaceOfAnySizeIsHandedOutOnce) {
  const std::uint64_t limit = std::uint64_t{1} << 31;
  for (const std::uint64_t capacity : {limit - 2, limit - 1, limit, 2 * limit - 2, 2 * limit - 1,
                                       2 * limit, 4 * limit - 1, 4 * limit + 1}) {
    for (const std::uint64_t first : {std::uint64_t{1}, capacity / 2, capacity - 1}) {
      if (capacity > SIZE_MAX / 2) continue;
      SCOPED_TRACE(capacity);
      BumpOffsets<ThreadSafe> heap;
      heap.open(BumpSpace()
                    .set_capacity_bytes(static_cast<std::size_t>(capacity))
                    .set_alignment_bytes(1));
      EXPECT_EQ(heap.allocate(static_cast<std::size_t>(first)).bytes, 0U);
      const std::size_t live = heap.allocate(1).is_none() ? 1 : 2;
      for (const std::uint64_t size : {capacity, capacity - 1}) {
        EXPECT_TRUE(heap.allocate(static_cast<std::size_t>(size)).is_none()) << size;
      }
      EXPECT_LE(heap.used_bytes(), capacity);
      EXPECT_GE(heap.used_bytes(), first);
      EXPECT_EQ(heap.live_blocks(), live);
    }
  }
}

TEST(BumpOffsets, AlignsAddressesWhereUnitsAreLargerThanTheAlignment) {
  if (sizeof(std::size_t) == 4) GTEST_SKIP() << "larger than 32 bits can say";
  const BumpSpace space = BumpSpace()
                              .set_capacity_bytes(static_cast<std::size_t>(std::uint64_t{1} << 32))
                              .set_alignment_bytes(1);
  EXPECT_EQ(space.unit_bytes(), 4U);  // 2^32 bytes are 2^31 units of 2
  BumpOffsets<SingleOwner> heap;
  heap.open(BumpSpace(space).set_origin(0x1004));
  EXPECT_EQ(heap.allocate(8, 2).bytes, 0U);
  EXPECT_EQ(heap.allocate(8, 16).bytes, 12U);  // 0x1004 + 8 + 4 padding
  EXPECT_EQ(heap.allocate(8).bytes, 20U);
  EXPECT_TRUE(heap.free(Offset{12}));
}

// The reference: a position, and which block is the newest.
TEST(BumpOffsets, ServesRecordedTracesAsTheReferenceModelDoes) {
  TENURE_SKIP_WITHOUT_DATA();
  if (sizeof(std::size_t) == 4) GTEST_SKIP() << "without reuse they need more than 32 bits can say";
  const std::vector<std::string> files = test::trace_files();
  if (files.empty()) GTEST_SKIP() << "no traces/ in TENURE_DATA_DIR";
  const auto capacity = static_cast<std::size_t>(std::uint64_t{64} << 30);
  BumpOffsets<ThreadSafe> shared;
  BumpOffsets<SingleOwner> single;
  shared.open(BumpSpace().set_capacity_bytes(capacity));
  single.open(BumpSpace().set_capacity_bytes(capacity));
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    std::vector<std::size_t> begins;
    std::size_t newest = SIZE_MAX;
    std::size_t position = 0;
    std::size_t live = 0;
    for (const test::TraceEvent& event : test::read_trace(file)) {
      if (begins.size() <= event.block) begins.resize(event.block + 1);
      if (event.is_free) {
        if (event.block == newest) position = begins[event.block];
        if (event.block == newest) newest = SIZE_MAX;
        --live;
        ASSERT_TRUE(shared.free(Offset{begins[event.block]}));
        ASSERT_TRUE(single.free(Offset{begins[event.block]}));
      } else {
        begins[event.block] = position;
        newest = event.block;
        position += event.size_bytes == 0 ? 64 : (event.size_bytes + 63) / 64 * 64;
        ++live;
        ASSERT_EQ(shared.allocate(event.size_bytes).bytes, begins[event.block]);
        ASSERT_EQ(single.allocate(event.size_bytes).bytes, begins[event.block]);
      }
      ASSERT_EQ(shared.used_bytes(), position);
      ASSERT_EQ(single.used_bytes(), position);
      ASSERT_EQ(shared.live_blocks(), live);
    }
    EXPECT_EQ(single.live_blocks(), 0U);
    ASSERT_TRUE(shared.reset().ok());
    ASSERT_TRUE(single.reset().ok());
    EXPECT_EQ(shared.allocate(capacity).bytes, 0U);  // the whole space again
    EXPECT_TRUE(shared.free(Offset{0}));
    EXPECT_EQ(shared.used_bytes(), 0U);
  }
  EXPECT_EQ(shared.refusals() + shared.stray_frees(), 0U);
}

TEST(BumpOffsets, AlignsOffsetsWithoutAnOrigin) {
  BumpOffsets<SingleOwner> heap;
  heap.open(BumpSpace().set_capacity_bytes(4096).set_alignment_bytes(256));
  EXPECT_EQ(heap.allocate(1).bytes, 0U);
  EXPECT_EQ(heap.allocate(1, 1024).bytes, 1024U);
  EXPECT_EQ(heap.allocate(1).bytes, 1280U);
  EXPECT_TRUE(heap.allocate(1, 8192).is_none());
  EXPECT_FALSE(heap.free(Offset::none()));
  EXPECT_EQ(heap.stray_frees(), 1U);
  EXPECT_EQ(heap.live_blocks(), 3U);
}

}  // namespace
}  // namespace tenure
