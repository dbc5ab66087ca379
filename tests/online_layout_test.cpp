// SPDX-License-Identifier: Apache-2.0

// A layout that grows request by request, against the same thing written plainly, and the arena
// that carries it out.

#include "tenure/online_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "support/random.h"
#include "support/upstreams.h"
#include "tenure/arena.h"

namespace tenure {
namespace {

using test::Random;
using test::TestUpstream;

std::uint64_t place(OnlineLayout* layout, std::uint64_t size, std::uint64_t alignment = 1) {
  const Result<OnlineBlock> block = layout->allocate(size, alignment);
  EXPECT_TRUE(block.ok()) << text_of(block.status().reason());
  return block.ok() ? block->placement.offset_bytes : UINT64_MAX;
}

OnlineBlock block_at(std::uint64_t offset, std::uint64_t size) {
  return {{kReusableRegion, offset}, size};
}

// First fit as a sentence says it: try the end of every block, and 0, lowest first.
std::uint64_t plain_first_fit(const std::vector<OnlineBlock>& live, std::uint64_t size,
                              std::uint64_t alignment) {
  std::vector<std::uint64_t> tries{0};
  for (const OnlineBlock& block : live) {
    tries.push_back(block.placement.offset_bytes + block.size_bytes);
  }
  std::sort(tries.begin(), tries.end());
  for (const std::uint64_t begin : tries) {
    const std::uint64_t offset = (begin + alignment - 1) / alignment * alignment;
    const bool is_free = std::none_of(live.begin(), live.end(), [&](const OnlineBlock& block) {
      return block.placement.offset_bytes < offset + size &&
             offset < block.placement.offset_bytes + block.size_bytes;
    });
    if (is_free) return offset;
  }
  return UINT64_MAX;
}

TEST(OnlineLayout, TakesTheLowestGapThatHoldsTheSize) {
  OnlineLayout layout;
  EXPECT_EQ(place(&layout, 100), 0U);
  EXPECT_EQ(place(&layout, 50), 100U);
  EXPECT_EQ(place(&layout, 30), 150U);
  EXPECT_TRUE(layout.deallocate(block_at(0, 100)).ok());
  EXPECT_EQ(place(&layout, 101), 180U);  // one byte too large for [0, 100)
  EXPECT_EQ(place(&layout, 60), 0U);
  EXPECT_EQ(place(&layout, 41), 281U);  // 100 - 60 = 40 are free at 60
  EXPECT_EQ(place(&layout, 40), 60U);
  EXPECT_EQ(layout.high_water_mark_bytes(), 322U);  // 281 + 41
}

TEST(OnlineLayout, AlignsInsideAGapOrPassesItOver) {
  OnlineLayout layout;
  EXPECT_EQ(place(&layout, 10, 1), 0U);
  EXPECT_EQ(place(&layout, 64, 64), 64U);
  EXPECT_EQ(place(&layout, 1, 64), 128U);
  EXPECT_EQ(place(&layout, 32, 32), 32U);   // 10 aligned to 32, and 32 + 32 = 64
  EXPECT_EQ(place(&layout, 17, 16), 144U);  // 16 + 17 > 32; 129 aligned to 16
  EXPECT_EQ(place(&layout, 16, 16), 16U);
  EXPECT_EQ(layout.layouts()[0].alignment_bytes, 64U);
}

TEST(OnlineLayout, FreeNeighboursBecomeOneGap) {
  OnlineLayout layout;
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(place(&layout, 10), 10 * i);
  for (const std::uint64_t i : {1U, 3U, 2U}) {
    EXPECT_TRUE(layout.deallocate(block_at(10 * i, 10)).ok());
  }
  EXPECT_EQ(place(&layout, 30), 10U);
}

TEST(OnlineLayout, TheEndFallsBackWhenTheLastBlocksAreFree) {
  OnlineLayout layout;
  EXPECT_EQ(place(&layout, 10), 0U);
  EXPECT_EQ(place(&layout, 90), 10U);
  EXPECT_TRUE(layout.deallocate(block_at(10, 90)).ok());
  EXPECT_EQ(place(&layout, 200), 10U);
  EXPECT_EQ(layout.high_water_mark_bytes(), 210U);
  EXPECT_TRUE(layout.deallocate(block_at(10, 200)).ok());
  EXPECT_EQ(place(&layout, 5), 10U);
  EXPECT_EQ(layout.high_water_mark_bytes(), 210U);  // it never falls
}

TEST(OnlineLayout, BlocksOfNoBytesTakeNoneAndAreGivenBackAtWill) {
  OnlineLayout layout;
  const Result<OnlineBlock> empty = layout.allocate(0);
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(place(&layout, 8), 0U);
  EXPECT_TRUE(layout.deallocate(*empty).ok());
  EXPECT_TRUE(layout.deallocate(*empty).ok());
  EXPECT_EQ(layout.live_count(), 1U);
}

TEST(OnlineLayout, RefusesWhatIsNotAllocated) {
  OnlineLayout layout;
  EXPECT_EQ(layout.deallocate(block_at(0, 8)).reason(), Reason::kNotAllocated);
  EXPECT_EQ(place(&layout, 8), 0U);
  EXPECT_EQ(layout.deallocate(block_at(0, 7)).reason(), Reason::kNotAllocated);
  EXPECT_EQ(layout.deallocate(block_at(4, 8)).reason(), Reason::kNotAllocated);
  EXPECT_EQ(layout.deallocate({Placement::none(), 8}).reason(), Reason::kNotAllocated);
  EXPECT_TRUE(layout.deallocate(block_at(0, 8)).ok());
  EXPECT_EQ(layout.deallocate(block_at(0, 8)).reason(), Reason::kNotAllocated);  // twice
  EXPECT_EQ(layout.live_count(), 0U);
  EXPECT_EQ(layout.live_bytes(), 0U);
}

TEST(OnlineLayout, StaysWithinItsCapacityTailIncluded) {
  OnlineLayout layout(OnlineOptions().set_capacity_bytes(100).set_tail_padding_bytes(16));
  EXPECT_EQ(place(&layout, 80), 0U);
  const Status refused = layout.allocate(5, 1).status();
  EXPECT_EQ(refused.reason(), Reason::kCapacityExceeded);
  EXPECT_EQ(refused.needed_bytes, 101U);  // 80 + 5 + 16
  EXPECT_EQ(refused.available_bytes, 100U);
  EXPECT_EQ(place(&layout, 4), 80U);  // the last that fits
  EXPECT_EQ(layout.layouts()[0].size_bytes, 100U);
  for (const std::uint64_t size : {UINT64_MAX, UINT64_MAX - 84, kMaxArenaBytes}) {
    EXPECT_EQ(layout.allocate(size, 1).status().reason(), Reason::kCapacityExceeded) << size;
  }
  EXPECT_EQ(layout.allocate(1, 3).status().reason(), Reason::kNotPowerOfTwo);
  EXPECT_EQ(layout.allocate(1, std::uint64_t{1} << 63).status().reason(),
            Reason::kCapacityExceeded);
  EXPECT_EQ(layout.live_count(), 2U);
  OnlineLayout no_room(OnlineOptions().set_capacity_bytes(8).set_tail_padding_bytes(UINT64_MAX));
  EXPECT_EQ(no_room.allocate(1, 1).status().needed_bytes, UINT64_MAX);
}

TEST(OnlineLayout, TenThousandFreesInTurnLeaveOneGap) {
  OnlineLayout layout;
  constexpr std::uint64_t kCount = 10'000;
  for (std::uint64_t i = 0; i < kCount; ++i) ASSERT_EQ(place(&layout, 64), 64 * i);
  for (std::uint64_t i = 0; i < kCount; i += 2) {
    ASSERT_TRUE(layout.deallocate(block_at(64 * i, 64)).ok());
  }
  EXPECT_EQ(place(&layout, 65), 64 * kCount);  // no two free ones are neighbours
  for (std::uint64_t i = 1; i < kCount; i += 2) {
    ASSERT_TRUE(layout.deallocate(block_at(64 * i, 64)).ok());
  }
  EXPECT_EQ(place(&layout, 64 * kCount), 0U);
  EXPECT_EQ(layout.high_water_mark_bytes(), 64 * kCount + 65);
}

TEST(OnlineLayout, PlacesLikePlainFirstFit) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    OnlineLayout layout;
    std::vector<OnlineBlock> live;
    std::uint64_t high_water_mark = 0;
    std::uint64_t live_bytes = 0;
    for (int call = 0; call < 600; ++call) {
      if (!live.empty() && random.chance(45)) {
        const std::size_t index = random.index(static_cast<std::uint32_t>(live.size()));
        ASSERT_TRUE(layout.deallocate(live[index]).ok());
        live_bytes -= live[index].size_bytes;
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(index));
        continue;
      }
      const std::uint64_t size = 1 + random.index(300);
      const std::uint64_t alignment = std::uint64_t{1} << random.index(8);
      const std::uint64_t expected = plain_first_fit(live, size, alignment);
      ASSERT_EQ(place(&layout, size, alignment), expected);
      live.push_back(block_at(expected, size));
      live_bytes += size;
      high_water_mark = std::max(high_water_mark, expected + size);
      ASSERT_EQ(layout.high_water_mark_bytes(), high_water_mark);
      ASSERT_EQ(layout.live_bytes(), live_bytes);
      ASSERT_EQ(layout.live_count(), live.size());
    }
    for (const OnlineBlock& block : live) ASSERT_TRUE(layout.deallocate(block).ok());
    EXPECT_EQ(place(&layout, high_water_mark), 0U);  // the whole space again
  }
}

