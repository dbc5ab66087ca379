// SPDX-License-Identifier: Apache-2.0

#include "internal/fit_search.h"

#include <algorithm>

#include "internal/pair_lists.h"
#include "internal/placement.h"
#include "internal/steps.h"

namespace tenure::internal {
namespace {

// Steps for each attempt of a round, in blocks.
constexpr std::uint64_t kBriefRounds[] = {3, 15};
constexpr std::size_t kOrderCount = sizeof(kPackingOrders) / sizeof(kPackingOrders[0]);

}  // namespace

FitSearch::FitSearch(Upstream upstream) noexcept
    : upstream_(upstream),
      selected_as_(upstream),
      blocks_(upstream),
      may_overlap_(upstream),
      listed_conflicts_(upstream),
      movable_(upstream),
      fixed_(upstream),
      offsets_(upstream),
      packing_(upstream),
      search_(upstream) {}

bool FitSearch::reset(const PlanningProblem& problem, const Limit& limit) noexcept {
  problem_ = &problem;
  limit_ = limit;
  selected_as_.clear();
  return selected_as_.resize(problem.blocks.size(), kNoNumber);
}

Status FitSearch::run(Span<const std::uint32_t> blocks, std::uint64_t* steps_left,
                      Fitting* fitting) noexcept {
  steps_left_ = *steps_left;
  fitting_ = Fitting::kNotKnown;
  const Status status = take_steps(blocks.size(), &steps_left_) ? answer(blocks) : Status();
  *steps_left = steps_left_;
  *fitting = fitting_;
  return status;
}

Status FitSearch::answer(Span<const std::uint32_t> blocks) noexcept {
  if (!select(blocks)) return Status(Reason::kUpstreamRefused);
  if (movable_.empty()) {  // a valid problem keeps fixed blocks apart
    fitting_ = Fitting::kFits;
    return Status();
  }
  bool can_search = false;
  if (movable_.size() <= kMaxPackingItems) {
    can_search = packing_.reset(selection_, {movable_, fixed_, offsets_}, limit_.unit_bytes,
                                kMaxPackingPairs);
    const bool was_refused = can_search ? !search_.reset(packing_) : !packing_.is_too_large();
    if (was_refused) return Status(Reason::kUpstreamRefused);
  }
  Status status = can_search ? search_briefly() : Status();
  if (status.ok()) status = try_strategies();
  return status.ok() && can_search ? search_at_length() : status;
}

bool FitSearch::select(Span<const std::uint32_t> blocks) noexcept {
  blocks_.clear();
  movable_.clear();
  fixed_.clear();
  offsets_.clear();
  const bool reuse = problem_->regions[limit_.region.value].reuse;
  for (const std::uint32_t index : blocks) {
    Block block = problem_->blocks[index];
    if (!reuse) block.live_range = {Step(0), Step(0)};
    block.region = kReusableRegion;
    const auto number = static_cast<std::uint32_t>(blocks_.size());
    if (!blocks_.push_back(block) || !offsets_.push_back(block.fixed_offset_bytes) ||
        !(block.is_fixed() ? fixed_ : movable_).push_back(number)) {
      return false;
    }
  }
  for (std::uint32_t i = 0; i < blocks.size(); ++i) selected_as_[blocks[i]] = i;
  const bool has_pairs = renumber_pairs(problem_->conflicts, selected_as_, &listed_conflicts_) &&
                         renumber_pairs(problem_->may_overlap, selected_as_, &may_overlap_);
  for (const std::uint32_t index : blocks) selected_as_[index] = kNoNumber;
  selection_ = PlanningProblem{blocks_, kDefaultRegions, listed_conflicts_, may_overlap_};
  return has_pairs;
}

// Straight down, then with some ways back.
Status FitSearch::search_briefly() noexcept {
  for (const std::uint64_t steps_per_item : kBriefRounds) {
    for (const PackingOrder& order : kPackingOrders) {
      if (is_over()) return Status();
      Status status = attempt(order, steps_per_item * packing_.item_count());
      if (!status.ok()) return status;
    }
  }
  return Status();
}

// Half of the steps in one go, because a proof cannot be made in pieces.
Status FitSearch::search_at_length() noexcept {
  for (std::size_t i = 0; i < kOrderCount; ++i) {
    if (is_over()) break;
    const std::uint64_t parts = i == 0 ? 2 : kOrderCount - i;
    Status status = attempt(kPackingOrders[i], (steps_left_ + parts - 1) / parts);
    if (!status.ok()) return status;
  }
  return Status();
}

Status FitSearch::attempt(const PackingOrder& order, std::uint64_t steps) noexcept {
  const std::uint64_t given = std::min(steps, steps_left_);
  std::uint64_t left = given;
  const PackingSearch::Outcome outcome = search_.run(limit_.bytes, order, 0, &left);
  steps_left_ -= given - left;
  if (outcome == PackingSearch::Outcome::kOutOfMemory) return Status(Reason::kUpstreamRefused);
  if (outcome == PackingSearch::Outcome::kFound) fitting_ = Fitting::kFits;
  if (outcome == PackingSearch::Outcome::kNone) fitting_ = Fitting::kDoesNotFit;
  return Status();
}

Status FitSearch::try_strategies() noexcept {
  Array<std::uint32_t> order(upstream_);
  for (const PlacementOrder by : kPlacementOrders) {
    if (is_over()) break;
    Status status = order_blocks(selection_, kReusableRegion, by, upstream_, &order);
    if (!status.ok()) return status;
    for (const Fit fit : {Fit::kFirst, Fit::kBest}) {
      if (is_over() || !take_steps(blocks_.size(), &steps_left_)) break;
      status = place_in_gaps(selection_, kReusableRegion, order, fit, upstream_, offsets_);
      if (status.reason() == Reason::kSizeOverflow) continue;
      if (!status.ok()) return status;
      if (lies_within_limit()) fitting_ = Fitting::kFits;
    }
  }
  return Status();
}

bool FitSearch::lies_within_limit() const noexcept {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const std::uint64_t size = blocks_[i].size_bytes;
    if (size > limit_.bytes || offsets_[i] > limit_.bytes - size) return false;
  }
  return true;
}

}  // namespace tenure::internal
