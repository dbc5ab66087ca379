// SPDX-License-Identifier: Apache-2.0
#pragma once

// An Upstream over a buffer of the caller, for machines without a heap: hands out pieces from the
// front; the newest piece can come back and be handed out again, and when all have come back it
// starts anew.
//
//   static std::byte memory[1 << 20];
//   tenure::BufferUpstream buffer(memory);
//   tenure::SimpleMemoryArena arena(buffer.get());

#include <cstddef>

#include "tenure/span.h"
#include "tenure/upstream.h"

namespace tenure {

// Does not move: what get() returns refers to it. The buffer must outlive it, and it must outlive
// whatever took memory from it. Not thread-safe. Takes and gives back in O(1).
class BufferUpstream {
 public:
  explicit BufferUpstream(Span<std::byte> buffer) noexcept : buffer_(buffer) {}
  BufferUpstream(const BufferUpstream&) = delete;
  BufferUpstream& operator=(const BufferUpstream&) = delete;

  [[nodiscard]] Upstream get() noexcept { return {&allocate, &deallocate, this}; }

  // Bytes from the front of the buffer that are handed out, with padding.
  [[nodiscard]] std::size_t used_bytes() const noexcept { return used_bytes_; }
  [[nodiscard]] std::size_t total_bytes() const noexcept { return buffer_.size(); }
  [[nodiscard]] std::size_t live_blocks() const noexcept { return live_blocks_; }

 private:
  static void* allocate(void* user, std::size_t size_bytes, std::size_t alignment_bytes) noexcept;
  static void deallocate(void* user, void* memory, std::size_t size_bytes,
                         std::size_t alignment_bytes) noexcept;

  Span<std::byte> buffer_;
  std::size_t used_bytes_ = 0;
  std::size_t live_blocks_ = 0;
};

}  // namespace tenure
