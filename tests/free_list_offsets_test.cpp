// SPDX-License-Identifier: Apache-2.0

#include "tenure/free_list_offsets.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

#include "internal/mix.h"
#include "support/random.h"
#include "support/upstreams.h"

namespace tenure {
namespace {

using test::TestUpstream;

class FreeListOffsetsTest : public testing::Test {
 protected:
  explicit FreeListOffsetsTest(std::size_t granule_bytes = 64)
      : offsets(granule_bytes, upstream.get()) {}
  ~FreeListOffsetsTest() override {  // the whole space can be taken again
    EXPECT_EQ(offsets.live_blocks(), 0U);
    EXPECT_EQ(offsets.in_use_bytes(), 0U);
    EXPECT_EQ(offsets.free_blocks(), range_bytes.size());
    for (const std::size_t bytes : range_bytes) {
      EXPECT_FALSE(offsets.allocate(bytes, 1).is_none()) << bytes;
    }
    EXPECT_EQ(offsets.free_blocks(), 0U);
  }
  void add_range(std::size_t bytes) {
    ASSERT_TRUE(offsets.add_range(bytes).ok());
    range_bytes.push_back(bytes / offsets.granule_bytes() * offsets.granule_bytes());
  }
  std::size_t take(std::size_t bytes, std::size_t alignment = 1) {
    const RangeOffset offset = offsets.allocate(bytes, alignment);
    EXPECT_FALSE(offset.is_none()) << bytes;
    return offset.bytes;
  }
  TestUpstream upstream;
  FreeListOffsets offsets;
  std::vector<std::size_t> range_bytes;
};

TEST_F(FreeListOffsetsTest, PlacesBlocksOneBehindTheOtherInGranules) {
  add_range(1024);
  EXPECT_EQ(take(1), 0U);
  EXPECT_EQ(take(64), 64U);
  EXPECT_EQ(take(65), 128U);
  EXPECT_EQ(take(0), 256U);  // 128 + 65 + 63 rounding
  EXPECT_EQ(offsets.in_use_bytes(), 320U);
  EXPECT_EQ(take(704), 320U);  // the last that fits: 1024 - 320
  EXPECT_TRUE(offsets.allocate(0, 1).is_none());
  EXPECT_EQ(offsets.refusals(), 1U);
  for (const std::size_t offset : {0U, 64U, 128U, 256U, 320U}) {
    EXPECT_TRUE(offsets.free({0, offset}));
  }
  EXPECT_EQ(offsets.peak_bytes(), 1024U);
}

TEST_F(FreeListOffsetsTest, MergesWithBothNeighboursAtOnce) {
  add_range(64 * 5);
  for (int i = 0; i < 5; ++i) take(64);
  EXPECT_TRUE(offsets.free({0, 64}));
  EXPECT_EQ(offsets.free_blocks(), 1U);
  EXPECT_TRUE(offsets.free({0, 192}));
  EXPECT_EQ(offsets.free_blocks(), 2U);
  EXPECT_TRUE(offsets.allocate(65, 1).is_none());
  EXPECT_TRUE(offsets.free({0, 128}));  // between two free ones
  EXPECT_EQ(offsets.free_blocks(), 1U);
  EXPECT_EQ(take(192), 64U);
  EXPECT_TRUE(offsets.free({0, 64}));
  EXPECT_TRUE(offsets.free({0, 256}));  // the free one lies below
  EXPECT_TRUE(offsets.free({0, 0}));    // the free one lies above
  EXPECT_EQ(offsets.free_blocks(), 1U);
}

TEST_F(FreeListOffsetsTest, GivesARoomOfExactlyTheSizeAgain) {
  add_range(1 << 20);
  const std::size_t first = take(100 * 64);
  take(64);
  const std::size_t second = take(101 * 64);
  take(64);
  EXPECT_TRUE(offsets.free({0, first}));
  EXPECT_TRUE(offsets.free({0, second}));
  EXPECT_EQ(take(101 * 64), second);
  EXPECT_EQ(take(100 * 64), first);
  EXPECT_TRUE(offsets.free({0, first}));
  EXPECT_TRUE(offsets.free({0, second}));
  EXPECT_TRUE(offsets.free({0, first + 6400}));
  EXPECT_TRUE(offsets.free({0, second + 6464}));
}

// However long ago it was freed.
TEST_F(FreeListOffsetsTest, TakesTheRoomThatFitsClosest) {
  constexpr std::size_t kRooms = 12;
  add_range(1 << 20);
  std::vector<std::size_t> rooms;
  for (std::size_t i = 0; i < kRooms; ++i) {
    rooms.push_back(take((i == 0 ? 70 : 100 + i) * 64));
    take(64);
  }
  for (const std::size_t room : rooms) EXPECT_TRUE(offsets.free({0, room}));
  EXPECT_EQ(take(66 * 64), rooms[0]);
  EXPECT_TRUE(offsets.free({0, rooms[0]}));
  for (std::size_t i = 0; i < kRooms; ++i) {
    EXPECT_TRUE(offsets.free({0, rooms[i] + (i == 0 ? 70 : 100 + i) * 64}));
  }
}

// Lists hold sizes up to a sixteenth apart: a request is not refused because the only room for it
// lies deep in its own list.
TEST_F(FreeListOffsetsTest, DoesNotRefuseWhatFitsSomewhere) {
  constexpr std::size_t kRooms = 40;
  add_range(kRooms * 70 * 64);
  std::vector<std::size_t> rooms;
  for (std::size_t i = 0; i < kRooms; ++i) {
    const std::size_t granules = i == 0 ? 67 : 64;  // all in the list of 64 to 67 granules
    rooms.push_back(take(granules * 64));
    take((70 - granules) * 64);
  }
  for (const std::size_t room : rooms) EXPECT_TRUE(offsets.free({0, room}));
  EXPECT_EQ(take(67 * 64), rooms[0]);  // which was freed first, and is last in its list
  EXPECT_TRUE(offsets.allocate(67 * 64, 1).is_none());
  EXPECT_TRUE(offsets.free({0, rooms[0]}));
  for (std::size_t i = 0; i < kRooms; ++i) {
    EXPECT_TRUE(offsets.free({0, rooms[i] + (i == 0 ? 67 : 64) * 64U}));
  }
}

TEST_F(FreeListOffsetsTest, AlignsAndLeavesWhatItSkipsToOthers) {
  add_range(8192);
  EXPECT_EQ(take(64), 0U);
  EXPECT_EQ(take(64, 4096), 4096U);
  EXPECT_EQ(offsets.free_blocks(), 2U);
  EXPECT_TRUE(offsets.allocate(64, 4096).is_none());
  EXPECT_EQ(take(4032), 4160U);  // 8192 - 4160, behind the aligned block
  EXPECT_EQ(take(4032), 64U);    // 4096 - 64, before it
  EXPECT_TRUE(offsets.allocate(1, 1).is_none());
  EXPECT_TRUE(offsets.free({0, 0}));
  EXPECT_EQ(take(64, 8192), 0U);
  for (const std::size_t offset : {4160U, 64U, 0U, 4096U}) EXPECT_TRUE(offsets.free({0, offset}));
}

TEST_F(FreeListOffsetsTest, AlignsAddressesNotOffsets) {
  ASSERT_TRUE(offsets.add_range(8192, 4096 + 64).ok());
  range_bytes.push_back(8192);
  EXPECT_EQ(take(64, 4096), 4032U);  // 4160 + 4032 = 8192
  EXPECT_TRUE(offsets.free({0, 4032}));
}

TEST_F(FreeListOffsetsTest, RefusesSizesAndAlignmentsThatNoRangeHas) {
  add_range(4096);
  for (const std::size_t size :
       {std::size_t{4097}, SIZE_MAX / 2, SIZE_MAX / 2 + 1, SIZE_MAX - 63, std::size_t{SIZE_MAX}}) {
    EXPECT_TRUE(offsets.allocate(size, 1).is_none()) << size;
    EXPECT_TRUE(offsets.allocate(size, 4096).is_none()) << size;
  }
  // Aligned offset 0 suits every alignment; nothing else does.
  const std::size_t largest = std::size_t{1} << (sizeof(std::size_t) * 8 - 1);
  take(64);
  for (std::size_t alignment = 4096; alignment != 0 && alignment < largest; alignment *= 2) {
    EXPECT_TRUE(offsets.allocate(64, alignment).is_none()) << alignment;
  }
  EXPECT_TRUE(offsets.allocate(64, largest).is_none());
  EXPECT_TRUE(offsets.free({0, 0}));
}

TEST_F(FreeListOffsetsTest, FreesOfWhatIsNotLiveChangeNothing) {
  add_range(4096);
  EXPECT_EQ(take(128), 0U);
  EXPECT_EQ(take(64), 128U);
  for (const RangeOffset stray : {RangeOffset{0, 64}, RangeOffset{0, 1}, RangeOffset{0, 192},
                                  RangeOffset{0, 4096}, RangeOffset{0, SIZE_MAX}, RangeOffset{1, 0},
                                  RangeOffset{kMaxRanges, 0}, RangeOffset::none()}) {
    EXPECT_FALSE(offsets.free(stray));
  }
  EXPECT_TRUE(offsets.free({0, 0}));
  EXPECT_FALSE(offsets.free({0, 0}));  // twice
  EXPECT_EQ(offsets.stray_frees(), 9U);
  EXPECT_EQ(offsets.live_blocks(), 1U);
  EXPECT_EQ(offsets.in_use_bytes(), 64U);
  EXPECT_TRUE(offsets.free({0, 128}));
  EXPECT_FALSE(offsets.free({0, 128}));
}

TEST_F(FreeListOffsetsTest, RangesComeAndGo) {
  add_range(1024);
  EXPECT_FALSE(offsets.is_unused(1));
  ASSERT_TRUE(offsets.add_range(4096).ok());
  EXPECT_TRUE(offsets.is_unused(1));
  const RangeOffset large = offsets.allocate(2048, 1);
  EXPECT_EQ(large.range, 1U);
  EXPECT_FALSE(offsets.is_unused(1));
  EXPECT_TRUE(offsets.is_unused(0));
  EXPECT_TRUE(offsets.free(large));
  offsets.remove_range(1);
  EXPECT_FALSE(offsets.is_unused(1));
  EXPECT_TRUE(offsets.allocate(2048, 1).is_none());
  EXPECT_FALSE(offsets.free(large));

  for (std::uint32_t i = 1; i < kMaxRanges; ++i) add_range(64);
  EXPECT_EQ(offsets.add_range(64).status().reason(), Reason::kTooMany);
  EXPECT_EQ(offsets.add_range(63).status().reason(), Reason::kTooMany);
  EXPECT_EQ(FreeListOffsets(64).add_range(63).status().reason(), Reason::kTooMany);
  EXPECT_EQ(FreeListOffsets(1).add_range(SIZE_MAX / 2).status().reason(), Reason::kTooMany);
}

// M6 (llama.cpp 2993): no fixed limit is hit, and neighbours merge.
TEST_F(FreeListOffsetsTest, TenThousandFreesInAlternatingOrderLeaveOneBlock) {
  constexpr std::size_t kBlocks = 10000;
  add_range(kBlocks * 64);
  for (std::size_t i = 0; i < kBlocks; ++i) take(64);
  EXPECT_TRUE(offsets.allocate(1, 1).is_none());
  for (std::size_t i = 0; i < kBlocks; i += 2) ASSERT_TRUE(offsets.free({0, i * 64}));
  EXPECT_EQ(offsets.free_blocks(), kBlocks / 2);
  for (std::size_t i = 1; i < kBlocks; i += 2) ASSERT_TRUE(offsets.free({0, i * 64}));
  EXPECT_EQ(offsets.free_blocks(), 1U);
}

TEST_F(FreeListOffsetsTest, TakesNothingForItsBooksOnceTheyAreReserved) {
  add_range(64 * 100);
  ASSERT_TRUE(offsets.reserve_blocks(100).ok());
  upstream.start_counting();
  for (std::size_t i = 0; i < 100; ++i) take(64);
  for (std::size_t i = 0; i < 100; i += 2) EXPECT_TRUE(offsets.free({0, i * 64}));
  for (std::size_t i = 1; i < 100; i += 2) EXPECT_TRUE(offsets.free({0, i * 64}));
  EXPECT_EQ(upstream.calls(), 0U);
  EXPECT_EQ(offsets.reserve_blocks(SIZE_MAX).reason(), Reason::kTooMany);
}

TEST(FreeListOffsets, BooksThatAreRefusedRefuseTheRequestAndChangeNothing) {
  for (std::uint64_t refused = 0;; ++refused) {
    SCOPED_TRACE(refused);
    ASSERT_LT(refused, 100U);
    TestUpstream upstream;
    FreeListOffsets offsets(64, upstream.get());
    upstream.refuse_call(refused);
    bool has_range = offsets.add_range(64 * 100).ok();
    if (!has_range) {
      EXPECT_EQ(upstream.refusals(), 1U);
      has_range = offsets.add_range(64 * 100).ok();
    }
    ASSERT_TRUE(has_range);
    std::vector<RangeOffset> blocks;
    std::size_t refusals = 0;
    while (blocks.size() < 100) {
      const RangeOffset offset = offsets.allocate(64, 1);
      if (!offset.is_none()) {
        blocks.push_back(offset);
        continue;
      }
      ASSERT_EQ(++refusals, 1U);
      EXPECT_EQ(offsets.live_blocks(), blocks.size());
      EXPECT_EQ(offsets.free_blocks(), 1U);
    }
    EXPECT_EQ(offsets.refusals(), refusals);
    for (const RangeOffset& block : blocks) ASSERT_TRUE(offsets.free(block));
    EXPECT_EQ(offsets.free_blocks(), 1U);
    EXPECT_FALSE(offsets.allocate(64 * 100, 1).is_none());
    if (upstream.refusals() == 0) break;
  }
}

// The reference: which granules are taken. A request is refused only when no aligned room is left.
class ReferenceRange {
 public:
  ReferenceRange(std::size_t granules, std::size_t origin) : taken_(granules), origin_(origin) {}

