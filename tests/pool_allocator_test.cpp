// SPDX-License-Identifier: Apache-2.0

#include "tenure/pool_allocator.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "support/live_blocks.h"
#include "support/random.h"
#include "support/statuses.h"
#include "support/texts.h"
#include "support/upstreams.h"

namespace tenure {
namespace {

using test::TestUpstream;

// Both forms: what is said of one holds of the other.
template <class Pool>
class EveryPool : public testing::Test {
 protected:
  static void expect_whole_space_free(Pool& pool) {
    ASSERT_TRUE(pool.reset().ok());
    void* all = pool.fastMalloc(pool.total_bytes());
    EXPECT_NE(all, nullptr);
    EXPECT_EQ(pool.fastMalloc(1), nullptr);
    pool.fastFree(all);
    EXPECT_EQ(pool.used_bytes(), 0U);
  }
};
class PoolNames {
 public:
  template <class Pool>
  static std::string GetName(int /*index*/) {
    return std::is_same<Pool, PoolAllocator>::value ? "shared" : "single_owner";
  }
};
using Pools = testing::Types<PoolAllocator, SingleOwnerPool>;
TYPED_TEST_SUITE(EveryPool, Pools, PoolNames);

std::size_t distance(const void* from, const void* to) {
  return static_cast<std::size_t>(static_cast<const std::byte*>(to) -
                                  static_cast<const std::byte*>(from));
}

TYPED_TEST(EveryPool, HandsOutTheFrontFirstInUnitsOfItsAlignment) {
  TypeParam pool;
  ASSERT_TRUE(pool.reserve(1024).ok());
  void* first = pool.fastMalloc(1);
  void* second = pool.fastMalloc(64);
  void* third = pool.fastMalloc(65);
  void* fourth = pool.fastMalloc(0);
  void* fifth = pool.fastMalloc(16);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);
  EXPECT_EQ(distance(first, second), 64U);   // 1 + 63 rounding
  EXPECT_EQ(distance(first, third), 128U);   // 64 + 64
  EXPECT_EQ(distance(first, fourth), 256U);  // 128 + 65 + 63 rounding
  EXPECT_EQ(distance(first, fifth), 320U);   // 256 + 64: no bytes are a block, too
  EXPECT_EQ(pool.used_bytes(), 384U);
  EXPECT_EQ(pool.utilization(), 0.375);  // 384 / 1024
  for (void* block : {first, second, third, fourth, fifth}) pool.fastFree(block);
  this->expect_whole_space_free(pool);
}

TYPED_TEST(EveryPool, RefusesEverythingUntilItHasMemory) {
  TypeParam pool;
  EXPECT_EQ(pool.fastMalloc(0), nullptr);
  EXPECT_EQ(pool.fastMalloc(1), nullptr);
  pool.fastFree(nullptr);
  EXPECT_TRUE(pool.reset().ok());
  EXPECT_EQ(pool.utilization(), 0);
  EXPECT_EQ(pool.statistics().refusals, 2U);
  EXPECT_EQ(pool.statistics().held_bytes, 0U);
  EXPECT_EQ(pool.statistics().stray_frees, 0U);
  ASSERT_TRUE(pool.reserve(0).ok());
  EXPECT_EQ(pool.fastMalloc(1), nullptr);
}

// M1 (ncnn 5306): what is refused must not poison what comes later.
TYPED_TEST(EveryPool, ARefusedRequestLeavesThePoolExactlyAsItWas) {
  TypeParam pool(PoolOptions().set_alignment_bytes(16));
  ASSERT_TRUE(pool.reserve(1000).ok());
  void* first = pool.fastMalloc(500);  // 512 with rounding
  const AllocatorStatistics before = pool.statistics();
  volatile std::size_t largest = SIZE_MAX;
  std::size_t refusals = 0;
  for (const std::size_t size :
       {std::size_t{489}, std::size_t{1000}, largest / 2, largest / 2 + 1, largest - 511,
        largest - 512, largest - 15, std::size_t{largest}}) {
    EXPECT_EQ(pool.fastMalloc(size), nullptr) << size;
    EXPECT_EQ(pool.allocate(size, 4096), nullptr) << size;
    refusals += 2;
  }
  EXPECT_EQ(pool.allocate(1, std::size_t{1} << (sizeof(std::size_t) * 8 - 1)), nullptr);
  const AllocatorStatistics after = pool.statistics();
  EXPECT_EQ(after.in_use_bytes, before.in_use_bytes);
  EXPECT_EQ(after.live_blocks, 1U);
  EXPECT_EQ(after.peak_bytes, 512U);
  EXPECT_EQ(after.refusals, refusals + 1);
  void* last = pool.fastMalloc(488);  // 1000 - 512: a part of a unit at the end is used, too
  EXPECT_EQ(distance(first, last), 512U);
  EXPECT_EQ(pool.used_bytes(), 1000U);
  EXPECT_EQ(pool.fastMalloc(0), nullptr);
  pool.fastFree(first);
  pool.fastFree(last);
  this->expect_whole_space_free(pool);
}

TYPED_TEST(EveryPool, AlignsToEveryPowerOfTwo) {
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    SCOPED_TRACE(alignment);
    std::vector<std::byte> buffer(200000);
    for (const std::size_t shift : {std::size_t{0}, std::size_t{1}, std::size_t{63}}) {
      TypeParam pool(PoolOptions().set_alignment_bytes(alignment));
      ASSERT_TRUE(pool.lend({buffer.data() + shift, buffer.size() - shift}).ok());
      test::LiveBlocks live;
      std::vector<void*> blocks;
      for (const std::size_t size : {1U, 3U, 64U, 100U, 1000U}) {
        blocks.push_back(pool.fastMalloc(size));
        live.add(blocks.back(), size, alignment);
        for (std::size_t larger = 1; larger <= 4096; larger *= 8) {
          blocks.push_back(pool.allocate(7, larger));
          live.add(blocks.back(), 7, larger < alignment ? alignment : larger);
        }
      }
      live.expect_all_intact();
      for (void* block : blocks) pool.fastFree(block);
      this->expect_whole_space_free(pool);
    }
  }
}

