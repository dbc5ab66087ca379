// SPDX-License-Identifier: Apache-2.0

#include "internal/live_range_index.h"

#include <algorithm>

#include "internal/radix_sort.h"

namespace tenure::internal {

bool LiveRangeIndex::reset(Span<const Block> blocks) noexcept {
  const std::size_t count = blocks.size();
  leaf_count_ = 1;
  while (leaf_count_ < count) leaf_count_ *= 2;
  order_.clear();
  slots_.clear();
  first_uses_.clear();
  ends_.clear();
  if (!order_.resize(count) || !slots_.resize(count) || !first_uses_.resize(count) ||
      !ends_.resize(std::size_t{leaf_count_} * 2)) {
    return false;
  }
  for (std::size_t i = 0; i < count; ++i) order_[i] = static_cast<std::uint32_t>(i);
  const auto first_use = [&](std::uint32_t block) {
    return std::uint64_t{blocks[block].live_range.first_use.value};
  };
  if (!radix_sort(&order_, &slots_, first_use) || !slots_.resize(count)) return false;
  for (std::size_t slot = 0; slot < count; ++slot) {
    slots_[order_[slot]] = static_cast<std::uint32_t>(slot);
    first_uses_[slot] = blocks[order_[slot]].live_range.first_use.value;
  }
  return true;
}

void LiveRangeIndex::set(BlockIndex block, std::uint32_t end) noexcept {
  std::uint32_t node = leaf_count_ + slots_[block.value];
  ends_[node] = end;
  while (node > 1) {
    node /= 2;
    const std::uint32_t left = 2 * node;
    const std::uint32_t latest = std::max(ends_[left], ends_[left + 1]);
    if (ends_[node] == latest) return;
    ends_[node] = latest;
  }
}

std::uint32_t LiveRangeIndex::first_slot_after(Step step) const noexcept {
  const std::uint32_t* found = std::upper_bound(first_uses_.begin(), first_uses_.end(), step.value);
  return static_cast<std::uint32_t>(found - first_uses_.begin());
}

std::uint32_t LiveRangeIndex::next_ending_after(std::uint32_t slot,
                                                std::uint32_t step) const noexcept {
  if (slot >= leaf_count_) return leaf_count_;
  std::uint32_t node = leaf_count_ + slot;
  // Up, until this node or one to its right holds a late enough end.
  while (ends_[node] <= step) {
    while ((node & 1U) != 0) {
      node /= 2;
      if (node <= 1) return leaf_count_;
    }
    ++node;
  }
  while (node < leaf_count_) {
    node *= 2;
    if (ends_[node] <= step) ++node;
  }
  return node - leaf_count_;
}

}  // namespace tenure::internal
