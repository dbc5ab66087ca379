// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "internal/block_conflicts.h"
#include "internal/peak_ranges.h"
#include "internal/radix_sort.h"
#include "tenure/array.h"
#include "tenure/problem.h"

namespace tenure {
namespace {

// From `step` on there are that many bytes more, or fewer.
struct Change {
  std::uint32_t step;
  std::uint64_t bytes;
};

// A sum that knows when it exceeds 64 bits, and comes back when bytes are taken off again.
class WideSum {
 public:
  void add(std::uint64_t bytes) noexcept {
    low_ += bytes;
    if (low_ < bytes) ++high_;
  }
  void subtract(std::uint64_t bytes) noexcept {
    if (low_ < bytes) --high_;
    low_ -= bytes;
  }
  [[nodiscard]] bool overflows() const noexcept { return high_ != 0; }
  [[nodiscard]] std::uint64_t value() const noexcept { return low_; }

 private:
  std::uint64_t low_ = 0;
  std::uint64_t high_ = 0;
};

class BoundSweep {
 public:
  BoundSweep(const PlanningProblem& problem, RegionIndex region, Upstream upstream) noexcept
      : problem_(problem), region_(region), upstream_(upstream), more_(upstream), less_(upstream) {}

  Result<RegionBound> run() noexcept {
    bound_.unit_bytes = unit();
    if (Status status = add_blocks(); !status.ok()) return status;
    if (Status status = leave_out_overlaps(); !status.ok()) return status;
    if (Status status = sweep(); !status.ok()) return status;
    if (Status status = raise_for_conflicts(); !status.ok()) return status;
    return bound_;
  }

  // Where live bytes equal the bound. Precondition: run() has succeeded.
  Status list_peaks(Array<LiveRange>* peaks) const noexcept {
    WideSum live;
    bool was_peak = false;
    for (std::size_t begun = 0, ended = 0; ended < less_.size();) {
      // Every block ends, so `less_` is the last to be exhausted.
      const bool begins = begun < more_.size() && more_[begun].step <= less_[ended].step;
      const std::uint32_t step = begins ? more_[begun].step : less_[ended].step;
      for (; begun < more_.size() && more_[begun].step == step; ++begun) {
        live.add(more_[begun].bytes);
      }
      for (; ended < less_.size() && less_[ended].step == step; ++ended) {
        live.subtract(less_[ended].bytes);
      }
      const bool is_peak = live.value() != 0 && live.value() == bound_.lower_bound_bytes;
      if (is_peak && !was_peak && !peaks->push_back({Step(step), Step(step)})) {
        return Status(Reason::kUpstreamRefused);
      }
      if (was_peak && !is_peak) peaks->back().last_use = Step(step - 1);
      was_peak = is_peak;
    }
    return Status();
  }

 private:
  [[nodiscard]] bool counts(const Block& block) const noexcept {
    return block.region == region_ && block.size_bytes != 0;
  }
  [[nodiscard]] std::uint64_t unit() const noexcept {
    std::uint64_t unit = UINT64_MAX;
    for (const Block& block : problem_.blocks) {
      if (counts(block)) unit = std::min(unit, block.alignment_bytes);
    }
    return unit == UINT64_MAX ? 1 : unit;
  }
  [[nodiscard]] std::uint64_t rounded(const Block& block) const noexcept {
    // Cannot overflow: validate has rounded up to the block's own alignment, a multiple of the
    // unit.
    return (block.size_bytes + bound_.unit_bytes - 1) & ~(bound_.unit_bytes - 1);
  }
  [[nodiscard]] LiveRange range_of(const Block& block) const noexcept {
    return problem_.regions[region_.value].reuse ? block.live_range : LiveRange{Step(0), Step(0)};
  }
  [[nodiscard]] static bool add_range(Array<Change>* begin, Array<Change>* end, LiveRange range,
                                      std::uint64_t bytes) noexcept {
    return begin->push_back({range.first_use.value, bytes}) &&
           end->push_back({range.last_use.value + 1, bytes});
  }

  Status add_blocks() noexcept {
    if (!more_.reserve(problem_.blocks.size()) || !less_.reserve(problem_.blocks.size())) {
      return Status(Reason::kUpstreamRefused);
    }
    for (std::uint32_t i = 0; i < problem_.blocks.size(); ++i) {
      const Block& block = problem_.blocks[i];
      if (!counts(block)) continue;
      if (!add_range(&more_, &less_, range_of(block), rounded(block))) {
        return Status(Reason::kUpstreamRefused);
      }
      if (!block.is_fixed()) continue;
      const std::uint64_t end = block.fixed_offset_bytes + block.size_bytes;
      std::uint64_t rounded_end = 0;
      if (!checked_align_up(end, bound_.unit_bytes, &rounded_end) || rounded_end > kMaxArenaBytes) {
        return Status(Reason::kSizeOverflow).with(BlockIndex(i)).needed(end);
      }
      raise_to(rounded_end, range_of(block).first_use);
    }
    return Status();
  }