// So large that it counts in units of 2 or 4 bytes; few of its pages are touched.
TYPED_TEST(EveryPool, AlignsWhatIsTooLargeForUnitsOfOneByte) {
  if (sizeof(std::size_t) == 4) GTEST_SKIP() << "more memory than there is";
  constexpr std::size_t kBytes = (std::size_t{1} << 31) + 4096;
  const Upstream pages = page_upstream();
  auto* memory = static_cast<std::byte*>(pages.allocate(pages.user, kBytes, 1));
  if (memory == nullptr) GTEST_SKIP() << "no room for 2 GiB of addresses";
  {
    TypeParam pool(PoolOptions().set_alignment_bytes(1).set_poison(false));
    ASSERT_TRUE(pool.lend({memory + 1, kBytes - 1}).ok());
    for (const std::size_t alignment : {2U, 4U, 1U}) {
      test::LiveBlocks live;
      void* first = pool.allocate(4, alignment);
      live.add(first, 4, alignment);
      void* second = pool.fastMalloc(4);
      live.add(second, 4, 1);
      live.expect_all_intact();
      pool.fastFree(second);
      pool.fastFree(first);
      ASSERT_TRUE(pool.reset().ok());
    }
    EXPECT_EQ(pool.statistics().stray_frees, 0U);
  }
  pages.deallocate(pages.user, memory, kBytes, 1);
}

TYPED_TEST(EveryPool, TheNewestBlockComesBackAtOnceAndOthersAreCounted) {
  TypeParam pool;
  ASSERT_TRUE(pool.reserve(1024).ok());
  void* first = pool.fastMalloc(64);
  void* second = pool.fastMalloc(128);
  pool.fastFree(second);
  EXPECT_EQ(pool.used_bytes(), 64U);
  EXPECT_EQ(pool.fastMalloc(300), second);  // the same address
  pool.fastFree(first);
  EXPECT_EQ(pool.used_bytes(), 384U);  // 64 + 300 + 20 rounding
  EXPECT_EQ(pool.statistics().live_blocks, 1U);
  pool.fastFree(second);
  EXPECT_EQ(pool.used_bytes(), 64U);
  EXPECT_EQ(pool.statistics().live_blocks, 0U);
  EXPECT_EQ(pool.statistics().peak_bytes, 384U);
  this->expect_whole_space_free(pool);
}

