// SPDX-License-Identifier: Apache-2.0

#include "internal/search.h"

#include <algorithm>

#include "internal/assembly.h"
#include "internal/fnv1a.h"
#include "internal/packing.h"
#include "internal/packing_search.h"
#include "internal/placement.h"
#include "internal/squeaky_wheel.h"
#include "internal/steps.h"
#include "tenure/array.h"

namespace tenure::internal {
namespace {

// Passes of a strategy, each with those blocks first that ended above the bound before.
constexpr std::uint32_t kFewPasses = 3;
constexpr std::uint64_t kBalancedItems = 2'500'000;  // in all those passes
constexpr std::uint32_t kMostPasses = 1U << 30;

// Restarts: steps for each attempt, in items, and how far between bound and incumbent the second
// target of an attempt lies, in eighths. The first target is the bound.
struct Round {
  std::uint32_t steps_per_item;
  std::uint32_t target_eighths;
};
constexpr Round kRounds[] = {{2, 6}, {9, 7}, {27, 4}, {81, 6}};
constexpr std::size_t kBalancedRounds = 1;

// Which blocks are taken for one.
constexpr AssemblyRules kAssemblyRules[] = {
    {Stacking::kEverywhere, true},
    {Stacking::kWhereItMatches, false},
    {Stacking::kWhereItMatches, true},
};
constexpr std::size_t kAssemblies = sizeof(kAssemblyRules) / sizeof(kAssemblyRules[0]);

// 1 1 2 1 1 2 4 ...: Luby, Sinclair and Zuckerman's restarts, `index` from 1.
std::uint64_t luby(std::uint64_t index) noexcept {
  for (;;) {
    std::uint64_t length = 1;
    while (length * 2 <= index + 1) length *= 2;
    if (length == index + 1) return length / 2;
    index -= length - 1;
  }
}

// What the problem and those that are made of it have in common.
struct Budget {
  std::uint64_t steps_left;
  std::uint64_t bound_bytes;  // rises when a search proves that there is nothing lower
  bool is_cancelled = false;
};

class Improvement {
 public:
  Improvement(const PlanningProblem& problem, RegionIndex region, std::uint64_t unit_bytes,
              const PlannerOptions& options, Budget* budget) noexcept
      : problem_(problem),
        region_(region),
        unit_(unit_bytes),
        options_(options),
        budget_(*budget),
        floor_bytes_(budget->bound_bytes),
        candidate_(options.upstream),
        wheel_(options.upstream),
        packing_(options.upstream),
        search_(options.upstream) {}

  // From what `offsets` hold.
  Status run(Span<std::uint64_t> offsets) noexcept {
    Status status = start(offsets, height_of(offsets));
    if (status.ok()) status = improve(Effort::kBalanced);
    if (status.ok() && options_.effort == Effort::kBest) status = improve(Effort::kBest);
    return status;
  }
  [[nodiscard]] std::uint64_t height() const noexcept { return height_; }

 private:
  [[nodiscard]] bool is_done() const noexcept {
    return budget_.is_cancelled || height_ <= floor_bytes_;
  }

  // `offsets` need only hold something when they end at the height.
  Status start(Span<std::uint64_t> offsets, std::uint64_t height) noexcept {
    offsets_ = offsets;
    height_ = height;
    return candidate_.append(offsets) ? Status() : Status(Reason::kUpstreamRefused);
  }

  // kBest begins with all that kBalanced does, so that it never ends above it.
  Status improve(Effort level) noexcept {
    Status status;
    std::uint64_t unlimited = UINT64_MAX;
    std::uint64_t items_left = kBalancedItems;
    if (level == Effort::kBalanced) status = try_strategies(1, &unlimited);
    if (!is_assembled_) {
      for (std::size_t i = 0; i < kAssemblies && status.ok(); ++i) {
        const std::uint64_t share = budget_.steps_left / (kAssemblies - i + 1);  // as much for each
        status = try_assembly(kAssemblyRules[i], share, level);
      }
      if (level == Effort::kBalanced && status.ok()) {
        status = try_strategies(kFewPasses, &items_left);
      }
    }
    return status.ok() && !is_done() ? search(level) : status;
  }

