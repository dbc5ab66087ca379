// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <utility>

#include "internal/fit_search.h"
#include "internal/pair_lists.h"
#include "internal/widest_step.h"
#include "tenure/align.h"
#include "tenure/explain.h"

namespace tenure {
namespace {

// A test whether fewer blocks fit gets twice the steps that the first proof took and so many more
// for each block, but only this part of what is left, and no less than so many for each block.
constexpr std::uint64_t kMoreStepsPerBlock = 256;
constexpr std::uint64_t kMaxPartOfSteps = 8;
constexpr std::uint64_t kMinStepsPerBlock = 32;

class LimitQuestion {
 public:
  LimitQuestion(const PlanningProblem& problem, std::uint64_t limit_bytes,
                const LimitOptions& options) noexcept
      : problem_(problem),
        options_(options),
        region_(options.region),
        limit_bytes_(std::min(limit_bytes, kMaxArenaBytes)),
        steps_left_(options.search_steps),
        fit_(options.upstream),
        may_overlap_(options.upstream),
        blocks_(options.upstream) {}

  Status run(LimitExplanation* explanation) noexcept {
    const Result<RegionBound> bound = lower_bound(problem_, region_, options_.upstream);
    if (!bound.ok()) return bound.status();
    unit_bytes_ = bound->unit_bytes;
    limit_bytes_ &= ~(unit_bytes_ - 1);
    if (!may_overlap_.reset(problem_.blocks.size(), problem_.may_overlap) ||
        !fit_.reset(problem_, {region_, unit_bytes_, limit_bytes_})) {
      return Status(Reason::kUpstreamRefused);
    }
    const bool is_above = bound->lower_bound_bytes > limit_bytes_;
    Status status = is_above ? add_up(bound->peak_step) : search();
    if (!status.ok()) return status;
    explanation->fitting = fitting_;
    explanation->is_irreducible = is_irreducible_;
    explanation->lower_bound_bytes = bound->lower_bound_bytes;
    explanation->search_steps = options_.search_steps - steps_left_;
    return fitting_ == Fitting::kDoesNotFit ? list_blocks(explanation) : Status();
  }

 private:
  [[nodiscard]] bool counts(const Block& block) const noexcept {
    return block.region == region_ && block.size_bytes != 0;
  }
  // Cannot overflow: validate has rounded up to the block's own alignment, a multiple of the unit.
  [[nodiscard]] std::uint64_t rounded(std::uint32_t block) const noexcept {
    return (problem_.blocks[block].size_bytes + unit_bytes_ - 1) & ~(unit_bytes_ - 1);
  }
  [[nodiscard]] bool is_larger(std::uint32_t a, std::uint32_t b) const noexcept {
    const std::uint64_t size_a = problem_.blocks[a].size_bytes;
    const std::uint64_t size_b = problem_.blocks[b].size_bytes;
    return size_a != size_b ? size_a > size_b : a < b;
  }

  // The lower bound is above the limit, and is one of three sums.
  Status add_up(Step peak_step) noexcept {
    fitting_ = Fitting::kDoesNotFit;
    if (Status status = find_too_large(); !status.ok() || !blocks_.empty()) return status;
    if (Status status = find_pair(); !status.ok() || !blocks_.empty()) return status;
    return find_at_step(peak_step);
  }

  // The largest block of those that are too large, or fixed too high, by themselves.
  Status find_too_large() noexcept {
    std::uint32_t largest = BlockIndex::kNoneValue;
    for (std::uint32_t i = 0; i < problem_.blocks.size(); ++i) {
      const Block& block = problem_.blocks[i];
      if (!counts(block)) continue;
      const std::uint64_t lowest = block.is_fixed() ? block.fixed_offset_bytes : 0;
      const bool fits = lowest <= limit_bytes_ && rounded(i) <= limit_bytes_ - lowest;
      if (fits || (largest != BlockIndex::kNoneValue && is_larger(largest, i))) continue;
      largest = i;
    }
    if (largest == BlockIndex::kNoneValue) return Status();
    is_irreducible_ = true;
    return blocks_.push_back(largest) ? Status() : Status(Reason::kUpstreamRefused);
  }

