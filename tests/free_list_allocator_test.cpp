// SPDX-License-Identifier: Apache-2.0

#include "tenure/free_list_allocator.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/live_blocks.h"
#include "support/random.h"
#include "support/texts.h"
#include "support/traces.h"
#include "support/upstreams.h"
#include "tenure/buffer_upstream.h"

namespace tenure {
namespace {

using test::TestUpstream;

using test::kMegabyte;

TEST(FreeListAllocator, AlignsBlocksAndKeepsThemApart) {
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 4) {
    SCOPED_TRACE(alignment);
    FreeListAllocator allocator(FreeListOptions().set_alignment_bytes(alignment));
    test::LiveBlocks live;
    std::vector<void*> blocks;
    for (const std::size_t size : {0U, 1U, 63U, 64U, 65U, 1000U, 100000U}) {
      blocks.push_back(allocator.fastMalloc(size));
      live.add(blocks.back(), size, alignment);
      blocks.push_back(allocator.allocate(size, 2048));
      live.add(blocks.back(), size, alignment < 2048 ? 2048 : alignment);
    }
    EXPECT_EQ(allocator.alignment_bytes(), alignment);
    live.expect_all_intact();
    for (void* block : blocks) allocator.fastFree(block);
    allocator.fastFree(nullptr);
    EXPECT_EQ(allocator.statistics().live_blocks, 0U);
    EXPECT_EQ(allocator.statistics().in_use_bytes, 0U);
    EXPECT_EQ(allocator.statistics().stray_frees, 0U);
    allocator.trim();
    EXPECT_EQ(allocator.statistics().held_bytes, 0U);
  }
}

TEST(FreeListAllocator, SmallRequestsPayGranulesAndNoWholeAlignment) {
  FreeListAllocator allocator(FreeListOptions().set_granule_bytes(16));
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(allocator.fastMalloc(20));
  EXPECT_EQ(allocator.statistics().in_use_bytes, 32000U);  // 20 + 12 rounding
  void* large = allocator.fastMalloc(64);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large) % 64, 0U);
  allocator.fastFree(large);
  for (void* block : blocks) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0U);
    allocator.fastFree(block);
  }
  EXPECT_EQ(allocator.statistics().in_use_bytes, 0U);
}

// M1 (ncnn 5306, 3026).
TEST(FreeListAllocator, ARefusedRequestLeavesEverythingAsItWas) {
  TestUpstream upstream;
  FreeListAllocator allocator(
      FreeListOptions().set_budget_bytes(kMegabyte).set_upstream(upstream.get()));
  void* first = allocator.fastMalloc(1000);
  volatile std::size_t largest = SIZE_MAX;
  for (const std::size_t size :
       {kMegabyte + 1, largest / 2, largest / 2 + 1, largest - 63, std::size_t{largest}}) {
    EXPECT_EQ(allocator.fastMalloc(size), nullptr) << size;
    EXPECT_EQ(allocator.allocate(size, 4096), nullptr) << size;
  }
  EXPECT_EQ(allocator.allocate(1, std::size_t{1} << (sizeof(std::size_t) * 8 - 1)), nullptr);
  EXPECT_EQ(allocator.statistics().refusals, 11U);
  EXPECT_EQ(allocator.statistics().live_blocks, 1U);
  EXPECT_EQ(allocator.statistics().in_use_bytes, 1024U);
  void* second = allocator.fastMalloc(16);
  EXPECT_NE(second, nullptr);
  allocator.fastFree(first);
  allocator.fastFree(second);
  void* all = allocator.fastMalloc(kMegabyte);
  EXPECT_NE(all, nullptr);
  allocator.fastFree(all);
  EXPECT_LE(upstream.peak_bytes(), kMegabyte);
}

