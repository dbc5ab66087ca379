// SPDX-License-Identifier: Apache-2.0

// Only what a device needs, so that a program that opens plans links no more than this.

#include "tenure/plan_bytes.h"

#include "internal/plan_format.h"

namespace tenure {
namespace {

namespace format = internal::plan_format;

std::uint64_t read_number(const std::byte* bytes, std::size_t width) noexcept {
  std::uint64_t number = 0;
  for (std::size_t i = width; i > 0; --i) {
    number = number << 8 | std::to_integer<std::uint64_t>(bytes[i - 1]);
  }
  return number;
}
std::uint8_t read_8(const std::byte* bytes) noexcept {
  return std::to_integer<std::uint8_t>(*bytes);
}
std::uint32_t read_32(const std::byte* bytes) noexcept {
  return static_cast<std::uint32_t>(read_number(bytes, 4));
}
std::uint64_t read_64(const std::byte* bytes) noexcept { return read_number(bytes, 8); }

Status damaged() noexcept { return Status(Reason::kPlanBytesDamaged); }

}  // namespace

Result<PlanBytes> PlanBytes::open(Span<const std::byte> bytes,
                                  std::uint64_t expected_fingerprint) noexcept {
  constexpr std::size_t kLeastBytes = format::kHeaderBytes + format::kChecksumBytes;
  const std::byte* const data = bytes.data();
  if (bytes.size() < kLeastBytes) return damaged().needed(kLeastBytes).available(bytes.size());
  if (read_32(data) != format::kMagic) return damaged();
  // Before the checksum, which another version may have elsewhere.
  if (read_8(data + format::kVersionAt) != format::kVersion) {
    return Status(Reason::kPlanBytesVersion);
  }
  PlanBytes plan;
  plan.bytes_ = data;
  plan.region_count_ = read_8(data + format::kRegionCountAt);
  plan.offset_width_ = read_8(data + format::kOffsetWidthAt);
  plan.offset_shift_ = read_8(data + format::kOffsetShiftAt);
  plan.block_count_ = read_32(data + format::kBlockCountAt);
  plan.tensor_count_ = read_32(data + format::kTensorCountAt);
  if (plan.offset_width_ < 1 || plan.offset_width_ > 8 || plan.offset_shift_ > 63) return damaged();
  const std::uint64_t placements = std::uint64_t{plan.block_count_} + plan.tensor_count_;
  const std::uint64_t total_bytes =
      format::total_bytes({plan.region_count_, placements, plan.offset_width_});
  if (bytes.size() != total_bytes) return damaged().needed(total_bytes).available(bytes.size());
  const std::size_t checked_bytes = bytes.size() - format::kChecksumBytes;
  if (format::checksum(bytes.subspan(0, checked_bytes)) != read_32(data + checked_bytes)) {
    return damaged();
  }
  if (plan.fingerprint() != expected_fingerprint) return Status(Reason::kPlanBytesForeign);
  if (Status status = plan.check_regions(); !status.ok()) return status;
  if (Status status = plan.check_placements(); !status.ok()) return status;
  return plan;
}

Status PlanBytes::check_regions() const noexcept {
  for (std::uint32_t i = 0; i < region_count_; ++i) {
    const RegionIndex index(i);
    const std::byte* const region = region_bytes(index);
    const std::uint8_t alignment = read_8(region + format::kRegionAlignmentAt);
    const std::uint8_t unit = read_8(region + format::kRegionUnitAt);
    if ((alignment & ~format::kKeepsContents) > 63 || (unit & ~format::kProven) > 63) {
      return damaged().with(index);
    }
    const std::uint64_t size_bytes = layout(index).size_bytes;
    if (arena_bytes(index) > size_bytes) {
      return Status(Reason::kOutsideRegion)
          .with(index)
          .needed(arena_bytes(index))
          .available(size_bytes);
    }
  }
  return Status();
}

Status PlanBytes::check_placements() const noexcept {
  const std::size_t count = std::size_t{block_count_} + tensor_count_;
  const std::size_t entry_bytes = std::size_t{1} + offset_width_;
  const std::byte* entry = region_bytes(RegionIndex(region_count_));
  for (std::size_t i = 0; i < count; ++i, entry += entry_bytes) {
    const std::uint8_t region = read_8(entry);
    // Compared before it is shifted, so that nothing is lost. A placement that is none lies at 0,
    // and so does everything in a region that does not exist.
    const std::uint64_t last_offset_bytes =
        region < region_count_ ? arena_bytes(RegionIndex(region)) : 0;
    const bool is_region_known = region < region_count_ || region == format::kNoRegion;
    if (is_region_known &&
        read_number(entry + 1, offset_width_) <= last_offset_bytes >> offset_shift_) {
      continue;
    }
    Status status(Reason::kOutsideRegion);
    if (i < block_count_) return status.with(BlockIndex(static_cast<std::uint32_t>(i)));
    return status.with(TensorIndex(static_cast<std::uint32_t>(i - block_count_)));
  }
  return Status();
}

std::uint64_t PlanBytes::fingerprint() const noexcept {
  return bytes_ == nullptr ? 0 : read_64(bytes_ + format::kFingerprintAt);
}

RegionLayout PlanBytes::layout(RegionIndex index) const noexcept {
  TENURE_ASSERT(index.value < region_count_);
  const std::byte* const region = region_bytes(index);
  RegionLayout layout;
  layout.size_bytes = read_64(region + format::kRegionSizeAt);
  const std::uint8_t alignment = read_8(region + format::kRegionAlignmentAt);
  layout.alignment_bytes = std::uint64_t{1} << (alignment & (format::kKeepsContents - 1));
  layout.keeps_contents = (alignment & format::kKeepsContents) != 0;
  return layout;
}

RegionPlan PlanBytes::region(RegionIndex index) const noexcept {
  TENURE_ASSERT(index.value < region_count_);
  const std::byte* const bytes = region_bytes(index);
  RegionPlan region;
  region.arena_bytes = read_64(bytes + format::kRegionArenaAt);
  region.lower_bound_bytes = read_64(bytes + format::kRegionLowerBoundAt);
  const std::uint8_t unit = read_8(bytes + format::kRegionUnitAt);
  region.unit_bytes = std::uint64_t{1} << (unit & (format::kProven - 1));
  region.is_proven = (unit & format::kProven) != 0;
  region.peak_step = Step(read_32(bytes + format::kRegionPeakStepAt));
  return region;
}

std::uint64_t PlanBytes::arena_bytes(RegionIndex region) const noexcept {
  if (region.value >= region_count_) return 0;
  return read_64(region_bytes(region) + format::kRegionArenaAt);
}

std::uint64_t PlanBytes::lower_bound_bytes(RegionIndex region) const noexcept {
  if (region.value >= region_count_) return 0;
  return read_64(region_bytes(region) + format::kRegionLowerBoundAt);
}

Status PlanBytes::copy_layouts(Span<RegionLayout> layouts) const noexcept {
  if (layouts.size() < region_count_) {
    return Status(Reason::kBufferTooSmall)
        .needed(region_count_ * sizeof(RegionLayout))
        .available(layouts.size() * sizeof(RegionLayout));
  }
  for (std::uint32_t i = 0; i < region_count_; ++i) layouts[i] = layout(RegionIndex(i));
  return Status();
}

const std::byte* PlanBytes::region_bytes(RegionIndex index) const noexcept {
  return bytes_ + format::kHeaderBytes + format::kRegionBytes * index.value;
}

Placement PlanBytes::placement_at(std::size_t index) const noexcept {
  const std::byte* const entry =
      region_bytes(RegionIndex(region_count_)) + (std::size_t{1} + offset_width_) * index;
  const std::uint8_t region = read_8(entry);
  if (region == format::kNoRegion) return Placement::none();
  return {RegionIndex(region), read_number(entry + 1, offset_width_) << offset_shift_};
}

}  // namespace tenure
