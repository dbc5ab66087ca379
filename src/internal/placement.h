// SPDX-License-Identifier: Apache-2.0
#pragma once

// What placement strategies share: in which order blocks are placed (one place for all orders), and
// the two ways of placing. Each strategy fills `offsets`, one for every block of the problem; it
// writes those of the blocks of its region and leaves the others alone.

#include <cstdint>

#include "tenure/array.h"
#include "tenure/planner.h"
#include "tenure/problem.h"
#include "tenure/span.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure::internal {

// The blocks of a region without a fixed offset, in that order.
[[nodiscard]] Status order_blocks(const PlanningProblem& problem, RegionIndex region,
                                  PlacementOrder order, Upstream upstream,
                                  Array<std::uint32_t>* blocks) noexcept;

// Each block of `order` in a gap that is free over its whole live range, around the region's fixed
// blocks, which it places first.
[[nodiscard]] Status place_in_gaps(const PlanningProblem& problem, RegionIndex region,
                                   Span<const std::uint32_t> order, Fit fit, Upstream upstream,
                                   Span<std::uint64_t> offsets) noexcept;

// Every block at bytes of its own, in the order of the problem, around the region's fixed blocks.
[[nodiscard]] Status place_without_reuse(const PlanningProblem& problem, RegionIndex region,
                                         Upstream upstream, Span<std::uint64_t> offsets) noexcept;

}  // namespace tenure::internal
