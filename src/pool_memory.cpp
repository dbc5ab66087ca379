// SPDX-License-Identifier: Apache-2.0

#include "tenure/pool_memory.h"

#include <cstring>

#include "internal/poison.h"
#include "tenure/bump_space.h"

namespace tenure {
namespace {

// Shadow bytes stand for 8 bytes: with less alignment two threads' blocks would share one.
constexpr std::size_t kPoisonGranuleBytes = 8;

std::size_t whole_granules(std::size_t bytes) noexcept {
  return (bytes + kPoisonGranuleBytes - 1) & ~(kPoisonGranuleBytes - 1);
}

Status check_alignment(const PoolOptions& options) noexcept {
  if (is_power_of_two(options.alignment_bytes)) return Status();
  return Status(Reason::kNotPowerOfTwo).needed(options.alignment_bytes);
}

// So that a pool's units are aligned, too, where it is so large that they are larger.
std::size_t base_alignment(std::size_t size_bytes, const PoolOptions& options) noexcept {
  return BumpSpace()
      .set_capacity_bytes(size_bytes)
      .set_alignment_bytes(options.alignment_bytes)
      .unit_bytes();
}

}  // namespace

Status PoolMemory::reserve(std::size_t size_bytes) noexcept {
  if (Status status = check_alignment(options_); !status.ok()) return status;
  const std::size_t alignment = base_alignment(size_bytes, options_);
  std::uint64_t held = 0;
  if (!checked_add(size_bytes, options_.tail_bytes, &held) || alignment > SIZE_MAX / 2 ||
      held > SIZE_MAX / 2 - alignment) {
    return Status(Reason::kAddressSpace).needed(size_bytes);
  }
  const auto held_bytes = static_cast<std::size_t>(held);
  std::byte* base = nullptr;
  if (size_bytes != 0) {
    const Upstream& upstream = options_.upstream;
    base = static_cast<std::byte*>(upstream.allocate(upstream.user, held_bytes, alignment));
    if (base == nullptr) return Status(Reason::kUpstreamRefused).needed(held_bytes);
  }
  release();
  is_lent_ = false;
  adopt(base, size_bytes, size_bytes == 0 ? 0 : held_bytes);
  return Status();
}

Status PoolMemory::lend(Span<std::byte> buffer) noexcept {
  if (Status status = check_alignment(options_); !status.ok()) return status;
  const std::size_t alignment = base_alignment(buffer.size(), options_);
  const std::uint64_t padding =
      padding_to_align(reinterpret_cast<std::uintptr_t>(buffer.data()), alignment);
  std::uint64_t lost = 0;
  if (!checked_add(padding, options_.tail_bytes, &lost) || lost > buffer.size()) {
    return Status(Reason::kBufferTooSmall).needed(lost).available(buffer.size());
  }
  release();
  is_lent_ = true;
  const std::size_t size_bytes = buffer.size() - static_cast<std::size_t>(lost);
  adopt(buffer.data() + static_cast<std::size_t>(padding), size_bytes,
        size_bytes + options_.tail_bytes);
  return Status();
}

void PoolMemory::adopt(std::byte* base, std::size_t size_bytes, std::size_t held_bytes) noexcept {
  base_ = base;
  size_bytes_ = size_bytes;
  held_bytes_ = held_bytes;
  poisons_ = options_.poison && poison_works() && options_.alignment_bytes >= kPoisonGranuleBytes;
  close(0, size_bytes);
}

void PoolMemory::release() noexcept {
  if (poisons_) unpoison(base_, held_bytes_);
  if (!is_lent_ && base_ != nullptr) {
    const Upstream& upstream = options_.upstream;
    upstream.deallocate(upstream.user, base_, held_bytes_, base_alignment(size_bytes_, options_));
  }
  base_ = nullptr;
  size_bytes_ = 0;
  held_bytes_ = 0;
  poisons_ = false;
}

// A tail may end in the block of another thread, whose shadow bytes it must not change in part.
std::byte* PoolMemory::unpoison_block(std::size_t offset_bytes,
                                      std::size_t size_bytes) const noexcept {
  std::byte* const block = base_ + offset_bytes;
  const std::size_t held_bytes = held_bytes_ - offset_bytes;
  std::size_t readable_bytes = size_bytes;
  if (options_.tail_bytes != 0) readable_bytes = whole_granules(size_bytes + options_.tail_bytes);
  unpoison(block, readable_bytes < held_bytes ? readable_bytes : held_bytes);
  return block;
}

// A block that lies before the range may go on being read as far as its tail reaches.
void PoolMemory::fill_and_poison(std::size_t begin_bytes, std::size_t end_bytes) const noexcept {
  if (begin_bytes >= end_bytes) return;
  const std::size_t size_bytes = end_bytes - begin_bytes;
  const std::size_t readable_bytes = begin_bytes == 0 ? 0 : whole_granules(options_.tail_bytes);
  std::byte* const begin = base_ + begin_bytes;
  if (poisons_) unpoison(begin, size_bytes);
  if (!options_.fill.is_none()) std::memset(begin, options_.fill.pattern(), size_bytes);
  if (poisons_ && readable_bytes < size_bytes) {
    poison(begin + readable_bytes, size_bytes - readable_bytes);
  }
}

bool PoolMemory::discard(std::size_t begin_bytes, std::size_t end_bytes) const noexcept {
  const Upstream& upstream = options_.upstream;
  if (is_lent_ || base_ == nullptr || upstream.discard == nullptr) return false;
  if (begin_bytes < end_bytes) {
    upstream.discard(upstream.user, base_ + begin_bytes, end_bytes - begin_bytes);
  }
  return true;
}

}  // namespace tenure
