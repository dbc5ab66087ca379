// SPDX-License-Identifier: Apache-2.0

#include "tenure/upstream.h"

#include <cstdint>
#include <cstdlib>

#include "tenure/align.h"

#if defined(_WIN32)
#include <malloc.h>
#endif

namespace tenure {
namespace {

// Some give no more than that to small requests.
constexpr std::size_t kMallocAlignment = alignof(std::size_t);

// Aligned memory from malloc alone, for every C library: the distance back to what malloc returned
// is kept in the bytes before the aligned address.
void* allocate_with_malloc(void* /*user*/, std::size_t size_bytes,
                           std::size_t alignment_bytes) noexcept {
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

void deallocate_with_malloc(void* /*user*/, void* memory, std::size_t /*size_bytes*/,
                            std::size_t alignment_bytes) noexcept {
  if (alignment_bytes <= kMallocAlignment) {
    std::free(memory);
    return;
  }
  std::free(static_cast<unsigned char*>(memory) - static_cast<std::size_t*>(memory)[-1]);
}

#if defined(_WIN32)

void* allocate_aligned(void* /*user*/, std::size_t size_bytes,
                       std::size_t alignment_bytes) noexcept {
  if (alignment_bytes > SIZE_MAX / 2 || size_bytes > SIZE_MAX / 2 - alignment_bytes) return nullptr;
  return _aligned_malloc(size_bytes, alignment_bytes);
}

void deallocate_aligned(void* /*user*/, void* memory, std::size_t /*size_bytes*/,
                        std::size_t /*alignment_bytes*/) noexcept {
  _aligned_free(memory);
}

#elif defined(__unix__) || defined(__APPLE__)

// Not aligned_alloc, which wants sizes that are multiples of the alignment.
void* allocate_aligned(void* /*user*/, std::size_t size_bytes,
                       std::size_t alignment_bytes) noexcept {
  if (alignment_bytes <= kMallocAlignment) return std::malloc(size_bytes);
  if (alignment_bytes > SIZE_MAX / 2 || size_bytes > SIZE_MAX / 2 - alignment_bytes) return nullptr;
  void* memory = nullptr;
  return posix_memalign(&memory, alignment_bytes, size_bytes) == 0 ? memory : nullptr;
}

void deallocate_aligned(void* /*user*/, void* memory, std::size_t /*size_bytes*/,
                        std::size_t /*alignment_bytes*/) noexcept {
  std::free(memory);
}

#else

constexpr auto allocate_aligned = &allocate_with_malloc;
constexpr auto deallocate_aligned = &deallocate_with_malloc;

#endif

}  // namespace

Upstream heap_upstream() noexcept { return {allocate_aligned, deallocate_aligned, nullptr}; }

Upstream malloc_upstream() noexcept {
  return {&allocate_with_malloc, &deallocate_with_malloc, nullptr};
}

}  // namespace tenure
