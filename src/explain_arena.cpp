// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "internal/pair_lists.h"
#include "internal/peak_ranges.h"
#include "tenure/align.h"
#include "tenure/explain.h"

namespace tenure {
namespace {

class ChainWalk {
 public:
  ChainWalk(const PlanningProblem& problem, const MemoryPlan& plan, RegionIndex region,
            Upstream upstream) noexcept
      : problem_(problem),
        plan_(plan),
        region_(region),
        by_end_(upstream),
        conflicts_(upstream),
        may_overlap_(upstream) {}

  Status run(ArenaExplanation* explanation) noexcept {
    if (!prepare()) return Status(Reason::kUpstreamRefused);
    const std::uint64_t top = by_end_.empty() ? 0 : end_of(by_end_[0]);
    if (top > explanation->arena_bytes) {
      return Status(Reason::kOutsideRegion)
          .with(BlockIndex(by_end_[0]))
          .with(region_)
          .needed(top)
          .available(explanation->arena_bytes);
    }
    explanation->top_gap_bytes = explanation->arena_bytes - top;
    // Whatever is passed over ends at or above the end of the link that is found, so it cannot
    // carry a later one: the whole walk goes through the list once.
    for (std::size_t place = 0; place < by_end_.size();) {
      const std::uint32_t block = by_end_[place];
      place = support_of(block, place + 1);
      if (!explanation->chain.push_back(link(block, place))) {
        return Status(Reason::kUpstreamRefused);
      }
    }
    return Status();
  }

 private:
  [[nodiscard]] bool prepare() noexcept {
    const std::size_t count = problem_.blocks.size();
    for (std::uint32_t i = 0; i < count; ++i) {
      const Block& block = problem_.blocks[i];
      if (block.region != region_ || block.size_bytes == 0) continue;
      if (!by_end_.push_back(i)) return false;
    }
    std::sort(by_end_.begin(), by_end_.end(), [&](std::uint32_t a, std::uint32_t b) {
      if (end_of(a) != end_of(b)) return end_of(a) > end_of(b);
      const std::uint64_t size_a = problem_.blocks[a].size_bytes;
      const std::uint64_t size_b = problem_.blocks[b].size_bytes;
      return size_a != size_b ? size_a > size_b : a < b;
    });
    return conflicts_.reset(count, problem_.conflicts) &&
           may_overlap_.reset(count, problem_.may_overlap);
  }

  [[nodiscard]] std::uint64_t offset_of(std::uint32_t block) const noexcept {
    return plan_.placement(BlockIndex(block)).offset_bytes;
  }
  [[nodiscard]] std::uint64_t end_of(std::uint32_t block) const noexcept {
    return offset_of(block) + problem_.blocks[block].size_bytes;
  }

  [[nodiscard]] bool conflict(std::uint32_t a, std::uint32_t b) const noexcept {
    const bool must_be_apart =
        !problem_.regions[region_.value].reuse ||
        problem_.blocks[a].live_range.overlaps(problem_.blocks[b].live_range) ||
        conflicts_.has(a, b);
    return must_be_apart && !may_overlap_.has(a, b);
  }

  // The first place from `place` on whose block carries this one; behind the last when none does.
  [[nodiscard]] std::size_t support_of(std::uint32_t block, std::size_t place) const noexcept {
    const std::uint64_t offset = offset_of(block);
    for (; place < by_end_.size(); ++place) {
      if (end_of(by_end_[place]) <= offset && conflict(block, by_end_[place])) break;
    }
    return place;
  }

  [[nodiscard]] ChainLink link(std::uint32_t block, std::size_t support) const noexcept {
    ChainLink link;
    link.block = BlockIndex(block);
    link.offset_bytes = offset_of(block);
    link.size_bytes = problem_.blocks[block].size_bytes;
    std::uint64_t end_below = 0;
    if (support < by_end_.size()) {
      end_below = end_of(by_end_[support]);
      const LiveRange own = problem_.blocks[block].live_range;
      const LiveRange below = problem_.blocks[by_end_[support]].live_range;
      if (own.overlaps(below)) link.step = std::max(own.first_use, below.first_use);
    }
    link.gap_bytes = link.offset_bytes - end_below;
    link.gap_reason = gap_reason_of(problem_.blocks[block], link, end_below);
    return link;
  }

  [[nodiscard]] static GapReason gap_reason_of(const Block& block, const ChainLink& link,
                                               std::uint64_t end_below) noexcept {
    if (link.gap_bytes == 0) return GapReason::kNone;
    if (padding_to_align(end_below, block.alignment_bytes) == link.gap_bytes) {
      return GapReason::kAlignment;
    }
    return block.is_fixed() ? GapReason::kFixedOffset : GapReason::kLeftOpen;
  }

  const PlanningProblem& problem_;
  const MemoryPlan& plan_;
  RegionIndex region_;
  Array<std::uint32_t> by_end_;  // the region's blocks with bytes, those that end highest first
  internal::PairLists conflicts_;
  internal::PairLists may_overlap_;
};

}  // namespace

Result<ArenaExplanation> explain_arena(const PlanningProblem& problem, const MemoryPlan& plan,
                                       RegionIndex region, Upstream upstream) noexcept {
  if (region.value >= problem.regions.size()) return Status(Reason::kIndexOutOfRange).with(region);
  if (plan.placements().size() != problem.blocks.size() ||
      plan.regions().size() != problem.regions.size()) {
    return Status(Reason::kPlanMismatch);
  }
  ArenaExplanation explanation;
  explanation.chain = Array<ChainLink>(upstream);
  explanation.peaks = Array<LiveRange>(upstream);
  const Result<RegionBound> bound =
      internal::lower_bound_with_peaks(problem, region, upstream, &explanation.peaks);
  if (!bound.ok()) return bound.status();
  explanation.arena_bytes = plan.arena_bytes(region);
  explanation.lower_bound_bytes = bound->lower_bound_bytes;
  Status status = ChainWalk(problem, plan, region, upstream).run(&explanation);
  if (!status.ok()) return status;
  return explanation;
}

}  // namespace tenure