TEST(FreeListAllocator, AnUpstreamThatRefusesAnyCallRefusesOneRequestAtMost) {
  for (std::uint64_t refused = 0;; ++refused) {
    SCOPED_TRACE(refused);
    ASSERT_LT(refused, 1000U);
    TestUpstream upstream;
    FreeListAllocator allocator(FreeListOptions()
                                    .set_piece_bytes(0)
                                    .set_upstream(upstream.get())
                                    .set_bookkeeping(upstream.get()));
    upstream.refuse_call(refused);
    test::Random random(7);
    std::vector<void*> blocks;
    std::size_t refusals = 0;
    for (int i = 0; i < 200; ++i) {
      if (blocks.size() > 20 && random.chance(50)) {
        allocator.fastFree(blocks.back());
        blocks.pop_back();
        continue;
      }
      void* block = allocator.fastMalloc(random.size_below(5000));
      if (block == nullptr) {
        ++refusals;
      } else {
        blocks.push_back(block);
      }
    }
    EXPECT_LE(refusals, upstream.refusals());
    EXPECT_EQ(allocator.statistics().refusals, refusals);
    EXPECT_EQ(allocator.statistics().live_blocks, blocks.size());
    for (void* block : blocks) allocator.fastFree(block);
    EXPECT_EQ(allocator.statistics().in_use_bytes, 0U);
    allocator.trim();
    EXPECT_EQ(allocator.statistics().held_bytes, 0U);
    if (upstream.refusals() == 0) break;
  }
}

// M4 (llama.cpp 22107): a block that grows bit by bit.
TEST(FreeListAllocator, ABlockThatGrowsStaysWithinTheBudget) {
  constexpr std::size_t kStep = 4096;
  constexpr std::size_t kSteps = 200;
  constexpr std::size_t kBudget = 2 * kSteps * kStep;  // the largest, and the one before it
  TestUpstream upstream;
  FreeListAllocator allocator(
      FreeListOptions().set_budget_bytes(kBudget).set_upstream(upstream.get()));
  auto* block = static_cast<unsigned char*>(allocator.fastMalloc(kStep));
  std::memset(block, 0, kStep);
  for (std::size_t step = 2; step <= kSteps; ++step) {
    auto* larger = static_cast<unsigned char*>(allocator.fastMalloc(step * kStep));
    ASSERT_NE(larger, nullptr) << step;
    std::memcpy(larger, block, (step - 1) * kStep);
    std::memset(larger + (step - 1) * kStep, static_cast<int>(step), kStep);
    allocator.fastFree(block);
    block = larger;
    ASSERT_LE(allocator.statistics().held_bytes, kBudget);
  }
  EXPECT_LE(upstream.peak_bytes(), kBudget);
  EXPECT_EQ(block[kSteps * kStep - 1], kSteps);
  EXPECT_EQ(block[kStep], 2);
  allocator.fastFree(block);
  EXPECT_NE(block = static_cast<unsigned char*>(allocator.fastMalloc(kBudget)), nullptr);
  allocator.fastFree(block);
}

// M4 (ncnn 4629): what was large is large again, though something small stayed.
TEST(FreeListAllocator, LargeSmallLargeHoldsLittleMoreThanBoth) {
  constexpr std::size_t kLarge = 64 * kMegabyte;
  FreeListAllocator allocator(FreeListOptions().set_upstream(page_upstream()));
  void* large = allocator.fastMalloc(kLarge);
  void* kept = allocator.fastMalloc(64);
  allocator.fastFree(large);
  void* again = allocator.fastMalloc(kLarge);
  EXPECT_EQ(again, large);
  EXPECT_EQ(allocator.statistics().held_bytes, kLarge + kLarge / 32);
  allocator.fastFree(again);
  EXPECT_EQ(allocator.trim(), kLarge);
  EXPECT_EQ(allocator.statistics().held_bytes, kLarge / 32);
  EXPECT_EQ(allocator.statistics().live_blocks, 1U);
  allocator.fastFree(kept);
}