  // Of blocks that fit one by one.
  Status find_pair() noexcept {
    for (const BlockPair& pair : problem_.conflicts) {
      const std::uint32_t first = pair.first.value;
      const std::uint32_t second = pair.second.value;
      if (!counts(problem_.blocks[first]) || !counts(problem_.blocks[second])) continue;
      if (may_overlap_.has(first, second)) continue;
      if (rounded(second) <= limit_bytes_ - rounded(first)) continue;
      is_irreducible_ = true;
      const bool is_listed = blocks_.push_back(first) && blocks_.push_back(second);
      return is_listed ? Status() : Status(Reason::kUpstreamRefused);
    }
    return Status();
  }

  // Blocks that are counted at one step conflict with each other, so the largest of them that are
  // too much together cannot fit.
  Status find_at_step(Step step) noexcept {
    for (std::uint32_t i = 0; i < problem_.blocks.size(); ++i) {
      if (is_counted_at(step, i) && !blocks_.push_back(i)) return Status(Reason::kUpstreamRefused);
    }
    std::sort(blocks_.begin(), blocks_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return is_larger(a, b); });
    std::uint64_t sum = 0;
    std::size_t count = 0;
    bool is_plain = true;
    while (sum <= limit_bytes_ && count < blocks_.size()) {
      const Block& block = problem_.blocks[blocks_[count]];
      is_plain = is_plain && !block.is_fixed() && block.alignment_bytes == unit_bytes_;
      sum += rounded(blocks_[count++]);
    }
    TENURE_ASSERT(sum > limit_bytes_);
    while (blocks_.size() > count) blocks_.pop_back();
    // Without the smallest the sum is within the limit, and nothing but the sum matters.
    is_irreducible_ = is_plain;
    if (is_plain) return Status();
    std::reverse(blocks_.begin(), blocks_.end());
    return reduce(0);
  }

  // As the lower bound counts: of two that may overlap not the smaller one, nor of two equal ones
  // the later.
  [[nodiscard]] bool is_counted_at(Step step, std::uint32_t index) const noexcept {
    if (!is_live_at(step, index)) return false;
    for (const std::uint32_t other : may_overlap_.of(index)) {
      if (!is_live_at(step, other)) continue;
      if (rounded(other) > rounded(index)) return false;
      if (rounded(other) == rounded(index) && other < index) return false;
    }
    return true;
  }
  [[nodiscard]] bool is_live_at(Step step, std::uint32_t index) const noexcept {
    const Block& block = problem_.blocks[index];
    return counts(block) &&
           (!problem_.regions[region_.value].reuse || block.live_range.overlaps({step, step}));
  }

  // What cannot fit in part cannot fit at all, and a part is easier to search.
  Status search() noexcept {
    Array<std::uint32_t> order(options_.upstream);
    if (Status status = order_by_crowding(&order); !status.ok()) return status;
    for (std::size_t count = order.size();; count /= 2) {
      const Span<const std::uint32_t> part =
          Span<const std::uint32_t>(order).subspan(order.size() - count, count);
      const std::uint64_t left_before = steps_left_;
      Fitting fitting = Fitting::kNotKnown;
      if (Status status = test(part, steps_left_ / 2, &fitting); !status.ok()) return status;
      if (fitting == Fitting::kDoesNotFit) {
        fitting_ = fitting;
        if (!blocks_.append(part)) return Status(Reason::kUpstreamRefused);
        return reduce(left_before - steps_left_);
      }
      if (count == order.size()) fitting_ = fitting;
      if (fitting == Fitting::kFits || count < 2 || steps_left_ == 0) return Status();
    }
  }

  // Last those that live where most bytes are live.
  Status order_by_crowding(Array<std::uint32_t>* order) noexcept {
    internal::WidestStep widest(options_.upstream);
    Array<std::uint64_t> live_bytes(options_.upstream);
    const std::size_t count = problem_.blocks.size();
    if (!widest.reset(problem_, region_) || !live_bytes.resize(count)) {
      return Status(Reason::kUpstreamRefused);
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!counts(problem_.blocks[i])) continue;
      live_bytes[i] = widest.within(problem_.blocks[i].live_range).live_bytes;
      if (!order->push_back(i)) return Status(Reason::kUpstreamRefused);
    }
    std::sort(order->begin(), order->end(), [&](std::uint32_t a, std::uint32_t b) {
      return live_bytes[a] != live_bytes[b] ? live_bytes[a] < live_bytes[b] : is_larger(b, a);
    });
    return Status();
  }

