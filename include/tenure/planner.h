// SPDX-License-Identifier: Apache-2.0
#pragma once

// ArenaPlanner places blocks: unless told otherwise by size, the largest first, each at the lowest
// offset that is free over its whole live range. On most networks that meets the lower bound; the
// plan says whether it does.
//
//   Result<MemoryPlan> plan = ArenaPlanner().plan(graph);
//
//   offset |        +-----+         Sorted by size: the largest blocks go to the bottom first,
//          | +------+  C  |         C and D then fill what is left above and between them.
//          | |  A   +--+--+
//          | |      | D|  B |
//          +-0---1---2---3--> steps
//
// The order follows LiteRT's ArenaPlanner (greedy by size); ties are broken down to the index, so
// equal input gives equal plans everywhere.

#include <cstdint>

#include "tenure/align.h"
#include "tenure/graph.h"
#include "tenure/lifetime.h"
#include "tenure/plan.h"
#include "tenure/problem.h"
#include "tenure/span.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure {

// Which block is placed next. Ties go on by size (the largest first), then by first use, last use,
// alignment and index, so that every order is total.
enum class PlacementOrder : std::uint8_t {
  kSize,      // the largest first
  kLength,    // the longest live range first
  kArea,      // the largest size x live range first
  kFirstUse,  // in order of time
  kBreadth,   // step after step, those with the most live bytes first (as TFLite's GPU delegate
              // does)
  kSection,   // by the most live bytes anywhere in the live range, then by its length
};

// Where among the gaps that hold it a block goes.
enum class Fit : std::uint8_t {
  kFirst,  // the lowest
  kBest,   // the smallest; above everything only when no gap holds it
};

inline constexpr PlacementOrder kPlacementOrders[] = {
    PlacementOrder::kSize,     PlacementOrder::kLength,  PlacementOrder::kArea,
    PlacementOrder::kFirstUse, PlacementOrder::kBreadth, PlacementOrder::kSection};

// How hard to try, each level at least as well as the one before. All stop at the lower bound.
enum class Effort : std::uint8_t {
  kFast,      // the order and the fit alone
  kBalanced,  // then every order and fit, and a short search
  kBest,      // then a search until the steps run out or nothing lower can be
};
// About a second for some hundred blocks.
inline constexpr std::uint64_t kDefaultSearchSteps = 500'000;

struct SearchReport {
  RegionIndex region;
  std::uint64_t arena_bytes = 0;        // of the best placement so far
  std::uint64_t lower_bound_bytes = 0;  // what is proven so far
  std::uint64_t steps = 0;
  std::uint64_t max_steps = 0;
};
// Called now and then while an effort above kFast searches; false cancels, for all regions, and the
// best placement so far is the plan.
struct SearchProgress {
  bool (*report)(void* user, const SearchReport& state) noexcept = nullptr;
  void* user = nullptr;
};

struct PlannerOptions {
  PlacementOrder order = PlacementOrder::kSize;
  Fit fit = Fit::kFirst;
  Effort effort = Effort::kFast;
  // Items that a search may place or skip, for each region. Steps are not time: the plan does not
  // depend on the machine.
  std::uint64_t search_steps = kDefaultSearchSteps;
  SearchProgress progress;
  // For tensors of a graph that ask for none; a power of two from 1.
  std::uint64_t default_alignment_bytes = kDefaultAlignmentBytes;
  // False gives every block bytes of its own: slow and large, but a wrong live range does no harm.
  bool reuse = true;
  // Readable bytes after each arena's end, for kernels that read past a tensor.
  std::uint64_t tail_padding_bytes = 0;
  // For graphs: what limits and aligns the reusable and the persistent region (and must outlive the
  // planner).
  Span<const Region> regions = kDefaultRegions;
  // For the plan itself and for working memory.
  Upstream upstream = heap_upstream();

  PlannerOptions& set_order(PlacementOrder value) noexcept { return order = value, *this; }
  PlannerOptions& set_fit(Fit value) noexcept { return fit = value, *this; }
  PlannerOptions& set_effort(Effort value) noexcept { return effort = value, *this; }
  PlannerOptions& set_search_steps(std::uint64_t value) noexcept {
    return search_steps = value, *this;
  }
  PlannerOptions& set_progress(SearchProgress value) noexcept { return progress = value, *this; }
  PlannerOptions& set_default_alignment_bytes(std::uint64_t value) noexcept {
    return default_alignment_bytes = value, *this;
  }
  PlannerOptions& set_reuse(bool value) noexcept { return reuse = value, *this; }
  PlannerOptions& set_tail_padding_bytes(std::uint64_t value) noexcept {
    return tail_padding_bytes = value, *this;
  }
  PlannerOptions& set_regions(Span<const Region> value) noexcept { return regions = value, *this; }
  PlannerOptions& set_upstream(Upstream value) noexcept { return upstream = value, *this; }
};

// Stateless; may be used from several threads at once, as far as its upstream can.
class ArenaPlanner {
 public:
  explicit ArenaPlanner(const PlannerOptions& options = PlannerOptions()) noexcept
      : options_(options) {}

  // A placement for each block. Fails as validate(problem) does, with kCapacityExceeded (needed,
  // available and the step of the peak) when a region's arena would outgrow its capacity, and when
  // memory is refused.
  [[nodiscard]] Result<MemoryPlan> plan(const PlanningProblem& problem) const noexcept;

  // The same for blocks that were analyzed from a graph, with a placement for each tensor too.
  [[nodiscard]] Result<MemoryPlan> plan(const Lifetimes& lifetimes) const noexcept;

  // Analyzes and plans.
  [[nodiscard]] Result<MemoryPlan> plan(const TensorGraph& graph) const noexcept;

 private:
  // `lifetimes` is null when the blocks do not come from a graph.
  [[nodiscard]] Result<MemoryPlan> plan_blocks(const PlanningProblem& problem,
                                               const Lifetimes* lifetimes) const noexcept;

  PlannerOptions options_;
};

}  // namespace tenure
