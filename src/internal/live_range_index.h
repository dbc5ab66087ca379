// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which of a changing set of blocks overlap a live range, without visiting the others: blocks in
// order of first use, under a tree that holds the latest last use of those that are in the set.

#include <cstdint>

#include "tenure/array.h"
#include "tenure/problem.h"
#include "tenure/span.h"
#include "tenure/upstream.h"

namespace tenure::internal {

class LiveRangeIndex {
 public:
  explicit LiveRangeIndex(Upstream upstream) noexcept
      : order_(upstream), slots_(upstream), first_uses_(upstream), ends_(upstream) {}

  // Of these blocks, none in the set yet. False when memory was refused. O(n log n).
  [[nodiscard]] bool reset(Span<const Block> blocks) noexcept;

  void insert(BlockIndex block, Step last_use) noexcept { set(block, last_use.value + 1); }
  void erase(BlockIndex block) noexcept { set(block, 0); }

  // Calls visit(BlockIndex) for each block in the set that overlaps the range, in order of first
  // use; visit returns false to stop. O(log n) for each block found.
  template <class Visit>
  void for_each_overlap(LiveRange range, Visit&& visit) const noexcept {
    const std::uint32_t limit = first_slot_after(range.last_use);
    std::uint32_t slot = next_ending_after(0, range.first_use.value);
    while (slot < limit && visit(BlockIndex(order_[slot]))) {
      slot = next_ending_after(slot + 1, range.first_use.value);
    }
  }

 private:
  void set(BlockIndex block, std::uint32_t end) noexcept;
  [[nodiscard]] std::uint32_t first_slot_after(Step step) const noexcept;
  // The first slot from `slot` on whose block ends after `step`; leaf_count_ when there is none.
  [[nodiscard]] std::uint32_t next_ending_after(std::uint32_t slot,
                                                std::uint32_t step) const noexcept;

  std::uint32_t leaf_count_ = 1;
  Array<std::uint32_t> order_;       // slot to block
  Array<std::uint32_t> slots_;       // block to slot
  Array<std::uint32_t> first_uses_;  // by slot
  Array<std::uint32_t> ends_;        // heap-shaped tree; last use + 1 of blocks in the set, else 0
};

}  // namespace tenure::internal
