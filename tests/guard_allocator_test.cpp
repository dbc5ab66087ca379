// SPDX-License-Identifier: Apache-2.0

// M2 (ncnn 4507, 2774, 2454): what is freed twice, elsewhere or too late is found, and no memory is
// touched.

#include "tenure/guard_allocator.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "support/live_blocks.h"
#include "support/random.h"
#include "support/texts.h"
#include "support/upstreams.h"
#include "tenure/free_list_allocator.h"
#include "tenure/heap_allocator.h"
#include "tenure/model_area.h"
#include "tenure/pool_allocator.h"

namespace tenure {
namespace {

using test::TestUpstream;

// A line without its address, which no test can know.
std::string without_address(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (i == 0 || text.compare(i - 1, 2, "0x") != 0) continue;
    while (i + 1 < text.size() && std::isxdigit(static_cast<unsigned char>(text[i + 1])) != 0) ++i;
  }
  return result;
}

class Guard : public testing::Test {
 protected:
  Guard() { EXPECT_TRUE(pool.reserve(1 << 16).ok()); }
  ~Guard() override {  // the whole space can be taken again
    EXPECT_TRUE(pool.reset().ok());
    void* all = pool.fastMalloc(1 << 16);
    EXPECT_NE(all, nullptr);
    pool.fastFree(all);
  }
  unsigned char* take(std::size_t size) {
    return static_cast<unsigned char*>(guard.fastMalloc(size));
  }
  [[nodiscard]] std::string told() const { return without_address(text.text()); }

