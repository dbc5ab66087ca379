// SPDX-License-Identifier: Apache-2.0
#pragma once

// FreeListAllocator: for what comes and goes in any order, such as whole models, or a runtime that
// frees each tensor when it is done. Constant time, free neighbours merged at once, bytes held
// within a budget.
//
//   tenure::FreeListAllocator models(tenure::FreeListOptions().set_budget_bytes(200 << 20));
//   void* weights = models.fastMalloc(55 << 20);
//   models.fastFree(weights);
//   models.trim();                          // pieces without blocks go back to the upstream
//   models.discard_unused();                // and free pages in the others to the system
//
// For several threads: LockedAllocator.

#include <cstddef>

#include "tenure/allocator.h"
#include "tenure/free_list_memory.h"
#include "tenure/span.h"
#include "tenure/status.h"

namespace tenure {

// A request is O(1), but for the last that fit, as FreeListOffsets::allocate says, and as long as
// what is held, and the books, suffice; reserve and reserve_blocks see to that. Nothing is written
// into the memory, or read from it. Not thread-safe.
class FreeListAllocator final : public Allocator {
 public:
  // Precondition: as FreeListMemory's.
  explicit FreeListAllocator(const FreeListOptions& options = FreeListOptions()) noexcept
      : memory_(options) {}
  ~FreeListAllocator() {
    report_live_blocks(tag(), FreeListAllocator::statistics(), memory_.options().sink);
  }

  // As in FreeListMemory.
  [[nodiscard]] Status reserve(std::size_t size_bytes) noexcept {
    return memory_.reserve(size_bytes);
  }
  [[nodiscard]] Status lend(Span<std::byte> buffer) noexcept { return memory_.lend(buffer); }
  [[nodiscard]] Status reserve_blocks(std::size_t count) noexcept {
    return memory_.reserve_blocks(count);
  }
  std::size_t trim() noexcept { return memory_.trim(); }
  bool discard_unused() noexcept { return memory_.discard_unused(); }

  [[nodiscard]] void* fastMalloc(std::size_t size_bytes) noexcept override {
    return memory_.allocate(size_bytes, alignment_of(size_bytes));
  }
  [[nodiscard]] void* allocate(std::size_t size_bytes,
                               std::size_t alignment_bytes) noexcept override {
    const std::size_t own = alignment_of(size_bytes);
    return memory_.allocate(size_bytes, alignment_bytes > own ? alignment_bytes : own);
  }
  void fastFree(void* memory) noexcept override {
    if (memory != nullptr) memory_.free(memory);
  }

  [[nodiscard]] AllocatorStatistics statistics() const noexcept override {
    AllocatorStatistics result;
    result.in_use_bytes = memory_.offsets().in_use_bytes();
    result.held_bytes = memory_.held_bytes();
    result.peak_bytes = memory_.offsets().peak_bytes();
    result.live_blocks = memory_.offsets().live_blocks();
    result.refusals = memory_.refusals();
    result.stray_frees = memory_.offsets().stray_frees();
    return result;
  }
  // Of requests that are no smaller than that.
  [[nodiscard]] std::size_t alignment_bytes() const noexcept override {
    return memory_.options().alignment_bytes;
  }
  [[nodiscard]] const char* tag() const noexcept override { return memory_.options().tag; }

  // Free blocks, no two of them neighbours.
  [[nodiscard]] std::size_t free_blocks() const noexcept { return memory_.offsets().free_blocks(); }

 private:
  [[nodiscard]] std::size_t alignment_of(std::size_t size_bytes) const noexcept {
    const std::size_t alignment = memory_.options().alignment_bytes;
    return size_bytes < alignment ? memory_.offsets().granule_bytes() : alignment;
  }

  FreeListMemory memory_;
};

}  // namespace tenure
