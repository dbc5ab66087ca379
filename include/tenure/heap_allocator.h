// SPDX-License-Identifier: Apache-2.0
#pragma once

// HeapAllocator: every block from the upstream and back to it, as a runtime does without a pool;
// with alignment, a readable tail and statistics. To compare with, to start from, and for what a
// pool refuses.
//
//   tenure::HeapAllocator heap(tenure::HeapOptions().set_tail_bytes(64));
//   void* scratch = heap.fastMalloc(size_bytes);

#include <cstddef>

#include "tenure/align.h"
#include "tenure/allocator.h"
#include "tenure/sharing.h"
#include "tenure/upstream.h"

namespace tenure {

struct HeapOptions {
  std::size_t alignment_bytes = static_cast<std::size_t>(kDefaultAlignmentBytes);
  std::size_t tail_bytes = 0;  // readable behind every block
  Upstream upstream = heap_upstream();
  const char* tag = "heap";  // must outlive the allocator
  TextSink sink;             // told of live blocks at the end

  HeapOptions& set_alignment_bytes(std::size_t bytes) noexcept {
    return alignment_bytes = bytes, *this;
  }
  HeapOptions& set_tail_bytes(std::size_t bytes) noexcept { return tail_bytes = bytes, *this; }
  HeapOptions& set_upstream(Upstream source) noexcept { return upstream = source, *this; }
  HeapOptions& set_tag(const char* name) noexcept { return tag = name, *this; }
  HeapOptions& set_sink(TextSink text) noexcept { return sink = text, *this; }
};

// Blocks with a note of their size in front, for an upstream that wants to be told.
class HeapBlocks {
 public:
  // Precondition: the alignment is a power of two.
  explicit HeapBlocks(const HeapOptions& options) noexcept;
  HeapBlocks(const HeapBlocks&) = delete;
  HeapBlocks& operator=(const HeapBlocks&) = delete;

  [[nodiscard]] void* allocate(std::size_t size_bytes, std::size_t alignment_bytes) noexcept;
  // Precondition: memory came from allocate and is live.
  void free(void* memory) noexcept;
  [[nodiscard]] AllocatorStatistics statistics() const noexcept;
  [[nodiscard]] const HeapOptions& options() const noexcept { return options_; }

 private:
  using Count = ThreadSafe::Word<std::size_t>;

  HeapOptions options_;
  Count in_use_bytes_;
  Count peak_bytes_;
  Count live_blocks_;
  Count refusals_;
};

// As thread-safe as its upstream; counts without a lock. What is freed must be live: it is the heap
// that would notice, or a GuardAllocator.
class HeapAllocator final : public Allocator {
 public:
  // Precondition: as HeapBlocks'.
  explicit HeapAllocator(const HeapOptions& options = HeapOptions()) noexcept : blocks_(options) {}
  ~HeapAllocator() {
    report_live_blocks(tag(), HeapAllocator::statistics(), blocks_.options().sink);
  }

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
  [[nodiscard]] AllocatorStatistics statistics() const noexcept override {
    return blocks_.statistics();
  }
  [[nodiscard]] std::size_t alignment_bytes() const noexcept override {
    return blocks_.options().alignment_bytes;
  }
  [[nodiscard]] const char* tag() const noexcept override { return blocks_.options().tag; }

 private:
  HeapBlocks blocks_;
};

}  // namespace tenure
