// SPDX-License-Identifier: Apache-2.0
#pragma once

// What GuardAllocator knows of the blocks that it hands out: a table of addresses, kept outside the
// memory that it watches, and zones with a pattern on both sides of each block.
//
//   "yolo blobs: block 0x7f1080 of 64 bytes: freed twice"     // a line for the sink

#include <cstddef>
#include <cstdint>

#include "tenure/allocator.h"
#include "tenure/array.h"
#include "tenure/span.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure {

struct GuardOptions {
  std::size_t zone_bytes = 64;          // on each side of a block; at least 1
  Upstream upstream = heap_upstream();  // for the table
  TextSink sink;                        // one line for each misuse

  GuardOptions& set_zone_bytes(std::size_t bytes) noexcept { return zone_bytes = bytes, *this; }
  GuardOptions& set_upstream(Upstream source) noexcept { return upstream = source, *this; }
  GuardOptions& set_sink(TextSink text) noexcept { return sink = text, *this; }
};

struct GuardCounts {
  std::size_t double_frees = 0;
  std::size_t foreign_frees = 0;  // of what never was a block here
  std::size_t stale_frees = 0;    // of what was live at a reset
  std::size_t underruns = 0;      // the zone before a block was written
  std::size_t overruns = 0;       // the zone behind a block was written
  std::size_t stale_writes = 0;   // into what was live at a reset
  std::size_t leaks = 0;          // live at the end

  [[nodiscard]] std::size_t total() const noexcept {
    return double_frees + foreign_frees + stale_frees + underruns + overruns + stale_writes + leaks;
  }
};

// Neither copied nor moved. Not thread-safe. The allocator inside and the upstream must outlive it.
// Blocks that were freed are known until the table grows.
class GuardBlocks {
 public:
  GuardBlocks(Allocator& inner, const GuardOptions& options) noexcept;
  ~GuardBlocks();
  GuardBlocks(const GuardBlocks&) = delete;
  GuardBlocks& operator=(const GuardBlocks&) = delete;

  // Null when the allocator inside, or the table's upstream, refuses.
  [[nodiscard]] void* allocate(std::size_t size_bytes, std::size_t alignment_bytes) noexcept;
  // What is no live block is reported and goes no further: no memory is touched.
  void free(void* memory) noexcept;
  // The allocator inside has taken this memory back, whatever was live there, and keeps it: it is
  // overwritten, to find late writes. Directly after that, before anything else is called here.
  void note_reset(Span<const std::byte> memory) noexcept;
  // This memory is gone, or will be, or may be another's: only late frees are found there.
  void note_gone(Span<const std::byte> memory) noexcept;
  // Looks at every zone, and at what was live at a reset and has not been handed out since. True
  // when there is nothing new to report.
  bool check() noexcept;

  [[nodiscard]] const GuardCounts& counts() const noexcept { return counts_; }
  [[nodiscard]] std::size_t live_blocks() const noexcept { return live_blocks_; }
  [[nodiscard]] std::size_t refusals() const noexcept { return refusals_; }
  [[nodiscard]] Allocator& inner() const noexcept { return inner_; }

 private:
  enum class State : std::uint8_t { kUnused, kLive, kFreed, kReset };
  struct Record {
    unsigned char* block = nullptr;
    std::size_t size_bytes = 0;
    std::size_t front_bytes = 0;  // from the inner block's beginning
    State state = State::kUnused;
    bool has_pattern = false;  // of a reset one: its bytes were overwritten by us
    bool is_reported = false;  // zones of a live one, bytes of a reset one
  };

  [[nodiscard]] Record* find(const void* memory) noexcept;
  [[nodiscard]] Record* provide(const void* memory) noexcept;
  [[nodiscard]] bool grow() noexcept;
  void take_back(Span<const std::byte> memory, bool writes_pattern) noexcept;
  void report(const Record& record, const char* what, std::size_t* count) noexcept;
  void report(const void* memory, const char* what, std::size_t* count) noexcept;
  void check_zones(Record* record) noexcept;
  void check_bytes(Record* record) noexcept;
  void check_what_is_reused(const unsigned char* begin, std::size_t size_bytes) noexcept;

  Allocator& inner_;
  GuardOptions options_;
  Array<Record> records_;  // open addressing; a power of two of them
  std::size_t used_records_ = 0;
  std::size_t live_blocks_ = 0;
  std::size_t reset_records_ = 0;
  std::size_t refusals_ = 0;
  GuardCounts counts_;
};

}  // namespace tenure
