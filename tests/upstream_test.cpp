// SPDX-License-Identifier: Apache-2.0

#include "tenure/upstream.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "support/upstreams.h"
#include "tenure/buffer_upstream.h"

#ifdef _WIN32
#include <windows.h>
#endif

namespace tenure {
namespace {

struct Granted {
  void* memory;
  std::size_t size_bytes;
  std::size_t alignment_bytes;
};

struct NamedUpstream {
  const char* name;
  Upstream upstream;
};

class EveryUpstream : public testing::TestWithParam<NamedUpstream> {
 protected:
  static void* take(std::size_t size_bytes, std::size_t alignment_bytes) {
    const Upstream upstream = GetParam().upstream;
    return upstream.allocate(upstream.user, size_bytes, alignment_bytes);
  }
  static void give_back(const Granted& taken) {
    const Upstream upstream = GetParam().upstream;
    upstream.deallocate(upstream.user, taken.memory, taken.size_bytes, taken.alignment_bytes);
  }
};

INSTANTIATE_TEST_SUITE_P(
    Heap, EveryUpstream,
    testing::Values(NamedUpstream{"heap", heap_upstream()},
                    NamedUpstream{"malloc_alone", malloc_upstream()},
                    NamedUpstream{"pages", page_upstream()},
                    NamedUpstream{"huge_pages", page_upstream(PageSize::kHugeWhereGiven)}),
    [](const testing::TestParamInfo<NamedUpstream>& param) { return param.param.name; });

TEST_P(EveryUpstream, AlignsEverySizeToEveryPowerOfTwo) {
  // Beyond pages, what Windows aligns to (64 KiB) and huge pages.
  for (std::size_t alignment = 1; alignment <= std::size_t{4} << 20; alignment *= 2) {
    for (const std::size_t size : {1U, 2U, 7U, 8U, 63U, 64U, 65U, 4095U, 4096U, 4097U}) {
      const Granted taken{take(size, alignment), size, alignment};
      ASSERT_NE(taken.memory, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(taken.memory) % alignment, 0U)
          << size << " bytes, alignment " << alignment;
      std::memset(taken.memory, 0x5A, size);
      give_back(taken);
    }
  }
}

// The distance back to what malloc returned is kept beside the memory: neither the blocks'
// contents nor the notes of other blocks may be touched by writing a block full.
TEST_P(EveryUpstream, BlocksThatAreFullyWrittenKeepTheirBytes) {
  std::vector<Granted> all;
  std::uint8_t pattern = 0;
  for (std::size_t round = 0; round < 4; ++round) {
    for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
      const std::size_t size = 1 + round * 37 + alignment / 3;
      const Granted taken{take(size, alignment), size, alignment};
      ASSERT_NE(taken.memory, nullptr);
      std::memset(taken.memory, ++pattern, size);
      all.push_back(taken);
    }
  }
  pattern = 0;
  for (const Granted& taken : all) {
    ++pattern;
    const auto* bytes = static_cast<const std::uint8_t*>(taken.memory);
    for (std::size_t i = 0; i < taken.size_bytes; ++i) ASSERT_EQ(bytes[i], pattern);
    give_back(taken);
  }
}

// M1: size + alignment must not wrap round to something small (ncnn 5306). volatile, so that the
// compiler does not refuse the constant.
TEST_P(EveryUpstream, RefusesSizesThatNoMachineHas) {
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

TEST_P(EveryUpstream, WorksAfterARefusal) {
  volatile std::size_t largest = SIZE_MAX;
  ASSERT_EQ(take(largest, 64), nullptr);
  const Granted taken{take(16, 64), 16, 64};
  ASSERT_NE(taken.memory, nullptr);
  give_back(taken);
}

TEST_P(EveryUpstream, RefusesAnAlignmentThatLeavesNoRoom) {
  volatile std::size_t half = SIZE_MAX / 2 + 1;
  EXPECT_EQ(take(1, half), nullptr);
  EXPECT_EQ(take(half, half), nullptr);
}

TEST(PageUpstream, DiscardsWholePagesOnlyAndKeepsTheirAddresses) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  for (const PageSize pages : {PageSize::kNormal, PageSize::kHugeWhereGiven}) {
    const Upstream upstream = page_upstream(pages);
    if (upstream.discard == nullptr) GTEST_SKIP() << "no pages here";
    auto* memory = static_cast<unsigned char*>(upstream.allocate(upstream.user, kBytes, 64));
    ASSERT_NE(memory, nullptr);
    std::memset(memory, 0x5A, kBytes);
    upstream.discard(upstream.user, memory + 1, kBytes - 2);
    EXPECT_EQ(memory[0], 0x5A);  // the page is not wholly inside
    EXPECT_EQ(memory[kBytes - 1], 0x5A);
    upstream.discard(upstream.user, memory + 1, 100);  // no whole page at all
    EXPECT_EQ(memory[50], 0x5A);
    std::memset(memory, 0x77, kBytes);  // the addresses are good
    EXPECT_EQ(memory[kBytes / 2], 0x77);
    upstream.deallocate(upstream.user, memory, kBytes, 64);
  }
}

#ifdef _WIN32
// More addresses are reserved than become memory.
TEST(PageUpstream, GivesBackAllThatAnAlignmentNeeded) {
  const Upstream upstream = page_upstream();
  constexpr std::size_t kAlignment = std::size_t{256} << 20;
  void* memory = upstream.allocate(upstream.user, 100, kAlignment);
  ASSERT_NE(memory, nullptr);
  MEMORY_BASIC_INFORMATION pages = {};
  ASSERT_NE(VirtualQuery(memory, &pages, sizeof pages), 0U);
  void* const reserved = pages.AllocationBase;
  upstream.deallocate(upstream.user, memory, 100, kAlignment);
  for (void* first : {reserved, memory}) {
    ASSERT_NE(VirtualQuery(first, &pages, sizeof pages), 0U);
    EXPECT_EQ(pages.State, DWORD{MEM_FREE});
  }
}
#endif

#ifdef __linux__
TEST(PageUpstream, DiscardedPagesAreZeroOnLinux) {
  const Upstream upstream = page_upstream();
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  auto* memory = static_cast<unsigned char*>(upstream.allocate(upstream.user, kBytes, 64));
  ASSERT_NE(memory, nullptr);
  std::memset(memory, 0x5A, kBytes);
  upstream.discard(upstream.user, memory, kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) ASSERT_EQ(memory[i], 0) << i;
  upstream.deallocate(upstream.user, memory, kBytes, 64);
}
#endif

void* take(const Upstream& upstream, std::size_t size_bytes, std::size_t alignment_bytes) {
  return upstream.allocate(upstream.user, size_bytes, alignment_bytes);
}

TEST(BufferUpstream, HandsOutAlignedPiecesUntilTheBufferIsFull) {
  alignas(64) std::byte buffer[256];
  BufferUpstream all({buffer + 1, 255});
  const Upstream upstream = all.get();
  void* first = take(upstream, 10, 16);
  EXPECT_EQ(first, buffer + 16);  // 1 + 15 padding
  EXPECT_EQ(all.used_bytes(), 25U);
  void* second = take(upstream, 100, 64);
  EXPECT_EQ(second, buffer + 64);             // 16 + 10 + 38 padding
  EXPECT_EQ(take(upstream, 93, 1), nullptr);  // 256 - 164 = 92 are left
  EXPECT_EQ(take(upstream, SIZE_MAX, 1), nullptr);
  EXPECT_EQ(take(upstream, 1, std::size_t{1} << (sizeof(std::size_t) * 8 - 1)), nullptr);
  void* third = take(upstream, 92, 1);
  EXPECT_EQ(third, buffer + 164);
  EXPECT_EQ(take(upstream, 1, 1), nullptr);
  EXPECT_EQ(all.used_bytes(), all.total_bytes());
  EXPECT_EQ(all.live_blocks(), 3U);

  upstream.deallocate(upstream.user, first, 10, 16);  // not the newest: stays taken
  EXPECT_EQ(take(upstream, 1, 1), nullptr);
  upstream.deallocate(upstream.user, third, 92, 1);  // the newest: comes back
  EXPECT_EQ(all.used_bytes(), 163U);
  upstream.deallocate(upstream.user, second, 100, 64);
  EXPECT_EQ(all.used_bytes(), 0U);
  void* whole = take(upstream, 255, 1);
  EXPECT_EQ(whole, buffer + 1);
  upstream.deallocate(upstream.user, whole, 255, 1);
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
