// SPDX-License-Identifier: Apache-2.0

#include "tenure/arena.h"

#include <cstring>

#include "internal/region_sum.h"
#include "tenure/align.h"

namespace tenure {
namespace {

using internal::RegionSum;

Status check_layouts(Span<const RegionLayout> layouts) noexcept {
  if (layouts.size() > kMaxRegions) {
    return Status(Reason::kTooMany).with(RegionIndex(static_cast<std::uint32_t>(kMaxRegions)));
  }
  for (std::uint32_t i = 0; i < layouts.size(); ++i) {
    if (Status status = internal::check_layout(layouts[i], RegionIndex(i)); !status.ok())
      return status;
  }
  return Status();
}

Status add_up(Span<const RegionLayout> layouts, RegionSum* sum) noexcept {
  if (Status status = check_layouts(layouts); !status.ok()) return status;
  for (std::uint32_t i = 0; i < layouts.size(); ++i) {
    if (Status status = sum->add(layouts[i], RegionIndex(i)); !status.ok()) return status;
  }
  return Status();
}

}  // namespace

Result<LentSize> lent_size(Span<const RegionLayout> layouts) noexcept {
  RegionSum sum;
  if (Status status = add_up(layouts, &sum); !status.ok()) return status;
  return sum.lent_size();
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
  moved_ = other.moved_;
  other.region_count_ = 0;
}

void SimpleMemoryArena::release() noexcept {
  for (std::size_t i = 0; i < region_count_; ++i) give_back(&regions_[i]);
  region_count_ = 0;
}

void SimpleMemoryArena::release_reusable() noexcept {
  if (is_lent_) return;
  for (std::size_t i = 0; i < region_count_; ++i) {
    if (!regions_[i].keeps_contents) give_back(&regions_[i]);
  }
}

void SimpleMemoryArena::fill_reusable(Fill fill) const noexcept {
  for (std::size_t i = 0; i < region_count_ && !fill.is_none(); ++i) {
    const RegionMemory& memory = regions_[i];
    if (memory.keeps_contents || memory.base == nullptr) continue;
    std::memset(memory.base, fill.pattern(), memory.size_bytes);
  }
}

Status SimpleMemoryArena::commit(Span<const RegionLayout> layouts, Fill fill,
                                 Growth growth) noexcept {
  return provide(layouts, fill, growth, Capacity::kAtLeast);
}

Status SimpleMemoryArena::trim() noexcept {
  if (is_lent_) return Status();
  RegionLayout layouts[kMaxRegions];
  for (std::size_t i = 0; i < region_count_; ++i) {
    const RegionMemory& memory = regions_[i];
    layouts[i] = {memory.size_bytes, memory.alignment_bytes, memory.keeps_contents};
  }
  return provide({layouts, region_count_}, Fill::none(), Growth::kKeepOld, Capacity::kExact);
}

Status SimpleMemoryArena::reacquire(Fill fill) noexcept {
  RegionMemory wanted[kMaxRegions];
  bool is_missing[kMaxRegions] = {};
  for (std::size_t i = 0; i < region_count_; ++i) {
    wanted[i] = regions_[i];
    is_missing[i] = wanted[i].base == nullptr && wanted[i].size_bytes != 0;
  }
  if (Status status = allocate_missing(wanted, region_count_); !status.ok()) return status;
  moved_ = false;
  for (std::size_t i = 0; i < region_count_; ++i) {
    if (!is_missing[i]) continue;
    moved_ = true;
    regions_[i] = wanted[i];
    if (!fill.is_none()) std::memset(wanted[i].base, fill.pattern(), wanted[i].size_bytes);
  }
  return Status();
}

void SimpleMemoryArena::give_back(RegionMemory* memory) const noexcept {
  if (!is_lent_ && memory->base != nullptr) {
    upstream_.deallocate(upstream_.user, memory->base, memory->capacity_bytes,
                         memory->alignment_bytes);
  }
  memory->base = nullptr;
  memory->capacity_bytes = 0;
}

// The buffer that a region has may go on serving it.
bool SimpleMemoryArena::suits(std::size_t index, const RegionMemory& wanted,
                              Capacity capacity) const noexcept {
  if (is_lent_ || index >= region_count_ || regions_[index].base == nullptr) return false;
  const RegionMemory& current = regions_[index];
  if (wanted.size_bytes == 0 && capacity == Capacity::kExact) return false;
  const bool is_large_enough = capacity == Capacity::kExact
                                   ? current.capacity_bytes == wanted.size_bytes
                                   : current.capacity_bytes >= wanted.size_bytes;
  return is_large_enough && current.alignment_bytes >= wanted.alignment_bytes;
}

Status SimpleMemoryArena::provide(Span<const RegionLayout> layouts, Fill fill, Growth growth,
                                  Capacity capacity) noexcept {
  if (Status status = check_layouts(layouts); !status.ok()) return status;
  RegionMemory wanted[kMaxRegions];
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    RegionMemory& memory = wanted[i];
    memory.size_bytes = static_cast<std::size_t>(layouts[i].size_bytes);
    memory.alignment_bytes = static_cast<std::size_t>(layouts[i].alignment_bytes);
    memory.keeps_contents = layouts[i].keeps_contents;
    if (suits(i, memory, capacity)) {
      memory.base = regions_[i].base;
      memory.capacity_bytes = regions_[i].capacity_bytes;
      memory.alignment_bytes = regions_[i].alignment_bytes;
    } else if (growth == Growth::kReleaseFirst && !is_lent_ && i < region_count_ &&
               !regions_[i].keeps_contents) {
      give_back(&regions_[i]);
    }
  }
  if (Status status = allocate_missing(wanted, layouts.size()); !status.ok()) return status;
  adopt(wanted, layouts.size(), fill);
  is_lent_ = false;
  return Status();
}

