// SPDX-License-Identifier: Apache-2.0

#include "tenure/arena.h"

#include <cstring>

#include "tenure/align.h"

namespace tenure {
namespace {

// What a buffer must have when regions lie one behind the other from an aligned base on.
struct Sum {
  std::uint64_t bytes = 0;
  std::uint64_t alignment_bytes = 1;
};

Status check_layout(const RegionLayout& layout, RegionIndex region) noexcept {
  if (!is_power_of_two(layout.alignment_bytes)) {
    return Status(Reason::kNotPowerOfTwo).with(region).needed(layout.alignment_bytes);
  }
  // One alignment is spared, so that aligning inside a buffer cannot wrap round either.
  if (layout.alignment_bytes > SIZE_MAX / 2 ||
      layout.size_bytes > SIZE_MAX / 2 - layout.alignment_bytes) {
    return Status(Reason::kAddressSpace).with(region).needed(layout.size_bytes);
  }
  return Status();
}

Status check_layouts(Span<const RegionLayout> layouts) noexcept {
  if (layouts.size() > kMaxRegions) {
    return Status(Reason::kTooMany).with(RegionIndex(static_cast<std::uint32_t>(kMaxRegions)));
  }
  for (std::uint32_t i = 0; i < layouts.size(); ++i) {
    if (Status status = check_layout(layouts[i], RegionIndex(i)); !status.ok()) return status;
  }
  return Status();
}

Status add_up(Span<const RegionLayout> layouts, Sum* sum) noexcept {
  if (Status status = check_layouts(layouts); !status.ok()) return status;
  for (std::uint32_t i = 0; i < layouts.size(); ++i) {
    const RegionLayout& layout = layouts[i];
    std::uint64_t begin = 0;
    if (!checked_align_up(sum->bytes, layout.alignment_bytes, &begin) ||
        !checked_add(begin, layout.size_bytes, &sum->bytes) || sum->bytes > SIZE_MAX / 2) {
      return Status(Reason::kAddressSpace).with(RegionIndex(i)).needed(layout.size_bytes);
    }
    if (layout.alignment_bytes > sum->alignment_bytes)
      sum->alignment_bytes = layout.alignment_bytes;
  }
  return Status();
}

}  // namespace

Result<LentSize> lent_size(Span<const RegionLayout> layouts) noexcept {
  Sum sum;
  if (Status status = add_up(layouts, &sum); !status.ok()) return status;
  LentSize size;
  size.aligned_bytes = static_cast<std::size_t>(sum.bytes);
  size.alignment_bytes = static_cast<std::size_t>(sum.alignment_bytes);
  const std::size_t worst_padding = size.alignment_bytes - 1;
  size.any_base_bytes = size.aligned_bytes == 0 ? 0 : size.aligned_bytes + worst_padding;
  return size;
}

Span<std::byte> SimpleMemoryArena::region(RegionIndex index) const noexcept {
  if (index.value >= region_count_) return {};
  return {regions_[index.value].base, regions_[index.value].size_bytes};
}

SimpleMemoryArena::SimpleMemoryArena(SimpleMemoryArena&& other) noexcept
    : upstream_(other.upstream_) {
  take(other);
}

SimpleMemoryArena& SimpleMemoryArena::operator=(SimpleMemoryArena&& other) noexcept {
  if (this == &other) return *this;
  release();
  upstream_ = other.upstream_;
  take(other);
  return *this;
}

void SimpleMemoryArena::take(SimpleMemoryArena& other) noexcept {
  for (std::size_t i = 0; i < other.region_count_; ++i) regions_[i] = other.regions_[i];
  region_count_ = other.region_count_;
  is_lent_ = other.is_lent_;
  other.region_count_ = 0;
}

void SimpleMemoryArena::release() noexcept {
  if (!is_lent_) give_back(regions_, region_count_);
  region_count_ = 0;
}

void SimpleMemoryArena::give_back(const RegionMemory* regions, std::size_t count) const noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const RegionMemory& memory = regions[i];
    if (memory.base == nullptr) continue;
    upstream_.deallocate(upstream_.user, memory.base, memory.size_bytes, memory.alignment_bytes);
  }
}

// All new buffers are had before any old one goes.
Status SimpleMemoryArena::commit(Span<const RegionLayout> layouts, Fill fill) noexcept {
  if (Status status = check_layouts(layouts); !status.ok()) return status;
  RegionMemory taken[kMaxRegions];
  for (std::uint32_t i = 0; i < layouts.size(); ++i) {
    RegionMemory& memory = taken[i];
    memory.size_bytes = static_cast<std::size_t>(layouts[i].size_bytes);
    memory.alignment_bytes = static_cast<std::size_t>(layouts[i].alignment_bytes);
    if (memory.size_bytes == 0) continue;
    memory.base = static_cast<std::byte*>(
        upstream_.allocate(upstream_.user, memory.size_bytes, memory.alignment_bytes));
    if (memory.base != nullptr) continue;
    give_back(taken, i);
    return Status(Reason::kUpstreamRefused).with(RegionIndex(i)).needed(layouts[i].size_bytes);
  }
  release();
  is_lent_ = false;
  adopt(taken, layouts.size(), fill);
  return Status();
}

Status SimpleMemoryArena::commit_lent(Span<std::byte> buffer, Span<const RegionLayout> layouts,
                                      Fill fill) noexcept {
  Sum sum;
  if (Status status = add_up(layouts, &sum); !status.ok()) return status;
  const auto address = reinterpret_cast<std::uintptr_t>(buffer.data());
  const std::uint64_t padding = sum.bytes == 0 ? 0 : padding_to_align(address, sum.alignment_bytes);
  const std::uint64_t needed = padding + sum.bytes;
  if (buffer.size() < needed) {
    return Status(Reason::kBufferTooSmall).needed(needed).available(buffer.size());
  }
  RegionMemory taken[kMaxRegions];
  std::uint64_t offset = 0;
  for (std::uint32_t i = 0; i < layouts.size(); ++i) {
    RegionMemory& memory = taken[i];
    memory.size_bytes = static_cast<std::size_t>(layouts[i].size_bytes);
    memory.alignment_bytes = static_cast<std::size_t>(layouts[i].alignment_bytes);
    if (memory.size_bytes == 0) continue;
    offset += padding_to_align(offset, layouts[i].alignment_bytes);
    memory.base = buffer.data() + static_cast<std::size_t>(padding + offset);
    offset += memory.size_bytes;
  }
  release();
  is_lent_ = true;
  adopt(taken, layouts.size(), fill);
  return Status();
}

void SimpleMemoryArena::adopt(const RegionMemory* regions, std::size_t count, Fill fill) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    regions_[i] = regions[i];
    if (!fill.is_none() && regions[i].base != nullptr) {
      std::memset(regions[i].base, fill.pattern(), regions[i].size_bytes);
    }
  }
  region_count_ = count;
}

}  // namespace tenure