TEST(FreeListAllocator, TrimGivesBackWhatHoldsNoBlock) {
  TestUpstream upstream;
  FreeListAllocator allocator(FreeListOptions().set_piece_bytes(0).set_upstream(upstream.get()));
  ASSERT_TRUE(allocator.reserve(1000).ok());
  ASSERT_TRUE(allocator.reserve(2000).ok());
  EXPECT_EQ(allocator.statistics().held_bytes, 3072U);  // 1000 + 24 and 2000 + 48 rounding
  void* block = allocator.fastMalloc(1500);
  EXPECT_EQ(allocator.trim(), 1024U);
  EXPECT_EQ(upstream.live_bytes(), 2048U);
  EXPECT_EQ(allocator.trim(), 0U);
  std::memset(block, 1, 1500);
  allocator.fastFree(block);
  EXPECT_EQ(allocator.trim(), 2048U);
  EXPECT_EQ(upstream.live_bytes(), 0U);
  EXPECT_NE(block = allocator.fastMalloc(3000), nullptr);
  allocator.fastFree(block);
}

TEST(FreeListAllocator, ReserveSaysWhyItFails) {
  TestUpstream upstream;
  FreeListAllocator allocator(
      FreeListOptions().set_budget_bytes(10000).set_upstream(upstream.get()));
  ASSERT_TRUE(allocator.reserve(4096).ok());
  const Status status = allocator.reserve(8192);
  EXPECT_EQ(status.reason(), Reason::kPoolExhausted);
  EXPECT_EQ(status.needed_bytes, 8192U);
  EXPECT_EQ(status.available_bytes, 5904U);  // 10000 - 4096
  EXPECT_EQ(allocator.reserve(SIZE_MAX).reason(), Reason::kAddressSpace);
  upstream.start_counting();
  upstream.refuse_call(0);
  EXPECT_EQ(allocator.reserve(64).reason(), Reason::kUpstreamRefused);
  EXPECT_TRUE(allocator.reserve_blocks(100).ok());
  EXPECT_EQ(allocator.statistics().held_bytes, 4096U);
  void* all = allocator.fastMalloc(4096);
  EXPECT_NE(all, nullptr);
  allocator.fastFree(all);
}

TEST(FreeListAllocator, KeepsToItsBudgetToTheByte) {
  alignas(64) std::byte buffer[1024];
  for (const std::size_t missing : {0U, 1U}) {
    for (const bool is_lent : {false, true}) {
      FreeListAllocator allocator(
          FreeListOptions().set_tail_bytes(64).set_budget_bytes(1024 - missing));
      const Status status = is_lent ? allocator.lend(buffer) : allocator.reserve(960);  // and 64
      EXPECT_EQ(status.reason(), missing == 0 ? Reason::kNone : Reason::kPoolExhausted);
      EXPECT_EQ(status.needed_bytes, missing == 0 ? 0U : 1024U);
      EXPECT_EQ(status.available_bytes, missing == 0 ? 0U : 1023U);
      void* all = allocator.fastMalloc(960);
      EXPECT_EQ(all != nullptr, missing == 0);
      EXPECT_EQ(allocator.fastMalloc(961), nullptr);
      allocator.fastFree(all);
    }
  }
}

// However little the first pieces leave of the budget, and whatever the upstream has left.
TEST(FreeListAllocator, SmallRequestsUseTheBudgetUp) {
  for (const std::size_t piece : {std::size_t{0}, std::size_t{4096}, std::size_t{65536}}) {
    for (std::size_t budget = 1 << 18; budget < kMegabyte; budget += 37 * 1024 + 100) {
      SCOPED_TRACE(budget);
      TestUpstream upstream;
      FreeListAllocator allocator(FreeListOptions()
                                      .set_budget_bytes(budget)
                                      .set_piece_bytes(piece)
                                      .set_tail_bytes(64)
                                      .set_upstream(upstream.get()));
      std::vector<void*> blocks;
      while (void* block = allocator.fastMalloc(64)) blocks.push_back(block);
      EXPECT_GT(allocator.statistics().in_use_bytes, budget - budget / 32 - 64);
      EXPECT_LE(upstream.peak_bytes(), budget);
      const std::uint64_t calls = upstream.calls();
      EXPECT_EQ(allocator.fastMalloc(64), nullptr);
      EXPECT_EQ(upstream.calls(), calls);  // which could not change anything
      for (void* block : blocks) allocator.fastFree(block);
    }
  }
}

