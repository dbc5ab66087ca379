// SPDX-License-Identifier: Apache-2.0
#pragma once

// The memory behind a free list: pieces taken from an upstream as they are needed, up to a budget,
// or lent; and the way from an address to its piece.
//
//   tenure::FreeListAllocator models(tenure::FreeListOptions().set_budget_bytes(200 << 20));

#include <cstddef>
#include <cstdint>

#include "tenure/align.h"
#include "tenure/free_list_offsets.h"
#include "tenure/span.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure {

struct FreeListOptions {
  std::size_t alignment_bytes = static_cast<std::size_t>(kDefaultAlignmentBytes);
  // Requests below the alignment take whole granules and are aligned to them: with 16, many small
  // blocks do not pay 64 bytes each. 0: the alignment. No larger than it.
  std::size_t granule_bytes = 0;
  std::size_t tail_bytes = 0;  // readable behind every block: once at the end of each piece
  std::size_t budget_bytes = SIZE_MAX;              // held at most, with tails, without books
  std::size_t piece_bytes = std::size_t{64} << 10;  // taken at least, where that is to be had
  Upstream upstream = heap_upstream();
  Upstream bookkeeping = heap_upstream();
  const char* tag = "free list";  // must outlive the allocator
  TextSink sink;                  // told of live blocks at the end

  FreeListOptions& set_alignment_bytes(std::size_t bytes) noexcept {
    return alignment_bytes = bytes, *this;
  }
  FreeListOptions& set_granule_bytes(std::size_t bytes) noexcept {
    return granule_bytes = bytes, *this;
  }
  FreeListOptions& set_tail_bytes(std::size_t bytes) noexcept { return tail_bytes = bytes, *this; }
  FreeListOptions& set_budget_bytes(std::size_t bytes) noexcept {
    return budget_bytes = bytes, *this;
  }
  FreeListOptions& set_piece_bytes(std::size_t bytes) noexcept {
    return piece_bytes = bytes, *this;
  }
  FreeListOptions& set_upstream(Upstream source) noexcept { return upstream = source, *this; }
  FreeListOptions& set_bookkeeping(Upstream source) noexcept { return bookkeeping = source, *this; }
  FreeListOptions& set_tag(const char* name) noexcept { return tag = name, *this; }
  FreeListOptions& set_sink(TextSink text) noexcept { return sink = text, *this; }
};

// Neither copied nor moved. Upstreams, lent buffers and the tag must outlive it. Not thread-safe.
class FreeListMemory {
 public:
  // Precondition: alignment and granule are powers of two, the granule no larger.
  explicit FreeListMemory(const FreeListOptions& options) noexcept;
  ~FreeListMemory();
  FreeListMemory(const FreeListMemory&) = delete;
  FreeListMemory& operator=(const FreeListMemory&) = delete;

  // Takes a piece of that size now, so that later requests need not; it stays until trim(). Fails
  // with kPoolExhausted (the budget), kAddressSpace, kTooMany (pieces, granules in one) or
  // kUpstreamRefused.
  [[nodiscard]] Status reserve(std::size_t size_bytes) noexcept;
  // A piece of the caller's: less what aligning its beginning, whole granules and the tail take.
  // Counts against the budget. Fails with kBufferTooSmall, with kBuffersOverlap (another piece), or
  // as reserve.
  [[nodiscard]] Status lend(Span<std::byte> buffer) noexcept;
  // As FreeListOffsets::reserve_blocks.
  [[nodiscard]] Status reserve_blocks(std::size_t count) noexcept {
    return offsets_.reserve_blocks(count);
  }

  // Null when refused: then no block has changed. Pieces without blocks that earlier requests have
  // taken go back where the new one does not fit beside them: into the budget, among the pieces, or
  // into what the upstream has, if they hold as much.
  [[nodiscard]] void* allocate(std::size_t size_bytes, std::size_t alignment_bytes) noexcept {
    const RangeOffset offset = offsets_.allocate(size_bytes, alignment_bytes);
    if (offset.is_none()) return grow_and_allocate(size_bytes, alignment_bytes);
    return pieces_[offset.range].base + offset.bytes;
  }
  void free(void* memory) noexcept {
    offsets_.free_address(reinterpret_cast<std::uintptr_t>(memory));
  }

  // Gives pieces of the upstream's in which no block is live back, reserved ones, too; returns
  // their bytes.
  std::size_t trim() noexcept;
  // Gives the pages of free blocks back to the operating system, while addresses stay and bytes
  // held count as before. False when the upstream cannot, or all memory is lent. O(blocks).
  bool discard_unused() const noexcept;

  [[nodiscard]] std::size_t held_bytes() const noexcept { return held_bytes_; }
  [[nodiscard]] std::size_t refusals() const noexcept { return refusals_; }
  [[nodiscard]] const FreeListOptions& options() const noexcept { return options_; }
  [[nodiscard]] const FreeListOffsets& offsets() const noexcept { return offsets_; }

 private:
  struct Piece {
    std::byte* base = nullptr;
    std::size_t size_bytes = 0;  // for blocks
    std::size_t held_bytes = 0;  // with the tail
    std::size_t alignment_bytes = 1;
    bool is_lent = false;
    bool is_reserved = false;
  };
  enum class Trim : std::uint8_t { kAll, kTakenForRequests };

  [[nodiscard]] Result<Piece> measure(std::size_t size_bytes,
                                      std::size_t alignment_bytes) const noexcept;
  [[nodiscard]] Status take(Piece piece) noexcept;
  [[nodiscard]] Status check_budget(const Piece& piece) const noexcept;
  [[nodiscard]] Status adopt(const Piece& piece) noexcept;
  [[nodiscard]] void* grow_and_allocate(std::size_t size_bytes,
                                        std::size_t alignment_bytes) noexcept;
  [[nodiscard]] bool grow_for(std::size_t size_bytes, std::size_t alignment_bytes) noexcept;
  [[nodiscard]] std::size_t bytes_ahead() const noexcept;
  [[nodiscard]] bool can_trim(std::uint32_t range, Trim which) const noexcept;
  std::size_t trim(Trim which) noexcept;
  [[nodiscard]] bool trim_for(const Piece& piece, Reason refused) noexcept;
  void deallocate(const Piece& piece) const noexcept;
  void give_back(std::uint32_t range) noexcept;

  FreeListOptions options_;
  FreeListOffsets offsets_;
  Piece pieces_[kMaxRanges];
  std::uint32_t piece_end_ = 0;  // pieces at and above are empty
  std::size_t held_bytes_ = 0;
  std::size_t refusals_ = 0;
};

}  // namespace tenure
