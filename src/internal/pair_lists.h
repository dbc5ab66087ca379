// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pairs of blocks: for each block its partners, so that a strategy finds them without reading the
// whole list; and the same pairs for a selection of the blocks.

#include <algorithm>
#include <cstdint>

#include "tenure/array.h"
#include "tenure/problem.h"
#include "tenure/span.h"

namespace tenure::internal {

class PairLists {
 public:
  explicit PairLists(Upstream upstream) noexcept : begins_(upstream), partners_(upstream) {}

  // O(blocks + pairs); without pairs nothing is allocated. Partners are sorted. False: memory
  // refused.
  [[nodiscard]] bool reset(std::size_t block_count, Span<const BlockPair> pairs) noexcept {
    begins_.clear();
    partners_.clear();
    if (pairs.empty()) return true;
    if (!begins_.resize(block_count + 2) || !partners_.resize(pairs.size() * 2)) return false;
    // Counts go two places up, so that filling moves each begin to where its list begins.
    for (const BlockPair& pair : pairs) {
      ++begins_[std::size_t{pair.first.value} + 2];
      ++begins_[std::size_t{pair.second.value} + 2];
    }
    for (std::size_t i = 2; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
    for (const BlockPair& pair : pairs) {
      partners_[begins_[std::size_t{pair.first.value} + 1]++] = pair.second.value;
      partners_[begins_[std::size_t{pair.second.value} + 1]++] = pair.first.value;
    }
    for (std::size_t block = 0; block < block_count; ++block) {
      std::sort(partners_.begin() + begins_[block], partners_.begin() + begins_[block + 1]);
    }
    return true;
  }

  [[nodiscard]] Span<const std::uint32_t> of(std::uint32_t block) const noexcept {
    if (begins_.empty()) return {};
    return Span<const std::uint32_t>(partners_).subspan(begins_[block],
                                                        begins_[block + 1] - begins_[block]);
  }

  [[nodiscard]] bool has(std::uint32_t block, std::uint32_t partner) const noexcept {
    const Span<const std::uint32_t> partners = of(block);
    return std::binary_search(partners.begin(), partners.end(), partner);
  }

 private:
  Array<std::size_t> begins_;
  Array<std::uint32_t> partners_;
};

inline constexpr std::uint32_t kNoNumber = UINT32_MAX;

// Those pairs of which both have a number, by numbers. `numbers` is by block. False: memory refused.
[[nodiscard]] inline bool renumber_pairs(Span<const BlockPair> pairs,
                                         Span<const std::uint32_t> numbers,
                                         Array<BlockPair>* renumbered) noexcept {
  renumbered->clear();
  for (const BlockPair& pair : pairs) {
    const std::uint32_t first = numbers[pair.first.value];
    const std::uint32_t second = numbers[pair.second.value];
    if (first == kNoNumber || second == kNoNumber) continue;
    if (!renumbered->push_back({BlockIndex(first), BlockIndex(second)})) return false;
  }
  return true;
}

}  // namespace tenure::internal