TEST(FreeListAllocator, SmallRequestsUseAnUpstreamUpThatHasLessThanTheBudget) {
  std::vector<std::byte> buffer(kMegabyte);
  BufferUpstream upstream(buffer);
  FreeListAllocator allocator(FreeListOptions().set_upstream(upstream.get()));
  std::vector<void*> blocks;
  while (void* block = allocator.fastMalloc(64)) blocks.push_back(block);
  EXPECT_GT(allocator.statistics().in_use_bytes, kMegabyte - kMegabyte / 32);
  for (void* block : blocks) allocator.fastFree(block);
}

TEST(FreeListAllocator, ARefusedRequestLeavesWhatIsHeldWhereItWouldNotDo) {
  for (const std::size_t budget : {std::size_t{SIZE_MAX}, 2 * kMegabyte}) {
    TestUpstream upstream;
    upstream.limit_to(4 * kMegabyte);
    FreeListAllocator allocator(
        FreeListOptions().set_piece_bytes(0).set_budget_bytes(budget).set_upstream(upstream.get()));
    ASSERT_TRUE(allocator.reserve(kMegabyte).ok());
    EXPECT_EQ(allocator.fastMalloc(8 * kMegabyte), nullptr);
    EXPECT_EQ(allocator.statistics().held_bytes, kMegabyte);
    if (budget == SIZE_MAX) continue;
    EXPECT_EQ(allocator.fastMalloc(kMegabyte + 64), nullptr);  // what is reserved stays
    EXPECT_EQ(allocator.statistics().held_bytes, kMegabyte);
    void* large = allocator.fastMalloc(kMegabyte);
    void* more = allocator.fastMalloc(64);
    allocator.fastFree(more);
    const std::size_t held = allocator.statistics().held_bytes;
    EXPECT_EQ(allocator.fastMalloc(kMegabyte + 64), nullptr);
    EXPECT_EQ(allocator.statistics().held_bytes, held);  // with what the second piece has, too
    more = allocator.fastMalloc(kMegabyte);              // for which that piece has to go
    EXPECT_NE(more, nullptr);
    EXPECT_EQ(allocator.statistics().held_bytes, budget);
    allocator.fastFree(large);
    allocator.fastFree(more);
    EXPECT_EQ(allocator.trim(), budget);
  }
}

TEST(FreeListAllocator, ARequestThatTheUpstreamCannotServeLeavesRoomForASmallerOne) {
  TestUpstream upstream;
  upstream.limit_to(65536);
  FreeListAllocator allocator(FreeListOptions().set_upstream(upstream.get()));
  allocator.fastFree(allocator.fastMalloc(100));
  ASSERT_EQ(allocator.statistics().held_bytes, 65536U);
  upstream.limit_to(0);
  for (const std::size_t bytes : {kMegabyte, std::size_t{SIZE_MAX / 2}, std::size_t{65536} + 64}) {
    EXPECT_EQ(allocator.fastMalloc(bytes), nullptr) << bytes;
    EXPECT_EQ(allocator.statistics().held_bytes, 65536U) << bytes;
  }
  void* block = allocator.fastMalloc(65536);
  EXPECT_NE(block, nullptr);
  allocator.fastFree(block);
}

