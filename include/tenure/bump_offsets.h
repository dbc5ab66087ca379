// SPDX-License-Identifier: Apache-2.0
#pragma once

// The core of a pool: offsets from one space, in order, by moving one position up. It touches no
// memory, so that the space may be a device's. PoolAllocator puts addresses on top.
//
//   tenure::BumpOffsets<tenure::SingleOwner> heap;
//   heap.open(tenure::BumpSpace().set_capacity_bytes(64 << 20).set_alignment_bytes(256));
//   const tenure::Offset weights = heap.allocate(size_bytes);
//
// Position and live blocks are one word that changes in one compare-exchange, so that a refused
// request has never been visible to other threads.

#include <cstddef>
#include <cstdint>

#include "tenure/align.h"
#include "tenure/bump_space.h"
#include "tenure/offset.h"
#include "tenure/pool_mark.h"
#include "tenure/sharing.h"
#include "tenure/status.h"

namespace tenure {

// allocate and free are O(1) (free of a block older than marks: O(marks)); with ThreadSafe any
// threads may call them at the same time. All else is for one thread while no other is in a call.
// Neither copied nor moved.
template <class Sharing>
class BumpOffsets {
 public:
  BumpOffsets() noexcept = default;
  BumpOffsets(const BumpOffsets&) = delete;
  BumpOffsets& operator=(const BumpOffsets&) = delete;

  // Starts anew over that space, the peak too; other counts go on. Preconditions: as BumpSpace says,
  // the alignment is a power of two, no blocks are live, late frees of the old space cannot come.
  void open(const BumpSpace& space) noexcept;

  // None when refused.
  [[nodiscard]] Offset allocate(std::size_t size_bytes) noexcept {
    const Offset offset = allocate_whole_units(size_bytes);
    return offset.is_none() ? allocate_with_care(size_bytes, 1) : offset;
  }
  // Precondition: alignment_bytes, which counts where it is larger than the space's, is a power of
  // two.
  [[nodiscard]] Offset allocate(std::size_t size_bytes, std::size_t alignment_bytes) noexcept {
    if (alignment_bytes <= unit_mask_ + 1) return allocate(size_bytes);
    return allocate_with_care(size_bytes, alignment_bytes);
  }

  // The short way for most requests: none may mean that the long way has room. One sum moves the
  // position and counts the block, because the next call has to wait for it.
  [[nodiscard]] Offset allocate_whole_units(std::size_t size_bytes) noexcept {
    if (size_bytes > capacity_bytes_) return Offset::none();
    std::uint64_t seen = state_.load();
    for (;;) {
      const std::uint64_t next = seen + pack(size_in_units(size_bytes), 1);
      if (position_of(next) > whole_units_) return Offset::none();
      if (state_.compare_exchange(seen, next)) {
        newest_.store(pack(position_of(seen), position_of(next)));
        return Offset{bytes_of(position_of(seen))};
      }
    }
  }
  // The long way: alignments above the space's, and a part of a unit at the end.
  [[nodiscard]] Offset allocate_with_care(std::size_t size_bytes,
                                          std::size_t alignment_bytes) noexcept;

  // The newest block gives its bytes back, others are counted. Calls drop(begin_bytes, end_bytes)
  // before bytes can be taken by others. False, and counted as stray, when no block can begin
  // there: at or above the position, off a unit, or when none is live. Blocks below the position
  // are only counted, so that one that is freed twice passes for another.
  //
  // newest_ names a live block whose begin it holds: what a dead block at that begin stored came
  // before, because its allocate() returned before it could be freed. If the position still is that
  // block's end when the exchange succeeds, nothing lies above it.
  template <class Drop>
  bool free(std::size_t offset_bytes, Drop&& drop) noexcept {
    if (offset_bytes >= capacity_bytes_ || (offset_bytes & unit_mask_) != 0) return count_stray();
    const std::uint32_t begin = units_of(offset_bytes);
    if (waits_for_late_) return free_among_late(begin);
    if (mark_count_ != 0 && begin < marks_[mark_count_ - 1].position) return free_below(begin);
    std::uint64_t seen = state_.load();
    for (;;) {
      const std::uint32_t position = position_of(seen);
      if (live_of(seen) == 0 || begin >= position) return count_stray();
      const bool is_newest = newest_.load() == pack(begin, position);
      if (is_newest) {
        if (peak_.load() < position) note_peak(position);
        drop(offset_bytes, end_bytes(position));
      }
      if (state_.compare_exchange(seen, is_newest ? pack(begin, live_of(seen) - 1) : seen - 1)) {
        return true;
      }
    }
  }
  bool free(Offset offset) noexcept {
    return free(offset.bytes, [](std::size_t, std::size_t) {});
  }

  // Gives back every block and forgets marks. Fails with kBlocksLive (live_blocks).
  [[nodiscard]] Status reset() noexcept;
  // The same whatever is live. Whoever owns that may yet free it, perhaps where another block
  // begins by then, and nothing tells the two frees apart. So with kMayCome as many frees count as
  // stray, and until they have come none gives bytes back, and reset refuses what may be live.
  void force_reset(LateFrees late = LateFrees::kMayCome) noexcept;

