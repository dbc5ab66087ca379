// SPDX-License-Identifier: Apache-2.0
#pragma once

// The one place that decides which placed blocks get in each other's way; validate asks it about
// fixed offsets, verify about whole plans.

#include <cstdint>

#include "tenure/array.h"
#include "tenure/layout.h"
#include "tenure/problem.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure::internal {

// A pair with the smaller index first, as one number that sorts and compares.
[[nodiscard]] constexpr std::uint64_t pair_key(BlockIndex a, BlockIndex b) noexcept {
  const BlockIndex low = a < b ? a : b;
  const BlockIndex high = a < b ? b : a;
  return (std::uint64_t{low.value} << 32) | high.value;
}

struct FoundConflict {
  BlockIndex first;  // both none: there is no conflict
  BlockIndex second;
};

// The first two blocks, by offset, that conflict and share bytes. Blocks whose placement is none
// are left out. Preconditions: indices are in range, live ranges not reversed, offset + size does
// not overflow. O(n log n) plus overlaps that are allowed.
[[nodiscard]] Result<FoundConflict> find_conflict(const PlanningProblem& problem,
                                                  Span<const Placement> placements,
                                                  Upstream upstream) noexcept;

}  // namespace tenure::internal