TEST(FreeListAllocator, GivesPiecesBackToAnUpstreamThatHasNoMoreBesideThem) {
  TestUpstream upstream;
  upstream.limit_to(4 * kMegabyte);
  FreeListAllocator allocator(FreeListOptions().set_piece_bytes(0).set_upstream(upstream.get()));
  void* first = allocator.fastMalloc(kMegabyte);
  void* second = allocator.fastMalloc(2 * kMegabyte);
  allocator.fastFree(first);
  allocator.fastFree(second);
  void* large = allocator.fastMalloc(3 * kMegabyte);
  EXPECT_NE(large, nullptr);
  EXPECT_EQ(allocator.statistics().held_bytes, 3 * kMegabyte);
  allocator.fastFree(large);
}

TEST(FreeListAllocator, GivesPiecesBackWhereThereAreAsManyAsCanBe) {
  FreeListAllocator allocator(FreeListOptions().set_granule_bytes(1).set_piece_bytes(0));
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < kMaxRanges; ++i) blocks.push_back(allocator.fastMalloc(64));
  for (void* block : blocks) allocator.fastFree(block);
  const std::size_t held = allocator.statistics().held_bytes;
  constexpr std::size_t kTooLarge = (std::size_t{1} << 30) + 1;  // for a piece, in granules
  EXPECT_EQ(allocator.fastMalloc(kTooLarge), nullptr);
  EXPECT_EQ(allocator.statistics().held_bytes, held);
  void* block = allocator.fastMalloc(128);
  EXPECT_NE(block, nullptr);
  allocator.fastFree(block);
}

TEST(FreeListAllocator, IsNotLentTheSameMemoryTwice) {
  alignas(64) std::byte buffer[1024];
  FreeListAllocator allocator(FreeListOptions().set_budget_bytes(2048).set_tail_bytes(64));
  ASSERT_TRUE(allocator.lend({buffer + 256, 512}).ok());
  EXPECT_EQ(allocator.lend({buffer + 256, 512}).reason(), Reason::kBuffersOverlap);
  EXPECT_EQ(allocator.lend({buffer, 320}).reason(), Reason::kBuffersOverlap);
  EXPECT_EQ(allocator.lend({buffer + 704, 320}).reason(), Reason::kBuffersOverlap);
  EXPECT_EQ(allocator.lend(buffer).reason(), Reason::kBuffersOverlap);
  EXPECT_EQ(allocator.statistics().held_bytes, 512U);
  EXPECT_TRUE(allocator.lend({buffer, 256}).ok());
  EXPECT_TRUE(allocator.lend({buffer + 768, 256}).ok());
}

TEST(FreeListAllocator, AsksForNoMemoryThatItHasNoRoomInItsBooksFor) {
  TestUpstream upstream;
  FreeListAllocator allocator(FreeListOptions().set_upstream(upstream.get()));
  for (std::size_t i = 0; i < kMaxRanges; ++i) ASSERT_TRUE(allocator.reserve(64).ok());
  const std::uint64_t calls = upstream.calls();
  EXPECT_EQ(allocator.reserve(64).reason(), Reason::kTooMany);
  EXPECT_EQ(allocator.fastMalloc(128), nullptr);
  EXPECT_EQ(upstream.calls(), calls);
}

TEST(FreeListAllocator, PlacesBlocksInALentBufferAndNeverGivesItBack) {
  alignas(64) std::byte buffer[1024];
  TestUpstream upstream;
  FreeListAllocator allocator(FreeListOptions().set_budget_bytes(960).set_upstream(upstream.get()));
  EXPECT_EQ(allocator.lend({buffer + 1, 126}).reason(), Reason::kBufferTooSmall);
  EXPECT_EQ(allocator.lend({buffer + 1, 126}).needed_bytes, 127U);  // 63 padding + 64
  EXPECT_EQ(allocator.lend(buffer).reason(), Reason::kPoolExhausted);
  ASSERT_TRUE(allocator.lend({buffer + 1, 1023}).ok());
  EXPECT_EQ(allocator.statistics().held_bytes, 960U);  // 1023 - 63
  void* block = allocator.fastMalloc(960);
  EXPECT_EQ(block, buffer + 64);
  EXPECT_EQ(allocator.fastMalloc(1), nullptr);
  allocator.fastFree(block);
  EXPECT_EQ(allocator.trim(), 0U);
  EXPECT_EQ(upstream.calls(), 0U);
  EXPECT_EQ(allocator.fastMalloc(960), block);
  allocator.fastFree(block);
}