TEST(OnlineLayout, ARefusedTableChangesNothing) {
  std::uint64_t refused_at = 0;
  for (std::uint64_t call = 0;; ++call) {
    TestUpstream upstream;
    upstream.refuse_call(call);
    OnlineLayout layout(OnlineOptions().set_upstream(upstream.get()));
    std::uint64_t placed = 0;
    bool was_refused = false;
    while (placed < 40) {
      const Result<OnlineBlock> block = layout.allocate(16, 1);
      if (block.ok()) {
        ASSERT_EQ(block->placement.offset_bytes, 16 * placed++);
        continue;
      }
      ASSERT_EQ(block.status().reason(), Reason::kUpstreamRefused);
      was_refused = true;
      ASSERT_EQ(layout.live_count(), placed);
      ASSERT_EQ(layout.layouts()[0].size_bytes, 16 * placed);
    }
    if (!was_refused) break;
    ++refused_at;
  }
  EXPECT_GT(refused_at, 1U);
}

TEST(OnlineLayout, ClearedItBeginsAnew) {
  OnlineLayout layout;
  EXPECT_EQ(place(&layout, 100, 64), 0U);
  layout.clear();
  EXPECT_EQ(layout.high_water_mark_bytes(), 0U);
  EXPECT_EQ(layout.deallocate(block_at(0, 100)).reason(), Reason::kNotAllocated);
  EXPECT_EQ(place(&layout, 7), 0U);
  EXPECT_EQ(layout.layouts()[0].size_bytes, 7U);
}

TEST(OnlineLayout, AnArenaCarriesItOutAndKeepsContentsWhileItGrows) {
  OnlineLayout layout;
  const Result<OnlineBlock> first = layout.allocate(100);
  ASSERT_TRUE(first.ok());
  SimpleMemoryArena arena;
  ASSERT_TRUE(arena.commit(layout.layouts()).ok());
  std::memset(arena.address(first->placement), 7, 100);
  const Result<OnlineBlock> second = layout.allocate(5000);
  ASSERT_TRUE(second.ok());
  ASSERT_TRUE(arena.commit(layout.layouts()).ok());
  std::memset(arena.address(second->placement), 9, 5000);
  const auto* bytes = static_cast<const unsigned char*>(arena.address(first->placement));
  EXPECT_TRUE(std::all_of(bytes, bytes + 100, [](unsigned char byte) { return byte == 7; }));
}

}  // namespace
}  // namespace tenure
