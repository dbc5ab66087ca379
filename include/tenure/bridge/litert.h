// SPDX-License-Identifier: Apache-2.0
#pragma once

// LiteRT's allocator record (TfLiteAllocator) over an allocator of tenure. None of LiteRT's headers
// are included here: the record is a template argument.
//
//   TfLiteAllocator record = tenure::bridge::litert_allocator<TfLiteAllocator>(pool);

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "tenure/allocator.h"

namespace tenure::bridge {

namespace detail {

template <class Record, class = void>
struct HasReallocate : std::false_type {};
template <class Record>
struct HasReallocate<Record, std::void_t<decltype(Record::reallocate)>> : std::true_type {};

// Null when refused: the old block is as it was then, and still live.
inline void* reallocate(Allocator& allocator, void* memory, std::size_t old_bytes,
                        std::size_t new_bytes, std::size_t alignment_bytes) noexcept {
  void* const fresh = allocator.allocate(new_bytes, alignment_bytes == 0 ? 1 : alignment_bytes);
  if (fresh == nullptr || memory == nullptr) return fresh;
  std::memcpy(fresh, memory, old_bytes < new_bytes ? old_bytes : new_bytes);
  allocator.fastFree(memory);
  return fresh;
}

}  // namespace detail

// Record: a struct with data, allocate(data, size, alignment), deallocate(data, ptr, size,
// alignment), and perhaps reallocate(data, ptr, old_size, new_size, alignment). An alignment of 0
// asks for none. The allocator must outlive the record.
template <class Record>
[[nodiscard]] Record litert_allocator(Allocator& allocator) noexcept {
  Record record{};
  record.data = &allocator;
  record.allocate = [](void* data, std::size_t size_bytes, std::size_t alignment_bytes) -> void* {
    const std::size_t alignment = alignment_bytes == 0 ? 1 : alignment_bytes;
    return static_cast<Allocator*>(data)->allocate(size_bytes, alignment);
  };
  record.deallocate = [](void* data, void* memory, std::size_t /*size_bytes*/,
                         std::size_t /*alignment_bytes*/) {
    static_cast<Allocator*>(data)->fastFree(memory);
  };
  if constexpr (detail::HasReallocate<Record>::value) {
    record.reallocate = [](void* data, void* memory, std::size_t old_bytes, std::size_t new_bytes,
                           std::size_t alignment_bytes) -> void* {
      return detail::reallocate(*static_cast<Allocator*>(data), memory, old_bytes, new_bytes,
                                alignment_bytes);
    };
  }
  return record;
}

}  // namespace tenure::bridge