  // Of two blocks that may overlap the smaller is left out while both live; a block is left out of
  // one step only once, however many larger partners it has.
  Status leave_out_overlaps() noexcept {
    struct LeftOut {
      std::uint32_t block;
      LiveRange range;
    };
    Array<LeftOut> left_out(upstream_);
    for (const BlockPair& pair : problem_.may_overlap) {
      const Block& first = problem_.blocks[pair.first.value];
      const Block& second = problem_.blocks[pair.second.value];
      if (!counts(first) || !counts(second)) continue;
      const LiveRange a = range_of(first);
      const LiveRange b = range_of(second);
      if (!a.overlaps(b)) continue;
      const std::uint64_t first_size = rounded(first);
      const std::uint64_t second_size = rounded(second);
      // Of equal sizes the later block goes, however the pair and its twins are written.
      const bool is_first_smaller =
          first_size != second_size ? first_size < second_size : pair.second < pair.first;
      const BlockIndex smaller = is_first_smaller ? pair.first : pair.second;
      const LiveRange both{std::max(a.first_use, b.first_use), std::min(a.last_use, b.last_use)};
      if (!left_out.push_back({smaller.value, both})) return Status(Reason::kUpstreamRefused);
    }
    std::sort(left_out.begin(), left_out.end(), [](const LeftOut& a, const LeftOut& b) {
      return a.block != b.block ? a.block < b.block : a.range.first_use < b.range.first_use;
    });
    std::uint32_t block = BlockIndex::kNoneValue;
    std::uint32_t next_step = 0;  // of that block: earlier ones are dealt with
    for (const LeftOut& one : left_out) {
      if (one.block != block) next_step = 0;
      block = one.block;
      const std::uint32_t first = std::max(one.range.first_use.value, next_step);
      const std::uint32_t last = one.range.last_use.value;
      if (first > last) continue;
      next_step = last + 1;
      const std::uint64_t bytes = rounded(problem_.blocks[block]);
      if (!add_range(&less_, &more_, {Step(first), Step(last)}, bytes)) {
        return Status(Reason::kUpstreamRefused);
      }
    }
    return Status();
  }

  Status sweep() noexcept {
    const auto step_of = [](const Change& change) { return std::uint64_t{change.step}; };
    Array<Change> scratch(upstream_);
    if (!internal::radix_sort(&more_, &scratch, step_of) ||
        !internal::radix_sort(&less_, &scratch, step_of)) {
      return Status(Reason::kUpstreamRefused);
    }
    WideSum live;
    std::size_t ended = 0;
    for (std::size_t i = 0; i < more_.size();) {
      const std::uint32_t step = more_[i].step;
      for (; i < more_.size() && more_[i].step == step; ++i) live.add(more_[i].bytes);
      for (; ended < less_.size() && less_[ended].step <= step; ++ended) {
        live.subtract(less_[ended].bytes);
      }
      if (live.overflows() || live.value() > kMaxArenaBytes) return overflow_at(Step(step));
      raise_to(live.value(), Step(step));
    }
    return Status();
  }

  Status raise_for_conflicts() noexcept {
    Array<std::uint64_t> allowed(upstream_);
    const std::size_t allowed_count = problem_.conflicts.empty() ? 0 : problem_.may_overlap.size();
    if (!allowed.reserve(allowed_count)) return Status(Reason::kUpstreamRefused);
    for (const BlockPair& pair : problem_.may_overlap.subspan(0, allowed_count)) {
      if (!allowed.push_back(internal::pair_key(pair.first, pair.second))) {
        return Status(Reason::kUpstreamRefused);
      }
    }
    std::sort(allowed.begin(), allowed.end());
    for (const BlockPair& pair : problem_.conflicts) {
      const Block& first = problem_.blocks[pair.first.value];
      const Block& second = problem_.blocks[pair.second.value];
      const std::uint64_t key = internal::pair_key(pair.first, pair.second);
      if (!counts(first) || !counts(second)) continue;
      if (std::binary_search(allowed.begin(), allowed.end(), key)) continue;
      std::uint64_t sum = 0;
      if (!checked_add(rounded(first), rounded(second), &sum) || sum > kMaxArenaBytes) {
        return Status(Reason::kSizeOverflow).with(pair.first, pair.second);
      }
      raise_to(sum, range_of(first).first_use);
    }
    return Status();
  }

  [[nodiscard]] Status overflow_at(Step step) const noexcept {
    const Status status = Status(Reason::kSizeOverflow).with(region_).with(step);
    for (std::uint32_t i = 0; i < problem_.blocks.size(); ++i) {
      const Block& block = problem_.blocks[i];
      if (!counts(block) || range_of(block).first_use != step) continue;
      return Status(status).with(BlockIndex(i)).needed(block.size_bytes);
    }
    return status;
  }

  void raise_to(std::uint64_t bytes, Step step) noexcept {
    if (bytes <= bound_.lower_bound_bytes) return;
    bound_.lower_bound_bytes = bytes;
    bound_.peak_step = step;
  }

  const PlanningProblem& problem_;
  RegionIndex region_;
  Upstream upstream_;
  Array<Change> more_;
  Array<Change> less_;
  RegionBound bound_;
};

}  // namespace

Result<RegionBound> lower_bound(const PlanningProblem& problem, RegionIndex region,
                                Upstream upstream) noexcept {
  return BoundSweep(problem, region, upstream).run();
}

Result<RegionBound> internal::lower_bound_with_peaks(const PlanningProblem& problem,
                                                     RegionIndex region, Upstream upstream,
                                                     Array<LiveRange>* peaks) noexcept {
  BoundSweep sweep(problem, region, upstream);
  Result<RegionBound> bound = sweep.run();
  if (!bound.ok() || !problem.regions[region.value].reuse) return bound;
  if (Status status = sweep.list_peaks(peaks); !status.ok()) return status;
  return bound;
}

}  // namespace tenure
