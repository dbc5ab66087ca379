// SPDX-License-Identifier: Apache-2.0

#include "tenure/free_list_offsets.h"

#include "internal/bits.h"
#include "internal/mix.h"
#include "tenure/align.h"

namespace tenure {
namespace {

// So that a size, what aligning may skip and a part of a power of two add up in 32 bits.
constexpr std::uint32_t kMaxGranules = 0x40000000U;
constexpr std::size_t kFewNodes = 4;
constexpr std::size_t kMaxNodes = std::size_t{1} << 30;
constexpr std::uint32_t kLeastSlotBits = 5;

}  // namespace

FreeListOffsets::FreeListOffsets(std::size_t granule_bytes, Upstream bookkeeping) noexcept
    : shift_(0), bookkeeping_(bookkeeping), nodes_(bookkeeping), slots_(bookkeeping) {
  TENURE_ASSERT(is_power_of_two(granule_bytes));
  while (std::size_t{1} << shift_ < granule_bytes) ++shift_;
  for (std::uint32_t& list : lists_) list = kNone;
}

// ---- lists by size: 16 for each power of two from 16 on, for 2^shift sizes each; else one a size.

inline std::uint32_t FreeListOffsets::shift_of(std::uint32_t granules) noexcept {
  return internal::log2_floor(granules | kBinsPerPower) - internal::log2_floor(kBinsPerPower);
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

inline void FreeListOffsets::list(std::uint32_t index, std::uint32_t bin) noexcept {
  Node* const nodes = nodes_.data();
  const std::uint32_t head = lists_[bin];
  nodes[index].bin = bin;
  nodes[index].is_free = true;
  nodes[index].previous_free = kNone;
  nodes[index].next_free = head;
  if (head != kNone) nodes[head].previous_free = index;
  lists_[bin] = index;
  bins_[bin / kBinsPerPower] |= 1U << (bin % kBinsPerPower);
  powers_ |= 1U << (bin / kBinsPerPower);
  ++free_blocks_;
}

inline void FreeListOffsets::unlist(std::uint32_t index) noexcept {
  Node* const nodes = nodes_.data();
  const std::uint32_t next = nodes[index].next_free;
  const std::uint32_t previous = nodes[index].previous_free;
  const std::uint32_t bin = nodes[index].bin;
  nodes[index].is_free = false;
  --free_blocks_;
  if (next != kNone) nodes[next].previous_free = previous;
  if (previous != kNone) {
    nodes[previous].next_free = next;
    return;
  }
  lists_[bin] = next;
  if (next != kNone) return;
  std::uint32_t& bins = bins_[bin / kBinsPerPower];
  bins &= ~(1U << (bin % kBinsPerPower));
  if (bins == 0) powers_ &= ~(1U << (bin / kBinsPerPower));
}

inline void FreeListOffsets::list(std::uint32_t index) noexcept {
  list(index, bin_of(nodes_[index].size));
}

// A free block has grown or shrunk: mostly it may stay in its list.
inline void FreeListOffsets::list_again(std::uint32_t index) noexcept {
  const std::uint32_t bin = bin_of(nodes_[index].size);
  if (bin == nodes_[index].bin) return;
  unlist(index);
  list(index, bin);
}

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
    index = --most == 0 ? kNone : nodes_[index].next_free;
  }
  return index;
}

// The few newest of its own list first: what was freed last has often the same size, and is warm.
// Then the first list that surely fits. What lies between is looked through only where the answer
// would be a refusal, which must not be given while there is room.
inline std::uint32_t FreeListOffsets::find(const Request& request) const noexcept {
  const std::uint32_t own_bin = bin_of(request.granules);
  if (lists_[own_bin] != kNone) {
    const std::uint32_t found = look_through(own_bin, request, kFewNodes);
    if (found != kNone) return found;
  }
  const std::uint32_t sure_bin = bin_that_fits(request.granules + request.slack);
  const std::uint32_t bin = first_bin_from(sure_bin);
  if (bin != kNone) return lists_[bin];
  std::uint32_t unsure = first_bin_from(own_bin);
  while (unsure < sure_bin) {
    const std::uint32_t late = look_through(unsure, request, SIZE_MAX);
    if (late != kNone) return late;
    unsure = first_bin_from(unsure + 1);
  }
  return kNone;
}

// ---- the books