  [[nodiscard]] bool has_room(std::size_t granules, std::size_t alignment_granules) const {
    for (std::size_t begin = 0; begin + granules <= taken_.size(); ++begin) {
      if ((origin_ + begin) % alignment_granules == 0 && is_free(begin, granules)) return true;
    }
    return false;
  }
  [[nodiscard]] bool is_free(std::size_t begin, std::size_t granules) const {
    if (begin > taken_.size() || granules > taken_.size() - begin) return false;
    for (std::size_t i = begin; i < begin + granules; ++i) {
      if (taken_[i]) return false;
    }
    return true;
  }
  void set(std::size_t begin, std::size_t granules, bool is_taken) {
    for (std::size_t i = begin; i < begin + granules; ++i) taken_[i] = is_taken;
  }
  // Runs of free granules.
  [[nodiscard]] std::size_t rooms() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      if (!taken_[i] && (i == 0 || taken_[i - 1])) ++count;
    }
    return count;
  }

 private:
  std::vector<bool> taken_;
  std::size_t origin_;
};

TEST(FreeListOffsets, AgreesWithTheReferenceModelOnRandomRequests) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    test::Random random(seed);
    const std::size_t granule = std::size_t{1} << random.size_below(9);
    FreeListOffsets offsets(granule);
    std::vector<ReferenceRange> ranges;
    const std::size_t range_count = random.size_between(1, 3);
    for (std::size_t i = 0; i < range_count; ++i) {
      const std::size_t granules = random.size_between(1, 300);
      const std::size_t origin = random.size_below(64);
      ranges.emplace_back(granules, origin);
      ASSERT_TRUE(
          offsets.add_range(granules * granule + random.size_below(granule), origin * granule)
              .ok());
    }
    struct Live {
      RangeOffset offset;
      std::size_t granules;
    };
    std::vector<Live> live;
    std::size_t in_use = 0;
    std::size_t peak = 0;
    std::size_t refusals = 0;
    for (int step = 0; step < 400; ++step) {
      if (random.chance(55)) {
        const std::size_t size = random.size_below((random.chance(20) ? 200 : 20) * granule);
        const std::size_t granules = size == 0 ? 1 : (size + granule - 1) / granule;
        const std::size_t alignment =
            random.chance(60) ? 1 : std::size_t{1} << random.size_below(14);
        const std::size_t alignment_granules = alignment <= granule ? 1 : alignment / granule;
        bool has_room = false;
        for (const ReferenceRange& range : ranges) {
          has_room = has_room || range.has_room(granules, alignment_granules);
        }
        const RangeOffset offset = offsets.allocate(size, alignment);
        ASSERT_EQ(offset.is_none(), !has_room) << granules << " granules";
        if (offset.is_none()) {
          ++refusals;
          continue;
        }
        ASSERT_LT(offset.range, range_count);
        ASSERT_EQ(offset.bytes % granule, 0U);
        ASSERT_TRUE(ranges[offset.range].is_free(offset.bytes / granule, granules));
        ranges[offset.range].set(offset.bytes / granule, granules, true);
        live.push_back({offset, granules});
        in_use += granules * granule;
        peak = in_use > peak ? in_use : peak;
      } else if (!live.empty()) {
        const std::size_t index = random.size_below(live.size());
        ASSERT_TRUE(offsets.free(live[index].offset));
        ranges[live[index].offset.range].set(live[index].offset.bytes / granule,
                                             live[index].granules, false);
        in_use -= live[index].granules * granule;
        live[index] = live.back();
        live.pop_back();
      }
      std::size_t rooms = 0;
      for (const ReferenceRange& range : ranges) rooms += range.rooms();
      ASSERT_EQ(offsets.free_blocks(), rooms);
      ASSERT_EQ(offsets.in_use_bytes(), in_use);
      ASSERT_EQ(offsets.peak_bytes(), peak);
      ASSERT_EQ(offsets.live_blocks(), live.size());
      ASSERT_EQ(offsets.refusals(), refusals);
    }
    for (const Live& block : live) ASSERT_TRUE(offsets.free(block.offset));
    for (std::uint32_t i = 0; i < range_count; ++i) ASSERT_TRUE(offsets.is_unused(i));
  }
}

// A bucket for each key is a table of short chains only if keys at any distance, such as those of
// blocks of one size, go to different ones.
TEST(FreeListOffsets, SpreadsKeysAtAnyDistance) {
  constexpr std::uint32_t kBits = 12;
  constexpr std::uint32_t kKeys = 4000;
  for (const std::uint32_t distance :
       {1U, 2U, 3U, 13U, 64U, 1000U, 1024U, 4181U, 10946U, 17711U, 28657U, 65536U, 1U << 18}) {
    std::vector<std::size_t> lengths(std::size_t{1} << kBits);
    std::size_t steps = 0;
    for (std::uint32_t i = 0; i < kKeys; ++i) {
      steps += lengths[internal::spread(i * distance) >> (32 - kBits)]++;
    }
    EXPECT_LT(steps, kKeys) << "at a distance of " << distance;
  }
}

}  // namespace
}  // namespace tenure
