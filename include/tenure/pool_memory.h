// SPDX-License-Identifier: Apache-2.0
#pragma once

// The one block of memory behind a pool: taken from an upstream or lent, aligned, with a tail for
// kernels that read past their tensors, and switches for finding misuse. What is above a pool's
// position is filled and, under AddressSanitizer, poisoned.
//
//   tenure::PoolAllocator pool(tenure::PoolOptions().set_alignment_bytes(32).set_tail_bytes(64));

#include <cstddef>
#include <cstdint>

#include "tenure/align.h"
#include "tenure/fill.h"
#include "tenure/span.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure {

struct PoolOptions {
  std::size_t alignment_bytes = static_cast<std::size_t>(kDefaultAlignmentBytes);  // from 1 on
  std::size_t tail_bytes = 0;  // readable behind every block: once at the end, not each time
  Fill fill = Fill::none();    // written over what a reset or rewind gives back
  bool poison = true;          // where AddressSanitizer is, for alignments from 8 on
  Upstream upstream = heap_upstream();
  const char* tag = "pool";  // must outlive the pool
  TextSink sink;             // told of live blocks at the end

  PoolOptions& set_alignment_bytes(std::size_t bytes) noexcept {
    return alignment_bytes = bytes, *this;
  }
  PoolOptions& set_tail_bytes(std::size_t bytes) noexcept { return tail_bytes = bytes, *this; }
  PoolOptions& set_fill(Fill pattern) noexcept { return fill = pattern, *this; }
  PoolOptions& set_poison(bool is_on) noexcept { return poison = is_on, *this; }
  PoolOptions& set_upstream(Upstream source) noexcept { return upstream = source, *this; }
  PoolOptions& set_tag(const char* name) noexcept { return tag = name, *this; }
  PoolOptions& set_sink(TextSink text) noexcept { return sink = text, *this; }
};

// Neither copied nor moved. The upstream, a lent buffer and the tag must outlive it. Thread-safe
// where its ranges do not meet; reserve, lend and release are for one thread.
class PoolMemory {
 public:
  explicit PoolMemory(const PoolOptions& options) noexcept : options_(options) {}
  ~PoolMemory() { release(); }
  PoolMemory(const PoolMemory&) = delete;
  PoolMemory& operator=(const PoolMemory&) = delete;

  // Takes size_bytes, and the tail, from the upstream, aligned to BumpSpace::unit_bytes; what was
  // there before goes back, and stays when this fails: with kNotPowerOfTwo, kAddressSpace or
  // kUpstreamRefused (needed_bytes).
  [[nodiscard]] Status reserve(std::size_t size_bytes) noexcept;
  // The same in a buffer of the caller: less what aligning its beginning and the tail take. Fails
  // with kNotPowerOfTwo or kBufferTooSmall.
  [[nodiscard]] Status lend(Span<std::byte> buffer) noexcept;
  void release() noexcept;

  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }  // without tail
  [[nodiscard]] std::size_t held_bytes() const noexcept { return held_bytes_; }
  [[nodiscard]] const PoolOptions& options() const noexcept { return options_; }

  // Distance from the base, SIZE_MAX for what lies elsewhere.
  [[nodiscard]] std::size_t offset_of(const void* memory) const noexcept {
    const std::size_t distance = static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(memory) -
                                                          reinterpret_cast<std::uintptr_t>(base_));
    return distance < size_bytes_ ? distance : SIZE_MAX;
  }

  // A block begins to be used, or a range ends to be.
  void* open(std::size_t offset_bytes, std::size_t size_bytes) const noexcept {
    return poisons_ ? unpoison_block(offset_bytes, size_bytes) : base_ + offset_bytes;
  }
  void close(std::size_t begin_bytes, std::size_t end_bytes) const noexcept {
    if (poisons_ || !options_.fill.is_none()) fill_and_poison(begin_bytes, end_bytes);
  }

  // Gives the pages between back to the operating system; addresses stay. False when there is no
  // memory, it is lent, or the upstream cannot.
  bool discard(std::size_t begin_bytes, std::size_t end_bytes) const noexcept;

 private:
  void adopt(std::byte* base, std::size_t size_bytes, std::size_t held_bytes) noexcept;
  std::byte* unpoison_block(std::size_t offset_bytes, std::size_t size_bytes) const noexcept;
  void fill_and_poison(std::size_t begin_bytes, std::size_t end_bytes) const noexcept;

  PoolOptions options_;
  std::byte* base_ = nullptr;
  std::size_t size_bytes_ = 0;
  std::size_t held_bytes_ = 0;
  bool is_lent_ = false;
  bool poisons_ = false;
};

}  // namespace tenure