TYPED_TEST(EveryPool, FreesOfWhatIsNotLiveChangeNothing) {
  TypeParam pool;
  ASSERT_TRUE(pool.reserve(1024).ok());
  auto* first = static_cast<std::byte*>(pool.fastMalloc(128));
  auto* second = static_cast<std::byte*>(pool.fastMalloc(64));
  std::byte elsewhere[64];
  pool.fastFree(elsewhere);
  pool.fastFree(first + 1);    // not the beginning of a unit
  pool.fastFree(second + 64);  // above the position
  pool.fastFree(first + pool.total_bytes());
  pool.fastFree(first - 64);
  EXPECT_EQ(pool.statistics().stray_frees, 5U);
  EXPECT_EQ(pool.statistics().live_blocks, 2U);
  EXPECT_EQ(pool.used_bytes(), 192U);
  pool.fastFree(second);
  pool.fastFree(second);  // twice
  EXPECT_EQ(pool.statistics().stray_frees, 6U);
  EXPECT_EQ(pool.statistics().live_blocks, 1U);
  pool.fastFree(first);
  pool.fastFree(first);
  EXPECT_EQ(pool.statistics().stray_frees, 7U);
  EXPECT_EQ(pool.statistics().live_blocks, 0U);
  this->expect_whole_space_free(pool);
}

// M3 (tflite-micro 944).
TYPED_TEST(EveryPool, ResetRefusesWhileBlocksAreLiveAndSaysHowMany) {
  TypeParam pool;
  ASSERT_TRUE(pool.reserve(1024).ok());
  void* first = pool.fastMalloc(10);
  void* second = pool.fastMalloc(10);
  const Status status = pool.reset();
  EXPECT_EQ(status.reason(), Reason::kBlocksLive);
  EXPECT_EQ(status.live_blocks, 2U);
  EXPECT_EQ(pool.reserve(4096).reason(), Reason::kBlocksLive);
  EXPECT_EQ(pool.lend({}).reason(), Reason::kBlocksLive);
  EXPECT_EQ(pool.used_bytes(), 128U);
  EXPECT_EQ(pool.total_bytes(), 1024U);
  pool.fastFree(first);
  EXPECT_EQ(pool.reset().live_blocks, 1U);
  pool.fastFree(second);
  ASSERT_TRUE(pool.reset().ok());
  EXPECT_EQ(pool.used_bytes(), 0U);
  EXPECT_EQ(pool.fastMalloc(10), first);  // addresses repeat
  pool.fastFree(first);
  this->expect_whole_space_free(pool);
}

TYPED_TEST(EveryPool, AStaleFreeAfterAForcedResetNeverRewindsLiveMemory) {
  TypeParam pool;
  ASSERT_TRUE(pool.reserve(1024).ok());
  void* stale = pool.fastMalloc(64);
  pool.force_reset();
  EXPECT_EQ(pool.used_bytes(), 0U);
  EXPECT_EQ(pool.statistics().live_blocks, 0U);
  void* fresh = pool.fastMalloc(64);
  ASSERT_EQ(fresh, stale);
  std::memset(fresh, 0x42, 64);
  pool.fastFree(stale);
  EXPECT_EQ(pool.statistics().stray_frees, 1U);
  EXPECT_EQ(pool.used_bytes(), 64U);
  EXPECT_EQ(pool.reset().live_blocks, 1U);
  void* next = pool.fastMalloc(64);
  EXPECT_EQ(distance(fresh, next), 64U);
  EXPECT_EQ(*static_cast<std::uint8_t*>(fresh), 0x42);
  pool.fastFree(next);
  EXPECT_EQ(pool.used_bytes(), 128U);  // the first free may have been that of `fresh`
  pool.fastFree(fresh);
  ASSERT_TRUE(pool.reset().ok());
  pool.fastFree(pool.fastMalloc(64));  // nothing is in doubt any more
  EXPECT_EQ(pool.used_bytes(), 0U);
  this->expect_whole_space_free(pool);
}

