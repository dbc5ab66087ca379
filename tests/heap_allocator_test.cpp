// SPDX-License-Identifier: Apache-2.0

#include "tenure/heap_allocator.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "support/live_blocks.h"
#include "support/texts.h"
#include "support/upstreams.h"
#include "tenure/buffer_upstream.h"
#include "tenure/free_list_allocator.h"
#include "tenure/locked_allocator.h"

namespace tenure {
namespace {

using test::TestUpstream;

TEST(HeapAllocator, AlignsBlocksAndGivesEachBack) {
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 4) {
    TestUpstream upstream;
    HeapAllocator heap(HeapOptions().set_alignment_bytes(alignment).set_upstream(upstream.get()));
    test::LiveBlocks live;
    std::vector<void*> blocks;
    for (const std::size_t size : {0U, 1U, 15U, 64U, 1000U}) {
      blocks.push_back(heap.fastMalloc(size));
      live.add(blocks.back(), size, alignment);
      blocks.push_back(heap.allocate(size, 256));
      live.add(blocks.back(), size, alignment < 256 ? 256 : alignment);
    }
    EXPECT_EQ(heap.statistics().live_blocks, 10U);
    EXPECT_EQ(heap.statistics().held_bytes, upstream.live_bytes());
    live.expect_all_intact();
    for (void* block : blocks) heap.fastFree(block);
    heap.fastFree(nullptr);
    EXPECT_EQ(upstream.live_blocks(), 0U);
    EXPECT_EQ(heap.statistics().live_blocks, 0U);
    EXPECT_EQ(heap.statistics().in_use_bytes, 0U);
    EXPECT_EQ(heap.statistics().peak_bytes, upstream.peak_bytes());
  }
}

TEST(HeapAllocator, PaysOneAlignmentForItsNoteAndTheTail) {
  TestUpstream upstream;
  HeapAllocator heap(HeapOptions().set_tail_bytes(64).set_upstream(upstream.get()));
  void* block = heap.fastMalloc(100);
  EXPECT_EQ(heap.statistics().in_use_bytes, 228U);  // 64 + 100 + 64
  unsigned sum = 0;
  for (std::size_t i = 100; i < 164; ++i)
    sum += static_cast<const volatile std::uint8_t*>(block)[i];
  EXPECT_EQ(sum, 64U * 0xA5);  // as the test's upstream left it
  heap.fastFree(block);
}

// M1 (ncnn 5306).
TEST(HeapAllocator, RefusesWhatDoesNotFitAndGoesOn) {
  TestUpstream upstream;
  HeapAllocator heap(HeapOptions().set_tail_bytes(64).set_upstream(upstream.get()));
  volatile std::size_t largest = SIZE_MAX;
  for (const std::size_t size : {largest / 2, largest - 128, largest - 64, std::size_t{largest}}) {
    EXPECT_EQ(heap.fastMalloc(size), nullptr) << size;
  }
  EXPECT_EQ(heap.allocate(1, largest / 2 + 1), nullptr);
  EXPECT_EQ(upstream.calls(), 0U);
  upstream.refuse_call(0);
  EXPECT_EQ(heap.fastMalloc(16), nullptr);
  EXPECT_EQ(heap.statistics().refusals, 6U);
  void* block = heap.fastMalloc(16);
  EXPECT_NE(block, nullptr);
  heap.fastFree(block);
}

TEST(HeapAllocator, DestructionWithLiveBlocksIsReported) {
  alignas(64) std::byte buffer[1024];
  BufferUpstream upstream(buffer);
  test::CollectedText text;
  {
    HeapAllocator heap(
        HeapOptions().set_tag("net").set_sink(text.sink()).set_upstream(upstream.get()));
    EXPECT_NE(heap.fastMalloc(100), nullptr);
  }
  EXPECT_EQ(text.text(), "net: destroyed with 1 block live, 164 bytes\n");  // 64 + 100
}

struct CountingLock {
  void lock() {
    EXPECT_FALSE(is_locked);
    is_locked = true;
    ++count;
  }
  void unlock() { is_locked = false; }
  static inline int count = 0;
  bool is_locked = false;
};

TEST(LockedAllocator, LocksEveryCallOnce) {
  CountingLock::count = 0;
  FreeListAllocator inner(FreeListOptions().set_tag("inner"));
  LockedAllocator<CountingLock> locked(inner);
  void* block = locked.fastMalloc(10);
  void* aligned = locked.allocate(10, 256);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % 256, 0U);
  EXPECT_EQ(CountingLock::count, 2);
  locked.fastFree(block);
  EXPECT_EQ(locked.statistics().live_blocks, 1U);
  locked.fastFree(aligned);
  locked.fastFree(nullptr);
  EXPECT_EQ(CountingLock::count, 6);
  EXPECT_STREQ(locked.tag(), "inner");
  EXPECT_EQ(locked.alignment_bytes(), 64U);
}

TEST(LockedAllocator, LetsSeveralThreadsUseAFreeList) {
  FreeListAllocator inner(FreeListOptions().set_budget_bytes(1 << 20));
  LockedAllocator<std::mutex, FreeListAllocator> shared(inner);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&shared, thread] {
      std::vector<unsigned char*> blocks;
      for (std::size_t i = 0; i < 500; ++i) {
        const std::size_t size = 1 + (i * 37 + static_cast<std::size_t>(thread) * 101) % 900;
        if (auto* block = static_cast<unsigned char*>(shared.fastMalloc(size))) {
          block[0] = block[size - 1] = static_cast<unsigned char>(thread);
          blocks.push_back(block);
        }
        if (blocks.size() > 10) {
          EXPECT_EQ(blocks.front()[0], thread);
          shared.fastFree(blocks.front());
          blocks.erase(blocks.begin());
        }
      }
      for (unsigned char* block : blocks) shared.fastFree(block);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared.statistics().live_blocks, 0U);
  EXPECT_EQ(shared.statistics().stray_frees, 0U);
  shared.with_lock([](FreeListAllocator& allocator) { allocator.trim(); });
  EXPECT_EQ(shared.statistics().held_bytes, 0U);
  void* all = shared.fastMalloc(1 << 20);
  EXPECT_NE(all, nullptr);
  shared.fastFree(all);
}

TEST(HeapAllocator, CountsExactlyUnderThreads) {
  HeapAllocator heap;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&heap] {
      for (std::size_t i = 0; i < 500; ++i) heap.fastFree(heap.fastMalloc(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(heap.statistics().live_blocks, 0U);
  EXPECT_EQ(heap.statistics().in_use_bytes, 0U);
  EXPECT_GE(heap.statistics().peak_bytes, 64U + 499U);
}

}  // namespace
}  // namespace tenure
