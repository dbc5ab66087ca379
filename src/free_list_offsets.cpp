// SPDX-License-Identifier: Apache-2.0

#include "tenure/free_list_offsets.h"

#include "internal/free_list_steps.h"
#include "tenure/align.h"

namespace tenure {
namespace {

constexpr std::size_t kFewNodes = 4;

}  // namespace

// ---- where a request fits

inline std::uint32_t FreeListOffsets::padding_of(const Node& node,
                                                 const Request& request) const noexcept {
  if (request.slack == 0) return 0;
  const std::uintptr_t begin = ranges_[node.range].origin + (std::uintptr_t{node.begin} << shift_);
  return static_cast<std::uint32_t>(padding_to_align(begin, request.alignment_bytes) >> shift_);
}

inline bool FreeListOffsets::fits(std::uint32_t index, const Request& request) const noexcept {
  const Node& node = nodes_[index];
  return node.size >= request.granules && padding_of(node, request) <= node.size - request.granules;
}

std::uint32_t FreeListOffsets::look_through(std::uint32_t bin, const Request& request,
                                            std::size_t most) const noexcept {
  std::uint32_t index = lists_[bin];
  while (index != kNone && !fits(index, request)) {
    index = --most == 0 ? kNone : nodes_[index].next;
  }
  return index;
}

// The smallest of the recent that fits. What is too small has, less what is asked for, a size beyond
// all sizes.
inline std::uint32_t FreeListOffsets::find_recent(const Request& request) const noexcept {
  std::uint32_t best = kNone;
  std::uint32_t least = kMaxGranules;
  for (std::uint32_t i = 0; i < recent_count_; ++i) {
    const std::uint32_t rest = recent_sizes_[i] - request.granules;
    if (rest < least && (request.slack == 0 || fits(recent_[i], request))) {
      best = recent_[i];
      least = rest;
    }
  }
  return best;
}

// The few newest of its own list first: what was freed last has often the same size, and is warm.
// Then the first list that surely fits.
std::uint32_t FreeListOffsets::find_listed(const Request& request) const noexcept {
  const std::uint32_t own_bin = bin_of(request.granules);
  if (lists_[own_bin] != kNone) {
    const std::uint32_t found = look_through(own_bin, request, kFewNodes);
    if (found != kNone) return found;
  }
  const std::uint32_t bin = first_bin_from(bin_that_fits(request.granules + request.slack));
  return bin == kNone ? kNone : lists_[bin];
}

// What lies between, where the answer would be a refusal, which must not be given while there is
// room.
std::uint32_t FreeListOffsets::find_unlikely(const Request& request) const noexcept {
  const std::uint32_t sure_bin = bin_that_fits(request.granules + request.slack);
  std::uint32_t bin = first_bin_from(bin_of(request.granules));
  while (bin < sure_bin) {
    const std::uint32_t found = look_through(bin, request, SIZE_MAX);
    if (found != kNone) return found;
    bin = first_bin_from(bin + 1);
  }
  return kNone;
}

// The recent first. The lists matter where they have a block between the request and the best of
// the recent.
inline std::uint32_t FreeListOffsets::find(const Request& request) const noexcept {
  const std::uint32_t recent = find_recent(request);
  if (recent == kNone) {
    const std::uint32_t listed = find_listed(request);
    return listed == kNone ? find_unlikely(request) : listed;
  }
  const std::uint32_t size = nodes_[recent].size;
  const std::uint32_t powers_between = (2U << power_of(size)) - (1U << power_of(request.granules));
  if ((powers_ & powers_between) == 0 || size == request.granules) return recent;
  const std::uint32_t listed = find_listed(request);
  return listed != kNone && nodes_[listed].size < size ? listed : recent;
}

// ---- blocks

inline RangeOffset FreeListOffsets::hand_out(std::uint32_t index) noexcept {
  Node& node = nodes_[index];
  node.place = kLive;
  enter(index);
  in_use_granules_ += node.size;
  if (in_use_granules_ > peak_granules_) peak_granules_ = in_use_granules_;
  ++live_blocks_;
  return {node.range, std::size_t{node.begin} << shift_};
}

RangeOffset FreeListOffsets::allocate(std::size_t size_bytes,
                                      std::size_t alignment_bytes) noexcept {
  TENURE_ASSERT(is_power_of_two(alignment_bytes));
  const std::size_t last_granule = (size_bytes == 0 ? 0 : size_bytes - 1) >> shift_;
  const std::size_t alignment = alignment_bytes >> shift_;
  if (last_granule >= kMaxGranules || alignment > kMaxGranules) {
    return ++refusals_, RangeOffset::none();
  }
  Request request;
  request.granules = static_cast<std::uint32_t>(last_granule) + 1;
  request.slack = alignment == 0 ? 0 : static_cast<std::uint32_t>(alignment) - 1;
  request.alignment_bytes = alignment_bytes;
  std::uint32_t index = find(request);
  if (index == kNone) return ++refusals_, RangeOffset::none();
  const std::uint32_t padding = padding_of(nodes_[index], request);
  const std::uint32_t behind = nodes_[index].size - padding - request.granules;
  if (spare_ == kNone || padding != 0) {
    const std::size_t pieces = (padding != 0 ? 1U : 0U) + (behind != 0 ? 1U : 0U);
    if (!provide_spares(pieces)) return ++refusals_, RangeOffset::none();
  }

  if (padding != 0) {
    remember(split_front(index, padding));
    ++free_blocks_;
  }
  if (behind != 0) {
    const std::uint32_t block = split_front(index, request.granules);
    note_resized(index);
    index = block;
  } else {
    forget(index);
    --free_blocks_;
  }
  return hand_out(index);
}

bool FreeListOffsets::free(RangeOffset offset) noexcept {
  const std::size_t granule = offset.bytes >> shift_;
  if (offset.range >= kMaxRanges || granule >= kMaxGranules) return ++stray_frees_, false;
  const std::uint32_t key = ranges_[offset.range].key + static_cast<std::uint32_t>(granule);
  return free_matching(key, [&](const Node& node) {
    return node.range == offset.range && std::size_t{node.begin} << shift_ == offset.bytes;
  });
}

bool FreeListOffsets::free_address(std::uintptr_t address) noexcept {
  const auto key = static_cast<std::uint32_t>(address >> shift_);
  return free_matching(key, [&](const Node& node) {
    return ranges_[node.range].origin + (std::uintptr_t{node.begin} << shift_) == address;
  });
}

template <class Matches>
inline bool FreeListOffsets::free_matching(std::uint32_t key, const Matches& matches) noexcept {
  if (live_blocks_ == 0) return ++stray_frees_, false;
  std::uint32_t* link = bucket_of(key);
  while (*link != kNone && !matches(nodes_[*link])) link = &nodes_[*link].next;
  if (*link == kNone) return ++stray_frees_, false;
  const std::uint32_t index = *link;
  const Node& node = nodes_[index];
  *link = node.next;
  in_use_granules_ -= node.size;
  --live_blocks_;
  merge_or_remember(index);
  return true;
}

void FreeListOffsets::merge_or_remember(std::uint32_t index) noexcept {
  const std::uint32_t above = nodes_[index].above;
  const std::uint32_t below = nodes_[index].below;
  const bool above_is_free = nodes_[above].place != kLive;
  if (nodes_[below].place != kLive) {
    if (above_is_free) {
      forget(above);
      --free_blocks_;
      merge_into_below(above);
    }
    merge_into_below(index);
    note_resized(below);
  } else if (above_is_free) {
    merge_into_above(index);
    note_resized(above);
  } else {
    remember(index);
    ++free_blocks_;
  }
}

}  // namespace tenure