// An ordinary free comes first, at the place of the late one or at another.
TYPED_TEST(EveryPool, ALateFreeIsNoFreeOfTheNewestBlock) {
  TypeParam pool;
  ASSERT_TRUE(pool.reserve(1024).ok());
  void* freed = pool.fastMalloc(64);
  void* late = pool.fastMalloc(64);
  pool.fastFree(freed);
  pool.force_reset();
  pool.fastFree(pool.fastMalloc(64));
  void* live = pool.fastMalloc(64);
  ASSERT_EQ(live, late);
  pool.fastFree(late);
  void* next = pool.fastMalloc(64);
  EXPECT_NE(next, live);
  EXPECT_EQ(pool.reset().live_blocks, 2U);
  pool.fastFree(live);
  EXPECT_EQ(pool.reset().live_blocks, 1U);
  pool.fastFree(next);
  EXPECT_EQ(pool.statistics().stray_frees, 1U);
  this->expect_whole_space_free(pool);
}

TYPED_TEST(EveryPool, ResetsOnceEverythingWasFreedInWhateverOrder) {
  for (const bool late_comes_first : {true, false}) {
    TypeParam pool;
    ASSERT_TRUE(pool.reserve(4096).ok());
    void* large = pool.fastMalloc(1024);
    void* late = pool.fastMalloc(64);  // above all that comes later
    pool.fastFree(large);
    pool.force_reset();
    void* block = pool.fastMalloc(64);
    pool.fastFree(late_comes_first ? late : block);
    EXPECT_EQ(pool.reset().live_blocks, 1U);
    pool.fastFree(late_comes_first ? block : late);
    EXPECT_EQ(pool.statistics().stray_frees, 1U);
    this->expect_whole_space_free(pool);
  }
}

// M3: or the same buffer, lent again, would forget that it waits.
TYPED_TEST(EveryPool, KeepsItsMemoryWhileLateFreesMayCome) {
  alignas(64) std::byte buffer[1024];
  TypeParam pool;
  ASSERT_TRUE(pool.lend(buffer).ok());
  void* late = pool.fastMalloc(64);
  pool.force_reset();
  EXPECT_EQ(pool.lend(buffer).live_blocks, 1U);
  EXPECT_EQ(pool.reserve(4096).reason(), Reason::kBlocksLive);
  EXPECT_EQ(pool.release().reason(), Reason::kBlocksLive);
  void* fresh = pool.fastMalloc(64);
  EXPECT_EQ(fresh, late);
  pool.fastFree(late);
  EXPECT_EQ(pool.used_bytes(), 64U);
  pool.fastFree(fresh);
  ASSERT_TRUE(pool.reserve(4096).ok());
  pool.fastFree(pool.fastMalloc(64));
  EXPECT_EQ(pool.used_bytes(), 0U);
  EXPECT_EQ(pool.statistics().stray_frees, 1U);
  this->expect_whole_space_free(pool);
}

