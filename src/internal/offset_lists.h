// SPDX-License-Identifier: Apache-2.0
#pragma once

// Many lists of byte ranges, each sorted by where its ranges begin. Lists are chains of chunks, so
// that an insertion moves few entries; chunks carry a summary, so that a search passes over them.

#include <cstdint>

#include "tenure/array.h"
#include "tenure/upstream.h"

namespace tenure::internal {

class OffsetLists {
 public:
  static constexpr std::uint32_t kChunkEntries = 94;
  static constexpr std::uint32_t kNoChunk = UINT32_MAX;

  // When a range is taken, in ranks of first use (see Occupancy); of no meaning in merged lists.
  struct Times {
    std::uint32_t first;
    std::uint32_t last;
  };
  struct Entry {
    std::uint64_t begin;
    std::uint64_t end;
    Times times;
  };
  struct Chunk {
    std::uint32_t next;
    std::uint32_t count;  // never 0
    std::uint64_t max_end;
    std::uint64_t max_gap;  // between neighbours inside the chunk, or more
    Entry entries[kChunkEntries];
  };

  explicit OffsetLists(Upstream upstream) noexcept : heads_(upstream), chunks_(upstream) {}

  // That many empty lists. False: memory refused, here and below.
  [[nodiscard]] bool reset(std::size_t list_count) noexcept;

  // Adds one more range; ranges of a list may overlap.
  [[nodiscard]] bool add(std::uint32_t list, const Entry& entry) noexcept;

  // Adds a range to a list that keeps only the union: ranges that touch or overlap become one.
  [[nodiscard]] bool merge(std::uint32_t list, std::uint64_t begin, std::uint64_t end) noexcept;

  [[nodiscard]] std::uint32_t head(std::uint32_t list) const noexcept { return heads_[list]; }
  [[nodiscard]] const Chunk& chunk(std::uint32_t index) const noexcept { return chunks_[index]; }

 private:
  [[nodiscard]] bool start(std::uint32_t list, const Entry& entry) noexcept;
  [[nodiscard]] std::uint32_t chunk_before(std::uint32_t list, std::uint64_t begin) const noexcept;
  [[nodiscard]] bool insert(std::uint32_t index, std::uint32_t position,
                            const Entry& entry) noexcept;
  [[nodiscard]] bool split(std::uint32_t index) noexcept;
  void absorb_after(std::uint32_t index, std::uint32_t position) noexcept;
  [[nodiscard]] bool take_chunk(std::uint32_t* index) noexcept;
  static void summarize(Chunk* chunk) noexcept;

  Array<std::uint32_t> heads_;  // by list: its first chunk
  Array<Chunk> chunks_;
  std::uint32_t free_chunk_ = kNoChunk;  // emptied ones, linked by next
};

}  // namespace tenure::internal
