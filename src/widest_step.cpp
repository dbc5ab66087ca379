// SPDX-License-Identifier: Apache-2.0

#include "internal/widest_step.h"

#include <algorithm>

namespace tenure::internal {

bool WidestStep::reset(const PlanningProblem& problem, RegionIndex region) noexcept {
  steps_.clear();
  tree_.clear();
  for (const Block& block : problem.blocks) {
    if (block.region == region && !steps_.push_back(block.live_range.first_use.value)) return false;
  }
  std::sort(steps_.begin(), steps_.end());
  const auto count =
      static_cast<std::size_t>(std::unique(steps_.begin(), steps_.end()) - steps_.begin());
  if (!steps_.resize(count) || !tree_.resize(count * 2)) return false;
  // Of each block, its bytes at the slot where it begins, and once more behind the last slot in its
  // range.
  ending_.clear();
  if (!ending_.resize(count + 1)) return false;
  for (std::size_t slot = 0; slot < count; ++slot) tree_[count + slot] = {0, Step(steps_[slot])};
  const auto saturating_add = [](std::uint64_t a, std::uint64_t b) {
    return b > UINT64_MAX - a ? UINT64_MAX : a + b;
  };
  for (const Block& block : problem.blocks) {
    if (block.region != region) continue;
    const auto slot_of = [&](const std::uint32_t* found) {
      return static_cast<std::size_t>(found - steps_.begin());
    };
    const std::size_t first =
        slot_of(std::lower_bound(steps_.begin(), steps_.end(), block.live_range.first_use.value));
    const std::size_t after =
        slot_of(std::upper_bound(steps_.begin(), steps_.end(), block.live_range.last_use.value));
    std::uint64_t& begins = tree_[count + first].live_bytes;
    begins = saturating_add(begins, block.size_bytes);
    ending_[after] = saturating_add(ending_[after], block.size_bytes);
  }
  for (std::size_t slot = 1; slot < count; ++slot) {
    std::uint64_t& live = tree_[count + slot].live_bytes;
    const std::uint64_t before = tree_[count + slot - 1].live_bytes;
    live = saturating_add(live, before - std::min(before, ending_[slot]));
  }
  for (std::size_t node = count; node-- > 1;)
    tree_[node] = wider(tree_[2 * node], tree_[2 * node + 1]);
  return true;
}

const WidestStep::Width& WidestStep::wider(const Width& a, const Width& b) noexcept {
  if (a.live_bytes != b.live_bytes) return a.live_bytes > b.live_bytes ? a : b;
  return b.step < a.step ? b : a;
}

WidestStep::Width WidestStep::within(LiveRange range) const noexcept {
  const std::size_t count = steps_.size();
  const auto slot_of = [&](const std::uint32_t* found) {
    return static_cast<std::size_t>(found - steps_.begin());
  };
  std::size_t low =
      count + slot_of(std::lower_bound(steps_.begin(), steps_.end(), range.first_use.value));
  std::size_t high =
      count + slot_of(std::upper_bound(steps_.begin(), steps_.end(), range.last_use.value));
  Width widest{0, range.first_use};
  for (; low < high; low /= 2, high /= 2) {
    if ((low & 1U) != 0) widest = wider(widest, tree_[low++]);
    if ((high & 1U) != 0) widest = wider(widest, tree_[--high]);
  }
  return widest;
}

}  // namespace tenure::internal