// The reference knows which free is whose: no block is ever handed out twice, no reset goes
// through while one is live, and once all frees have come it does.
TYPED_TEST(EveryPool, LateFreesInAnyOrderNeverHarmLiveBlocks) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    test::Random random(seed);
    TypeParam pool;
    ASSERT_TRUE(pool.reserve(64 * 64).ok());
    std::vector<void*> late;
    std::vector<void*> live;
    std::vector<PoolMark> marks;
    std::vector<std::size_t> below;  // live blocks below each mark
    bool counts_too_many = false;
    const auto forget_marks = [&](std::size_t kept) {
      marks.resize(kept);
      below.resize(kept);
    };
    // What lies above is gone, with or without late frees.
    const auto take_away = [&](std::size_t kept, LateFrees frees) {
      if (frees == LateFrees::kMayCome) {
        late.insert(late.end(), live.begin() + static_cast<std::ptrdiff_t>(kept), live.end());
      } else {
        late.clear();
      }
      live.resize(kept);
    };
    const auto free_one = [&](std::vector<void*>* blocks) {
      const std::size_t index = random.size_below(blocks->size());
      pool.fastFree((*blocks)[index]);
      blocks->erase(blocks->begin() + static_cast<std::ptrdiff_t>(index));
      if (blocks != &live) return;
      for (std::size_t& count : below) count -= index < count ? 1 : 0;
    };
    for (int step = 0; step < 200; ++step) {
      const std::size_t action = random.size_below(100);
      if (action < 40) {
        void* block = pool.fastMalloc(1 + random.size_below(128));
        if (block == nullptr) continue;
        for (void* other : live) ASSERT_LT(other, block);
        live.push_back(block);
      } else if (action < 65) {
        if (!live.empty()) free_one(&live);
      } else if (action < 80) {
        if (!late.empty()) free_one(&late);
      } else if (action < 86) {
        const Result<PoolMark> mark = pool.mark();
        if (!mark.ok()) continue;
        forget_marks(mark->depth);
        marks.push_back(*mark);
        below.push_back(live.size());
      } else if (action < 91) {
        if (pool.reset().ok()) {
          ASSERT_TRUE(live.empty());
          forget_marks(0);
        }
      } else if (action < 93) {
        const LateFrees frees = random.chance(80) ? LateFrees::kMayCome : LateFrees::kNeverCome;
        take_away(0, frees);
        forget_marks(0);
        pool.force_reset(frees);
        counts_too_many &= frees == LateFrees::kMayCome;
      } else if (action < 95 && !marks.empty()) {
        const std::size_t index = random.size_below(marks.size());
        if (pool.forget(marks[index]).ok()) forget_marks(index);
      } else if (!marks.empty()) {
        const std::size_t index = random.size_below(marks.size());
        const bool is_forced = action < 97;
        const bool may_come = !is_forced || random.chance(80);
        const LateFrees frees = may_come ? LateFrees::kMayCome : LateFrees::kNeverCome;
        const Status status =
            is_forced ? pool.force_rewind(marks[index], frees) : pool.rewind(marks[index]);
        if (!status.ok()) continue;
        if (!is_forced) {
          ASSERT_EQ(live.size(), below[index]);
        }
        take_away(below[index], frees);
        forget_marks(index + 1);
        counts_too_many |= !may_come;
      }
    }
    while (!late.empty()) free_one(&late);
    while (!live.empty()) free_one(&live);
    if (counts_too_many) pool.force_reset(LateFrees::kNeverCome);
    this->expect_whole_space_free(pool);
  }
}

TYPED_TEST(EveryPool, WaitsForNoLateFreesWhenThereAreNone) {
  TypeParam pool;
  ASSERT_TRUE(pool.reserve(1024).ok());
  EXPECT_NE(pool.fastMalloc(64), nullptr);
  pool.force_reset(LateFrees::kNeverCome);
  void* fresh = pool.fastMalloc(64);
  pool.fastFree(fresh);
  EXPECT_EQ(pool.used_bytes(), 0U);
  EXPECT_EQ(pool.statistics().stray_frees, 0U);
  const Result<PoolMark> mark = pool.mark();
  EXPECT_NE(pool.fastMalloc(64), nullptr);
  ASSERT_TRUE(pool.force_rewind(*mark, LateFrees::kNeverCome).ok());
  pool.fastFree(pool.fastMalloc(64));
  EXPECT_EQ(pool.used_bytes(), 0U);
  EXPECT_NE(pool.fastMalloc(64), nullptr);
  pool.force_reset(LateFrees::kMayCome);
  pool.force_reset(LateFrees::kNeverCome);  // takes that back
  pool.fastFree(pool.fastMalloc(64));
  EXPECT_EQ(pool.used_bytes(), 0U);
  this->expect_whole_space_free(pool);
}