  Status test(Span<const std::uint32_t> blocks, std::uint64_t max_steps,
              Fitting* fitting) noexcept {
    const std::uint64_t given = std::min(max_steps, steps_left_);
    std::uint64_t left = given;
    Status status = fit_.run(blocks, &left, fitting);
    steps_left_ -= given - left;
    return status;
  }

  // Takes blocks out of blocks_, of which it is proven that they cannot fit, as long as that can be
  // proven of the rest. What has been needed once stays needed, because fewer blocks fit where more
  // do; so one last round block by block tells whether all are.
  Status reduce(std::uint64_t proof_steps) noexcept {
    Array<std::uint32_t> rest(options_.upstream);
    for (std::size_t chunk = std::max<std::size_t>(1, blocks_.size() / 2);; chunk /= 2) {
      is_irreducible_ = true;
      for (std::size_t begin = 0; begin < blocks_.size();) {
        const std::size_t end = begin + std::min(chunk, blocks_.size() - begin);
        rest.clear();
        const Span<const std::uint32_t> all(blocks_);
        if (!rest.append(all.subspan(0, begin)) ||
            !rest.append(all.subspan(end, all.size() - end))) {
          return Status(Reason::kUpstreamRefused);
        }
        Fitting fitting = Fitting::kNotKnown;
        const std::uint64_t steps = max_steps_of_test(proof_steps, rest.size());
        if (Status status = test(rest, steps, &fitting); !status.ok()) return status;
        if (fitting == Fitting::kNotKnown) is_irreducible_ = false;
        if (!is_irreducible_ && steps_left_ < rest.size()) return Status();
        if (fitting == Fitting::kDoesNotFit) {
          std::swap(blocks_, rest);
        } else {
          begin = end;
        }
      }
      if (chunk == 1) return Status();
    }
  }

  [[nodiscard]] std::uint64_t max_steps_of_test(std::uint64_t proof_steps,
                                                std::size_t block_count) const noexcept {
    const std::uint64_t part = steps_left_ / kMaxPartOfSteps;
    const std::uint64_t more = kMoreStepsPerBlock * block_count;
    const std::uint64_t wanted = proof_steps < part / 2 ? proof_steps * 2 + more : part;
    return std::max(kMinStepsPerBlock * block_count, std::min(wanted, part));
  }

  Status list_blocks(LimitExplanation* explanation) noexcept {
    std::sort(blocks_.begin(), blocks_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return is_larger(a, b); });
    LiveRange common = problem_.blocks[blocks_[0]].live_range;
    for (const std::uint32_t block : blocks_) {
      const LiveRange range = problem_.blocks[block].live_range;
      common.first_use = std::max(common.first_use, range.first_use);
      common.last_use = std::min(common.last_use, range.last_use);
      if (!explanation->blocks.push_back(BlockIndex(block))) {
        return Status(Reason::kUpstreamRefused);
      }
    }
    if (common.first_use <= common.last_use) explanation->step = common.first_use;
    return Status();
  }

  const PlanningProblem& problem_;
  const LimitOptions& options_;
  RegionIndex region_;
  std::uint64_t limit_bytes_;  // rounded down to the unit
  std::uint64_t unit_bytes_ = 1;
  std::uint64_t steps_left_;
  internal::FitSearch fit_;
  internal::PairLists may_overlap_;
  Array<std::uint32_t> blocks_;  // that cannot fit together
  Fitting fitting_ = Fitting::kNotKnown;
  bool is_irreducible_ = false;
};

}  // namespace

Result<LimitExplanation> explain_limit(const PlanningProblem& problem, std::uint64_t limit_bytes,
                                       const LimitOptions& options) noexcept {
  const RegionIndex region = options.region;
  if (region.value >= problem.regions.size()) return Status(Reason::kIndexOutOfRange).with(region);
  if (Status status = validate(problem, options.upstream); !status.ok()) return status;
  LimitExplanation explanation;
  explanation.blocks = Array<BlockIndex>(options.upstream);
  Status status = LimitQuestion(problem, limit_bytes, options).run(&explanation);
  if (!status.ok()) return status;
  return explanation;
}

}  // namespace tenure
