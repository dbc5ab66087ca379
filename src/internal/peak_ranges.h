// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where live bytes equal the lower bound, counted as the bound counts them.

#include "tenure/array.h"
#include "tenure/problem.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure::internal {

// lower_bound, which also appends to `peaks` the longest ranges of such steps, in order; none for a
// region without reuse. O(n log n).
[[nodiscard]] Result<RegionBound> lower_bound_with_peaks(const PlanningProblem& problem,
                                                         RegionIndex region, Upstream upstream,
                                                         Array<LiveRange>* peaks) noexcept;

}  // namespace tenure::internal
