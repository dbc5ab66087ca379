// SPDX-License-Identifier: Apache-2.0

#include "internal/plan_format.h"
#include "tenure/align.h"
#include "tenure/plan_bytes.h"

namespace tenure {
namespace {

namespace format = internal::plan_format;

void write_number(std::byte* bytes, std::uint64_t number, std::size_t width) noexcept {
  for (std::size_t i = 0; i < width; ++i, number >>= 8) {
    bytes[i] = static_cast<std::byte>(number & 0xFFU);
  }
}

// Precondition: number != 0.
std::uint8_t trailing_zeros(std::uint64_t number) noexcept {
  std::uint8_t count = 0;
  for (; (number & 1U) == 0; number >>= 1) ++count;
  return count;
}

std::uint8_t width_of(std::uint64_t number) noexcept {
  std::uint8_t width = 1;
  while ((number >>= 8) != 0) ++width;
  return width;
}

// All offsets in one form: cut by the zeros that they all end with, as wide as the largest then.
struct OffsetForm {
  std::uint8_t shift = 0;
  std::uint8_t width = 1;
};

OffsetForm offset_form(const MemoryPlan& plan) noexcept {
  std::uint64_t bits = 0;  // those that any offset has; as wide as the largest
  for (const Placement& placement : plan.placements()) bits |= placement.offset_bytes;
  for (const Placement& placement : plan.tensor_placements()) bits |= placement.offset_bytes;
  OffsetForm form;
  if (bits != 0) form.shift = trailing_zeros(bits);
  form.width = width_of(bits >> form.shift);
  return form;
}

Status check_regions(const MemoryPlan& plan) noexcept {
  if (plan.regions().size() > format::kNoRegion) return Status(Reason::kTooMany);
  for (std::uint32_t i = 0; i < plan.regions().size(); ++i) {
    const RegionPlan& region = plan.regions()[i];
    const RegionLayout& layout = plan.layouts()[i];
    if (!is_power_of_two(layout.alignment_bytes) || !is_power_of_two(region.unit_bytes)) {
      return Status(Reason::kNotPowerOfTwo).with(RegionIndex(i));
    }
    if (region.arena_bytes > layout.size_bytes) {
      return Status(Reason::kOutsideRegion)
          .with(RegionIndex(i))
          .needed(region.arena_bytes)
          .available(layout.size_bytes);
    }
  }
  return Status();
}

bool lies_in_its_region(const MemoryPlan& plan, Placement placement) noexcept {
  if (placement.is_none()) return placement.offset_bytes == 0;
  return placement.region.value < plan.regions().size() &&
         placement.offset_bytes <= plan.arena_bytes(placement.region);
}

Status check_placements(const MemoryPlan& plan) noexcept {
  constexpr std::uint64_t kMostPlacements = UINT32_MAX;
  if (plan.placements().size() > kMostPlacements ||
      plan.tensor_placements().size() > kMostPlacements) {
    return Status(Reason::kTooMany);
  }
  std::uint32_t block = 0;
  for (const Placement& placement : plan.placements()) {
    if (!lies_in_its_region(plan, placement)) {
      return Status(Reason::kOutsideRegion).with(BlockIndex(block));
    }
    ++block;
  }
  std::uint32_t tensor = 0;
  for (const Placement& placement : plan.tensor_placements()) {
    if (!lies_in_its_region(plan, placement)) {
      return Status(Reason::kOutsideRegion).with(TensorIndex(tensor));
    }
    ++tensor;
  }
  return Status();
}

struct Header {
  std::uint64_t fingerprint;
  OffsetForm offsets;
};

void write_header(std::byte* bytes, const MemoryPlan& plan, const Header& header) noexcept {
  write_number(bytes, format::kMagic, 4);
  write_number(bytes + format::kVersionAt, format::kVersion, 1);
  write_number(bytes + format::kRegionCountAt, plan.regions().size(), 1);
  write_number(bytes + format::kOffsetWidthAt, header.offsets.width, 1);
  write_number(bytes + format::kOffsetShiftAt, header.offsets.shift, 1);
  write_number(bytes + format::kFingerprintAt, header.fingerprint, 8);
  write_number(bytes + format::kBlockCountAt, plan.placements().size(), 4);
  write_number(bytes + format::kTensorCountAt, plan.tensor_placements().size(), 4);
}

void write_region(std::byte* bytes, const RegionPlan& region, const RegionLayout& layout) noexcept {
  write_number(bytes + format::kRegionSizeAt, layout.size_bytes, 8);
  write_number(bytes + format::kRegionArenaAt, region.arena_bytes, 8);
  write_number(bytes + format::kRegionLowerBoundAt, region.lower_bound_bytes, 8);
  write_number(bytes + format::kRegionPeakStepAt, region.peak_step.value, 4);
  const std::uint32_t flag = layout.keeps_contents ? format::kKeepsContents : 0;
  write_number(bytes + format::kRegionAlignmentAt, trailing_zeros(layout.alignment_bytes) | flag,
               1);
  const std::uint32_t proven = region.is_proven ? format::kProven : 0;
  write_number(bytes + format::kRegionUnitAt, trailing_zeros(region.unit_bytes) | proven, 1);
}

// Returns where the next thing goes.
std::byte* write_placements(std::byte* bytes, Span<const Placement> placements,
                            OffsetForm form) noexcept {
  for (const Placement& placement : placements) {
    const std::uint32_t region = placement.is_none() ? format::kNoRegion : placement.region.value;
    write_number(bytes, region, 1);
    write_number(bytes + 1, placement.offset_bytes >> form.shift, form.width);
    bytes += std::size_t{1} + form.width;
  }
  return bytes;
}

}  // namespace

Result<Array<std::byte>> encode(const MemoryPlan& plan, std::uint64_t model_fingerprint,
                                Upstream upstream) noexcept {
  if (Status status = check_regions(plan); !status.ok()) return status;
  if (Status status = check_placements(plan); !status.ok()) return status;
  const OffsetForm form = offset_form(plan);
  const std::uint64_t placements =
      std::uint64_t{plan.placements().size()} + plan.tensor_placements().size();
  const std::uint64_t total_bytes =
      format::total_bytes({plan.regions().size(), placements, form.width});
  if (total_bytes > SIZE_MAX) return Status(Reason::kAddressSpace).needed(total_bytes);
  Array<std::byte> bytes(upstream);
  if (!bytes.resize(static_cast<std::size_t>(total_bytes))) {
    return Status(Reason::kUpstreamRefused).needed(total_bytes);
  }
  write_header(bytes.data(), plan, {model_fingerprint, form});
  std::byte* next = bytes.data() + format::kHeaderBytes;
  for (std::size_t i = 0; i < plan.regions().size(); ++i, next += format::kRegionBytes) {
    write_region(next, plan.regions()[i], plan.layouts()[i]);
  }
  next = write_placements(next, plan.placements(), form);
  next = write_placements(next, plan.tensor_placements(), form);
  const std::size_t checked_bytes = bytes.size() - format::kChecksumBytes;
  write_number(next, format::checksum(Span<const std::byte>(bytes).subspan(0, checked_bytes)), 4);
  return bytes;
}

Result<MemoryPlan> decode(const PlanBytes& bytes, Upstream upstream) noexcept {
  Array<RegionPlan> regions(upstream);
  Array<RegionLayout> layouts(upstream);
  Array<Placement> placements(upstream);
  Array<Placement> tensor_placements(upstream);
  if (!regions.resize(bytes.region_count()) || !layouts.resize(bytes.region_count()) ||
      !placements.resize(bytes.block_count()) || !tensor_placements.resize(bytes.tensor_count())) {
    return Status(Reason::kUpstreamRefused);
  }
  for (std::uint32_t i = 0; i < bytes.region_count(); ++i) {
    regions[i] = bytes.region(RegionIndex(i));
    layouts[i] = bytes.layout(RegionIndex(i));
  }
  for (std::uint32_t i = 0; i < bytes.block_count(); ++i) {
    placements[i] = bytes.placement(BlockIndex(i));
  }
  for (std::uint32_t i = 0; i < bytes.tensor_count(); ++i) {
    tensor_placements[i] = bytes.tensor_placement(TensorIndex(i));
  }
  return MemoryPlan::create({regions, layouts, placements, tensor_placements}, upstream);
}

}  // namespace tenure