TYPED_TEST(EveryPool, EveryBlockOfAForcedResetMayBeFreedLate) {
  TypeParam pool;
  ASSERT_TRUE(pool.reserve(1024).ok());
  std::vector<void*> stale;
  for (int i = 0; i < 3; ++i) stale.push_back(pool.fastMalloc(64));
  pool.force_reset();
  std::vector<void*> fresh;
  for (int i = 0; i < 4; ++i) fresh.push_back(pool.fastMalloc(64));
  for (void* block : {stale[2], stale[0], stale[1]}) pool.fastFree(block);
  EXPECT_EQ(pool.statistics().live_blocks, 4U);
  EXPECT_EQ(pool.statistics().stray_frees, 3U);
  EXPECT_EQ(pool.used_bytes(), 256U);
  for (void* block : fresh) pool.fastFree(block);
  this->expect_whole_space_free(pool);
}

TYPED_TEST(EveryPool, TakesItsBlockUpFrontAndGivesItBackAtTheEnd) {
  TestUpstream upstream;
  {
    TypeParam pool(PoolOptions().set_upstream(upstream.get()).set_tail_bytes(64));
    ASSERT_TRUE(pool.reserve(1000).ok());
    EXPECT_EQ(upstream.live_bytes(), 1064U);
    EXPECT_EQ(pool.statistics().held_bytes, 1064U);
    EXPECT_EQ(pool.total_bytes(), 1000U);
    const std::uint64_t calls = upstream.calls();
    for (int i = 0; i < 20; ++i) pool.fastFree(pool.fastMalloc(100));
    EXPECT_EQ(upstream.calls(), calls);
    ASSERT_TRUE(pool.reserve(2000).ok());
    EXPECT_EQ(upstream.live_bytes(), 2064U);
    EXPECT_EQ(upstream.peak_bytes(), 3128U);  // the old one stays until the new one is there
    this->expect_whole_space_free(pool);
  }
  EXPECT_EQ(upstream.live_bytes(), 0U);
}

TYPED_TEST(EveryPool, ReleasesItsMemoryWhenNoBlockIsLive) {
  TestUpstream upstream;
  TypeParam pool(PoolOptions().set_upstream(upstream.get()));
  ASSERT_TRUE(pool.reserve(1000).ok());
  void* block = pool.fastMalloc(1);
  EXPECT_EQ(pool.release().live_blocks, 1U);
  EXPECT_EQ(upstream.live_bytes(), 1000U);
  pool.fastFree(block);
  ASSERT_TRUE(pool.release().ok());
  EXPECT_EQ(upstream.live_bytes(), 0U);
  EXPECT_EQ(pool.fastMalloc(1), nullptr);
  pool.fastFree(block);  // what was its memory is not any more
  EXPECT_EQ(pool.statistics().stray_frees, 1U);
  ASSERT_TRUE(pool.reserve(64).ok());
  this->expect_whole_space_free(pool);
}

TYPED_TEST(EveryPool, ARefusedReserveLeavesWhatWasThere) {
  TestUpstream upstream;
  TypeParam pool(PoolOptions().set_upstream(upstream.get()));
  ASSERT_TRUE(pool.reserve(128).ok());
  void* first = pool.fastMalloc(1);
  pool.fastFree(first);
  upstream.start_counting();
  upstream.refuse_call(0);
  const Status status = pool.reserve(256);
  EXPECT_EQ(status.reason(), Reason::kUpstreamRefused);
  EXPECT_EQ(status.needed_bytes, 256U);
  EXPECT_EQ(pool.reserve(SIZE_MAX).reason(), Reason::kAddressSpace);
  EXPECT_EQ(pool.reserve(SIZE_MAX / 2).reason(), Reason::kAddressSpace);
  EXPECT_EQ(upstream.calls(), 1U);
  EXPECT_EQ(pool.total_bytes(), 128U);
  EXPECT_EQ(pool.fastMalloc(1), first);
  pool.fastFree(first);
  this->expect_whole_space_free(pool);

  TypeParam bad(PoolOptions().set_alignment_bytes(48).set_upstream(upstream.get()));
  EXPECT_EQ(bad.reserve(64).reason(), Reason::kNotPowerOfTwo);
  EXPECT_EQ(bad.lend({}).needed_bytes, 48U);
  TypeParam padded(PoolOptions().set_tail_bytes(SIZE_MAX));
  EXPECT_EQ(padded.reserve(64).reason(), Reason::kAddressSpace);
}

