// SPDX-License-Identifier: Apache-2.0
#pragma once

// The members of BumpOffsets that go back: to the beginning, to a mark, and what is freed late after
// that. Part of bump_offsets.h.

#include "internal/counts.h"
#include "tenure/bump_offsets.h"

namespace tenure {

// How many marks lie no higher than that.
template <class Sharing>
std::uint32_t BumpOffsets<Sharing>::depth_of(std::uint32_t begin) const noexcept {
  std::uint32_t depth = mark_count_;
  while (depth != 0 && begin < marks_[depth - 1].position) --depth;
  return depth;
}

// Of the blocks that lie at that depth.
template <class Sharing>
bool BumpOffsets<Sharing>::take_live(std::uint32_t depth) noexcept {
  if (depth < mark_count_) return internal::take_one(marks_[depth].live);
  std::uint64_t seen = state_.load();
  while (live_of(seen) != 0) {
    if (state_.compare_exchange(seen, seen - 1)) return true;
  }
  return false;
}

template <class Sharing>
bool BumpOffsets<Sharing>::free_below(std::uint32_t begin) noexcept {
  return take_live(depth_of(begin)) ? true : count_stray();
}

// Where the last of so many marks lies.
template <class Sharing>
std::uint32_t BumpOffsets<Sharing>::position_at(std::size_t depth) const noexcept {
  return depth == 0 ? 0 : marks_[depth - 1].position;
}

// Blocks above the last of so many marks; marks_[0] counts what lies below it.
template <class Sharing>
std::size_t BumpOffsets<Sharing>::live_above(std::size_t depth) const noexcept {
  std::size_t live = live_of(state_.load());
  for (std::size_t i = depth; i < mark_count_; ++i) live += marks_[i].live.load();
  return live;
}

// While late frees are missing, every free that may be one is taken for one; after that, each is
// taken for one of a block. So blocks are never taken for fewer than are live, and when as many
// frees have come as there were blocks, all are right, whatever was taken for what. Blocks above
// marks are counted as freed first, so that all those below one are not taken for fewer either.
template <class Sharing>
bool BumpOffsets<Sharing>::free_among_late(std::uint32_t begin) noexcept {
  if (begin < late_from_) {
    return begin < position_of(state_.load()) ? free_below(begin) : count_stray();
  }
  if (internal::take_one(late_)) return count_stray();
  const std::uint32_t lowest = depth_of(late_from_);
  for (std::uint32_t depth = mark_count_; !take_live(depth); --depth) {
    if (depth == lowest) return count_stray();
  }
  return true;
}

template <class Sharing>
std::size_t BumpOffsets<Sharing>::live_in_doubt() const noexcept {
  return live_above(depth_of(late_from_));
}

// With a mark above what is freed late, a free that was taken for another's may have been that of
// a block on the other side of the mark: then there must be nothing left on either.
template <class Sharing>
Status BumpOffsets<Sharing>::check_free_above(std::size_t depth) const noexcept {
  std::size_t live = live_above(depth);
  const bool is_doubtful = waits_for_late_ && position_at(mark_count_) > late_from_ &&
                           position_of(state_.load()) > position_at(depth);
  if (live == 0 && is_doubtful) live = live_in_doubt() + late_.load();
  return live == 0 ? Status() : Status(Reason::kBlocksLive).live(live);
}

// Blocks that were live above that position are gone. Where those below it are in doubt, they stay
// so until none is left.
template <class Sharing>
void BumpOffsets<Sharing>::wait_for(std::size_t blocks, std::uint32_t position,
                                    LateFrees late) noexcept {
  if (late == LateFrees::kNeverCome) {
    late_.store(0);
  } else if (blocks != 0) {
    if (!waits_for_late_ || position < late_from_) late_from_ = position;
    waits_for_late_ = true;
    const std::uint32_t before = late_.load();
    const bool fits = blocks <= UINT32_MAX - before;
    late_.store(fits ? before + static_cast<std::uint32_t>(blocks) : UINT32_MAX);
  }
  if (late_.load() == 0 && live_in_doubt() == 0) waits_for_late_ = false;
}

// To the last of so many marks.
template <class Sharing>
void BumpOffsets<Sharing>::go_back(std::size_t depth, LateFrees late) noexcept {
  const std::size_t live = live_above(depth);
  const std::uint32_t position = position_at(depth);
  note_peak(position_of(state_.load()));
  state_.store(pack(position, 0));
  newest_.store(0);
  mark_count_ = static_cast<std::uint32_t>(depth);
  wait_for(live, position, late);
}

template <class Sharing>
Status BumpOffsets<Sharing>::reset() noexcept {
  if (Status status = check_free_above(0); !status.ok()) return status;
  force_reset();
  return Status();
}

template <class Sharing>
void BumpOffsets<Sharing>::force_reset(LateFrees late) noexcept {
  go_back(0, late);
}

template <class Sharing>
Result<PoolMark> BumpOffsets<Sharing>::mark() noexcept {
  const std::uint64_t state = state_.load();
  const std::uint32_t position = position_of(state);
  const bool is_at_last =
      mark_count_ != 0 && marks_[mark_count_ - 1].position == position && live_of(state) == 0;
  if (!is_at_last) {
    if (mark_count_ == kMaxMarks) return Status(Reason::kTooMany);
    Mark& mark = marks_[mark_count_++];
    mark.position = position;
    mark.oldest_serial = last_serial_ + 1;
    mark.live.store(live_of(state));
    state_.store(pack(position, 0));
  }
  PoolMark result;
  result.pool = this;
  result.depth = mark_count_ - 1;
  result.serial = marks_[result.depth].newest_serial = ++last_serial_;
  return result;
}

template <class Sharing>
bool BumpOffsets<Sharing>::is_stale(PoolMark mark) const noexcept {
  if (mark.pool != this || mark.depth >= mark_count_) return true;
  const Mark& known = marks_[mark.depth];
  return mark.serial < known.oldest_serial || mark.serial > known.newest_serial;
}

template <class Sharing>
Status BumpOffsets<Sharing>::rewind(PoolMark mark) noexcept {
  if (is_stale(mark)) return Status(Reason::kStaleMark);
  if (Status status = check_free_above(mark.depth + 1); !status.ok()) return status;
  return force_rewind(mark);
}

template <class Sharing>
Status BumpOffsets<Sharing>::force_rewind(PoolMark mark, LateFrees late) noexcept {
  if (is_stale(mark)) return Status(Reason::kStaleMark);
  go_back(mark.depth + 1, late);
  marks_[mark.depth].newest_serial = mark.serial;
  return Status();
}

// Blocks above an ended mark count with those below it. So while late frees are waited for, what
// lies below the position from which they may come must not lose its mark.
template <class Sharing>
Status BumpOffsets<Sharing>::forget(PoolMark mark) noexcept {
  if (is_stale(mark)) return Status(Reason::kStaleMark);
  if (waits_for_late_) return Status(Reason::kBlocksLive).live(late_.load() + live_in_doubt());
  const bool others_stay = mark.serial != marks_[mark.depth].oldest_serial;
  const std::uint32_t depth = mark.depth + (others_stay ? 1 : 0);
  const std::uint32_t newest_begin = position_of(newest_.load());
  if (newest_begin < position_at(mark_count_)) newest_.store(0);  // may have been freed since
  state_.store(pack(position_of(state_.load()), static_cast<std::uint32_t>(live_above(depth))));
  mark_count_ = depth;
  marks_[mark.depth].newest_serial = mark.serial - 1;
  return Status();
}

}  // namespace tenure
