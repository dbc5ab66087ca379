// SPDX-License-Identifier: Apache-2.0

// M5 (ncnn 3026, 4611): several threads in one pool. Under ThreadSanitizer the bytes written by
// each thread show blocks that overlap, too.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "support/live_blocks.h"
#include "support/random.h"
#include "tenure/pool_allocator.h"

namespace tenure {
namespace {

// Starts them all at once and waits for them.
template <class Work>
void run_threads(std::size_t count, const Work& work) {
  std::atomic<std::size_t> waiting{count};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      --waiting;
      while (waiting.load() != 0) std::this_thread::yield();
      work(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

struct Taken {
  void* memory;
  std::size_t size_bytes;
};

TEST(PoolThreads, AllocateUntilThePoolIsFullWithoutOverlap) {
  for (const std::size_t thread_count : {2U, 4U, 8U}) {
    PoolAllocator pool(PoolOptions().set_alignment_bytes(16));
    constexpr std::size_t kBytes = 1 << 18;
    ASSERT_TRUE(pool.reserve(kBytes).ok());
    std::vector<std::vector<Taken>> taken(thread_count);
    run_threads(thread_count, [&](std::size_t thread) {
      test::Random random(thread);
      for (int refused = 0; refused < 20;) {
        const std::size_t size = 1 + random.size_below(400);
        void* block = pool.fastMalloc(size);
        EXPECT_LE(pool.used_bytes(), kBytes);
        if (block == nullptr) {
          ++refused;
          continue;
        }
        std::memset(block, static_cast<int>(thread), size);
        taken[thread].push_back({block, size});
      }
    });
    test::LiveBlocks live;
    std::size_t sum = 0;
    for (const auto& of_thread : taken) {
      for (const Taken& block : of_thread) {
        ASSERT_NO_FATAL_FAILURE(live.add(block.memory, block.size_bytes, 16));
        sum += (block.size_bytes + 15) / 16 * 16;
      }
    }
    EXPECT_EQ(pool.used_bytes(), sum);
    EXPECT_EQ(pool.statistics().live_blocks, live.count());
    EXPECT_EQ(pool.statistics().refusals, 20 * thread_count);
    EXPECT_GT(sum, kBytes - 400);
    for (const auto& of_thread : taken) {
      for (const Taken& block : of_thread) pool.fastFree(block.memory);
    }
    ASSERT_TRUE(pool.reset().ok());
    void* all = pool.fastMalloc(kBytes);
    EXPECT_NE(all, nullptr);
    pool.fastFree(all);
  }
}

// Tails end in blocks of other threads, which AddressSanitizer must go on to let them write to.
TEST(PoolThreads, WriteToTheirBlocksWhereTailsReachIntoThem) {
  PoolAllocator pool(PoolOptions().set_alignment_bytes(8).set_tail_bytes(60));
  ASSERT_TRUE(pool.reserve(1 << 20).ok());
  for (int round = 0; round < 20; ++round) {
    run_threads(4, [&](std::size_t thread) {
      for (std::size_t size = 97;; size = size == 104 ? 97 : size + 1) {
        void* block = pool.fastMalloc(size);
        if (block == nullptr) return;
        std::memset(block, static_cast<int>(thread), size);
      }
    });
    pool.force_reset(LateFrees::kNeverCome);
  }
}

// A pool that adds and then subtracts lets a request that is too large push out one that fits.
TEST(PoolThreads, ARefusedRequestNeverTakesTheRoomOfASmallerOne) {
  constexpr std::size_t kBlocks = 400000;
  PoolAllocator pool(PoolOptions().set_poison(false));
  ASSERT_TRUE(pool.reserve(64 * kBlocks).ok());
  EXPECT_NE(pool.fastMalloc(64), nullptr);  // so that the whole pool passes its end, but just so
  std::atomic<std::size_t> small_refused{0};
  std::atomic<std::size_t> large_given{0};
  std::atomic<int> small_running{4};
  run_threads(8, [&](std::size_t thread) {
    if (thread >= 4) {
      while (small_running.load() != 0) {
        if (pool.fastMalloc(64 * kBlocks) != nullptr) ++large_given;
      }
      return;
    }
    // With the first, 4 x 100000 blocks of 64 bytes fit exactly.
    for (std::size_t i = thread == 0 ? 1 : 0; i < kBlocks / 4; ++i) {
      if (pool.fastMalloc(64) == nullptr) ++small_refused;
    }
    --small_running;
  });
  EXPECT_EQ(small_refused.load(), 0U);
  EXPECT_EQ(large_given.load(), 0U);
  EXPECT_EQ(pool.used_bytes(), pool.total_bytes());
  EXPECT_EQ(pool.reset().live_blocks, kBlocks);
  pool.force_reset(LateFrees::kNeverCome);
}

// The newest block comes back while others are taken: whoever takes its bytes must be alone in
// them.
TEST(PoolThreads, FreeWhileOthersAllocate) {
  for (const std::size_t thread_count : {2U, 8U}) {
    PoolAllocator pool(PoolOptions().set_fill(Fill::with(0xEE)));
    ASSERT_TRUE(pool.reserve(std::size_t{16} << 20).ok());
    std::vector<std::vector<Taken>> kept(thread_count);
    run_threads(thread_count, [&](std::size_t thread) {
      test::Random random(100 + thread);
      for (int i = 0; i < 2000; ++i) {
        const std::size_t size = 1 + random.size_below(256);
        auto* block = static_cast<unsigned char*>(pool.fastMalloc(size));
        if (block == nullptr) continue;
        const auto pattern = static_cast<unsigned char>(i);
        std::memset(block, pattern, size);
        if (random.chance(3)) {
          kept[thread].push_back({block, size});
          continue;
        }
        for (std::size_t byte = 0; byte < size; ++byte) ASSERT_EQ(block[byte], pattern);
        pool.fastFree(block);
      }
    });
    std::size_t kept_count = 0;
    test::LiveBlocks live;
    for (const auto& of_thread : kept) {
      kept_count += of_thread.size();
      for (const Taken& block : of_thread) {
        ASSERT_NO_FATAL_FAILURE(live.add(block.memory, block.size_bytes, 64));
      }
    }
    EXPECT_EQ(pool.reset().live_blocks, kept_count);
    for (const auto& of_thread : kept) {
      for (const Taken& block : of_thread) pool.fastFree(block.memory);
    }
    EXPECT_EQ(pool.statistics().stray_frees, 0U);
    ASSERT_TRUE(pool.reset().ok());
    void* all = pool.fastMalloc(pool.total_bytes());
    EXPECT_NE(all, nullptr);
    pool.fastFree(all);
  }
}

TEST(PoolThreads, FreeWhatOtherThreadsHaveTaken) {
  PoolAllocator pool;
  ASSERT_TRUE(pool.reserve(64 * 4096).ok());
  std::vector<void*> blocks(4096);
  run_threads(8, [&](std::size_t thread) {
    for (std::size_t i = thread; i < blocks.size(); i += 8) blocks[i] = pool.fastMalloc(64);
  });
  const Result<PoolMark> mark = pool.mark();
  ASSERT_TRUE(mark.ok());
  run_threads(8, [&](std::size_t thread) {  // below the mark
    for (std::size_t i = thread * 256; i < (thread + 1) * 256; ++i) pool.fastFree(blocks[i]);
  });
  EXPECT_EQ(pool.statistics().live_blocks, 2048U);
  pool.force_reset();
  run_threads(8, [&](std::size_t thread) {  // stale by now
    for (std::size_t i = 2048 + thread; i < 4096; i += 8) pool.fastFree(blocks[i]);
  });
  EXPECT_EQ(pool.statistics().live_blocks, 0U);
  EXPECT_EQ(pool.statistics().stray_frees, 2048U);
  ASSERT_TRUE(pool.reset().ok());
  void* all = pool.fastMalloc(pool.total_bytes());
  EXPECT_NE(all, nullptr);
  pool.fastFree(all);
  EXPECT_EQ(pool.used_bytes(), 0U);
}

}  // namespace
}  // namespace tenure
