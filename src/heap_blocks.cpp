// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <new>

#include "internal/counts.h"
#include "tenure/heap_allocator.h"

namespace tenure {
namespace {

// Lies directly before the block; what comes before it fills up to the alignment.
struct Note {
  std::size_t taken_bytes;
  std::size_t alignment_bytes;
};

using internal::add;
using internal::raise;

constexpr std::size_t kOne = 1;

}  // namespace

HeapBlocks::HeapBlocks(const HeapOptions& options) noexcept : options_(options) {
  TENURE_ASSERT(is_power_of_two(options.alignment_bytes));
}

void* HeapBlocks::allocate(std::size_t size_bytes, std::size_t alignment_bytes) noexcept {
  TENURE_ASSERT(is_power_of_two(alignment_bytes));
  std::size_t alignment = sizeof(Note);
  if (alignment < options_.alignment_bytes) alignment = options_.alignment_bytes;
  if (alignment < alignment_bytes) alignment = alignment_bytes;
  std::uint64_t taken = 0;
  if (!checked_add(size_bytes, alignment, &taken) ||
      !checked_add(taken, options_.tail_bytes, &taken) || taken > SIZE_MAX / 2) {
    return add(refusals_, kOne), nullptr;
  }
  const auto taken_bytes = static_cast<std::size_t>(taken);
  const Upstream& upstream = options_.upstream;
  auto* memory =
      static_cast<unsigned char*>(upstream.allocate(upstream.user, taken_bytes, alignment));
  if (memory == nullptr) return add(refusals_, kOne), nullptr;
  unsigned char* const block = memory + alignment;
  new (block - sizeof(Note)) Note{taken_bytes, alignment};
  raise(peak_bytes_, add(in_use_bytes_, taken_bytes));
  add(live_blocks_, kOne);
  return block;
}

void HeapBlocks::free(void* memory) noexcept {
  auto* const block = static_cast<unsigned char*>(memory);
  const Note note = *reinterpret_cast<const Note*>(block - sizeof(Note));
  add(in_use_bytes_, 0 - note.taken_bytes);
  add(live_blocks_, 0 - kOne);
  options_.upstream.deallocate(options_.upstream.user, block - note.alignment_bytes,
                               note.taken_bytes, note.alignment_bytes);
}

AllocatorStatistics HeapBlocks::statistics() const noexcept {
  AllocatorStatistics result;
  result.in_use_bytes = in_use_bytes_.load();
  result.held_bytes = result.in_use_bytes;
  result.peak_bytes = peak_bytes_.load();
  result.live_blocks = live_blocks_.load();
  result.refusals = refusals_.load();
  return result;
}

}  // namespace tenure