  [[nodiscard]] Result<PoolMark> mark() noexcept;  // fails with kTooMany
  // Gives back what was taken since, and ends newer marks; this one stays good. Fails with
  // kStaleMark, or with kBlocksLive: blocks that were taken since.
  [[nodiscard]] Status rewind(PoolMark mark) noexcept;
  // The same whatever is live, as force_reset.
  [[nodiscard]] Status force_rewind(PoolMark mark, LateFrees late = LateFrees::kMayCome) noexcept;
  // Ends this mark and newer ones, and gives nothing back. Fails with kStaleMark, or with
  // kBlocksLive from a forced rewind until one that finds that late frees have come.
  [[nodiscard]] Status forget(PoolMark mark) noexcept;

  [[nodiscard]] std::size_t used_bytes() const noexcept {
    return end_bytes(position_of(state_.load()));
  }
  [[nodiscard]] std::size_t capacity_bytes() const noexcept { return capacity_bytes_; }
  [[nodiscard]] std::size_t peak_bytes() const noexcept;
  [[nodiscard]] std::size_t live_blocks() const noexcept { return live_above(0); }
  [[nodiscard]] std::size_t late_frees() const noexcept { return late_.load(); }  // that may come
  [[nodiscard]] std::size_t refusals() const noexcept { return refusals_.load(); }
  [[nodiscard]] std::size_t stray_frees() const noexcept { return strays_.load(); }

 private:
  struct Mark {                  // several, where nothing was taken between
    std::uint32_t position = 0;  // in units
    std::uint64_t oldest_serial = 0;
    std::uint64_t newest_serial = 0;
    typename Sharing::template Word<std::uint32_t> live;  // blocks below, down to the next mark
  };
  using Count = typename Sharing::template Word<std::size_t>;
  using Units = typename Sharing::template Word<std::uint32_t>;

  // As many blocks as units can be live, so that a half of the word suffices for either.
  static constexpr std::uint64_t pack(std::uint32_t high, std::uint32_t low) noexcept {
    return std::uint64_t{high} << 32 | low;
  }
  static constexpr std::uint32_t position_of(std::uint64_t state) noexcept {
    return static_cast<std::uint32_t>(state >> 32);
  }
  static constexpr std::uint32_t live_of(std::uint64_t state) noexcept {
    return static_cast<std::uint32_t>(state);
  }
  [[nodiscard]] std::size_t bytes_of(std::uint32_t units) const noexcept {
    return std::size_t{units} << unit_shift_;
  }
  [[nodiscard]] std::uint32_t units_of(std::size_t bytes) const noexcept {
    return static_cast<std::uint32_t>(bytes >> unit_shift_);
  }
  // Rounded up; no bytes are a block, too.
  [[nodiscard]] std::uint32_t size_in_units(std::size_t size_bytes) const noexcept {
    return units_of(size_bytes + unit_mask_) + (size_bytes == 0 ? 1 : 0);
  }
  // The last unit of the space may be a part of one.
  [[nodiscard]] std::size_t end_bytes(std::uint32_t position) const noexcept {
    const std::size_t bytes = bytes_of(position);
    return bytes < capacity_bytes_ ? bytes : capacity_bytes_;
  }
  Offset refuse() noexcept;
  bool count_stray() noexcept;
  bool free_among_late(std::uint32_t begin) noexcept;
  [[nodiscard]] std::uint32_t depth_of(std::uint32_t begin) const noexcept;
  bool take_live(std::uint32_t depth) noexcept;
  bool free_below(std::uint32_t begin) noexcept;
  void note_peak(std::uint32_t position) noexcept;
  [[nodiscard]] bool is_stale(PoolMark mark) const noexcept;
  [[nodiscard]] std::uint32_t position_at(std::size_t depth) const noexcept;
  [[nodiscard]] std::size_t live_above(std::size_t depth) const noexcept;
  [[nodiscard]] std::size_t live_in_doubt() const noexcept;
  [[nodiscard]] Status check_free_above(std::size_t depth) const noexcept;
  void wait_for(std::size_t blocks, std::uint32_t position, LateFrees late) noexcept;
  void go_back(std::size_t depth, LateFrees late) noexcept;

  typename Sharing::template Word<std::uint64_t> state_;   // position in units, live blocks
  typename Sharing::template Word<std::uint64_t> newest_;  // its begin and end in units
  std::size_t capacity_bytes_ = 0;
  std::uintptr_t origin_ = 0;
  std::size_t unit_mask_ = 0;
  std::uint32_t unit_shift_ = 0;
  std::uint32_t whole_units_ = 0;
  std::uint32_t mark_count_ = 0;
  std::uint32_t late_from_ = 0;  // in units, where what is freed late begins
  bool waits_for_late_ = false;
  Units late_;  // frees that may yet come, of which others may have been taken for some
  Units peak_;  // in units, of positions that were left
  Count refusals_;
  Count strays_;
  std::uint64_t last_serial_ = 0;
  Mark marks_[kMaxMarks];
};

extern template class BumpOffsets<SingleOwner>;
extern template class BumpOffsets<ThreadSafe>;

}  // namespace tenure
