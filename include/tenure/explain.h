// SPDX-License-Identifier: Apache-2.0
#pragma once

// Answers a question about memory that is short: why an arena is larger than its lower bound.
//
//   Result<ArenaExplanation> why = explain_arena(problem, *plan);
//   for (const ChainLink& link : why->chain) ...  // from the top of the arena down to offset 0
//
// Plans nothing anew, is deterministic and reads no clock.

#include <cstdint>

#include "tenure/array.h"
#include "tenure/index.h"
#include "tenure/plan.h"
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

}  // namespace tenure