TYPED_TEST(EveryPool, ALentBufferLosesItsPaddingAndTheTail) {
  alignas(64) std::byte buffer[1024];
  TypeParam pool(PoolOptions().set_tail_bytes(64));
  ASSERT_TRUE(pool.lend({buffer + 1, 1023}).ok());
  EXPECT_EQ(pool.total_bytes(), 896U);  // 1023 - 63 padding - 64 tail
  EXPECT_EQ(pool.statistics().held_bytes, 960U);
  void* first = pool.fastMalloc(896);
  EXPECT_EQ(first, buffer + 64);
  pool.fastFree(first);

  EXPECT_EQ(pool.lend({buffer + 1, 126}).reason(), Reason::kBufferTooSmall);
  EXPECT_EQ(pool.lend({buffer + 1, 126}).needed_bytes, 127U);  // 63 + 64
  EXPECT_EQ(pool.lend({buffer + 1, 126}).available_bytes, 126U);
  this->expect_whole_space_free(pool);
  ASSERT_TRUE(pool.lend({buffer + 1, 127}).ok());
  EXPECT_EQ(pool.total_bytes(), 0U);
  EXPECT_EQ(pool.fastMalloc(0), nullptr);
}

// A3 (XNNPACK 1890): kernels read past their tensors.
TYPED_TEST(EveryPool, TheTailBehindTheLastBlockCanBeRead) {
  TypeParam pool(PoolOptions().set_tail_bytes(64).set_fill(Fill::with(0x11)));
  ASSERT_TRUE(pool.reserve(256).ok());
  auto* block = static_cast<volatile std::uint8_t*>(pool.fastMalloc(256));
  unsigned sum = 0;
  for (std::size_t i = 0; i < 256 + 64; ++i) sum += block[i];
  EXPECT_GE(sum, 256U * 0x11);
  pool.fastFree(const_cast<std::uint8_t*>(block));
  this->expect_whole_space_free(pool);
}

TYPED_TEST(EveryPool, FillsWhatIsGivenBackAndNothingElse) {
  std::byte buffer[256] = {};
  TypeParam pool(
      PoolOptions().set_alignment_bytes(16).set_fill(Fill::with(0xCD)).set_poison(false));
  ASSERT_TRUE(pool.lend(buffer).ok());
  auto* first = static_cast<std::byte*>(pool.fastMalloc(32));
  EXPECT_EQ(first[31], std::byte{0xCD});  // the whole pool, at first
  std::memset(first, 1, 32);
  auto* second = static_cast<std::byte*>(pool.fastMalloc(16));
  std::memset(second, 2, 16);
  pool.fastFree(second);
  EXPECT_EQ(second[0], std::byte{0xCD});
  EXPECT_EQ(second[15], std::byte{0xCD});
  EXPECT_EQ(first[31], std::byte{1});
  pool.fastFree(pool.fastMalloc(1));
  EXPECT_EQ(first[0], std::byte{1});
  ASSERT_EQ(pool.reset().live_blocks, 1U);
  EXPECT_EQ(first[0], std::byte{1});  // a refused reset fills nothing
  pool.force_reset();
  EXPECT_EQ(first[0], std::byte{0xCD});
  EXPECT_EQ(first[31], std::byte{0xCD});
}

TYPED_TEST(EveryPool, DestructionWithLiveBlocksIsReported) {
  test::CollectedText text;
  {
    TypeParam pool(PoolOptions().set_tag("yolo blobs").set_sink(text.sink()));
    ASSERT_TRUE(pool.reserve(1024).ok());
    EXPECT_NE(pool.fastMalloc(64), nullptr);
    EXPECT_NE(pool.fastMalloc(64), nullptr);
    EXPECT_EQ(text.text(), "");
  }
  EXPECT_EQ(text.text(), "yolo blobs: destroyed with 2 blocks live, 128 bytes\n");
  text.clear();
  {
    TypeParam pool(PoolOptions().set_sink(text.sink()));
    ASSERT_TRUE(pool.reserve(1024).ok());
    pool.fastFree(pool.fastMalloc(64));
  }
  EXPECT_EQ(text.text(), "");
}

