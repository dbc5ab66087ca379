// SPDX-License-Identifier: Apache-2.0

#include "tenure/upstream.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "support/upstreams.h"

namespace tenure {
namespace {

struct Taken {
  void* memory;
  std::size_t size_bytes;
  std::size_t alignment_bytes;
};

void* take(std::size_t size_bytes, std::size_t alignment_bytes) {
  const Upstream heap = heap_upstream();
  return heap.allocate(heap.user, size_bytes, alignment_bytes);
}

void give_back(const Taken& taken) {
  const Upstream heap = heap_upstream();
  heap.deallocate(heap.user, taken.memory, taken.size_bytes, taken.alignment_bytes);
}

TEST(HeapUpstream, AlignsEverySizeToEveryPowerOfTwo) {
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (const std::size_t size : {1U, 2U, 7U, 8U, 63U, 64U, 65U, 4095U, 4096U, 4097U}) {
      const Taken taken{take(size, alignment), size, alignment};
      ASSERT_NE(taken.memory, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(taken.memory) % alignment, 0U)
          << size << " bytes, alignment " << alignment;
      give_back(taken);
    }
  }
}

// The distance back to what malloc returned is kept beside the memory: neither the blocks'
// contents nor the notes of other blocks may be touched by writing a block full.
TEST(HeapUpstream, BlocksThatAreFullyWrittenKeepTheirBytes) {
  std::vector<Taken> all;
  std::uint8_t pattern = 0;
  for (std::size_t round = 0; round < 4; ++round) {
    for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
      const std::size_t size = 1 + round * 37 + alignment / 3;
      const Taken taken{take(size, alignment), size, alignment};
      ASSERT_NE(taken.memory, nullptr);
      std::memset(taken.memory, ++pattern, size);
      all.push_back(taken);
    }
  }
  pattern = 0;
  for (const Taken& taken : all) {
    ++pattern;
    const auto* bytes = static_cast<const std::uint8_t*>(taken.memory);
    for (std::size_t i = 0; i < taken.size_bytes; ++i) ASSERT_EQ(bytes[i], pattern);
    give_back(taken);
  }
}

// M1: size + alignment must not wrap round to something small (ncnn 5306). volatile, so that the
// compiler does not refuse the constant.
TEST(HeapUpstream, RefusesSizesThatNoMachineHas) {
  volatile std::size_t largest = SIZE_MAX;
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (const std::size_t below : {std::size_t{0}, std::size_t{1}, alignment - 1, alignment,
                                    alignment + sizeof(std::size_t) - 1,
                                    alignment + sizeof(std::size_t), std::size_t{65536}}) {
      EXPECT_EQ(take(largest - below, alignment), nullptr)
          << "SIZE_MAX - " << below << ", alignment " << alignment;
    }
    EXPECT_EQ(take(largest / 2 + 1, alignment), nullptr);
  }
}

TEST(HeapUpstream, WorksAfterARefusal) {
  volatile std::size_t largest = SIZE_MAX;
  ASSERT_EQ(take(largest, 64), nullptr);
  const Taken taken{take(16, 64), 16, 64};
  ASSERT_NE(taken.memory, nullptr);
  give_back(taken);
}

TEST(HeapUpstream, RefusesAnAlignmentThatLeavesNoRoom) {
  volatile std::size_t half = SIZE_MAX / 2 + 1;
  EXPECT_EQ(take(1, half), nullptr);
  EXPECT_EQ(take(half, half), nullptr);
}

TEST(TestUpstream, RefusesTheNamedCallAndNoOther) {
  test::TestUpstream counting;
  counting.refuse_call(1);
  const Upstream upstream = counting.get();
  void* first = upstream.allocate(upstream.user, 8, 8);
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(upstream.allocate(upstream.user, 8, 8), nullptr);
  void* third = upstream.allocate(upstream.user, 8, 8);
  EXPECT_NE(third, nullptr);
  EXPECT_EQ(counting.calls(), 3U);
  EXPECT_EQ(counting.refusals(), 1U);
  EXPECT_EQ(counting.live_bytes(), 16U);
  upstream.deallocate(upstream.user, first, 8, 8);
  upstream.deallocate(upstream.user, third, 8, 8);
}

TEST(TestUpstream, KeepsToItsCapacity) {
  test::TestUpstream limited;
  limited.limit_to(100);
  const Upstream upstream = limited.get();
  EXPECT_EQ(upstream.allocate(upstream.user, 101, 1), nullptr);
  void* all = upstream.allocate(upstream.user, 100, 1);
  EXPECT_NE(all, nullptr);
  EXPECT_EQ(upstream.allocate(upstream.user, 1, 1), nullptr);
  upstream.deallocate(upstream.user, all, 100, 1);
  EXPECT_EQ(limited.live_blocks(), 0U);
}

}  // namespace
}  // namespace tenure
