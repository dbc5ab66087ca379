// SPDX-License-Identifier: Apache-2.0

#include "tenure/arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "support/hand_plan.h"
#include "support/upstreams.h"

namespace tenure {
namespace {

using test::at;
using test::TestUpstream;

// Every byte of every region gets a value of its own region, so that a shared byte shows.
void write_full(const SimpleMemoryArena& arena, std::uint8_t seed) {
  for (std::uint32_t i = 0; i < arena.region_count(); ++i) {
    const Span<std::byte> region = arena.region(RegionIndex(i));
    if (!region.empty()) std::memset(region.data(), seed + static_cast<int>(i), region.size());
  }
}

bool is_full_of(const SimpleMemoryArena& arena, std::uint8_t seed) {
  for (std::uint32_t i = 0; i < arena.region_count(); ++i) {
    for (const std::byte byte : arena.region(RegionIndex(i))) {
      if (byte != static_cast<std::byte>(seed + i)) return false;
    }
  }
  return true;
}

TEST(SimpleMemoryArena, GivesEachRegionItsSizeAndAlignment) {
  TestUpstream upstream;
  SimpleMemoryArena arena(upstream.get());
  const RegionLayout layouts[] = {{1000, 64}, {1, 1}, {4097, 4096}, {24, 8}};
  ASSERT_TRUE(arena.commit(layouts).ok());
  ASSERT_EQ(arena.region_count(), 4U);
  for (std::uint32_t i = 0; i < 4; ++i) {
    const Span<std::byte> region = arena.region(RegionIndex(i));
    EXPECT_EQ(region.size(), layouts[i].size_bytes);
    const auto address = reinterpret_cast<std::uintptr_t>(region.data());
    EXPECT_EQ(address % layouts[i].alignment_bytes, 0U) << "region " << i;
  }
  write_full(arena, 1);
  EXPECT_TRUE(is_full_of(arena, 1));
}

TEST(SimpleMemoryArena, AddressIsTheRegionsBasePlusTheOffset) {
  SimpleMemoryArena arena;
  const RegionLayout layouts[] = {{128, 64}, {64, 16}};
  ASSERT_TRUE(arena.commit(layouts).ok());
  std::byte* const first = arena.region(RegionIndex(0)).data();
  std::byte* const second = arena.region(RegionIndex(1)).data();
  EXPECT_EQ(arena.address(at(0, 0)), first);
  EXPECT_EQ(arena.address(at(0, 64)), first + 64);
  EXPECT_EQ(arena.address(at(0, 128)), first + 128);  // of an empty tensor at the very end
  EXPECT_EQ(arena.address(at(1, 48)), second + 48);
  EXPECT_EQ(arena.address(Placement::none()), nullptr);
}

TEST(SimpleMemoryArena, HasNoRegionsBeforeTheFirstCommit) {
  TestUpstream upstream;
  SimpleMemoryArena arena(upstream.get());
  EXPECT_EQ(arena.region_count(), 0U);
  EXPECT_TRUE(arena.region(RegionIndex(0)).empty());
  EXPECT_TRUE(arena.region(RegionIndex::none()).empty());
  arena.release();
  EXPECT_EQ(upstream.calls(), 0U);
}

TEST(SimpleMemoryArena, ZeroByteRegionsTakeNothingFromTheUpstream) {
  TestUpstream upstream;
  SimpleMemoryArena arena(upstream.get());
  const RegionLayout layouts[] = {{0, 64}, {16, 16}, {0, 1}};
  ASSERT_TRUE(arena.commit(layouts, Fill::with(7)).ok());
  EXPECT_EQ(arena.region_count(), 3U);
  EXPECT_EQ(upstream.live_bytes(), 16U);
  EXPECT_EQ(arena.region(RegionIndex(0)).size(), 0U);
  EXPECT_EQ(arena.region(RegionIndex(1)).size(), 16U);
  ASSERT_TRUE(arena.commit({}).ok());
  EXPECT_EQ(arena.region_count(), 0U);
  EXPECT_EQ(upstream.live_blocks(), 0U);
}

TEST(SimpleMemoryArena, TakesAsManyRegionsAsItCountsAndNoMore) {
  TestUpstream upstream;
  SimpleMemoryArena arena(upstream.get());
  const std::vector<RegionLayout> most(kMaxRegions, RegionLayout{32, 32});
  ASSERT_TRUE(arena.commit(most).ok());
  write_full(arena, 10);

  const std::vector<RegionLayout> more(kMaxRegions + 1, RegionLayout{32, 32});
  std::vector<std::byte> buffer(4096);
  for (const Status& status :
       {arena.commit(more), arena.commit_lent(buffer, more), lent_size(more).status()}) {
    EXPECT_EQ(status.reason(), Reason::kTooMany);
    EXPECT_EQ(status.region.value, kMaxRegions);
  }
  EXPECT_EQ(arena.region_count(), kMaxRegions);
  EXPECT_TRUE(is_full_of(arena, 10));
}

TEST(SimpleMemoryArena, RefusesAlignmentsThatAreNoPowersOfTwo) {
  TestUpstream upstream;
  SimpleMemoryArena arena(upstream.get());
  std::vector<std::byte> buffer(4096);
  for (const std::uint64_t alignment : {0U, 3U, 48U, 65U}) {
    const RegionLayout layouts[] = {{8, 8}, {8, alignment}};
    for (const Status& status :
         {arena.commit(layouts), arena.commit_lent(buffer, layouts), lent_size(layouts).status()}) {
      EXPECT_EQ(status.reason(), Reason::kNotPowerOfTwo);
      EXPECT_EQ(status.region, RegionIndex(1));
      EXPECT_EQ(status.needed_bytes, alignment);
    }
  }
  EXPECT_EQ(upstream.calls(), 0U);
}

// P4: sizes beyond this machine never reach the upstream. One alignment of the lower half of the
// address space is spared.
TEST(SimpleMemoryArena, RefusesBytesThatDoNotFitTheAddressSpace) {
  TestUpstream upstream;
  upstream.limit_to(1000);
  SimpleMemoryArena arena(upstream.get());
  constexpr std::uint64_t kHalf = SIZE_MAX / 2;
  for (const RegionLayout& bad :
       {RegionLayout{kHalf, 1}, RegionLayout{kHalf - 63, 64}, RegionLayout{SIZE_MAX, 1},
        RegionLayout{UINT64_MAX, 64}, RegionLayout{UINT64_MAX - 63, 64}, RegionLayout{1, kHalf + 1},
        RegionLayout{0, kHalf + 1}, RegionLayout{1, std::uint64_t{1} << 63}}) {
    const RegionLayout layouts[] = {{16, 16}, bad};
    const Status status = arena.commit(layouts);
    EXPECT_EQ(status.reason(), Reason::kAddressSpace) << bad.size_bytes;
    EXPECT_EQ(status.region, RegionIndex(1));
    EXPECT_EQ(status.needed_bytes, bad.size_bytes);
  }
  EXPECT_EQ(upstream.calls(), 0U);
  // The largest that fits goes to the upstream, which has no such thing.
  for (const RegionLayout& good : {RegionLayout{kHalf - 1, 1}, RegionLayout{kHalf - 64, 64}}) {
    const Status status = arena.commit(Span<const RegionLayout>(&good, 1));
    EXPECT_EQ(status.reason(), Reason::kUpstreamRefused) << good.size_bytes;
    EXPECT_EQ(status.needed_bytes, good.size_bytes);
  }
  EXPECT_EQ(upstream.calls(), 2U);
}

// P4: three live tensors of 2,000,000,000 bytes (TensorFlow 111458).
TEST(SimpleMemoryArena, SixGigabytesFitOnlyMachinesOfMoreThan32Bits) {
  TestUpstream upstream;
  upstream.limit_to(1000);
  SimpleMemoryArena arena(upstream.get());
  const RegionLayout layout{6'000'000'000, 64};
  const Status status = arena.commit(Span<const RegionLayout>(&layout, 1));
  const bool is_32_bit = sizeof(std::size_t) == 4;
  EXPECT_EQ(status.reason(), is_32_bit ? Reason::kAddressSpace : Reason::kUpstreamRefused);
  EXPECT_EQ(status.needed_bytes, 6'000'000'000U);
}

// M1 (ncnn 5306): what is refused must not poison what comes later.
TEST(SimpleMemoryArena, CommitsASmallPlanAfterAHugeOneWasRefused) {
  const RegionLayout huge{std::uint64_t{1} << 46, 64};
  const RegionLayout small{64, 64};
  TestUpstream upstream;
  upstream.limit_to(1 << 20);
  SimpleMemoryArena arena(upstream.get());
  const Status status = arena.commit(Span<const RegionLayout>(&huge, 1));
  EXPECT_EQ(status.reason(),
            sizeof(std::size_t) == 4 ? Reason::kAddressSpace : Reason::kUpstreamRefused);
  EXPECT_EQ(status.needed_bytes, std::uint64_t{1} << 46);
  EXPECT_EQ(arena.region_count(), 0U);
  ASSERT_TRUE(arena.commit(Span<const RegionLayout>(&small, 1), Fill::with(3)).ok());
  EXPECT_EQ(*static_cast<std::uint8_t*>(arena.address(at(0, 63))), 3U);
}

TEST(SimpleMemoryArena, HeapRefusesAHugePlanAndGivesASmallOne) {
  // More than a program can address, or some systems promise it, and others search long for it.
  constexpr std::uint64_t kHugeBytes = std::uint64_t{1} << 50;
  // Only where malloc refuses it.
  volatile auto bytes = static_cast<std::size_t>(kHugeBytes);
  void* probe = bytes == 0 ? nullptr : std::malloc(bytes);
  if (probe != nullptr) {
    std::free(probe);
    GTEST_SKIP() << "malloc(2^50) succeeds here";
  }
  SimpleMemoryArena arena;
  const RegionLayout huge[] = {{64, 64}, {kHugeBytes, 64}};
  EXPECT_FALSE(arena.commit(huge).ok());
  EXPECT_EQ(arena.region_count(), 0U);
  const RegionLayout small{64, 64};
  ASSERT_TRUE(arena.commit(Span<const RegionLayout>(&small, 1)).ok());
  write_full(arena, 5);
  EXPECT_TRUE(is_full_of(arena, 5));
}

TEST(SimpleMemoryArena, ARefusedCommitLeavesAddressesAndContents) {
  const RegionLayout before[] = {{100, 64}, {0, 1}, {40, 16}};
  const RegionLayout after[] = {{200, 64}, {80, 64}, {0, 8}, {300, 32}};
  for (std::uint64_t refused = 0; refused < 3; ++refused) {  // three of `after` take memory
    TestUpstream upstream;
    SimpleMemoryArena arena(upstream.get());
    ASSERT_TRUE(arena.commit(before).ok());
    write_full(arena, 20);
    void* const first = arena.address(at(0, 0));
    void* const third = arena.address(at(2, 32));

    upstream.start_counting();
    upstream.refuse_call(refused);
    const Status status = arena.commit(after, Fill::with(0xEE));
    EXPECT_EQ(status.reason(), Reason::kUpstreamRefused);
    const std::uint32_t region = refused == 2 ? 3 : static_cast<std::uint32_t>(refused);
    EXPECT_EQ(status.region, RegionIndex(region));
    EXPECT_EQ(status.needed_bytes, after[region].size_bytes);
    EXPECT_EQ(upstream.live_bytes(), 140U);
    EXPECT_EQ(arena.region_count(), 3U);
    EXPECT_EQ(arena.address(at(0, 0)), first);
    EXPECT_EQ(arena.address(at(2, 32)), third);
    EXPECT_TRUE(is_full_of(arena, 20));
  }
}

TEST(SimpleMemoryArena, ALaterCommitReplacesTheEarlierOne) {
  TestUpstream upstream;
  SimpleMemoryArena arena(upstream.get());
  const RegionLayout first[] = {{100, 64}, {50, 1}};
  const RegionLayout second[] = {{300, 4096}};
  ASSERT_TRUE(arena.commit(first).ok());
  ASSERT_TRUE(arena.commit(second, Fill::with(0)).ok());
  EXPECT_EQ(arena.region_count(), 1U);
  EXPECT_EQ(upstream.live_bytes(), 300U);
  EXPECT_EQ(upstream.peak_bytes(), 450U);  // the old is kept until the new is there
  EXPECT_TRUE(arena.region(RegionIndex(1)).empty());
  EXPECT_TRUE(is_full_of(arena, 0));
}

TEST(SimpleMemoryArena, FillWritesEveryByteAndNoneLeavesThem) {
  TestUpstream upstream;
  const RegionLayout layouts[] = {{65, 64}, {1, 1}};
  for (const int value : {0, 1, 0x7F, 0x80, 0xFF}) {
    const auto pattern = static_cast<std::uint8_t>(value);
    SimpleMemoryArena arena(upstream.get());
    ASSERT_TRUE(arena.commit(layouts, Fill::with(pattern)).ok());
    for (std::uint32_t i = 0; i < 2; ++i) {
      for (const std::byte byte : arena.region(RegionIndex(i))) {
        ASSERT_EQ(byte, static_cast<std::byte>(pattern));
      }
    }
  }
  SimpleMemoryArena arena(upstream.get());
  ASSERT_TRUE(arena.commit(layouts).ok());
  EXPECT_EQ(arena.region(RegionIndex(0))[64], std::byte{0xA5});  // as the test's upstream left it
}

TEST(SimpleMemoryArena, ReleaseGivesEverythingBackAndAllowsAnotherCommit) {
  TestUpstream upstream;
  SimpleMemoryArena arena(upstream.get());
  const RegionLayout layouts[] = {{100, 64}, {50, 1}};
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(arena.commit(layouts).ok());
    EXPECT_EQ(upstream.live_bytes(), 150U);
    arena.release();
    EXPECT_EQ(upstream.live_blocks(), 0U);
    EXPECT_EQ(arena.region_count(), 0U);
    EXPECT_TRUE(arena.region(RegionIndex(0)).empty());
    arena.release();
  }
}

TEST(SimpleMemoryArena, MovesItsMemory) {
  TestUpstream upstream;
  SimpleMemoryArena arena(upstream.get());
  const RegionLayout layouts[] = {{100, 64}, {50, 1}};
  ASSERT_TRUE(arena.commit(layouts).ok());
  write_full(arena, 30);
  void* const address = arena.address(at(1, 10));

  SimpleMemoryArena moved(std::move(arena));
  EXPECT_EQ(arena.region_count(), 0U);
  EXPECT_EQ(moved.region_count(), 2U);
  EXPECT_EQ(moved.address(at(1, 10)), address);
  EXPECT_TRUE(is_full_of(moved, 30));
  EXPECT_EQ(upstream.live_bytes(), 150U);

  // The emptied one can be used again, and what is assigned over is given back.
  ASSERT_TRUE(arena.commit(Span<const RegionLayout>(layouts, 1)).ok());
  EXPECT_EQ(upstream.live_bytes(), 250U);
  arena = std::move(moved);
  EXPECT_EQ(upstream.live_bytes(), 150U);
  EXPECT_EQ(arena.address(at(1, 10)), address);
  EXPECT_TRUE(is_full_of(arena, 30));

  SimpleMemoryArena& same = arena;
  arena = std::move(same);
  EXPECT_EQ(arena.address(at(1, 10)), address);
  EXPECT_TRUE(is_full_of(arena, 30));
}

TEST(SimpleMemoryArena, MemoryGoesBackToTheUpstreamThatItCameFrom) {
  TestUpstream one;
  TestUpstream other;
  SimpleMemoryArena arena(one.get());
  SimpleMemoryArena assigned(other.get());
  const RegionLayout layout{64, 64};
  ASSERT_TRUE(arena.commit(Span<const RegionLayout>(&layout, 1)).ok());
  assigned = std::move(arena);
  EXPECT_EQ(one.live_bytes(), 64U);
  assigned.release();
  EXPECT_EQ(one.live_bytes(), 0U);
}

}  // namespace
}  // namespace tenure