// A3 (XNNPACK 1890, ncnn 3155).
TEST(FreeListAllocator, TheTailBehindTheLastBlockOfEachPieceCanBeRead) {
  TestUpstream upstream;
  FreeListAllocator allocator(
      FreeListOptions().set_piece_bytes(0).set_tail_bytes(64).set_budget_bytes(400).set_upstream(
          upstream.get()));
  for (int round = 0; round < 2; ++round) {
    void* block = allocator.fastMalloc(256);
    EXPECT_EQ(upstream.live_bytes(), 320U);  // 256 + 64
    EXPECT_EQ(allocator.statistics().held_bytes, 320U);
    EXPECT_EQ(allocator.fastMalloc(64), nullptr);  // 320 + 64 + 64 are above the budget
    unsigned sum = 0;
    for (std::size_t i = 0; i < 256 + 64; ++i) {
      sum += static_cast<const volatile std::uint8_t*>(block)[i];
    }
    EXPECT_EQ(sum, 320U * 0xA5);  // as the test's upstream left it
    allocator.fastFree(block);
    EXPECT_EQ(allocator.trim(), 320U);
  }
  alignas(64) std::byte buffer[256];
  EXPECT_EQ(allocator.lend({buffer, 127}).needed_bytes, 128U);  // 64 + 64
  ASSERT_TRUE(allocator.lend(buffer).ok());
  void* all = allocator.fastMalloc(192);  // 256 - 64
  EXPECT_EQ(all, buffer);
  allocator.fastFree(all);
  FreeListAllocator too_long(FreeListOptions().set_tail_bytes(SIZE_MAX));
  EXPECT_EQ(too_long.reserve(64).reason(), Reason::kAddressSpace);
  EXPECT_EQ(too_long.lend(buffer).reason(), Reason::kBufferTooSmall);
  EXPECT_EQ(too_long.fastMalloc(1), nullptr);
}

TEST(FreeListAllocator, FreesOfWhatIsNotLiveChangeNothing) {
  FreeListAllocator allocator;
  auto* block = static_cast<std::byte*>(allocator.fastMalloc(200));
  std::byte elsewhere[64];
  allocator.fastFree(elsewhere);
  allocator.fastFree(block + 64);
  allocator.fastFree(block + 1);
  EXPECT_EQ(allocator.statistics().stray_frees, 3U);
  EXPECT_EQ(allocator.statistics().live_blocks, 1U);
  allocator.fastFree(block);
  allocator.fastFree(block);
  EXPECT_EQ(allocator.statistics().stray_frees, 4U);
  EXPECT_EQ(allocator.statistics().live_blocks, 0U);
  EXPECT_EQ(allocator.free_blocks(), 1U);
}

TEST(FreeListAllocator, HoldsMorePiecesThanItCountsByTakingLargerOnes) {
  FreeListAllocator allocator(FreeListOptions().set_piece_bytes(0));
  std::vector<void*> blocks;
  for (int i = 0; i < 5000; ++i) {
    blocks.push_back(allocator.fastMalloc(64));
    ASSERT_NE(blocks.back(), nullptr) << i;
  }
  EXPECT_LE(allocator.statistics().held_bytes, 2 * 5000 * 64U);
  for (void* block : blocks) allocator.fastFree(block);
  EXPECT_LE(allocator.free_blocks(), kMaxRanges);
}

TEST(FreeListAllocator, DestructionWithLiveBlocksIsReportedAndItsMemoryGoesBack) {
  test::CollectedText text;
  TestUpstream upstream;
  {
    FreeListAllocator allocator(
        FreeListOptions().set_tag("models").set_sink(text.sink()).set_upstream(upstream.get()));
    EXPECT_NE(allocator.fastMalloc(100), nullptr);
  }
  EXPECT_EQ(text.text(), "models: destroyed with 1 block live, 128 bytes\n");
  EXPECT_EQ(upstream.live_blocks(), 0U);
}