TYPED_TEST(EveryPool, DiscardsUnusedPagesWhileAddressesStay) {
  TypeParam pool(PoolOptions().set_upstream(page_upstream()).set_poison(false));
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  ASSERT_TRUE(pool.reserve(kBytes).ok());
  auto* kept = static_cast<std::uint8_t*>(pool.fastMalloc(100));
  auto* large = static_cast<std::uint8_t*>(pool.fastMalloc(kBytes / 2));
  std::memset(kept, 0x42, 100);
  std::memset(large, 0x42, kBytes / 2);
  pool.fastFree(large);
  if (page_upstream().discard == nullptr) GTEST_SKIP() << "no pages here";
  EXPECT_TRUE(pool.discard_unused());
  EXPECT_EQ(pool.statistics().held_bytes, kBytes);
  EXPECT_EQ(kept[99], 0x42);
  EXPECT_EQ(pool.fastMalloc(kBytes / 2), large);
#ifdef __linux__
  EXPECT_EQ(large[kBytes / 4], 0);
#endif
  pool.fastFree(large);
  pool.fastFree(kept);
  this->expect_whole_space_free(pool);
}

TYPED_TEST(EveryPool, DiscardsNothingOfMemoryThatIsNotItsOwn) {
  std::byte buffer[8192];
  TypeParam lent(PoolOptions().set_upstream(page_upstream()));
  EXPECT_FALSE(lent.discard_unused());
  ASSERT_TRUE(lent.lend(buffer).ok());
  EXPECT_FALSE(lent.discard_unused());
  TypeParam heap;
  ASSERT_TRUE(heap.reserve(8192).ok());
  EXPECT_FALSE(heap.discard_unused());  // an upstream that cannot
}

TYPED_TEST(EveryPool, AgreesWithTheReferenceModelOnRandomRequests) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    test::Random random(seed);
    const std::size_t alignment = std::size_t{1} << random.size_below(8);
    TypeParam pool(PoolOptions().set_alignment_bytes(alignment));
    ASSERT_TRUE(pool.reserve(1 + random.size_below(5000)).ok());
    test::LiveBlocks live;
    std::vector<void*> blocks;
    std::size_t refusals = 0;
    for (int step = 0; step < 300; ++step) {
      if (random.chance(60)) {
        const std::size_t size = random.size_below(300);
        const std::size_t used = pool.used_bytes();
        void* block = pool.fastMalloc(size);
        if (block == nullptr) {
          ++refusals;
          const std::size_t begin = (used + alignment - 1) / alignment * alignment;
          ASSERT_GT(begin + (size == 0 ? 1 : size), pool.total_bytes());
          ASSERT_EQ(pool.used_bytes(), used);
          continue;
        }
        ASSERT_NO_FATAL_FAILURE(live.add(block, size, alignment));
        blocks.push_back(block);
      } else if (!blocks.empty()) {
        const std::size_t index =
            random.chance(50) ? blocks.size() - 1 : random.size_below(blocks.size());
        ASSERT_NO_FATAL_FAILURE(live.remove(blocks[index]));
        pool.fastFree(blocks[index]);
        blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(index));
        if (blocks.empty()) {
          ASSERT_TRUE(pool.reset().ok());
        }
      }
      const AllocatorStatistics statistics = pool.statistics();
      ASSERT_EQ(statistics.live_blocks, live.count());
      ASSERT_EQ(statistics.refusals, refusals);
      ASSERT_GE(statistics.in_use_bytes, live.bytes());
      ASSERT_LE(statistics.in_use_bytes, pool.total_bytes());
      ASSERT_GE(statistics.peak_bytes, statistics.in_use_bytes);
      ASSERT_EQ(statistics.stray_frees, 0U);
    }
    live.expect_all_intact();
    for (void* block : blocks) pool.fastFree(block);
    this->expect_whole_space_free(pool);
  }
}

}  // namespace
}  // namespace tenure
