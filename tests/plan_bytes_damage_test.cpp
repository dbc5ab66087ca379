// SPDX-License-Identifier: Apache-2.0

// Bytes that are not what an encoder wrote. Each is copied to the very end of a buffer of its own,
// where AddressSanitizer notices a read of one byte more.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "support/plan_bytes.h"
#include "support/plans.h"
#include "support/random.h"
#include "tenure/plan_bytes.h"
#include "tenure/planner.h"

namespace tenure {
namespace {

constexpr std::uint64_t kFingerprint = 0xFEDCBA9876543210;

// Places of the format, as plan_bytes.h states them, for a plan of two regions.
constexpr std::size_t kVersionAt = 4;
constexpr std::size_t kRegionCountAt = 5;
constexpr std::size_t kOffsetWidthAt = 6;
constexpr std::size_t kOffsetShiftAt = 7;
constexpr std::size_t kBlockCountAt = 16;
constexpr std::size_t kTensorCountAt = 20;
constexpr std::size_t kFirstRegionAt = 24;
constexpr std::size_t kPlacementsAt = 24 + 2 * 30;

// Blocks at 0, 256 and 320 of 384 bytes, and in the persistent region at 0 of 64; tensors at the
// same places, and one without memory.
std::vector<std::byte> small_bytes() {
  test::PlanCopy plan((MemoryPlan()));
  RegionPlan region;
  region.arena_bytes = 384;
  region.unit_bytes = 64;
  plan.regions = {region, region};
  plan.regions[1].arena_bytes = 64;
  plan.layouts = {{384, 64}, {64, 64}};
  plan.placements = {
      {kReusableRegion, 0}, {kReusableRegion, 256}, {kReusableRegion, 320}, {kPersistentRegion, 0}};
  plan.tensor_placements = plan.placements;
  plan.tensor_placements.push_back(Placement::none());
  return test::encoded(plan.make(), kFingerprint);
}

class Opened {
 public:
  explicit Opened(const std::vector<std::byte>& bytes)
      : memory_(new std::byte[bytes.empty() ? 1 : bytes.size()]) {
    if (!bytes.empty()) std::memcpy(memory_.get(), bytes.data(), bytes.size());
    result_ = PlanBytes::open({memory_.get(), bytes.size()}, kFingerprint);
  }
  const Result<PlanBytes>& operator*() const { return result_; }
  const Result<PlanBytes>* operator->() const { return &result_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  Result<PlanBytes> result_ = PlanBytes();
};

Status refusal(const std::vector<std::byte>& bytes) { return Opened(bytes)->status(); }

Status refusal_with(std::size_t at, std::uint64_t number, std::size_t width) {
  std::vector<std::byte> bytes = small_bytes();
  test::put_number(&bytes, at, number, width);
  test::seal(&bytes);
  return refusal(bytes);
}

void expect_inside(const PlanBytes& plan, Placement placement) {
  if (placement.is_none()) return;
  ASSERT_LT(placement.region.value, plan.region_count());
  EXPECT_LE(placement.offset_bytes, plan.arena_bytes(placement.region));
  EXPECT_LE(placement.offset_bytes, plan.layout(placement.region).size_bytes);
}

// Whatever was accepted says nothing that a device could trip over, and is read without a slip.
void expect_harmless(const PlanBytes& plan) {
  for (std::uint32_t i = 0; i < plan.region_count(); ++i) {
    EXPECT_TRUE(is_power_of_two(plan.layout(RegionIndex(i)).alignment_bytes));
    EXPECT_TRUE(is_power_of_two(plan.region(RegionIndex(i)).unit_bytes));
    EXPECT_LE(plan.arena_bytes(RegionIndex(i)), plan.layout(RegionIndex(i)).size_bytes);
  }
  for (std::uint32_t i = 0; i < plan.block_count(); ++i) {
    expect_inside(plan, plan.placement(BlockIndex(i)));
  }
  for (std::uint32_t i = 0; i < plan.tensor_count(); ++i) {
    expect_inside(plan, plan.tensor_placement(TensorIndex(i)));
  }
  EXPECT_TRUE(decode(plan).ok());
}

TEST(PlanBytesDamage, IsNotThereBeforeThereIsAny) {
  const Opened opened(small_bytes());
  ASSERT_TRUE(opened->ok()) << text_of(opened->status().reason());
  expect_harmless(opened->value());
}

TEST(PlanBytesDamage, ShowsAtEveryLengthThatIsCutOff) {
  std::vector<std::byte> bytes = small_bytes();
  const std::uint64_t whole = bytes.size();
  while (!bytes.empty()) {
    bytes.pop_back();
    const Status status = refusal(bytes);
    EXPECT_EQ(status.reason(), Reason::kPlanBytesDamaged) << bytes.size();
    EXPECT_EQ(status.needed_bytes, bytes.size() < 28 ? 28 : whole);
    EXPECT_EQ(status.available_bytes, bytes.size());
  }
  EXPECT_EQ(PlanBytes::open({}, kFingerprint).status().reason(), Reason::kPlanBytesDamaged);
}

TEST(PlanBytesDamage, ShowsWhenBytesFollow) {
  std::vector<std::byte> bytes = small_bytes();
  const std::uint64_t whole = bytes.size();
  bytes.emplace_back();
  EXPECT_EQ(refusal(bytes).reason(), Reason::kPlanBytesDamaged);
  test::seal(&bytes);
  EXPECT_EQ(refusal(bytes).reason(), Reason::kPlanBytesDamaged);
  EXPECT_EQ(refusal(bytes).needed_bytes, whole);
}

TEST(PlanBytesDamage, ShowsForEveryBitThatIsFlipped) {
  const std::vector<std::byte> whole = small_bytes();
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::vector<std::byte> bytes = whole;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    const Reason expected =
        bit / 8 == kVersionAt ? Reason::kPlanBytesVersion : Reason::kPlanBytesDamaged;
    EXPECT_EQ(refusal(bytes).reason(), expected) << bit;
  }
}

TEST(PlanBytesDamage, DoesNoHarmForAnyByteUnderAChecksumThatFits) {
  const std::vector<std::byte> whole = small_bytes();
  std::uint32_t accepted = 0;
  for (std::size_t at = 0; at + 4 < whole.size(); ++at) {
    for (unsigned value = 0; value < 256; ++value) {
      std::vector<std::byte> bytes = whole;
      bytes[at] = static_cast<std::byte>(value);
      test::seal(&bytes);
      const Opened opened(bytes);
      if (!opened->ok()) continue;
      ++accepted;
      expect_harmless(opened->value());
    }
  }
  EXPECT_GT(accepted, whole.size());  // other sizes, bounds and places that are possible too
}

TEST(PlanBytesDamage, DoesNoHarmInMoreThanOnePlace) {
  test::Random random(20);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bytes = small_bytes();
    for (std::uint64_t i = random.between(1, 6); i > 0; --i) {
      const std::size_t at = random.chance(50) ? random.index(24) : random.index(bytes.size());
      if (at >= 8 && at < 16) continue;  // the fingerprint, which would be refused first
      if (at > kVersionAt) bytes[at] = static_cast<std::byte>(random.below(256));
    }
    if (random.chance(30)) bytes.resize(4 + random.index(2 * bytes.size()));
    test::seal(&bytes);
    const Opened opened(bytes);
    if (opened->ok()) expect_harmless(opened->value());
  }
}

TEST(PlanBytesDamage, NamesWhatWasPlacedOutside) {
  // A placement is a region and one byte of offset / 64.
  Status status = refusal_with(kPlacementsAt + 2 * 1 + 1, 7, 1);  // 448 of 384
  EXPECT_EQ(status.reason(), Reason::kOutsideRegion);
  EXPECT_EQ(status.block, BlockIndex(1));
  EXPECT_TRUE(refusal_with(kPlacementsAt + 2 * 1 + 1, 6, 1).ok());  // at the very end
  status = refusal_with(kPlacementsAt + 2 * 6, 2, 1);
  EXPECT_EQ(status.reason(), Reason::kOutsideRegion);
  EXPECT_EQ(status.tensor, TensorIndex(2));
  status = refusal_with(kPlacementsAt + 2 * 4, 2, 1);  // at 0 of a region that does not exist
  EXPECT_EQ(status.reason(), Reason::kOutsideRegion);
  EXPECT_EQ(status.tensor, TensorIndex(0));
  status = refusal_with(kPlacementsAt + 2 * 8 + 1, 1, 1);  // nowhere, but at an offset
  EXPECT_EQ(status.reason(), Reason::kOutsideRegion);
  EXPECT_EQ(status.tensor, TensorIndex(4));
  status = refusal_with(kFirstRegionAt + 30, 63, 8);  // an arena of 64 in a region of 63
  EXPECT_EQ(status.reason(), Reason::kOutsideRegion);
  EXPECT_EQ(status.region, kPersistentRegion);
}

// 4 x 2^62 would come back as 0 if it were shifted before it is compared.
TEST(PlanBytesDamage, IsSeenInOffsetsThatDoNotFit64Bits) {
  for (std::uint64_t shift = 7; shift < 64; ++shift) {
    const Status status = refusal_with(kOffsetShiftAt, shift, 1);
    EXPECT_EQ(status.reason(), Reason::kOutsideRegion) << shift;
    EXPECT_EQ(status.block, BlockIndex(1)) << shift;
  }
}

TEST(PlanBytesDamage, IsSeenInNumbersThatMeanNothing) {
  const auto expect_damaged = [](std::size_t at, std::uint64_t number, std::size_t width) {
    EXPECT_EQ(refusal_with(at, number, width).reason(), Reason::kPlanBytesDamaged) << at;
  };
  expect_damaged(0, 0x4E, 1);
  expect_damaged(kRegionCountAt, 255, 1);
  expect_damaged(kOffsetWidthAt, 0, 1);
  expect_damaged(kOffsetWidthAt, 9, 1);
  expect_damaged(kOffsetWidthAt, 255, 1);
  expect_damaged(kOffsetShiftAt, 64, 1);
  expect_damaged(kBlockCountAt, UINT32_MAX, 4);
  expect_damaged(kTensorCountAt, UINT32_MAX, 4);
  expect_damaged(kBlockCountAt, UINT64_MAX, 8);
  expect_damaged(kFirstRegionAt + 28, 64, 1);  // alignment 2^64
  expect_damaged(kFirstRegionAt + 29, 64, 1);  // unit 2^64
  EXPECT_EQ(refusal_with(kFirstRegionAt + 30 + 28, 64, 1).region, kPersistentRegion);
}

TEST(PlanBytesDamage, IsNotConfusedWithAnotherVersion) {
  for (const std::uint64_t version : {0U, 2U, 255U}) {
    const Status status = refusal_with(kVersionAt, version, 1);
    EXPECT_EQ(status.reason(), Reason::kPlanBytesVersion);
    EXPECT_EQ(status.code(), StatusCode::kInvalidInput);
  }
}

TEST(PlanBytesDamage, IsNotConfusedWithAPlanForAnotherModel) {
  const std::vector<std::byte> bytes = small_bytes();
  for (const std::uint64_t other : {kFingerprint + 1, kFingerprint ^ (std::uint64_t{1} << 63)}) {
    const Status status = PlanBytes::open(bytes, other).status();
    EXPECT_EQ(status.reason(), Reason::kPlanBytesForeign);
    EXPECT_EQ(status.code(), StatusCode::kUnsafePlan);
  }
}

}  // namespace
}  // namespace tenure
