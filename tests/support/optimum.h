// SPDX-License-Identifier: Apache-2.0
#pragma once

// The smallest arena that any plan of a few blocks can have.
//
// First fit in every order is enough, whatever the alignments, fixed offsets and pairs: take an
// optimal plan and place its blocks in the order of their offsets there. By induction each comes to
// lie no higher than in that plan: the blocks before it that conflict with it ended at or below its
// offset, have not moved up, and so leave its offset free.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/problems.h"

namespace tenure::test {

class Optimum {
 public:
  Optimum(const PlanningProblem& problem, RegionIndex region)
      : problem_(problem),
        region_(region),
        offsets_(problem.blocks.size()),
        is_placed_(problem.blocks.size()) {}

  [[nodiscard]] std::uint64_t arena_bytes() {
    return round_up(high_water_mark(), unit_bytes(problem_, region_));
  }

  // To be called once.
  [[nodiscard]] std::uint64_t high_water_mark() {
    std::uint64_t end = 0;
    for (std::uint32_t i = 0; i < problem_.blocks.size(); ++i) {
      const Block& block = problem_.blocks[i];
      if (block.region != region_ || block.size_bytes == 0) continue;
      if (block.is_fixed()) {
        offsets_[i] = block.fixed_offset_bytes;
        is_placed_[i] = true;
        end = std::max(end, offsets_[i] + block.size_bytes);
      } else {
        ++left_;
      }
    }
    place_rest(end);
    return best_;
  }

 private:
  void place_rest(std::uint64_t end) {
    if (end >= best_) return;
    if (left_ == 0) {
      best_ = end;
      return;
    }
    for (std::uint32_t i = 0; i < problem_.blocks.size(); ++i) {
      const Block& block = problem_.blocks[i];
      if (is_placed_[i] || block.region != region_ || block.size_bytes == 0) continue;
      offsets_[i] = lowest_free_offset(problem_, offsets_, is_placed_, i);
      is_placed_[i] = true;
      --left_;
      place_rest(std::max(end, offsets_[i] + block.size_bytes));
      ++left_;
      is_placed_[i] = false;
    }
  }

  PlanningProblem problem_;
  RegionIndex region_;
  std::vector<std::uint64_t> offsets_;
  std::vector<bool> is_placed_;
  std::uint32_t left_ = 0;
  std::uint64_t best_ = UINT64_MAX;
};

// The same by trying every aligned offset below `limit_bytes` for every block: for very few bytes.
class EveryOffset {
 public:
  EveryOffset(const PlanningProblem& problem, std::uint64_t limit_bytes)
      : problem_(problem), best_(limit_bytes), offsets_(problem.blocks.size()) {}

  [[nodiscard]] std::uint64_t arena_bytes() {
    place(0, 0);
    return round_up(best_, unit_bytes(problem_, kReusableRegion));
  }

 private:
  void place(std::uint32_t index, std::uint64_t end) {
    if (index == problem_.blocks.size()) {
      best_ = end;
      return;
    }
    const Block& block = problem_.blocks[index];
    for (std::uint64_t at = 0; at + block.size_bytes < best_; at += block.alignment_bytes) {
      offsets_[index] = at;
      const bool is_where_it_must_be = !block.is_fixed() || block.fixed_offset_bytes == at;
      if (!is_where_it_must_be || meets_earlier(index)) continue;
      const std::uint64_t new_end = block.size_bytes == 0 ? end : at + block.size_bytes;
      if (std::max(end, new_end) < best_) place(index + 1, std::max(end, new_end));
    }
  }

  [[nodiscard]] bool meets_earlier(std::uint32_t index) const {
    for (std::uint32_t other = 0; other < index; ++other) {
      if (conflict(problem_, index, other) &&
          share_bytes(problem_.blocks[index], offsets_[index], problem_.blocks[other],
                      offsets_[other])) {
        return true;
      }
    }
    return false;
  }

  PlanningProblem problem_;
  std::uint64_t best_;
  std::vector<std::uint64_t> offsets_;
};

}  // namespace tenure::test