TEST(FreeListAllocator, ServesRecordedTracesWithoutOverlap) {
  TENURE_SKIP_WITHOUT_DATA();
  const std::vector<std::string> files = test::trace_files();
  if (files.empty()) GTEST_SKIP() << "no traces/ in TENURE_DATA_DIR";
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    FreeListAllocator allocator;
    std::vector<void*> blocks;
    std::vector<std::size_t> sizes;                 // rounded
    std::map<std::uintptr_t, std::uintptr_t> live;  // begin to end
    std::size_t in_use = 0;
    for (const test::TraceEvent& event : test::read_trace(file)) {
      if (blocks.size() <= event.block) {
        blocks.resize(event.block + 1);
        sizes.resize(event.block + 1);
      }
      if (event.is_free) {
        allocator.fastFree(blocks[event.block]);
        live.erase(reinterpret_cast<std::uintptr_t>(blocks[event.block]));
        in_use -= sizes[event.block];
      } else {
        void* block = allocator.fastMalloc(event.size_bytes);
        ASSERT_NE(block, nullptr);
        const auto begin = reinterpret_cast<std::uintptr_t>(block);
        ASSERT_EQ(begin % 64, 0U);
        const std::size_t size = event.size_bytes == 0 ? 64 : (event.size_bytes + 63) / 64 * 64;
        const auto above = live.lower_bound(begin);
        ASSERT_TRUE(above == live.end() || above->first >= begin + size);
        ASSERT_TRUE(above == live.begin() || std::prev(above)->second <= begin);
        live[begin] = begin + size;
        blocks[event.block] = block;
        sizes[event.block] = size;
        in_use += size;
      }
      ASSERT_EQ(allocator.statistics().in_use_bytes, in_use);
      ASSERT_EQ(allocator.statistics().live_blocks, live.size());
    }
    EXPECT_EQ(live.size(), 0U);
    EXPECT_EQ(allocator.statistics().stray_frees, 0U);
    EXPECT_NE(allocator.trim(), 0U);
    EXPECT_EQ(allocator.statistics().held_bytes, 0U);  // each piece is whole again
  }
}

TEST(FreeListAllocator, AgreesWithTheReferenceModelOnRandomRequests) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    test::Random random(seed);
    TestUpstream upstream;
    const std::size_t granule = std::size_t{1} << random.size_between(3, 6);
    const std::size_t budget = random.size_between(20000, 200000);
    FreeListAllocator allocator(FreeListOptions()
                                    .set_granule_bytes(granule)
                                    .set_budget_bytes(budget)
                                    .set_piece_bytes(random.size_below(20000))
                                    .set_upstream(upstream.get()));
    test::LiveBlocks live;
    std::vector<void*> blocks;
    for (int step = 0; step < 500; ++step) {
      if (random.chance(55)) {
        const std::size_t size = random.size_below(random.chance(30) ? 8000 : 100);
        void* block = allocator.fastMalloc(size);
        if (block == nullptr) continue;
        ASSERT_NO_FATAL_FAILURE(live.add(block, size, size < 64 ? granule : 64));
        blocks.push_back(block);
      } else if (!blocks.empty()) {
        const std::size_t index = random.size_below(blocks.size());
        ASSERT_NO_FATAL_FAILURE(live.remove(blocks[index]));
        allocator.fastFree(blocks[index]);
        blocks[index] = blocks.back();
        blocks.pop_back();
      } else if (random.chance(20)) {
        allocator.trim();
      }
      const AllocatorStatistics statistics = allocator.statistics();
      ASSERT_LE(statistics.held_bytes, budget);
      ASSERT_EQ(statistics.held_bytes, upstream.live_bytes());
      ASSERT_EQ(statistics.live_blocks, live.count());
      ASSERT_GE(statistics.in_use_bytes, live.bytes());
      ASSERT_LE(statistics.in_use_bytes, statistics.held_bytes);
    }
    live.expect_all_intact();
    for (void* block : blocks) allocator.fastFree(block);
    void* all = allocator.fastMalloc(budget / 64 * 64);
    EXPECT_NE(all, nullptr);
    allocator.fastFree(all);
  }
}