  // Whether other rules have come to the same at this level. Where that is wrong, by a chance of 1 in
  // 2^64, something is not tried.
  [[nodiscard]] bool was_tried(const PlanningProblem& assembled, Effort level) noexcept {
    Fnv1a hash;
    hash.add(static_cast<std::uint64_t>(level));
    for (const Block& block : assembled.blocks) {
      hash.add(block.size_bytes).add(block.live_range.first_use.value);
      hash.add(block.live_range.last_use.value);
    }
    for (const std::uint64_t tried : tried_) {
      if (tried == hash.value()) return true;
    }
    tried_[tried_count_++] = hash.value();
    return false;
  }

  // What blocks that make up rectangles are planned as, is a plan for them, too. Where little can be
  // put together, there is nothing to be had.
  Status try_assembly(AssemblyRules rules, std::uint64_t steps, Effort level) noexcept {
    if (is_done() || block_count() > kMaxPackingItems) return Status();
    Assembly assembly(options_.upstream);
    Array<std::uint64_t> offsets(options_.upstream);
    if (!assembly.reset(problem_, region_, unit_, rules) ||
        !offsets.resize(assembly.problem().blocks.size())) {
      return Status(Reason::kUpstreamRefused);
    }
    const PlanningProblem assembled = assembly.problem();
    if (assembled.blocks.size() > block_count() / 8 * 7 || was_tried(assembled, level)) {
      return Status();
    }
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      if (assembled.blocks[i].is_fixed()) offsets[i] = assembled.blocks[i].fixed_offset_bytes;
    }
    Improvement improvement(assembled, region_, unit_, options_, &budget_);
    improvement.is_assembled_ = true;
    improvement.reserved_steps_ = budget_.steps_left - steps;
    Status status = improvement.start(offsets, height_);
    if (status.ok()) status = improvement.improve(level);
    if (improvement.height_ < height_) {
      assembly.spread(offsets, candidate_);
      adopt(candidate_);
    }
    return status;
  }

  [[nodiscard]] bool is_in_region(const Block& block) const noexcept {
    return block.region == region_ && block.size_bytes != 0;
  }

  [[nodiscard]] std::size_t block_count() const noexcept {
    std::size_t count = 0;
    for (const Block& block : problem_.blocks) count += is_in_region(block) ? 1U : 0U;
    return count;
  }

  [[nodiscard]] std::uint64_t height_of(Span<const std::uint64_t> offsets) const noexcept {
    std::uint64_t height = 0;
    for (std::size_t i = 0; i < problem_.blocks.size(); ++i) {
      const Block& block = problem_.blocks[i];
      if (is_in_region(block)) height = std::max(height, offsets[i] + block.size_bytes);
    }
    return (height + unit_ - 1) & ~(unit_ - 1);
  }

  void report() noexcept {
    const SearchProgress& progress = options_.progress;
    if (progress.report == nullptr) return;
    const SearchReport state{region_, height_, budget_.bound_bytes,
                             options_.search_steps - budget_.steps_left, options_.search_steps};
    if (!progress.report(progress.user, state)) budget_.is_cancelled = true;
  }

  // Every order with every fit, each in so many passes, as long as there are steps for its items.
  Status try_strategies(std::uint32_t passes, std::uint64_t* steps_left) noexcept {
    Array<std::uint32_t> order(options_.upstream);
    for (const PlacementOrder by : kPlacementOrders) {
      if (is_done()) break;
      Status status = order_blocks(problem_, region_, by, options_.upstream, &order);
      if (!status.ok()) return status;
      for (const Fit fit : {Fit::kFirst, Fit::kBest}) {
        status = wheel_.reset(order.size()) ? Status() : Status(Reason::kUpstreamRefused);
        for (std::uint32_t pass = 0; pass < passes && status.ok() && !is_done(); ++pass) {
          if (!take_steps(order.size(), steps_left)) return Status();
          status = place_blamed_first(order, fit);
        }
        if (!status.ok() && status.reason() != Reason::kSizeOverflow) return status;
      }
    }
    return Status();
  }

