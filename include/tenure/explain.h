// SPDX-License-Identifier: Apache-2.0
#pragma once

// Answers two questions about memory that is short: why an arena is larger than its lower bound,
// and which blocks are to blame when a limit cannot be met.
//
//   Result<ArenaExplanation> why = explain_arena(problem, *plan);
//   for (const ChainLink& link : why->chain) ...  // from the top of the arena down to offset 0
//
//   Result<LimitExplanation> who = explain_limit(problem, 65'536);
//   if (who->fitting == Fitting::kDoesNotFit) ...  // who->blocks cannot lie in 65,536 bytes
//
// Neither plans anew; both are deterministic and read no clock.

#include <cstdint>

#include "tenure/array.h"
#include "tenure/index.h"
#include "tenure/plan.h"
#include "tenure/planner.h"
#include "tenure/problem.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure {

// Why there are free bytes below a block of a chain.
enum class GapReason : std::uint8_t {
  kNone,         // there are none
  kAlignment,    // its alignment admits no lower offset
  kFixedOffset,  // it has to lie where it lies
  kLeftOpen,     // nothing: it could lie lower, as it may in a plan without reuse
};

// A block, and what it rests on: of all blocks that conflict with it and end at or below its offset
// one that ends highest, which is the next link.
struct ChainLink {
  BlockIndex block;
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t gap_bytes = 0;  // from the end of the next link, of the last from 0, to its offset
  GapReason gap_reason = GapReason::kNone;
  // The first at which it and the next link are both live. None for the last link, and where the
  // two conflict although they never live together (listed conflicts, regions without reuse).
  Step step;
};

struct ArenaExplanation {
  std::uint64_t arena_bytes = 0;
  std::uint64_t lower_bound_bytes = 0;
  std::uint64_t top_gap_bytes = 0;  // from the end of the highest block to that of the arena
  // From the top down. top_gap_bytes and all sizes and gaps of the chain add up to arena_bytes.
  // Empty when no block takes bytes.
  Array<ChainLink> chain;
  // The steps at which live bytes equal the lower bound, as they follow each other. Empty when none
  // do, because the bound is the end of a fixed block or the sum of a conflicting pair; and for
  // regions without reuse.
  Array<LiveRange> peaks;

  [[nodiscard]] std::uint64_t excess_bytes() const noexcept {
    return arena_bytes - lower_bound_bytes;
  }
};

// The chain that carries the region's highest block: links that follow each other conflict, so none
// of them can lie lower unless another one moves. Of supports that end equally high the largest is
// taken, then the first in the list. Fails with kIndexOutOfRange for a region that the problem does
// not have, kPlanMismatch for a plan with other lists than the problem, kOutsideRegion for a block
// that ends beyond the plan's arena, and when memory is refused. O((n + pairs) log n) for n blocks.
// Precondition: verify(problem, plan).
[[nodiscard]] Result<ArenaExplanation> explain_arena(const PlanningProblem& problem,
                                                     const MemoryPlan& plan,
                                                     RegionIndex region = kReusableRegion,
                                                     Upstream upstream = heap_upstream()) noexcept;

enum class Fitting : std::uint8_t {
  kNotKnown,    // the steps ran out before either was proven
  kFits,        // there is a plan within the limit
  kDoesNotFit,  // there is none
};

struct LimitExplanation {
  Fitting fitting = Fitting::kNotKnown;
  // When it does not fit: blocks of which it is proven that they cannot lie within the limit
  // together, whatever becomes of the others; the largest first. Else empty.
  Array<BlockIndex> blocks;
  // Proven too: without any one of those blocks the others fit. False when the steps ran out first.
  bool is_irreducible = false;
  Step step;  // the first at which all of those blocks are live; none when there is no such step
  std::uint64_t lower_bound_bytes = 0;
  std::uint64_t search_steps = 0;  // that were taken
};

struct LimitOptions {
  RegionIndex region = kReusableRegion;
  // For all searches together. A test whether some blocks fit takes at least one step for each.
  std::uint64_t search_steps = kDefaultSearchSteps;
  // For the answer and for working memory.
  Upstream upstream = heap_upstream();

  LimitOptions& set_region(RegionIndex value) noexcept { return region = value, *this; }
  LimitOptions& set_search_steps(std::uint64_t value) noexcept {
    return search_steps = value, *this;
  }
  LimitOptions& set_upstream(Upstream value) noexcept { return upstream = value, *this; }
};

// Whether the region's blocks can lie in an arena of at most limit_bytes (less any tail padding,
// which is the caller's to take off), and if not, a small set of them that cannot. Some blocks fit
// when all can end at or below the limit rounded down to the unit of the whole region, so that
// fewer blocks never need more. The blocks of a region without reuse may lie in any order.
//
// Blocks that are too large by themselves, in a conflicting pair or at the step of the lower bound
// are found by adding up. Otherwise a search has to prove that all cannot fit, or else that half of
// them cannot, or half of that half, of those that live where most bytes are live. Then blocks are
// taken out, half of them at once at first, as long as it proves that the rest cannot fit.
//
// Fails as validate(problem) and lower_bound do, with kIndexOutOfRange for a region that the
// problem does not have, and when memory is refused. O((n + pairs) log n) without a search. Each
// test of m blocks takes m steps or more and costs O(m log m + pairs), plus what the planner's
// search costs. Searches look at 4,000 blocks at most; of more it can only be shown that they fit.
[[nodiscard]] Result<LimitExplanation> explain_limit(
    const PlanningProblem& problem, std::uint64_t limit_bytes,
    const LimitOptions& options = LimitOptions()) noexcept;

}  // namespace tenure
