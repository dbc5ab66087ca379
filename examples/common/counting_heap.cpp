// SPDX-License-Identifier: Apache-2.0

#include "common/counting_heap.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace example {
namespace {

std::atomic<std::size_t> call_count{0};

void* allocate(void* /*user*/, std::size_t size_bytes, std::size_t alignment_bytes) noexcept {
  ++call_count;
  const tenure::Upstream heap = tenure::heap_upstream();
  return heap.allocate(heap.user, size_bytes, alignment_bytes);
}

void deallocate(void* /*user*/, void* memory, std::size_t size_bytes,
                std::size_t alignment_bytes) noexcept {
  const tenure::Upstream heap = tenure::heap_upstream();
  heap.deallocate(heap.user, memory, size_bytes, alignment_bytes);
}

// Refusal ends the program: operator new may not return null, and the examples have no exceptions.
void* counted(void* memory) noexcept {
  ++call_count;
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

tenure::Upstream counting_upstream() noexcept { return {&allocate, &deallocate, nullptr}; }
std::size_t heap_call_count() noexcept { return call_count; }

}  // namespace example

// The forms for arrays, and those that may return null, come here too: by default they call these.
void* operator new(std::size_t size) { return example::counted(std::malloc(size == 0 ? 1 : size)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }

// From where the upstream's memory is, because C's aligned_alloc is not everywhere.
void* operator new(std::size_t size, std::align_val_t alignment) {
  const tenure::Upstream heap = tenure::heap_upstream();
  return example::counted(
      heap.allocate(heap.user, size == 0 ? 1 : size, static_cast<std::size_t>(alignment)));
}
void operator delete(void* memory, std::size_t size, std::align_val_t alignment) noexcept {
  const tenure::Upstream heap = tenure::heap_upstream();
  if (memory == nullptr) return;
  heap.deallocate(heap.user, memory, size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory, std::align_val_t alignment) noexcept {
  operator delete(memory, 0, alignment);  // the heap asks for no size
}
