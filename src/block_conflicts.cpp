// SPDX-License-Identifier: Apache-2.0

#include "internal/block_conflicts.h"

#include <algorithm>

#include "internal/live_range_index.h"

namespace tenure::internal {
namespace {

constexpr LiveRange kAllSteps{Step(0), Step(Step::kNoneValue - 1)};

class ConflictSweep {
 public:
  ConflictSweep(const PlanningProblem& problem, Span<const Placement> placements,
                Upstream upstream) noexcept
      : problem_(problem),
        placements_(placements),
        index_(upstream),
        by_begin_(upstream),
        by_end_(upstream),
        allowed_(upstream) {}

  Result<FoundConflict> run() noexcept {
    if (!prepare()) return Status(Reason::kUpstreamRefused);
    for (const BlockPair& pair : problem_.conflicts) {
      if (shares_bytes(pair.first, pair.second) && !is_allowed(pair.first, pair.second)) {
        return FoundConflict{pair.first, pair.second};
      }
    }
    std::size_t ended = 0;
    for (const std::uint32_t block : by_begin_) {
      // Blocks of earlier regions and those that end at or before this offset leave the set.
      while (begins_after_end_of(block, by_end_[ended])) index_.erase(BlockIndex(by_end_[ended++]));
      const FoundConflict found = first_overlap(BlockIndex(block));
      if (!found.first.is_none()) return found;
      index_.insert(BlockIndex(block), range_of(block).last_use);
    }
    return FoundConflict{};
  }

 private:
  [[nodiscard]] bool prepare() noexcept {
    if (!index_.reset(problem_.blocks)) return false;
    for (std::uint32_t i = 0; i < problem_.blocks.size(); ++i) {
      if (placements_[i].is_none() || problem_.blocks[i].size_bytes == 0) continue;
      if (!by_begin_.push_back(i) || !by_end_.push_back(i)) return false;
    }
    for (const BlockPair& pair : problem_.may_overlap) {
      if (!allowed_.push_back(pair_key(pair.first, pair.second))) return false;
    }
    std::sort(allowed_.begin(), allowed_.end());
    sort_by(&by_begin_, [&](std::uint32_t block) { return placements_[block].offset_bytes; });
    sort_by(&by_end_, [&](std::uint32_t block) { return end_of(block); });
    return true;
  }

  template <class Key>
  void sort_by(Array<std::uint32_t>* blocks, Key key) noexcept {
    std::sort(blocks->begin(), blocks->end(), [&](std::uint32_t a, std::uint32_t b) {
      const RegionIndex region_a = placements_[a].region;
      const RegionIndex region_b = placements_[b].region;
      if (region_a != region_b) return region_a < region_b;
      const std::uint64_t key_a = key(a);
      const std::uint64_t key_b = key(b);
      return key_a != key_b ? key_a < key_b : a < b;
    });
  }

  [[nodiscard]] std::uint64_t end_of(std::uint32_t block) const noexcept {
    return placements_[block].offset_bytes + problem_.blocks[block].size_bytes;
  }
  [[nodiscard]] LiveRange range_of(std::uint32_t block) const noexcept {
    const bool reuse = problem_.regions[placements_[block].region.value].reuse;
    return reuse ? problem_.blocks[block].live_range : kAllSteps;
  }
  // The block itself has not ended, so by_end_ is never exhausted here.
  [[nodiscard]] bool begins_after_end_of(std::uint32_t block, std::uint32_t other) const noexcept {
    const RegionIndex region = placements_[block].region;
    const RegionIndex other_region = placements_[other].region;
    if (region != other_region) return other_region < region;
    return end_of(other) <= placements_[block].offset_bytes;
  }
  [[nodiscard]] bool is_allowed(BlockIndex a, BlockIndex b) const noexcept {
    return std::binary_search(allowed_.begin(), allowed_.end(), pair_key(a, b));
  }
  [[nodiscard]] bool shares_bytes(BlockIndex a, BlockIndex b) const noexcept {
    const Placement at_a = placements_[a.value];
    const Placement at_b = placements_[b.value];
    if (at_a.is_none() || at_a.region != at_b.region || a == b) return false;
    if (problem_.blocks[a.value].size_bytes == 0 || problem_.blocks[b.value].size_bytes == 0)
      return false;
    return at_a.offset_bytes < end_of(b.value) && at_b.offset_bytes < end_of(a.value);
  }
  [[nodiscard]] FoundConflict first_overlap(BlockIndex block) const noexcept {
    FoundConflict found;
    index_.for_each_overlap(range_of(block.value), [&](BlockIndex other) {
      if (is_allowed(block, other)) return true;
      found = {other, block};
      return false;
    });
    return found;
  }

  const PlanningProblem& problem_;
  Span<const Placement> placements_;
  LiveRangeIndex index_;
  Array<std::uint32_t> by_begin_;
  Array<std::uint32_t> by_end_;
  Array<std::uint64_t> allowed_;
};

}  // namespace

Result<FoundConflict> find_conflict(const PlanningProblem& problem,
                                    Span<const Placement> placements, Upstream upstream) noexcept {
  return ConflictSweep(problem, placements, upstream).run();
}

}  // namespace tenure::internal
