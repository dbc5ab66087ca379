// SPDX-License-Identifier: Apache-2.0

#include "tenure/upstream.h"

#include <cstdint>
#include <cstdlib>

#include "tenure/align.h"

namespace tenure {
namespace {

constexpr std::size_t kMallocAlignment = alignof(std::max_align_t);

// Aligned memory from malloc alone, for every C library: the distance back to what malloc returned
// is kept in the bytes before the aligned address.
void* allocate(void* /*user*/, std::size_t size_bytes, std::size_t alignment_bytes) noexcept {
  if (alignment_bytes <= kMallocAlignment) return std::malloc(size_bytes);
  const std::size_t extra = alignment_bytes + sizeof(std::size_t);
  if (size_bytes > SIZE_MAX - extra) return nullptr;
  auto* memory = static_cast<unsigned char*>(std::malloc(size_bytes + extra));
  if (memory == nullptr) return nullptr;
  const auto first = reinterpret_cast<std::uintptr_t>(memory) + sizeof(std::size_t);
  const std::size_t distance =
      sizeof(std::size_t) + static_cast<std::size_t>(padding_to_align(first, alignment_bytes));
  unsigned char* aligned = memory + distance;
  reinterpret_cast<std::size_t*>(aligned)[-1] = distance;
  return aligned;
}

void deallocate(void* /*user*/, void* memory, std::size_t /*size_bytes*/,
                std::size_t alignment_bytes) noexcept {
  if (alignment_bytes <= kMallocAlignment) {
    std::free(memory);
    return;
  }
  std::free(static_cast<unsigned char*>(memory) - static_cast<std::size_t*>(memory)[-1]);
}

}  // namespace

Upstream heap_upstream() noexcept { return {&allocate, &deallocate, nullptr}; }

}  // namespace tenure
