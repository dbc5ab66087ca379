// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "internal/live_range_index.h"
#include "internal/pair_lists.h"
#include "internal/placement.h"

namespace tenure::internal {
namespace {

struct Occupied {
  std::uint64_t begin;
  std::uint64_t end;
};

class FirstFit {
 public:
  FirstFit(const PlanningProblem& problem, Upstream upstream, Span<std::uint64_t> offsets) noexcept
      : problem_(problem),
        offsets_(offsets),
        placed_(upstream),
        is_placed_(upstream),
        conflicts_(upstream),
        may_overlap_(upstream),
        occupied_(upstream) {}

  Status run(RegionIndex region, Span<const std::uint32_t> order) noexcept {
    const std::size_t count = problem_.blocks.size();
    if (!placed_.reset(problem_.blocks) || !is_placed_.resize(count) ||
        !conflicts_.reset(count, problem_.conflicts) ||
        !may_overlap_.reset(count, problem_.may_overlap)) {
      return Status(Reason::kUpstreamRefused);
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      const Block& block = problem_.blocks[i];
      if (block.region == region && block.is_fixed()) put(i, block.fixed_offset_bytes);
    }
    for (const std::uint32_t block : order) {
      if (!gather_occupied(block)) return Status(Reason::kUpstreamRefused);
      std::uint64_t offset = 0;
      if (!lowest_gap(problem_.blocks[block], &offset)) {
        return Status(Reason::kSizeOverflow)
            .with(BlockIndex(block))
            .needed(problem_.blocks[block].size_bytes);
      }
      put(block, offset);
    }
    return Status();
  }

 private:
  void put(std::uint32_t block, std::uint64_t offset) noexcept {
    offsets_[block] = offset;
    is_placed_[block] = true;
    if (problem_.blocks[block].size_bytes == 0) return;
    placed_.insert(BlockIndex(block), problem_.blocks[block].live_range.last_use);
  }

  // The bytes of all placed blocks that conflict with this one, in order of their offsets.
  [[nodiscard]] bool gather_occupied(std::uint32_t block) noexcept {
    occupied_.clear();
    if (problem_.blocks[block].size_bytes == 0) return true;
    bool ok = true;
    const auto add = [&](std::uint32_t other) {
      const std::uint64_t begin = offsets_[other];
      ok = ok && occupied_.push_back({begin, begin + problem_.blocks[other].size_bytes});
    };
    placed_.for_each_overlap(problem_.blocks[block].live_range, [&](BlockIndex other) {
      if (!may_overlap_.has(block, other.value)) add(other.value);
      return ok;
    });
    for (const std::uint32_t other : conflicts_.of(block)) {
      if (is_placed_[other] && !may_overlap_.has(block, other)) add(other);
    }
    std::sort(occupied_.begin(), occupied_.end(),
              [](const Occupied& a, const Occupied& b) { return a.begin < b.begin; });
    return ok;
  }

  // False when the block would end beyond 64 bits.
  [[nodiscard]] bool lowest_gap(const Block& block, std::uint64_t* offset) const noexcept {
    *offset = 0;
    for (const Occupied& one : occupied_) {
      if (one.begin >= *offset && one.begin - *offset >= block.size_bytes) return true;
      if (one.end > *offset && !checked_align_up(one.end, block.alignment_bytes, offset))
        return false;
    }
    return block.size_bytes <= UINT64_MAX - *offset;
  }

  const PlanningProblem& problem_;
  Span<std::uint64_t> offsets_;
  LiveRangeIndex placed_;
  Array<bool> is_placed_;  // in this region
  PairLists conflicts_;
  PairLists may_overlap_;
  Array<Occupied> occupied_;
};

}  // namespace

Status place_first_fit(const PlanningProblem& problem, RegionIndex region,
                       Span<const std::uint32_t> order, Upstream upstream,
                       Span<std::uint64_t> offsets) noexcept {
  return FirstFit(problem, upstream, offsets).run(region, order);
}

}  // namespace tenure::internal