Status FreeListOffsets::reserve_blocks(std::size_t count) noexcept {
  if (count > kMaxNodes) return Status(Reason::kTooMany);
  if (nodes_.reserve(count) && provide_slots(count)) return Status();
  return Status(Reason::kUpstreamRefused).needed(count * sizeof(Node));
}

bool FreeListOffsets::provide_spares(std::size_t count) noexcept {
  while (spare_count_ < count) {
    if (nodes_.size() >= kMaxNodes || !provide_slots(nodes_.size() + 1)) return false;
    Node* node = nodes_.push_uninitialized();
    if (node == nullptr) return false;
    node->next_free = spare_;
    spare_ = static_cast<std::uint32_t>(nodes_.size() - 1);
    ++spare_count_;
  }
  return true;
}

// Precondition: there is a spare one.
inline std::uint32_t FreeListOffsets::take_spare() noexcept {
  const std::uint32_t index = spare_;
  spare_ = nodes_[index].next_free;
  --spare_count_;
  return index;
}

inline void FreeListOffsets::give_spare(std::uint32_t index) noexcept {
  nodes_[index].next_free = spare_;
  spare_ = index;
  ++spare_count_;
}

// A table for so many live blocks; those that are live move over.
bool FreeListOffsets::provide_slots(std::size_t blocks) noexcept {
  if (blocks * 2 <= slots_.size()) return true;
  std::uint32_t bits = kLeastSlotBits;
  while (std::size_t{1} << bits < blocks * 2) ++bits;
  Array<Slot> table(bookkeeping_);
  if (!table.resize(std::size_t{1} << bits, Slot{0, kNone})) return false;
  const Array<Slot> old = static_cast<Array<Slot>&&>(slots_);
  slots_ = static_cast<Array<Slot>&&>(table);
  slot_shift_ = 32 - bits;
  for (const Slot& slot : old) {
    if (slot.index != kNone) enter(slot);
  }
  return true;
}

// Where to begin to look.
inline std::size_t FreeListOffsets::home_of(std::uint32_t key) const noexcept {
  return internal::spread(key) >> slot_shift_;
}

// Beyond all slots when there is none.
template <class Matches>
inline std::size_t FreeListOffsets::find_slot(std::uint32_t key,
                                              const Matches& matches) const noexcept {
  if (slots_.empty()) return SIZE_MAX;
  const Slot* const slots = slots_.data();
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = home_of(key); slots[slot].index != kNone; slot = (slot + 1) & mask) {
    if (slots[slot].key == key && matches(nodes_[slots[slot].index])) return slot;
  }
  return SIZE_MAX;
}

inline void FreeListOffsets::enter(Slot entered) noexcept {
  Slot* const slots = slots_.data();
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = home_of(entered.key);
  while (slots[slot].index != kNone) slot = (slot + 1) & mask;
  slots[slot] = entered;
}

// Those behind it that had to give way to it move up.
inline void FreeListOffsets::strike_out(std::size_t slot) noexcept {
  Slot* const slots = slots_.data();
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t next = (slot + 1) & mask; slots[next].index != kNone; next = (next + 1) & mask) {
    const std::size_t home = home_of(slots[next].key);
    if (((next - home) & mask) < ((next - slot) & mask)) continue;
    slots[slot] = slots[next];
    slot = next;
  }
  slots[slot].index = kNone;
}

// A new block of the first granules of another, which keeps the rest and its place in its list.
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
  node.is_free = false;
  (rest.below != kNone ? nodes_[rest.below].above : ranges_[rest.range].first) = front;
  rest.begin += granules;
  rest.size -= granules;
  rest.below = front;
  return front;
}

// The other way round: the block above takes the granules of this one, which is gone. Neither of
// the two changes its list.
inline void FreeListOffsets::merge_into_above(std::uint32_t index) noexcept {
  const Node& node = nodes_[index];
  const std::uint32_t above = node.above;
  Node& merged = nodes_[above];
  merged.begin = node.begin;
  merged.size += node.size;
  merged.below = node.below;
  (node.below != kNone ? nodes_[node.below].above : ranges_[node.range].first) = above;
  give_spare(index);
}

inline void FreeListOffsets::merge_into_below(std::uint32_t index) noexcept {
  const Node& node = nodes_[index];
  Node& merged = nodes_[node.below];
  merged.size += node.size;
  merged.above = node.above;
  if (node.above != kNone) nodes_[node.above].below = node.below;
  give_spare(index);
}

// ---- ranges

std::uint32_t FreeListOffsets::first_unused_range() const noexcept {
  std::uint32_t range = 0;
  while (range < kMaxRanges && ranges_[range].granules != 0) ++range;
  return range;
}