// All that are missing, or none.
Status SimpleMemoryArena::allocate_missing(RegionMemory* wanted, std::size_t count) const noexcept {
  bool is_new[kMaxRegions] = {};
  for (std::size_t i = 0; i < count; ++i) {
    RegionMemory& memory = wanted[i];
    if (memory.base != nullptr || memory.size_bytes == 0) continue;
    memory.base = static_cast<std::byte*>(
        upstream_.allocate(upstream_.user, memory.size_bytes, memory.alignment_bytes));
    memory.capacity_bytes = memory.size_bytes;
    is_new[i] = memory.base != nullptr;
    if (is_new[i]) continue;
    for (std::size_t given = 0; given < i; ++given) {
      RegionMemory& other = wanted[given];
      if (!is_new[given]) continue;
      upstream_.deallocate(upstream_.user, other.base, other.size_bytes, other.alignment_bytes);
    }
    const RegionIndex region(static_cast<std::uint32_t>(i));
    return Status(Reason::kUpstreamRefused).with(region).needed(memory.size_bytes);
  }
  return Status();
}

Status SimpleMemoryArena::commit_lent(Span<std::byte> buffer, Span<const RegionLayout> layouts,
                                      Fill fill) noexcept {
  RegionSum sum;
  if (Status status = add_up(layouts, &sum); !status.ok()) return status;
  const auto address = reinterpret_cast<std::uintptr_t>(buffer.data());
  const std::uint64_t padding = sum.bytes == 0 ? 0 : padding_to_align(address, sum.alignment_bytes);
  const std::uint64_t needed = padding + sum.bytes;
  if (buffer.size() < needed) {
    return Status(Reason::kBufferTooSmall).needed(needed).available(buffer.size());
  }
  RegionMemory wanted[kMaxRegions];
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    RegionMemory& memory = wanted[i];
    memory.size_bytes = static_cast<std::size_t>(layouts[i].size_bytes);
    memory.capacity_bytes = memory.size_bytes;
    memory.alignment_bytes = static_cast<std::size_t>(layouts[i].alignment_bytes);
    memory.keeps_contents = layouts[i].keeps_contents;
    if (memory.size_bytes == 0) continue;
    offset += padding_to_align(offset, layouts[i].alignment_bytes);
    memory.base = buffer.data() + static_cast<std::size_t>(padding + offset);
    offset += memory.size_bytes;
  }
  adopt(wanted, layouts.size(), fill);
  is_lent_ = true;
  return Status();
}

// What is kept is moved before anything is filled or given back.
void SimpleMemoryArena::adopt(const RegionMemory* wanted, std::size_t count, Fill fill) noexcept {
  move_contents(wanted, count);
  moved_ = false;
  for (std::size_t i = 0; i < kMaxRegions; ++i) {
    const RegionMemory fresh = i < count ? wanted[i] : RegionMemory();
    RegionMemory& current = regions_[i];
    const bool had_memory = i < region_count_ && current.base != nullptr;
    const bool is_kept = had_memory && fresh.keeps_contents;
    const std::size_t kept = is_kept && current.size_bytes < fresh.size_bytes ? current.size_bytes
                             : is_kept                                        ? fresh.size_bytes
                                                                              : 0;
    if (had_memory && current.base != fresh.base) {
      moved_ = true;
      give_back(&current);
    }
    current = fresh;
    if (!fill.is_none() && fresh.size_bytes != kept) {
      std::memset(fresh.base + kept, fill.pattern(), fresh.size_bytes - kept);
    }
  }
  region_count_ = count;
}

// Regions lie in one order before and after, so those that move down are safe from below, and then
// those that move up from above, even where a lent buffer overlaps the one before.
void SimpleMemoryArena::move_contents(const RegionMemory* wanted, std::size_t count) noexcept {
  const auto move = [&](std::size_t i, bool up) {
    const RegionMemory& from = regions_[i];
    const RegionMemory& to = wanted[i];
    const bool is_kept = to.keeps_contents && from.base != nullptr && to.base != nullptr;
    const bool goes_up =
        reinterpret_cast<std::uintptr_t>(to.base) > reinterpret_cast<std::uintptr_t>(from.base);
    if (!is_kept || to.base == from.base || goes_up != up) return;
    std::memmove(to.base, from.base,
                 from.size_bytes < to.size_bytes ? from.size_bytes : to.size_bytes);
  };
  const std::size_t both = count < region_count_ ? count : region_count_;
  for (std::size_t i = 0; i < both; ++i) move(i, false);
  for (std::size_t i = both; i > 0; --i) move(i - 1, true);
}

}  // namespace tenure
