// SPDX-License-Identifier: Apache-2.0

#include "tenure/planner.h"

#include <algorithm>

#include "internal/placement.h"
#include "internal/search.h"
#include "tenure/array.h"

namespace tenure {
namespace {

// Everything about one region once its blocks are placed.
struct RegionResult {
  RegionPlan plan;
  RegionLayout layout;
};

class Planning {
 public:
  Planning(const PlanningProblem& problem, const PlannerOptions& options) noexcept
      : problem_(problem),
        options_(options),
        offsets_(options.upstream),
        order_(options.upstream) {}

  // Leaves the placement of each block and the summary of each region in the two lists.
  Status run(Array<Placement>* placements, Array<RegionPlan>* regions,
             Array<RegionLayout>* layouts) noexcept {
    if (Status status = validate(problem_, options_.upstream); !status.ok()) return status;
    const std::size_t count = problem_.blocks.size();
    if (!offsets_.resize(count) || !placements->resize(count))
      return Status(Reason::kUpstreamRefused);
    for (std::uint32_t i = 0; i < problem_.regions.size(); ++i) {
      RegionResult result;
      if (Status status = plan_region(RegionIndex(i), &result); !status.ok()) {
        return status.with(RegionIndex(i));
      }
      if (!regions->push_back(result.plan) || !layouts->push_back(result.layout)) {
        return Status(Reason::kUpstreamRefused);
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      (*placements)[i] = {problem_.blocks[i].region, offsets_[i]};
    }
    return Status();
  }

 private:
  Status plan_region(RegionIndex region, RegionResult* result) noexcept {
    const Result<RegionBound> bound = lower_bound(problem_, region, options_.upstream);
    if (!bound.ok()) return bound.status();
    if (Status status = place(region); !status.ok()) return status;
    if (Status status = improve(region, *bound, &result->plan); !status.ok()) return status;
    result->plan.lower_bound_bytes = bound->lower_bound_bytes;
    result->plan.unit_bytes = bound->unit_bytes;
    result->plan.peak_step = bound->peak_step;
    return measure(region, result);
  }

  Status place(RegionIndex region) noexcept {
    const bool reuse = options_.reuse && problem_.regions[region.value].reuse;
    if (!reuse) return internal::place_without_reuse(problem_, region, options_.upstream, offsets_);
    Status status =
        internal::order_blocks(problem_, region, options_.order, options_.upstream, &order_);
    if (!status.ok()) return status;
    return internal::place_in_gaps(problem_, region, order_, options_.fit, options_.upstream,
                                   offsets_);
  }

  Status improve(RegionIndex region, const RegionBound& bound, RegionPlan* plan) noexcept {
    const bool reuse = options_.reuse && problem_.regions[region.value].reuse;
    if (options_.effort == Effort::kFast || !reuse || is_cancelled_) return Status();
    internal::SearchResult found;
    Status status =
        internal::improve_placement(problem_, region, bound, options_, offsets_, &found);
    plan->is_proven = status.ok() && found.is_proven;
    is_cancelled_ = found.is_cancelled;
    return status;
  }

  Status measure(RegionIndex region, RegionResult* result) const noexcept {
    const Region& limits = problem_.regions[region.value];
    std::uint64_t high_water_mark = 0;
    std::uint64_t alignment = limits.alignment_bytes;
    for (std::size_t i = 0; i < problem_.blocks.size(); ++i) {
      const Block& block = problem_.blocks[i];
      if (block.region != region || block.size_bytes == 0) continue;
      high_water_mark = std::max(high_water_mark, offsets_[i] + block.size_bytes);
      alignment = std::max(alignment, block.alignment_bytes);
    }
    std::uint64_t& arena_bytes = result->plan.arena_bytes;
    if (!checked_align_up(high_water_mark, result->plan.unit_bytes, &arena_bytes) ||
        arena_bytes > kMaxArenaBytes) {
      return Status(Reason::kSizeOverflow).needed(high_water_mark);
    }
    result->layout = {arena_bytes, alignment, !limits.reuse};
    const std::uint64_t padding = arena_bytes == 0 ? 0 : options_.tail_padding_bytes;
    if (!checked_add(arena_bytes, padding, &result->layout.size_bytes)) {
      return Status(Reason::kSizeOverflow).needed(arena_bytes);
    }
    if (result->layout.size_bytes > limits.capacity_bytes) {
      return Status(Reason::kCapacityExceeded)
          .with(result->plan.peak_step)
          .needed(result->layout.size_bytes)
          .available(limits.capacity_bytes);
    }
    return Status();
  }

  const PlanningProblem& problem_;
  const PlannerOptions& options_;
  bool is_cancelled_ = false;
  Array<std::uint64_t> offsets_;
  Array<std::uint32_t> order_;
};

// Where the tensors of each storage class lie, given where its block does.
Status place_tensors(const Lifetimes& lifetimes, const Array<Placement>& placements,
                     Array<Placement>* tensor_placements) noexcept {
  const Span<const StoragePlace> places = lifetimes.places();
  if (!tensor_placements->resize(places.size())) return Status(Reason::kUpstreamRefused);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].block.is_none()) continue;
    const Placement block = placements[places[i].block.value];
    (*tensor_placements)[i] = {block.region, block.offset_bytes + places[i].offset_bytes};
  }
  return Status();
}

}  // namespace

Result<MemoryPlan> ArenaPlanner::plan_blocks(const PlanningProblem& problem,
                                             const Lifetimes* lifetimes) const noexcept {
  MemoryPlan plan(options_.upstream);
  Planning planning(problem, options_);
  if (Status status = planning.run(&plan.placements_, &plan.regions_, &plan.layouts_);
      !status.ok()) {
    if (lifetimes != nullptr && !status.block.is_none()) {
      status.with(lifetimes->first_tensor(status.block));
    }
    return status;
  }
  if (lifetimes != nullptr) {
    Status status = place_tensors(*lifetimes, plan.placements_, &plan.tensor_placements_);
    if (!status.ok()) return status;
  }
  return plan;
}

Result<MemoryPlan> ArenaPlanner::plan(const PlanningProblem& problem) const noexcept {
  return plan_blocks(problem, nullptr);
}

Result<MemoryPlan> ArenaPlanner::plan(const Lifetimes& lifetimes) const noexcept {
  PlanningProblem problem = lifetimes.problem();
  problem.regions = options_.regions;
  return plan_blocks(problem, &lifetimes);
}

Result<MemoryPlan> ArenaPlanner::plan(const TensorGraph& graph) const noexcept {
  const LifetimeAnalyzer analyzer(options_.default_alignment_bytes, options_.upstream);
  const Result<Lifetimes> lifetimes = analyzer.analyze(graph);
  if (!lifetimes.ok()) return lifetimes.status();
  return plan(*lifetimes);
}

}  // namespace tenure
