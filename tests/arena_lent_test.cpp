// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "support/hand_plan.h"
#include "support/upstreams.h"
#include "tenure/align.h"
#include "tenure/arena.h"

namespace tenure {
namespace {

using test::at;

// A buffer whose base can have any misalignment below 4096.
class Buffer {
 public:
  explicit Buffer(std::size_t size_bytes) : bytes_(size_bytes + 8192, std::byte{0xB0}) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    aligned_ = static_cast<std::size_t>(padding_to_align(address, 4096));
  }
  Span<std::byte> at(std::size_t misalignment, std::size_t size_bytes) {
    return Span<std::byte>(bytes_).subspan(aligned_ + misalignment, size_bytes);
  }
  void clean() { bytes_.assign(bytes_.size(), std::byte{0xB0}); }
  [[nodiscard]] std::size_t written_bytes() const {
    std::size_t count = 0;
    for (const std::byte byte : bytes_) count += byte == std::byte{0xB0} ? 0 : 1;
    return count;
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t aligned_ = 0;
};

bool lies_inside(Span<std::byte> inner, Span<std::byte> outer) {
  const auto inner_begin = reinterpret_cast<std::uintptr_t>(inner.data());
  const auto outer_begin = reinterpret_cast<std::uintptr_t>(outer.data());
  return inner_begin >= outer_begin && inner_begin - outer_begin <= outer.size() &&
         inner.size() <= outer.size() - (inner_begin - outer_begin);
}

TEST(PaddingToAlign, IsLessThanOneAlignmentForAddressesWithTheTopBitSet) {
  // P10 (ExecuTorch 15039): a signed address skips almost one alignment too many.
  for (std::uint64_t alignment = 1; alignment <= (std::uint64_t{1} << 31); alignment *= 2) {
    for (const std::uint64_t top :
         {std::uint64_t{0}, std::uint64_t{0x80000000}, std::uint64_t{0xFFFFFFC0},
          std::uint64_t{1} << 63, UINT64_MAX - 4200}) {
      for (std::uint64_t low = 0; low <= 130; ++low) {
        const std::uint64_t padding = padding_to_align(top + low, alignment);
        ASSERT_LT(padding, alignment) << top + low;
        ASSERT_EQ((top + low + padding) % alignment, 0U) << top + low;
      }
    }
  }
  EXPECT_EQ(padding_to_align(UINT64_MAX, 64), 1U);
  EXPECT_EQ(padding_to_align(0x80000001U, 64), 63U);
  EXPECT_EQ(padding_to_align(std::uint64_t{1} << 63, 4096), 0U);
}

// {100, 64}: [0, 100); {40, 16}: 100 + 12 padding = 112, to 152; {0, 64}: nothing, but its
// alignment counts: 152 + 40 padding = 192; {10, 4}: [192, 202).
constexpr RegionLayout kFour[] = {{100, 64}, {40, 16}, {0, 64}, {10, 4}};

TEST(LentSize, AnswersForAnAlignedBaseAndForAnyBase) {
  const Result<LentSize> size = lent_size(kFour);
  ASSERT_TRUE(size.ok());
  EXPECT_EQ(size->aligned_bytes, 202U);
  EXPECT_EQ(size->alignment_bytes, 64U);
  EXPECT_EQ(size->any_base_bytes, 265U);  // 63 padding + 202
}

TEST(LentSize, OfNothingIsNothing) {
  const Result<LentSize> none = lent_size({});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->aligned_bytes, 0U);
  EXPECT_EQ(none->any_base_bytes, 0U);
  EXPECT_EQ(none->alignment_bytes, 1U);
  const RegionLayout empty[] = {{0, 64}, {0, 4096}};
  const Result<LentSize> zero = lent_size(empty);
  ASSERT_TRUE(zero.ok());
  EXPECT_EQ(zero->any_base_bytes, 0U);
  SimpleMemoryArena arena;
  EXPECT_TRUE(arena.commit_lent({}, empty, Fill::with(1)).ok());
  EXPECT_EQ(arena.region_count(), 2U);
}

TEST(LentSize, AddsUpToHalfTheAddressSpaceAndNoFurther) {
  constexpr std::uint64_t kHalf = SIZE_MAX / 2;
  const RegionLayout layouts[] = {{kHalf - 1, 1}, {1, 1}, {1, 1}};
  const Result<LentSize> last = lent_size(Span<const RegionLayout>(layouts, 2));
  ASSERT_TRUE(last.ok());
  EXPECT_EQ(last->aligned_bytes, SIZE_MAX / 2);
  EXPECT_EQ(last->any_base_bytes, SIZE_MAX / 2);
  const Status status = lent_size(layouts).status();
  EXPECT_EQ(status.reason(), Reason::kAddressSpace);
  EXPECT_EQ(status.region, RegionIndex(2));
  // kHalf - 64 = ...FBF, rounded up to 64 for the second region: ...FC0 + 63 = kHalf.
  for (const std::uint64_t size : {63U, 64U}) {
    const RegionLayout rounded[] = {{kHalf - 64, 64}, {size, 64}};
    EXPECT_EQ(lent_size(rounded).ok(), size == 63) << size;
  }
  const RegionLayout wrapping[] = {{kHalf - 1, 1}, {kHalf - 1, 1}, {kHalf - 1, 1}};
  EXPECT_EQ(lent_size(wrapping).status().reason(), Reason::kAddressSpace);
  // P4: three regions of 2,000,000,000 bytes.
  const RegionLayout three[] = {{2'000'000'000, 64}, {2'000'000'000, 64}, {2'000'000'000, 64}};
  EXPECT_EQ(lent_size(three).ok(), sizeof(std::size_t) > 4);
}

// A1 (tflite-micro 2738, 890, 2037).
TEST(LentArena, WorksExactlyFromTheSizeThatTheQueryNames) {
  const Result<LentSize> query = lent_size(kFour);
  ASSERT_TRUE(query.ok());
  Buffer buffer(1024);
  test::TestUpstream upstream;
  SimpleMemoryArena earlier(upstream.get());
  const RegionLayout kept{16, 16};
  ASSERT_TRUE(earlier.commit(Span<const RegionLayout>(&kept, 1), Fill::with(0x33)).ok());
  void* const address = earlier.address(at(0, 15));

  for (std::size_t misalignment = 0; misalignment < 64; ++misalignment) {
    const std::size_t padding = misalignment == 0 ? 0 : 64 - misalignment;
    const std::size_t needed = padding + 202;
    ASSERT_LE(needed, query->any_base_bytes);
    for (std::size_t size = 0; size <= query->any_base_bytes + 64; ++size) {
      const Span<std::byte> lent = buffer.at(misalignment, size);
      if (size < needed) {
        const Status status = earlier.commit_lent(lent, kFour, Fill::with(0x44));
        ASSERT_EQ(status.reason(), Reason::kBufferTooSmall) << size << " at " << misalignment;
        ASSERT_EQ(status.needed_bytes, needed);
        ASSERT_EQ(status.available_bytes, size);
        ASSERT_EQ(earlier.region_count(), 1U);
        ASSERT_EQ(earlier.address(at(0, 15)), address);
        ASSERT_EQ(*static_cast<std::uint8_t*>(address), 0x33);
        continue;
      }
      SimpleMemoryArena arena;
      ASSERT_TRUE(arena.commit_lent(lent, kFour).ok()) << size << " at " << misalignment;
      for (std::uint32_t i = 0; i < 4; ++i) {
        const Span<std::byte> region = arena.region(RegionIndex(i));
        ASSERT_EQ(region.size(), kFour[i].size_bytes);
        if (region.empty()) continue;
        ASSERT_TRUE(lies_inside(region, lent));
        const auto base = reinterpret_cast<std::uintptr_t>(region.data());
        ASSERT_EQ(base % kFour[i].alignment_bytes, 0U);
      }
    }
  }
  EXPECT_EQ(buffer.written_bytes(), 0U);  // refused commits have filled nothing
  EXPECT_EQ(upstream.live_bytes(), 16U);
}

TEST(LentArena, NamesTheExactBytesForLargeAlignmentsToo) {
  Buffer buffer(16384);
  const RegionLayout layouts[] = {{1, 1}, {5, 4096}};  // 1 + 4095 padding + 5 = 4101
  for (const std::size_t misalignment : {0U, 1U, 64U, 4095U}) {
    const std::size_t needed = (misalignment == 0 ? 0 : 4096 - misalignment) + 4101;
    SimpleMemoryArena arena;
    const Status status = arena.commit_lent(buffer.at(misalignment, needed - 1), layouts);
    EXPECT_EQ(status.reason(), Reason::kBufferTooSmall);
    EXPECT_EQ(status.needed_bytes, needed);
    EXPECT_EQ(status.available_bytes, needed - 1);
    EXPECT_TRUE(arena.commit_lent(buffer.at(misalignment, needed), layouts).ok());
  }
}

TEST(LentArena, RegionsInOneBufferDoNotOverlap) {
  Buffer buffer(1024);
  for (std::size_t misalignment = 0; misalignment < 64; ++misalignment) {
    buffer.clean();
    SimpleMemoryArena arena;
    ASSERT_TRUE(arena.commit_lent(buffer.at(misalignment, 512), kFour).ok());
    for (std::uint32_t i = 0; i < 4; ++i) {
      const Span<std::byte> region = arena.region(RegionIndex(i));
      if (!region.empty()) std::memset(region.data(), static_cast<int>(i) + 1, region.size());
    }
    for (std::uint32_t i = 0; i < 4; ++i) {
      for (const std::byte byte : arena.region(RegionIndex(i))) {
        ASSERT_EQ(byte, static_cast<std::byte>(i + 1));
      }
    }
  }
}

TEST(LentArena, FillWritesTheRegionsAndNothingBesides) {
  Buffer buffer(1024);
  SimpleMemoryArena arena;
  ASSERT_TRUE(arena.commit_lent(buffer.at(1, 512), kFour, Fill::with(0)).ok());
  EXPECT_EQ(buffer.written_bytes(), 150U);  // 100 + 40 + 0 + 10
  buffer.clean();
  ASSERT_TRUE(arena.commit_lent(buffer.at(1, 512), kFour, Fill::none()).ok());
  EXPECT_EQ(buffer.written_bytes(), 0U);
}

TEST(LentArena, NeverAsksTheUpstreamAndNeverGivesItTheBuffer) {
  Buffer buffer(1024);
  test::TestUpstream upstream;
  SimpleMemoryArena arena(upstream.get());
  ASSERT_TRUE(arena.commit_lent(buffer.at(0, 512), kFour).ok());
  EXPECT_EQ(upstream.calls(), 0U);
  SimpleMemoryArena moved(std::move(arena));
  EXPECT_EQ(moved.region(RegionIndex(0)).data(), buffer.at(0, 1).data());
  EXPECT_EQ(arena.region_count(), 0U);
  moved.release();
  EXPECT_EQ(moved.region_count(), 0U);
}

TEST(LentArena, OwnedAndLentCommitsReplaceEachOther) {
  Buffer buffer(1024);
  test::TestUpstream upstream;
  SimpleMemoryArena arena(upstream.get());
  ASSERT_TRUE(arena.commit(kFour).ok());
  EXPECT_EQ(upstream.live_bytes(), 150U);
  ASSERT_TRUE(arena.commit_lent(buffer.at(0, 512), kFour).ok());
  EXPECT_EQ(upstream.live_bytes(), 0U);
  ASSERT_TRUE(arena.commit(kFour).ok());
  EXPECT_EQ(upstream.live_bytes(), 150U);
  // A moved arena still knows which kind it is.
  SimpleMemoryArena lent(upstream.get());
  ASSERT_TRUE(lent.commit_lent(buffer.at(0, 512), kFour).ok());
  arena = std::move(lent);
  EXPECT_EQ(upstream.live_bytes(), 0U);
  ASSERT_TRUE(lent.commit(kFour).ok());
  EXPECT_EQ(upstream.live_bytes(), 150U);
}

TEST(LentArena, ALentCommitThatIsRefusedLeavesTheEarlierLentOne) {
  Buffer buffer(1024);
  SimpleMemoryArena arena;
  ASSERT_TRUE(arena.commit_lent(buffer.at(0, 512), kFour, Fill::with(9)).ok());
  std::byte* const base = arena.region(RegionIndex(3)).data();
  EXPECT_FALSE(arena.commit_lent(buffer.at(0, 201), kFour, Fill::with(1)).ok());
  EXPECT_EQ(arena.region(RegionIndex(3)).data(), base);
  EXPECT_EQ(base[9], std::byte{9});
}

}  // namespace
}  // namespace tenure