  // Where a search is out of reach, its steps go into passes.
  Status try_longer() noexcept {
    Status status;
    for (std::uint32_t passes = 2 * kFewPasses; status.ok() && may_go_on() && passes < kMostPasses;
         passes *= 2) {
      status = try_strategies(passes, &budget_.steps_left);
    }
    return status;
  }

  Status place_blamed_first(Span<const std::uint32_t> order, Fit fit) noexcept {
    if (!wheel_.turn(order)) return Status(Reason::kUpstreamRefused);
    const Status status =
        place_in_gaps(problem_, region_, wheel_.order(), fit, options_.upstream, candidate_);
    if (!status.ok()) return status;
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
      const std::uint64_t end = candidate_[order[rank]] + problem_.blocks[order[rank]].size_bytes;
      if (end > floor_bytes_) wheel_.blame(rank);
    }
    adopt(candidate_);
    report();
    return Status();
  }

  void adopt(Span<const std::uint64_t> candidate) noexcept {
    const std::uint64_t height = height_of(candidate);
    if (height >= height_) return;
    height_ = height;
    for (std::size_t i = 0; i < problem_.blocks.size(); ++i) {
      if (is_in_region(problem_.blocks[i])) offsets_[i] = candidate[i];
    }
  }

  Status search(Effort level) noexcept {
    if (packing_.item_count() == 0) {
      Status status = prepare_search();
      if (!status.ok()) return status;
    }
    if (is_too_large_) {
      return level == Effort::kBest && !is_assembled_ ? try_longer() : Status();
    }
    restart(level);
    return is_out_of_memory_ ? Status(Reason::kUpstreamRefused) : Status();
  }

  Status prepare_search() noexcept {
    Array<std::uint32_t> movable(options_.upstream);
    Array<std::uint32_t> fixed(options_.upstream);
    for (std::uint32_t i = 0; i < problem_.blocks.size(); ++i) {
      const Block& block = problem_.blocks[i];
      if (!is_in_region(block)) continue;
      if (!(block.is_fixed() ? fixed : movable).push_back(i)) {
        return Status(Reason::kUpstreamRefused);
      }
    }
    is_too_large_ = movable.size() > kMaxPackingItems;
    if (!is_too_large_ &&
        !packing_.reset(problem_, {movable, fixed, offsets_}, unit_, kMaxPackingPairs)) {
      if (!packing_.is_too_large()) return Status(Reason::kUpstreamRefused);
      is_too_large_ = true;
    }
    if (is_too_large_) return Status();
    if (!search_.reset(packing_)) return Status(Reason::kUpstreamRefused);
    // Straight down, order after order, until one brings nothing.
    for (const PackingOrder& order : kPackingOrders) {
      if (!may_go_on() || !attempt(kMaxArenaBytes, order, 0, packing_.item_count())) break;
    }
    return Status();
  }

  // Deterministic orders with longer and longer budgets, then orders that blame and chance make.
  void restart(Effort level) noexcept {
    constexpr std::size_t kRoundCount = sizeof(kRounds) / sizeof(kRounds[0]);
    const bool is_first = level == Effort::kBalanced;
    const std::size_t end = is_first ? kBalancedRounds : kRoundCount;
    for (std::size_t round = is_first ? 0 : kBalancedRounds; round < end; ++round) {
      for (const PackingOrder& order : kPackingOrders) {
        const std::uint64_t steps =
            std::uint64_t{kRounds[round].steps_per_item} * packing_.item_count();
        if (may_go_on()) static_cast<void>(attempt(floor_bytes_, order, 0, steps));
        while (may_go_on() && attempt(target(kRounds[round].target_eighths), order, 0, steps)) {
        }
      }
    }
    if (is_first) return;
    // In one go, because a proof that there is nothing lower cannot be made in pieces.
    if (may_go_on()) {
      static_cast<void>(attempt(target(8), kPackingOrders[0], 0, steps_left() / 4));
    }
    for (std::uint64_t seed = 1; may_go_on(); ++seed) {
      const PackingKey first = seed % 2 == 0 ? PackingKey::kRandom : PackingKey::kWeight;
      const constexpr PackingPick kPicks[] = {PackingPick::kLowest, PackingPick::kTightest,
                                              PackingPick::kFewest};
      const PackingOrder order{{first, PackingKey::kSection, PackingKey::kLength},
                               kPicks[seed % 3]};
      const std::uint64_t eighths = seed % 4 * 2;
      const std::uint64_t steps = 3 * luby(seed) * packing_.item_count();
      static_cast<void>(attempt(target(eighths), order, seed, steps));
    }
  }

