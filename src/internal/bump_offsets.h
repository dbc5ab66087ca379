// SPDX-License-Identifier: Apache-2.0
#pragma once

// The members of BumpOffsets that are not inline. One .cpp a form, so that a program with one owner
// links no atomics of 64 bits.

#include "internal/bump_marks.h"
#include "internal/counts.h"
#include "tenure/bump_offsets.h"

namespace tenure {

template <class Sharing>
void BumpOffsets<Sharing>::open(const BumpSpace& space) noexcept {
  TENURE_ASSERT(is_power_of_two(space.alignment_bytes));
  TENURE_ASSERT(space.capacity_bytes <= SIZE_MAX / 2);
  TENURE_ASSERT(live_blocks() == 0);
  go_back(0, LateFrees::kNeverCome);
  capacity_bytes_ = space.capacity_bytes;
  origin_ = space.origin;
  const std::size_t unit_bytes = space.unit_bytes();
  TENURE_ASSERT(padding_to_align(space.origin, unit_bytes) == 0);
  unit_mask_ = unit_bytes - 1;
  unit_shift_ = 0;
  while (std::size_t{1} << unit_shift_ < unit_bytes) ++unit_shift_;
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
Offset BumpOffsets<Sharing>::refuse() noexcept {
  internal::add(refusals_, std::size_t{1});
  return Offset::none();
}

template <class Sharing>
bool BumpOffsets<Sharing>::count_stray() noexcept {
  internal::add(strays_, std::size_t{1});
  return false;
}

template <class Sharing>
void BumpOffsets<Sharing>::note_peak(std::uint32_t position) noexcept {
  internal::raise(peak_, position);
}

template <class Sharing>
std::size_t BumpOffsets<Sharing>::peak_bytes() const noexcept {
  const std::uint32_t position = position_of(state_.load());
  const std::uint32_t left = peak_.load();
  return end_bytes(left > position ? left : position);
}

}  // namespace tenure
