// SPDX-License-Identifier: Apache-2.0
#pragma once

// The steps of which FreeListOffsets' requests and frees are made: blocks in lists by size, among the
// recent, in the table of live blocks, and beside one another.

#include <cstdint>

#include "internal/bits.h"
#include "internal/mix.h"
#include "tenure/free_list_offsets.h"

namespace tenure {

// ---- lists by size: 16 for each power of two from 16 on, for 2^shift sizes each; else one a size.

inline std::uint32_t FreeListOffsets::shift_of(std::uint32_t granules) noexcept {
  return internal::log2_floor(granules | kBinsPerPower) - internal::log2_floor(kBinsPerPower);
}

// Of the list of such blocks.
inline std::uint32_t FreeListOffsets::power_of(std::uint32_t granules) noexcept {
  return internal::log2_floor(granules | (kBinsPerPower / 2)) -
         internal::log2_floor(kBinsPerPower / 2);
}

inline std::uint32_t FreeListOffsets::bin_of(std::uint32_t granules) noexcept {
  const std::uint32_t shift = shift_of(granules);
  return shift * kBinsPerPower + (granules >> shift);
}

// Every block in that list or above is large enough.
inline std::uint32_t FreeListOffsets::bin_that_fits(std::uint32_t granules) noexcept {
  const std::uint32_t shift = shift_of(granules);
  return shift * kBinsPerPower + ((granules + (1U << shift) - 1) >> shift);
}

// The first list from that one on that is not empty, or kNone.
inline std::uint32_t FreeListOffsets::first_bin_from(std::uint32_t bin) const noexcept {
  const std::uint32_t power = bin / kBinsPerPower;
  if (power >= kPowers) return kNone;
  const std::uint32_t here = bins_[power] >> (bin % kBinsPerPower);
  if (here != 0) return bin + internal::lowest_bit(here);
  const std::uint32_t larger = powers_ & ~((2U << power) - 1);
  if (larger == 0) return kNone;
  const std::uint32_t next = internal::lowest_bit(larger);
  return next * kBinsPerPower + internal::lowest_bit(bins_[next]);
}

// Where there is no neighbour in the list, a block writes to itself: cheaper than a branch that is
// hard to predict.
inline void FreeListOffsets::list(std::uint32_t index) noexcept {
  Node* const nodes = nodes_.data();
  const std::uint32_t bin = bin_of(nodes[index].size);
  const std::uint32_t head = lists_[bin];
  nodes[head == kNone ? index : head].previous = index;
  nodes[index].place = bin;
  nodes[index].previous = kNone;
  nodes[index].next = head;
  lists_[bin] = index;
  bins_[bin / kBinsPerPower] |= 1U << (bin % kBinsPerPower);
  powers_ |= 1U << (bin / kBinsPerPower);
}

inline void FreeListOffsets::unlist(std::uint32_t index) noexcept {
  Node* const nodes = nodes_.data();
  const std::uint32_t next = nodes[index].next;
  const std::uint32_t previous = nodes[index].previous;
  const std::uint32_t bin = nodes[index].place;
  nodes[next == kNone ? index : next].previous = previous;
  if (previous != kNone) {
    nodes[previous].next = next;
    return;
  }
  lists_[bin] = next;
  if (next != kNone) return;
  std::uint32_t& bins = bins_[bin / kBinsPerPower];
  bins &= ~(1U << (bin % kBinsPerPower));
  if (bins == 0) powers_ &= ~(1U << (bin / kBinsPerPower));
}

// ---- the recent: free blocks in no list. They are few, so that looking at all of them is cheaper
// than to keep in its list what changes its size with every request.

// A free block that is in no list. The one that has been there for long gives way to it.
inline void FreeListOffsets::remember(std::uint32_t index) noexcept {
  std::uint32_t place = recent_count_;
  if (place < kRecent) {
    ++recent_count_;
  } else {
    place = next_to_list_;
    next_to_list_ = place + 1 == kRecent ? 0 : place + 1;
    list(recent_[place]);
  }
  recent_[place] = index;
  recent_sizes_[place] = nodes_[index].size;
  nodes_[index].place = kFirstRecent + place;
}

// It is free no more.
inline void FreeListOffsets::forget(std::uint32_t index) noexcept {
  if (nodes_[index].place < kFirstRecent) return unlist(index);
  const std::uint32_t place = nodes_[index].place - kFirstRecent;
  const std::uint32_t last = --recent_count_;
  recent_[place] = recent_[last];
  recent_sizes_[place] = recent_sizes_[last];
  nodes_[recent_[place]].place = kFirstRecent + place;
}

inline void FreeListOffsets::note_resized(std::uint32_t index) noexcept {
  if (nodes_[index].place >= kFirstRecent) {
    recent_sizes_[nodes_[index].place - kFirstRecent] = nodes_[index].size;
    return;
  }
  unlist(index);
  remember(index);
}

// ---- nodes

// Precondition: there is a spare one.
inline std::uint32_t FreeListOffsets::take_spare() noexcept {
  const std::uint32_t index = spare_;
  spare_ = nodes_[index].next;
  return index;
}

inline void FreeListOffsets::give_spare(std::uint32_t index) noexcept {
  nodes_[index].next = spare_;
  spare_ = index;
}

inline std::uint32_t* FreeListOffsets::bucket_of(std::uint32_t key) noexcept {
  return buckets_.data() + (internal::spread(key) >> bucket_shift_);
}

inline void FreeListOffsets::enter(std::uint32_t index) noexcept {
  Node& node = nodes_[index];
  std::uint32_t* const bucket = bucket_of(ranges_[node.range].key + node.begin);
  node.next = *bucket;
  *bucket = index;
}

// A new block of the first granules of another, which keeps the rest and its place.
inline std::uint32_t FreeListOffsets::split_front(std::uint32_t index,
                                                  std::uint32_t granules) noexcept {
  const std::uint32_t front = take_spare();
  Node& rest = nodes_[index];
  Node& node = nodes_[front];
  node.begin = rest.begin;
  node.size = granules;
  node.below = rest.below;
  node.above = index;
  node.range = rest.range;
  nodes_[rest.below].above = front;
  rest.begin += granules;
  rest.size -= granules;
  rest.below = front;
  return front;
}

// The other way round: the block above takes the granules of this one, which is gone. Neither of
// the two changes its place.
inline void FreeListOffsets::merge_into_above(std::uint32_t index) noexcept {
  const Node& node = nodes_[index];
  Node& merged = nodes_[node.above];
  merged.begin = node.begin;
  merged.size += node.size;
  merged.below = node.below;
  nodes_[node.below].above = node.above;
  give_spare(index);
}

inline void FreeListOffsets::merge_into_below(std::uint32_t index) noexcept {
  const Node& node = nodes_[index];
  Node& merged = nodes_[node.below];
  merged.size += node.size;
  merged.above = node.above;
  nodes_[node.above].below = node.below;
  give_spare(index);
}

}  // namespace tenure