// ---- discarding

TEST(FreeListAllocator, DiscardsAllFreeBlocksAndNoOthers) {
  TestUpstream upstream;
  FreeListAllocator allocator(FreeListOptions().set_upstream(upstream.get_discarding()));
  EXPECT_FALSE(allocator.discard_unused());  // nothing is held
  test::Random random(1);
  test::LiveBlocks live;
  std::vector<void*> blocks;
  for (int step = 0; step < 2000; ++step) {
    if (blocks.empty() || random.below(5) < 3) {
      const std::size_t size = random.size_below(4000);
      blocks.push_back(allocator.fastMalloc(size));
      live.add(blocks.back(), size, 64);
    } else {
      std::swap(blocks[random.size_below(blocks.size())], blocks.back());
      live.remove(blocks.back());
      allocator.fastFree(blocks.back());
      blocks.pop_back();
    }
    if (step % 50 != 0) continue;
    const std::uint64_t before = upstream.discarded_bytes();
    const AllocatorStatistics statistics = allocator.statistics();
    EXPECT_TRUE(allocator.discard_unused());
    EXPECT_EQ(upstream.discarded_bytes() - before, statistics.held_bytes - statistics.in_use_bytes);
    EXPECT_EQ(allocator.statistics().held_bytes, statistics.held_bytes);
    live.expect_all_intact();
  }
  for (void* block : blocks) allocator.fastFree(block);
}

TEST(FreeListAllocator, DiscardsPagesWhileAddressesStay) {
  if (page_upstream().discard == nullptr) GTEST_SKIP() << "no pages here";
  FreeListAllocator allocator(FreeListOptions().set_upstream(page_upstream()));
  ASSERT_TRUE(allocator.reserve(2 * kMegabyte).ok());
  auto* large = static_cast<unsigned char*>(allocator.fastMalloc(kMegabyte));
  auto* kept = static_cast<unsigned char*>(allocator.fastMalloc(64));
  std::memset(large, 0x42, kMegabyte);
  std::memset(kept, 0x42, 64);
  allocator.fastFree(large);
  EXPECT_EQ(allocator.trim(), 0U);
  EXPECT_TRUE(allocator.discard_unused());
  EXPECT_EQ(kept[63], 0x42);
  EXPECT_EQ(allocator.fastMalloc(kMegabyte), large);
#ifdef __linux__
  EXPECT_EQ(large[kMegabyte / 2], 0);
#endif
  allocator.fastFree(large);
  allocator.fastFree(kept);
}

TEST(FreeListAllocator, DiscardsNothingOfMemoryThatIsNotItsOwn) {
  TestUpstream upstream;
  std::vector<std::byte> buffer(8192);
  FreeListAllocator lent(FreeListOptions().set_upstream(upstream.get_discarding()));
  ASSERT_TRUE(lent.lend({buffer.data(), buffer.size()}).ok());
  EXPECT_FALSE(lent.discard_unused());
  EXPECT_EQ(upstream.discarded_bytes(), 0U);
  ASSERT_TRUE(lent.reserve(1024).ok());
  EXPECT_TRUE(lent.discard_unused());
  EXPECT_EQ(upstream.discarded_bytes(), 1024U);
  FreeListAllocator heap(FreeListOptions().set_upstream(upstream.get()));
  ASSERT_TRUE(heap.reserve(1024).ok());
  EXPECT_FALSE(heap.discard_unused());  // an upstream that cannot
}

}  // namespace
}  // namespace tenure