  [[nodiscard]] bool may_go_on() const noexcept {
    return !is_done() && !is_out_of_memory_ && steps_left() != 0;
  }

  [[nodiscard]] std::uint64_t steps_left() const noexcept {
    return budget_.steps_left - reserved_steps_;
  }

  // Between the bound and one unit below the incumbent.
  [[nodiscard]] std::uint64_t target(std::uint64_t eighths) const noexcept {
    const std::uint64_t units = (height_ - floor_bytes_) / unit_;
    const std::uint64_t above = std::min(units / 8 * eighths + units % 8 * eighths / 8, units - 1);
    return floor_bytes_ + above * unit_;
  }

  // True when a lower packing was found.
  [[nodiscard]] bool attempt(std::uint64_t cap, const PackingOrder& order, std::uint64_t seed,
                             std::uint64_t steps) noexcept {
    const std::uint64_t given = std::min(steps, steps_left());
    std::uint64_t left = given;
    const PackingSearch::Outcome outcome = search_.run(cap, order, seed, &left);
    budget_.steps_left -= given - left;
    is_out_of_memory_ = outcome == PackingSearch::Outcome::kOutOfMemory;
    // Nothing is as low as the cap, so whatever there is ends a unit higher.
    if (outcome == PackingSearch::Outcome::kNone) floor_bytes_ = cap + unit_;
    if (!is_assembled_) budget_.bound_bytes = floor_bytes_;
    const bool is_better = outcome == PackingSearch::Outcome::kFound && search_.height() < height_;
    if (is_better) {
      for (std::uint32_t i = 0; i < packing_.item_count(); ++i) {
        offsets_[packing_.item(i).block] = search_.offset(i);
      }
      height_ = height_of(offsets_);
    }
    report();
    return is_better;
  }

  const PlanningProblem& problem_;
  RegionIndex region_;
  std::uint64_t unit_;
  const PlannerOptions& options_;
  Budget& budget_;
  bool is_assembled_ = false;
  std::uint64_t tried_[2 * kAssemblies] = {};  // assemblies, at two levels
  std::size_t tried_count_ = 0;
  std::uint64_t reserved_steps_ = 0;  // of the budget, for others
  std::uint64_t floor_bytes_;         // nothing of these blocks is lower
  Span<std::uint64_t> offsets_;       // of the incumbent
  std::uint64_t height_ = 0;
  bool is_too_large_ = false;
  bool is_out_of_memory_ = false;
  Array<std::uint64_t> candidate_;  // offsets
  SqueakyWheel wheel_;
  Packing packing_;
  PackingSearch search_;
};

}  // namespace

Status improve_placement(const PlanningProblem& problem, RegionIndex region,
                         const RegionBound& bound, const PlannerOptions& options,
                         Span<std::uint64_t> offsets, SearchResult* result) noexcept {
  Budget budget{options.search_steps, bound.lower_bound_bytes};
  Improvement improvement(problem, region, bound.unit_bytes, options, &budget);
  const Status status = improvement.run(offsets);
  *result = {improvement.height(), improvement.height() <= budget.bound_bytes, budget.is_cancelled};
  return status;
}

}  // namespace tenure::internal
