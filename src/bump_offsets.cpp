// SPDX-License-Identifier: Apache-2.0

#include "tenure/bump_offsets.h"

namespace tenure {

template <class Sharing>
void BumpOffsets<Sharing>::open(const BumpSpace& space) noexcept {
  TENURE_ASSERT(is_power_of_two(space.alignment_bytes));
  TENURE_ASSERT(space.capacity_bytes <= SIZE_MAX / 2);
  TENURE_ASSERT(live_blocks() == 0);
  go_back(0);
  mark_count_ = 0;
  capacity_bytes_ = space.capacity_bytes;
  origin_ = space.origin;
  unit_shift_ = 0;
  while (std::size_t{1} << unit_shift_ < space.alignment_bytes) ++unit_shift_;
  while (capacity_bytes_ >> unit_shift_ > UINT32_MAX / 2) ++unit_shift_;
  unit_mask_ = (std::size_t{1} << unit_shift_) - 1;
  whole_units_ = units_of(capacity_bytes_);
  peak_.store(0);
}

template <class Sharing>
Offset BumpOffsets<Sharing>::allocate_with_care(std::size_t size_bytes,
                                                std::size_t alignment_bytes) noexcept {
  TENURE_ASSERT(is_power_of_two(alignment_bytes));
  const std::size_t size = size_bytes == 0 ? 1 : size_bytes;
  if (size > capacity_bytes_) return refuse();
  std::uint64_t seen = state_.load();
  for (;;) {
    std::size_t begin = bytes_of(position_of(seen));
    if (begin > capacity_bytes_) return refuse();  // a part of a unit was taken
    const std::uint64_t padding = padding_to_align(origin_ + begin, alignment_bytes);
    if (padding > capacity_bytes_ - begin) return refuse();
    begin += static_cast<std::size_t>(padding);
    if (size > capacity_bytes_ - begin) return refuse();
    const std::uint32_t end = units_of(begin) + size_in_units(size);
    if (state_.compare_exchange(seen, pack(end, live_of(seen) + 1))) {
      newest_.store(pack(units_of(begin), end));
      return Offset{begin};
    }
  }
}

template <class Sharing>
void BumpOffsets<Sharing>::add(Count& count, std::size_t extra) noexcept {
  std::size_t seen = count.load();
  while (!count.compare_exchange(seen, seen + extra)) {
  }
}

template <class Sharing>
bool BumpOffsets<Sharing>::take_one(Units& count) noexcept {
  std::uint32_t seen = count.load();
  while (seen != 0) {
    if (count.compare_exchange(seen, seen - 1)) return true;
  }
  return false;
}

template <class Sharing>
bool BumpOffsets<Sharing>::free_below(std::uint32_t begin) noexcept {
  std::uint32_t depth = mark_count_ - 1;
  while (depth != 0 && begin < marks_[depth - 1].position) --depth;
  return take_one(marks_[depth].live) ? true : count_stray();
}

template <class Sharing>
void BumpOffsets<Sharing>::note_peak(std::uint32_t position) noexcept {
  std::uint32_t seen = peak_.load();
  while (seen < position && !peak_.compare_exchange(seen, position)) {
  }
}

template <class Sharing>
std::size_t BumpOffsets<Sharing>::peak_bytes() const noexcept {
  const std::uint32_t position = position_of(state_.load());
  const std::uint32_t left = peak_.load();
  return end_bytes(left > position ? left : position);
}

// Blocks above the mark at that depth, or all from depth 0 when there is none; marks_[0] counts
// what lies below it.
template <class Sharing>
std::size_t BumpOffsets<Sharing>::live_above(std::size_t depth) const noexcept {
  std::size_t live = live_of(state_.load());
  for (std::size_t i = depth; i < mark_count_; ++i) live += marks_[i].live.load();
  return live;
}

// Late frees are waited for from the lowest position on that blocks were taken away from.
template <class Sharing>
void BumpOffsets<Sharing>::abandon(std::size_t blocks, std::uint32_t position,
                                   LateFrees late) noexcept {
  if (late == LateFrees::kNeverCome) return abandoned_.store(0);
  const std::uint32_t before = abandoned_.load();
  if (before == 0 || position < abandoned_from_) abandoned_from_ = position;
  const bool fits = blocks <= UINT32_MAX - before;
  abandoned_.store(fits ? before + static_cast<std::uint32_t>(blocks) : UINT32_MAX);
}

template <class Sharing>
bool BumpOffsets<Sharing>::is_late(std::uint32_t begin) noexcept {
  return begin >= abandoned_from_ && take_one(abandoned_);
}

template <class Sharing>
void BumpOffsets<Sharing>::go_back(std::uint32_t position) noexcept {
  note_peak(position_of(state_.load()));
  state_.store(pack(position, 0));
  newest_.store(0);
}

template <class Sharing>
Status BumpOffsets<Sharing>::reset() noexcept {
  if (const std::size_t live = live_blocks(); live != 0) {
    return Status(Reason::kBlocksLive).live(live);
  }
  force_reset();
  return Status();
}

template <class Sharing>
void BumpOffsets<Sharing>::force_reset(LateFrees late) noexcept {
  abandon(live_blocks(), 0, late);
  go_back(0);
  mark_count_ = 0;
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
    mark.serial = ++last_serial_;
    mark.live.store(live_of(state));
    state_.store(pack(position, 0));
  }
  PoolMark result;
  result.depth = mark_count_ - 1;
  result.serial = marks_[result.depth].serial;
  return result;
}

template <class Sharing>
bool BumpOffsets<Sharing>::is_stale(PoolMark mark) const noexcept {
  return mark.depth >= mark_count_ || marks_[mark.depth].serial != mark.serial;
}

template <class Sharing>
Status BumpOffsets<Sharing>::rewind(PoolMark mark) noexcept {
  if (is_stale(mark)) return Status(Reason::kStaleMark);
  if (const std::size_t live = live_above(mark.depth + 1); live != 0) {
    return Status(Reason::kBlocksLive).live(live);
  }
  return force_rewind(mark);
}

template <class Sharing>
Status BumpOffsets<Sharing>::force_rewind(PoolMark mark, LateFrees late) noexcept {
  if (is_stale(mark)) return Status(Reason::kStaleMark);
  abandon(live_above(mark.depth + 1), marks_[mark.depth].position, late);
  go_back(marks_[mark.depth].position);
  mark_count_ = mark.depth + 1;
  return Status();
}

template class BumpOffsets<SingleOwner>;
template class BumpOffsets<ThreadSafe>;

}  // namespace tenure