  test::CollectedText text;
  PoolAllocator pool{PoolOptions().set_tag("blobs").set_poison(false)};
  GuardAllocator guard{pool, GuardOptions().set_sink(text.sink())};
};

TEST_F(Guard, SaysNothingWhenAllIsWell) {
  test::LiveBlocks live;
  std::vector<void*> blocks;
  for (const std::size_t size : {0U, 1U, 64U, 1000U}) {
    blocks.push_back(guard.fastMalloc(size));
    live.add(blocks.back(), size, 64);
    blocks.push_back(guard.allocate(size, 1024));
    live.add(blocks.back(), size, 1024);
  }
  EXPECT_TRUE(guard.check());
  EXPECT_EQ(guard.statistics().live_blocks, 8U);
  live.expect_all_intact();
  for (void* block : blocks) guard.fastFree(block);
  guard.fastFree(nullptr);
  EXPECT_TRUE(guard.check());
  EXPECT_EQ(guard.counts().total(), 0U);
  EXPECT_EQ(guard.statistics().live_blocks, 0U);
  EXPECT_EQ(told(), "");
}

TEST_F(Guard, FindsABlockFreedTwice) {
  unsigned char* kept = take(64);
  unsigned char* block = take(64);
  std::memset(kept, 7, 64);
  guard.fastFree(block);
  guard.fastFree(block);
  EXPECT_EQ(told(), "blobs: block 0x of 64 bytes: freed twice\n");
  EXPECT_EQ(guard.counts().double_frees, 1U);
  EXPECT_EQ(pool.statistics().stray_frees, 0U);  // it went no further
  EXPECT_EQ(kept[63], 7);
  EXPECT_EQ(take(64), block);  // known again
  guard.fastFree(block);
  guard.fastFree(kept);
  EXPECT_EQ(guard.counts().total(), 1U);
}

TEST_F(Guard, FindsAFreeOfWhatIsNoBlock) {
  unsigned char* block = take(64);
  unsigned char elsewhere[64];
  std::memset(elsewhere, 9, 64);
  guard.fastFree(elsewhere);
  EXPECT_EQ(told(), "blobs: 0x: freed, but no block\n");
  guard.fastFree(block + 64);
  guard.fastFree(block - 64);  // where the allocator inside begins
  EXPECT_EQ(guard.counts().foreign_frees, 3U);
  EXPECT_EQ(guard.statistics().stray_frees, 3U);
  EXPECT_EQ(elsewhere[0], 9);
  EXPECT_EQ(pool.statistics().live_blocks, 1U);
  guard.fastFree(block);
}

TEST_F(Guard, FindsWritesBeforeAndBehindABlockOnce) {
  unsigned char* first = take(100);
  unsigned char* second = take(1);
  first[100] = 0;
  EXPECT_FALSE(guard.check());
  EXPECT_EQ(told(), "blobs: block 0x of 100 bytes: written behind its end\n");
  EXPECT_TRUE(guard.check());  // nothing new
  text.clear();
  second[-1] = 0;
  guard.fastFree(second);
  EXPECT_EQ(told(), "blobs: block 0x of 1 byte: written before its beginning\n");
  guard.fastFree(first);
  EXPECT_EQ(guard.counts().overruns, 1U);
  EXPECT_EQ(guard.counts().underruns, 1U);
  EXPECT_EQ(guard.counts().total(), 2U);
}

TEST_F(Guard, WatchesEveryByteOfItsZones) {
  for (std::size_t i = 0; i < 64; ++i) {
    unsigned char* block = take(32);
    block[32 + i] = 0;
    guard.fastFree(block);
    block = take(32);
    block[-1 - static_cast<std::ptrdiff_t>(i)] = 0;
    guard.fastFree(block);
    EXPECT_EQ(guard.counts().overruns, i + 1);
    EXPECT_EQ(guard.counts().underruns, i + 1);
  }
}

TEST_F(Guard, FindsUseAfterAReset) {
  unsigned char* freed_late = take(64);
  unsigned char* written_late = take(64);
  unsigned char* reused = take(64);
  unsigned char* quiet = take(64);
  pool.force_reset(LateFrees::kNeverCome);
  guard.note_reset(pool.unused_memory());
  EXPECT_EQ(guard.statistics().live_blocks, 0U);
  EXPECT_TRUE(guard.check());
  guard.fastFree(freed_late);
  EXPECT_EQ(told(), "blobs: block 0x of 64 bytes: freed after a reset\n");
  EXPECT_EQ(guard.counts().stale_frees, 1U);
  text.clear();
  written_late[10] = 1;
  EXPECT_FALSE(guard.check());
  EXPECT_EQ(told(), "blobs: block 0x of 64 bytes: written after a reset\n");
  EXPECT_TRUE(guard.check());
  text.clear();
  reused[63] = 1;  // found no later than when its bytes are handed out again
  unsigned char* large = take(static_cast<std::size_t>(quiet + 64 - freed_late));
  EXPECT_EQ(told(), "blobs: block 0x of 64 bytes: written after a reset\n");
  EXPECT_EQ(guard.counts().stale_writes, 2U);
  std::memset(large, 1, static_cast<std::size_t>(quiet + 64 - freed_late));
  EXPECT_TRUE(guard.check());
  guard.fastFree(large);
  guard.fastFree(quiet);
  EXPECT_EQ(guard.counts().stale_frees, 2U);
}

// Where AddressSanitizer is, it finds writes into what the pool has poisoned, and would find ours.
TEST(GuardAllocator, LeavesAloneWhatThePoolHasPoisoned) {
  PoolAllocator pool;
  ASSERT_TRUE(pool.reserve(4096).ok());
  GuardAllocator guard(pool);
  EXPECT_NE(guard.fastMalloc(64), nullptr);
  pool.force_reset(LateFrees::kNeverCome);
  guard.note_reset(pool.unused_memory());
  EXPECT_TRUE(guard.check());
  EXPECT_EQ(guard.statistics().live_blocks, 0U);
}

TEST_F(Guard, LeavesAloneWhatLiesBelowARewind) {
  unsigned char* kept = take(64);
  std::memset(kept, 0x42, 64);
  const Result<PoolMark> mark = pool.mark();
  unsigned char* gone = take(64);
  ASSERT_TRUE(pool.force_rewind(*mark, LateFrees::kNeverCome).ok());
  guard.note_reset(pool.unused_memory());
  EXPECT_EQ(kept[0], 0x42);
  EXPECT_EQ(kept[63], 0x42);
  EXPECT_EQ(guard.statistics().live_blocks, 1U);
  guard.fastFree(gone);
  EXPECT_EQ(guard.counts().stale_frees, 1U);
  guard.fastFree(kept);
  EXPECT_EQ(guard.counts().total(), 1U);
}

TEST_F(Guard, DoesNotCountABlockTwiceWhoseResetItWasNotTold) {
  unsigned char* first = take(64);
  pool.force_reset(LateFrees::kNeverCome);
  EXPECT_EQ(take(64), first);
  EXPECT_EQ(guard.statistics().live_blocks, 1U);
  guard.fastFree(first);
  EXPECT_TRUE(guard.check());
}

TEST(GuardAllocator, LeavesAloneWhatAModelHasLoadedWhenARunEnds) {
  ModelPool pool(ModelPoolOptions().set_poison(false));
  ASSERT_TRUE(pool.reserve(1 << 16).ok());
  ModelArea area(pool, "model");
  ModelNeeds needs;
  needs.load_bytes = needs.run_bytes = 4096;
  ASSERT_TRUE(area.enter(needs).ok());
  GuardAllocator guard(area);
  auto* weights = static_cast<unsigned char*>(guard.fastMalloc(64));
  std::memset(weights, 0x42, 64);
  ASSERT_TRUE(area.begin_run().ok());
  EXPECT_NE(guard.fastMalloc(64), nullptr);
  area.force_end_run(LateFrees::kNeverCome);
  guard.note_reset(area.run_memory());
  EXPECT_EQ(weights[0], 0x42);
  EXPECT_EQ(weights[63], 0x42);
  EXPECT_TRUE(guard.check());
  EXPECT_EQ(guard.statistics().live_blocks, 1U);
  guard.fastFree(weights);
}

TEST(GuardAllocator, DoesNotLookAtMemoryThatIsGone) {
  PoolAllocator pool(PoolOptions().set_upstream(page_upstream()).set_poison(false));
  ASSERT_TRUE(pool.reserve(1 << 20).ok());
  GuardAllocator guard(pool);
  void* block = guard.fastMalloc(1 << 16);
  pool.force_reset(LateFrees::kNeverCome);
  guard.note_reset(pool.unused_memory());
  guard.note_gone(pool.unused_memory());
  pool.discard_unused();
  EXPECT_TRUE(guard.check());  // whose pages hold zeros by now
  EXPECT_NE(guard.fastMalloc(64), nullptr);
  pool.force_reset(LateFrees::kNeverCome);
  guard.note_gone(pool.unused_memory());
  ASSERT_TRUE(pool.release().ok());
  EXPECT_TRUE(guard.check());  // where nothing is mapped any more
  guard.fastFree(block);
  EXPECT_EQ(guard.counts().stale_frees, 1U);
  EXPECT_EQ(guard.counts().total(), 1U);
}

TEST(GuardAllocator, AccusesNobodyOfWhatTheNextModelWrites) {
  ModelPool pool(ModelPoolOptions().set_use(ModelUse::kInTurn).set_poison(false));
  ASSERT_TRUE(pool.reserve(1 << 16).ok());
  ModelArea first(pool, "first");
  ModelArea second(pool, "second");
  ModelNeeds needs;
  needs.run_bytes = 4096;
  ASSERT_TRUE(first.enter(needs).ok());
  ASSERT_TRUE(second.enter(needs).ok());
  GuardAllocator guard(first);
  ASSERT_TRUE(first.begin_run().ok());
  EXPECT_NE(guard.fastMalloc(64), nullptr);
  first.force_end_run(LateFrees::kNeverCome);
  guard.note_gone(first.run_memory());
  ASSERT_TRUE(second.begin_run().ok());
  void* block = second.fastMalloc(4096);
  ASSERT_NE(block, nullptr);
  std::memset(block, 1, 4096);
  EXPECT_TRUE(guard.check());
  second.fastFree(block);
  EXPECT_TRUE(second.end_run().ok());
}

TEST(GuardAllocator, NamesWhatIsLeftAtTheEnd) {
  test::CollectedText text;
  FreeListAllocator inner(FreeListOptions().set_tag("net"));
  {
    GuardAllocator guard(inner, GuardOptions().set_sink(text.sink()));
    EXPECT_NE(guard.fastMalloc(100), nullptr);
    guard.fastFree(guard.fastMalloc(5));
  }
  EXPECT_EQ(without_address(text.text()), "net: block 0x of 100 bytes: leaked\n");
}

TEST(GuardAllocator, PassesRefusalsOnAndTakesNothingThen) {
  TestUpstream upstream;
  FreeListAllocator inner(FreeListOptions().set_budget_bytes(4096));
  GuardAllocator guard(inner, GuardOptions().set_upstream(upstream.get()));
  volatile std::size_t largest = SIZE_MAX;
  for (const std::size_t size :
       {std::size_t{4096}, largest - 64, largest - 127, largest / 2, std::size_t{largest}}) {
    EXPECT_EQ(guard.fastMalloc(size), nullptr) << size;
  }
  upstream.refuse_call(0);
  EXPECT_EQ(guard.fastMalloc(64), nullptr);  // no room for its record
  EXPECT_EQ(guard.statistics().refusals, 6U);
  EXPECT_EQ(inner.statistics().live_blocks, 0U);
  void* all = guard.fastMalloc(4096 - 128);  // a zone of 64 on each side
  EXPECT_NE(all, nullptr);
  guard.fastFree(all);
}

TEST(GuardAllocator, AnUpstreamThatRefusesAnyCallRefusesOneRequestAtMost) {
  for (std::uint64_t refused = 0;; ++refused) {
    SCOPED_TRACE(refused);
    ASSERT_LT(refused, 1000U);
    TestUpstream upstream;
    FreeListAllocator inner(
        FreeListOptions().set_upstream(upstream.get()).set_bookkeeping(upstream.get()));
    GuardAllocator guard(inner, GuardOptions().set_upstream(upstream.get()));
    upstream.refuse_call(refused);
    std::vector<void*> blocks;
    std::size_t refusals = 0;
    for (std::size_t i = 0; i < 300; ++i) {
      void* block = guard.fastMalloc(i * 7);
      if (block == nullptr) {
        ++refusals;
      } else {
        blocks.push_back(block);
      }
    }
    EXPECT_LE(refusals, upstream.refusals());
    EXPECT_EQ(inner.statistics().live_blocks, blocks.size());
    EXPECT_TRUE(guard.check());
    for (void* block : blocks) guard.fastFree(block);
    EXPECT_EQ(guard.counts().total(), 0U);
    EXPECT_EQ(inner.statistics().live_blocks, 0U);
    if (upstream.refusals() == 0) break;
  }
}

TEST(GuardAllocator, KnowsItsBlocksAmongThousands) {
  FreeListAllocator list;
  HeapAllocator heap;
  for (Allocator* inner : {static_cast<Allocator*>(&list), static_cast<Allocator*>(&heap)}) {
    GuardAllocator guard(*inner, GuardOptions().set_zone_bytes(1));
    test::Random random(3);
    test::LiveBlocks live;
    std::vector<void*> blocks;
    for (int step = 0; step < 5000; ++step) {
      if (random.chance(60)) {
        const std::size_t size = random.size_below(200);
        blocks.push_back(guard.fastMalloc(size));
        ASSERT_NO_FATAL_FAILURE(live.add(blocks.back(), size, 64));
      } else if (!blocks.empty()) {
        const std::size_t index = random.size_below(blocks.size());
        ASSERT_NO_FATAL_FAILURE(live.remove(blocks[index]));
        guard.fastFree(blocks[index]);
        blocks[index] = blocks.back();
        blocks.pop_back();
      }
      ASSERT_EQ(guard.statistics().live_blocks, live.count());
    }
    live.expect_all_intact();
    EXPECT_TRUE(guard.check());
    for (void* block : blocks) guard.fastFree(block);
    EXPECT_EQ(guard.counts().total(), 0U);
    EXPECT_EQ(inner->statistics().live_blocks, 0U);
  }
}

}  // namespace
}  // namespace tenure
