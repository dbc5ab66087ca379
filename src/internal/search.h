// SPDX-License-Identifier: Apache-2.0
#pragma once

// What an effort above kFast does for one region once its blocks are placed: other strategies, then
// a search, until the lower bound is met or the steps run out.

#include <cstdint>

#include "tenure/planner.h"
#include "tenure/problem.h"
#include "tenure/span.h"
#include "tenure/status.h"

namespace tenure::internal {

struct SearchResult {
  std::uint64_t height = 0;  // the highest top, rounded up to the unit
  bool is_proven = false;    // there is no lower one
  bool is_cancelled = false;
};

// `offsets` holds a sound placement of the region's blocks, and a lower one where one is found.
// Fails only when memory is refused; what has been found until then is kept.
[[nodiscard]] Status improve_placement(const PlanningProblem& problem, RegionIndex region,
                                       const RegionBound& bound, const PlannerOptions& options,
                                       Span<std::uint64_t> offsets, SearchResult* result) noexcept;

}  // namespace tenure::internal
