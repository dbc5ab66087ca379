// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where in time and offset an arena is taken, while blocks are placed one after the other. It
// answers "the lowest gap that is free over this block's whole live range" without visiting every
// placed block.
//
//   offset |    :  -- :     :          Time is cut into slabs. Where live ranges are short, a slab
//          | ---:-----:--   :          has one list of all blocks that touch it. Where they are
//          |    :     : ----:--        long, it keeps the bytes of blocks that live all through it
//          +----:-----:-----:-> time   and the bytes of all that touch it, both as unions, and one
//                                      by one the blocks that begin or end in it.
//
// A long live range needs the first kind and the third where it begins and ends, and the second
// between: first fit packs tightly, so the unions are short.
//
// Slabs are about equally many ranks wide, but those with unions end early where many blocks end,
// so that these live all through them.
//
// Time is counted in blocks: a block's own rank in the order of first use, and the rank of the last
// block that begins within its live range. So slabs are narrow where blocks are many, whatever the
// steps.

#include <cstdint>

#include "internal/offset_lists.h"
#include "internal/pair_lists.h"
#include "tenure/array.h"
#include "tenure/problem.h"
#include "tenure/upstream.h"

namespace tenure::internal {

class Occupancy {
 public:
  explicit Occupancy(Upstream upstream) noexcept;

  // Nothing is placed. The problem must outlive this object. O(n log n). False: memory refused,
  // here and below.
  [[nodiscard]] bool reset(const PlanningProblem& problem) noexcept;

  // Blocks without bytes are left out.
  [[nodiscard]] bool insert(std::uint32_t block, std::uint64_t offset_bytes) noexcept;

  // Begins the search for a block's gaps.
  [[nodiscard]] bool begin_search(std::uint32_t block) noexcept;
  // The lowest offset at or above `from_bytes` where the block fits; within one search `from_bytes`
  // never falls. False when the block would end beyond kMaxArenaBytes.
  [[nodiscard]] bool next_gap(std::uint64_t from_bytes, std::uint64_t* offset_bytes) noexcept;
  // Where the gap ends that next_gap has just found; UINT64_MAX when nothing lies above.
  [[nodiscard]] std::uint64_t gap_end(std::uint64_t offset_bytes) const noexcept;

 private:
  using Times = OffsetLists::Times;
  using Entry = OffsetLists::Entry;

  // The lists of one slab with unions; without, there is one list.
  enum class Kind : std::uint8_t {
    kThrough,   // blocks that begin before it and end after it: a union
    kTouching,  // all that live somewhere in it: a union
    kEnds,      // blocks that begin or end in it and cross its border
    kInside,    // blocks that begin and end in it
  };
  static constexpr std::uint32_t kKinds = 4;

  struct Cursor {
    std::uint32_t chunk;
    std::uint32_t position;
    bool is_union;  // every byte is an obstacle, and no two entries touch
  };
  // The block that a place is sought for. Ends of placed blocks, sizes and alignments are at most
  // kMaxArenaBytes (or one more), so that no sum of two of them wraps.
  struct Search {
    Times times;
    std::uint32_t block;
    std::uint64_t size_bytes;
    std::uint64_t alignment_mask;

    [[nodiscard]] std::uint64_t align(std::uint64_t offset) const noexcept {
      return (offset + alignment_mask) & ~alignment_mask;
    }
    [[nodiscard]] bool overlaps(Times other) const noexcept {
      return (other.first <= times.last) & (other.last >= times.first);
    }
  };

  [[nodiscard]] bool rank_blocks() noexcept;
  void share_first_ranks() noexcept;
  [[nodiscard]] bool cut_into_slabs(std::uint32_t width) noexcept;
  // The slabs that a range of ranks touches, and those that it covers (none when begin > end).
  struct Slabs {
    std::uint32_t first;
    std::uint32_t last;
    std::uint32_t covered_begin;
    std::uint32_t covered_end;
  };
  [[nodiscard]] Slabs slabs_of(Times times) const noexcept;
  [[nodiscard]] static std::uint32_t list(std::uint32_t slab, Kind kind) noexcept {
    return slab * kKinds + static_cast<std::uint32_t>(kind);
  }
  [[nodiscard]] bool insert_with_unions(const Entry& entry) noexcept;
  void add_cursors_with_unions(Times times) noexcept;
  void add_cursor(std::uint32_t list, bool is_union) noexcept;
  [[nodiscard]] bool gather_conflicts(std::uint32_t block) noexcept;
  template <bool kHasAllowed>
  [[nodiscard]] std::uint64_t settle(Cursor* cursor, std::uint64_t offset) const noexcept;
  [[nodiscard]] std::uint64_t next_obstacle(Cursor cursor, std::uint64_t offset) const noexcept;
  [[nodiscard]] std::uint64_t settle_conflicts(std::uint64_t offset) noexcept;
  [[nodiscard]] bool may_overlap(const Entry& entry) const noexcept;

  Upstream upstream_;
  const PlanningProblem* problem_ = nullptr;
  Array<Times> times_;                // by block
  Array<std::uint32_t> by_rank_;      // rank to block
  Array<std::uint32_t> slab_of_;      // by rank
  Array<std::uint32_t> slab_begins_;  // by slab: its first rank; one more at the end
  OffsetLists lists_;
  PairLists conflicts_;
  PairLists may_overlap_;
  bool has_allowed_ = false;  // some blocks may overlap
  bool has_unions_ = false;   // never when some may overlap: a union forgets which blocks it holds
  Array<std::uint64_t>
      placed_at_;  // by block, only when there are conflicts; UINT64_MAX: not placed

  // Of the search under way.
  Search search_{};
  Array<Cursor> cursors_;
  Array<Entry> conflict_entries_;  // sorted by begin
  std::size_t next_conflict_ = 0;
};

}  // namespace tenure::internal
