// SPDX-License-Identifier: Apache-2.0
#pragma once

// What placement strategies share: in which order blocks are placed (one place for all orders), and
// the two ways of placing. Each strategy fills `offsets`, one for every block of the problem; it
// writes those of the blocks of its region and leaves the others alone.

#include <cstdint>

#include "tenure/array.h"
#include "tenure/problem.h"
#include "tenure/span.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure::internal {

// The blocks of a region without a fixed offset: by size, descending; then first use, last use,
// alignment, index.
[[nodiscard]] Status order_by_size(const PlanningProblem& problem, RegionIndex region,
                                   Array<std::uint32_t>* order) noexcept;

// Each block of `order` at the lowest offset that is free over its whole live range, around the
// region's fixed blocks, which it places first.
[[nodiscard]] Status place_first_fit(const PlanningProblem& problem, RegionIndex region,
                                     Span<const std::uint32_t> order, Upstream upstream,
                                     Span<std::uint64_t> offsets) noexcept;

// Every block at bytes of its own, in the order of the problem, around the region's fixed blocks.
[[nodiscard]] Status place_without_reuse(const PlanningProblem& problem, RegionIndex region,
                                         Upstream upstream, Span<std::uint64_t> offsets) noexcept;

}  // namespace tenure::internal
