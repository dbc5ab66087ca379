// SPDX-License-Identifier: Apache-2.0
#pragma once

// A region's blocks as a packing problem that can be searched: which of them stand in each other's
// way, what is live together, and what lies fast already.
//
// Items are the blocks that can still be moved, in the order of first use. Sections are the maximal
// sets of items that live at the same time; an item lives in a run of sections. Obstacles are bytes
// of blocks that stay where they are.

#include <cstddef>
#include <cstdint>

#include "tenure/array.h"
#include "tenure/problem.h"
#include "tenure/span.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure::internal {

// Beyond these a step of a search takes too long to be one.
inline constexpr std::size_t kMaxPackingItems = 4'000;
inline constexpr std::uint64_t kMaxPackingPairs = 2'000'000;

struct PackingItem {
  std::uint64_t size;  // rounded up to the unit
  std::uint64_t
      counted;  // of it, in the sums of sections: 0 for the smaller of two that may overlap
  std::uint64_t alignment_mask;
  std::uint32_t block;
  std::uint32_t first_section;
  std::uint32_t last_section;
  std::uint32_t length;  // in steps, less one
  std::uint32_t last_use;
};

class Packing {
 public:
  explicit Packing(Upstream upstream) noexcept;

  // The items are those blocks; all others of the region that are placed are obstacles, at their
  // offsets. O(n log n) plus the pairs of items and of item and obstacle that live together. False:
  // memory refused, or more than `max_pairs` of them (is_too_large() tells).
  struct Selection {
    Span<const std::uint32_t> movable;    // blocks with bytes
    Span<const std::uint32_t> obstacles;  // blocks with bytes
    Span<const std::uint64_t> offsets;    // by block; of obstacles
  };
  [[nodiscard]] bool reset(const PlanningProblem& problem, const Selection& selection,
                           std::uint64_t unit_bytes, std::uint64_t max_pairs) noexcept;
  [[nodiscard]] bool is_too_large() const noexcept { return is_too_large_; }

  [[nodiscard]] std::uint32_t item_count() const noexcept {
    return static_cast<std::uint32_t>(items_.size());
  }
  [[nodiscard]] std::uint32_t section_count() const noexcept { return section_count_; }
  [[nodiscard]] const PackingItem& item(std::uint32_t index) const noexcept {
    return items_[index];
  }
  // Items that must not share bytes with this one.
  [[nodiscard]] Span<const std::uint32_t> neighbours(std::uint32_t item) const noexcept {
    return part_of(neighbours_, neighbour_begins_, item);
  }
  // Those items in a section that are counted.
  [[nodiscard]] Span<const std::uint32_t> members(std::uint32_t section) const noexcept {
    return part_of(members_, member_begins_, section);
  }
  // Conflicts join items that are never live together.
  [[nodiscard]] bool has_distant_neighbours() const noexcept { return has_distant_neighbours_; }
  // Items that live in the same sections have the same neighbours and obstacles.
  [[nodiscard]] bool time_says_all() const noexcept {
    return !has_overlaps_ && !has_distant_neighbours_ && obstacles_.empty();
  }

  // The lowest offset from `offset` on that suits the item's alignment and is free of obstacles.
  [[nodiscard]] std::uint64_t fit(std::uint32_t item, std::uint64_t offset) const noexcept;

 private:
  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
  };
  template <class T>
  [[nodiscard]] static Span<const T> part_of(const Array<T>& all,
                                             const Array<std::uint32_t>& begins,
                                             std::uint32_t index) noexcept {
    return Span<const T>(all).subspan(begins[index], begins[index + 1] - begins[index]);
  }
  [[nodiscard]] bool number_sections() noexcept;
  [[nodiscard]] bool list_members() noexcept;
  [[nodiscard]] bool link_neighbours(std::uint64_t max_pairs) noexcept;
  [[nodiscard]] bool list_obstacles(const Selection& selection, std::uint64_t max_pairs) noexcept;
  [[nodiscard]] LiveRange live_range(std::uint32_t item) const noexcept {
    return problem_->blocks[items_[item].block].live_range;
  }

  Upstream upstream_;
  const PlanningProblem* problem_ = nullptr;
  Array<PackingItem> items_;
  Array<std::uint32_t> neighbours_;
  Array<std::uint32_t> neighbour_begins_;
  Array<std::uint32_t> members_;
  Array<std::uint32_t> member_begins_;
  Array<Range> obstacles_;  // by item: merged, in order
  Array<std::uint32_t> obstacle_begins_;
  std::uint32_t section_count_ = 0;
  bool has_overlaps_ = false;
  bool has_distant_neighbours_ = false;
  bool is_too_large_ = false;
};

}  // namespace tenure::internal
