// SPDX-License-Identifier: Apache-2.0
#pragma once

// GuardAllocator: finds misuse of any allocator inside it. What was freed twice or never allocated
// here, writes before and behind blocks, use after a reset, leaks: each is a line for the caller's
// sink and a count, and the memory inside is not touched by it.
//
//   tenure::PoolAllocator pool;
//   tenure::GuardAllocator guard(pool, tenure::GuardOptions().set_sink(sink));
//   run(guard);
//   if (!guard.check()) { ... }
//   pool.force_reset(tenure::LateFrees::kNeverCome);   // the guard keeps late frees back
//   guard.note_reset(pool.unused_memory());

#include <cstddef>

#include "tenure/allocator.h"
#include "tenure/guard_blocks.h"
#include "tenure/span.h"

namespace tenure {

// For tests and for looking into a failure: each block costs two zones and 64 to 128 bytes of table,
// up to 192 while that grows. Not thread-safe: for several threads, a LockedAllocator around it. The
// allocator inside must outlive it, and must not be called but through it. What happens to its memory
// otherwise, it must be told:
//
//   after a reset or rewind of a pool      note_reset(pool.unused_memory())
//   after the end of a ModelArea's run     note_reset(area.run_memory()), where models run at once
//                                          note_gone(area.run_memory()), where they run in turn
//   before reserve, lend, release,         note_gone(pool.unused_memory())
//     discard_unused
//   before a ModelArea leaves              note_gone of its two parts
class GuardAllocator final : public Allocator {
 public:
  explicit GuardAllocator(Allocator& inner, const GuardOptions& options = GuardOptions()) noexcept
      : blocks_(inner, options) {}

  [[nodiscard]] void* fastMalloc(std::size_t size_bytes) noexcept override {
    return blocks_.allocate(size_bytes, 1);
  }
  [[nodiscard]] void* allocate(std::size_t size_bytes,
                               std::size_t alignment_bytes) noexcept override {
    return blocks_.allocate(size_bytes, alignment_bytes);
  }
  void fastFree(void* memory) noexcept override {
    if (memory != nullptr) blocks_.free(memory);
  }
  // Of the allocator inside, with the zones; blocks, refusals and stray frees are counted here.
  [[nodiscard]] AllocatorStatistics statistics() const noexcept override {
    AllocatorStatistics result = blocks_.inner().statistics();
    const GuardCounts& found = blocks_.counts();
    result.live_blocks = blocks_.live_blocks();
    result.refusals = blocks_.refusals();
    result.stray_frees = found.double_frees + found.foreign_frees + found.stale_frees;
    return result;
  }
  [[nodiscard]] std::size_t alignment_bytes() const noexcept override {
    return blocks_.inner().alignment_bytes();
  }
  [[nodiscard]] const char* tag() const noexcept override { return blocks_.inner().tag(); }

  // As in GuardBlocks.
  void note_reset(Span<const std::byte> memory) noexcept { blocks_.note_reset(memory); }
  void note_gone(Span<const std::byte> memory) noexcept { blocks_.note_gone(memory); }
  bool check() noexcept { return blocks_.check(); }
  [[nodiscard]] const GuardCounts& counts() const noexcept { return blocks_.counts(); }

 private:
  GuardBlocks blocks_;
};

}  // namespace tenure