Status FreeListOffsets::check_range(std::size_t size_bytes) const noexcept {
  const std::size_t granules = size_bytes >> shift_;
  const bool fits = granules != 0 && granules <= kMaxGranules;
  return fits && first_unused_range() != kMaxRanges ? Status() : Status(Reason::kTooMany);
}

Result<std::uint32_t> FreeListOffsets::add_range(std::size_t size_bytes,
                                                 std::uintptr_t origin) noexcept {
  if (Status status = check_range(size_bytes); !status.ok()) return status;
  const std::uint32_t range = first_unused_range();
  if (!provide_spares(1)) return Status(Reason::kUpstreamRefused).needed(sizeof(Node));
  const std::uint32_t index = take_spare();
  // Without an origin, as far from the others as may be.
  const std::uint32_t key =
      origin == 0 ? range << 27 : static_cast<std::uint32_t>(origin >> shift_);
  ranges_[range] = {origin, static_cast<std::uint32_t>(size_bytes >> shift_), index, key};
  Node& node = nodes_[index];
  node.begin = 0;
  node.size = ranges_[range].granules;
  node.below = kNone;
  node.above = kNone;
  node.range = static_cast<std::uint16_t>(range);
  list(index);
  return range;
}

bool FreeListOffsets::is_unused(std::uint32_t range) const noexcept {
  if (range >= kMaxRanges || ranges_[range].granules == 0) return false;
  const Node& first = nodes_[ranges_[range].first];
  return first.is_free && first.size == ranges_[range].granules;
}

void FreeListOffsets::remove_range(std::uint32_t range) noexcept {
  TENURE_ASSERT(is_unused(range));
  const std::uint32_t index = ranges_[range].first;
  unlist(index);
  give_spare(index);
  ranges_[range] = Range();
}

// ---- blocks

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
  const std::size_t pieces = (padding != 0 ? 1U : 0U) + (behind != 0 ? 1U : 0U);
  if (pieces > spare_count_ && !provide_spares(pieces)) return ++refusals_, RangeOffset::none();

  if (padding != 0) list(split_front(index, padding));
  if (behind != 0) {
    const std::uint32_t block = split_front(index, request.granules);
    list_again(index);
    index = block;
  } else {
    unlist(index);
  }
  enter({ranges_[nodes_[index].range].key + nodes_[index].begin, index});
  in_use_bytes_ += std::size_t{request.granules} << shift_;
  if (in_use_bytes_ > peak_bytes_) peak_bytes_ = in_use_bytes_;
  ++live_blocks_;
  const Node& node = nodes_[index];
  return {node.range, std::size_t{node.begin} << shift_};
}

bool FreeListOffsets::free(RangeOffset offset) noexcept {
  const std::size_t granule = offset.bytes >> shift_;
  if (offset.range >= kMaxRanges || granule >= kMaxGranules) return free_slot(SIZE_MAX);
  const std::uint32_t key = ranges_[offset.range].key + static_cast<std::uint32_t>(granule);
  return free_slot(find_slot(key, [&](const Node& node) {
    return node.range == offset.range && std::size_t{node.begin} << shift_ == offset.bytes;
  }));
}

bool FreeListOffsets::free_address(std::uintptr_t address) noexcept {
  const auto key = static_cast<std::uint32_t>(address >> shift_);
  return free_slot(find_slot(key, [&](const Node& node) {
    return ranges_[node.range].origin + (std::uintptr_t{node.begin} << shift_) == address;
  }));
}

inline bool FreeListOffsets::free_slot(std::size_t slot) noexcept {
  if (slot == SIZE_MAX) return ++stray_frees_, false;
  const std::uint32_t index = slots_[slot].index;
  strike_out(slot);
  in_use_bytes_ -= std::size_t{nodes_[index].size} << shift_;
  --live_blocks_;
  const std::uint32_t above = nodes_[index].above;
  const std::uint32_t below = nodes_[index].below;
  const bool above_is_free = above != kNone && nodes_[above].is_free;
  const bool below_is_free = below != kNone && nodes_[below].is_free;
  if (!above_is_free && !below_is_free) return list(index), true;
  if (above_is_free && below_is_free) {
    unlist(above);
    merge_into_below(above);
  }
  if (below_is_free) {
    merge_into_below(index);
    list_again(below);
  } else {
    merge_into_above(index);
    list_again(above);
  }
  return true;
}

}  // namespace tenure
