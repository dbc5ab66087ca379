// SPDX-License-Identifier: Apache-2.0
#pragma once

// The interface for runtimes that allocate for themselves: ncnn's two functions, alignment,
// statistics, and a tag for messages. Offsets are handed out underneath (bump_offsets.h,
// free_list_offsets.h); the allocators of tenure put addresses on top.
//
//   tenure::PoolAllocator pool(tenure::PoolOptions().set_tag("yolo blobs"));
//   if (!pool.reserve(64 << 20).ok()) { ... }
//   void* blob = pool.fastMalloc(size_bytes);   // null when refused
//   pool.fastFree(blob);

#include <cstddef>

#include "tenure/status.h"

namespace tenure {

struct AllocatorStatistics {
  std::size_t in_use_bytes = 0;  // of the memory held, by blocks, with padding and rounding; in a
                                 // pool also by those that were freed and lie below live ones
  std::size_t held_bytes = 0;    // from the upstream, or lent; with tails and what is free
  std::size_t peak_bytes = 0;    // largest in_use_bytes so far
  std::size_t live_blocks = 0;
  std::size_t refusals = 0;     // requests that were answered with null
  std::size_t stray_frees = 0;  // frees of what was seen not to be live here: they change nothing
};

// Not copied and not moved: a runtime holds its address. Destroying an allocator while blocks are
// live reports them through its TextSink; their memory is gone. Threads: each allocator says.
class Allocator {
 public:
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // Memory with alignment_bytes(), or null when refused: then nothing has changed, and a smaller
  // request may succeed. No bytes at all are a block of its own, too. The contents are not defined.
  [[nodiscard]] virtual void* fastMalloc(std::size_t size_bytes) noexcept = 0;

  // Gives back what fastMalloc or allocate returned; null does nothing. What else is seen to be no
  // block is counted: by a free list always, by a pool where it lies elsewhere, off a unit or above
  // the position, by a heap never. A GuardAllocator sees it all.
  virtual void fastFree(void* memory) noexcept = 0;

  // The same as fastMalloc with the larger of both alignments. Precondition: alignment_bytes is a
  // power of two.
  [[nodiscard]] virtual void* allocate(std::size_t size_bytes,
                                       std::size_t alignment_bytes) noexcept = 0;

  [[nodiscard]] virtual AllocatorStatistics statistics() const noexcept = 0;
  [[nodiscard]] virtual std::size_t alignment_bytes() const noexcept = 0;
  // For messages; never null.
  [[nodiscard]] virtual const char* tag() const noexcept = 0;

 protected:
  Allocator() = default;
  ~Allocator() = default;
};

// Writes one line: "<tag>: destroyed with 3 blocks live, 192 bytes". Nothing when none are live.
void report_live_blocks(const char* tag, const AllocatorStatistics& statistics,
                        TextSink sink) noexcept;

}  // namespace tenure
