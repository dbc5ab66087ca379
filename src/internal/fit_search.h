// SPDX-License-Identifier: Apache-2.0
#pragma once

// Whether some blocks of a region can lie below a limit together: finds a packing, proves that
// there is none, or runs out of steps.

#include <cstddef>
#include <cstdint>

#include "internal/packing.h"
#include "internal/packing_search.h"
#include "tenure/array.h"
#include "tenure/explain.h"
#include "tenure/problem.h"
#include "tenure/span.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure::internal {

class FitSearch {
 public:
  struct Limit {
    RegionIndex region;
    std::uint64_t unit_bytes = 1;  // of the region
    std::uint64_t bytes = 0;       // a multiple of the unit, at most kMaxArenaBytes
  };

  explicit FitSearch(Upstream upstream) noexcept;

  // The problem must outlive this. False: memory refused.
  [[nodiscard]] bool reset(const PlanningProblem& problem, const Limit& limit) noexcept;

  // Preconditions: the blocks are of the region and have bytes, and none is fixed above the limit.
  // Takes steps from `*steps_left`: one for each block to begin with and for each that is placed.
  // Fails only when memory is refused.
  [[nodiscard]] Status run(Span<const std::uint32_t> blocks, std::uint64_t* steps_left,
                           Fitting* fitting) noexcept;

 private:
  [[nodiscard]] Status answer(Span<const std::uint32_t> blocks) noexcept;
  [[nodiscard]] bool select(Span<const std::uint32_t> blocks) noexcept;
  [[nodiscard]] Status search_briefly() noexcept;
  [[nodiscard]] Status search_at_length() noexcept;
  [[nodiscard]] Status try_strategies() noexcept;
  [[nodiscard]] Status attempt(const PackingOrder& order, std::uint64_t steps) noexcept;
  [[nodiscard]] bool lies_within_limit() const noexcept;
  [[nodiscard]] bool is_over() const noexcept {
    return fitting_ != Fitting::kNotKnown || steps_left_ == 0;
  }

  Upstream upstream_;
  const PlanningProblem* problem_ = nullptr;
  Limit limit_;
  Array<std::uint32_t> selected_as_;  // by block of the problem: its number in blocks_

  // The test under way: a problem of its own.
  PlanningProblem selection_;
  Array<Block> blocks_;
  Array<BlockPair> may_overlap_;
  Array<BlockPair> listed_conflicts_;
  Array<std::uint32_t> movable_;
  Array<std::uint32_t> fixed_;
  Array<std::uint64_t> offsets_;
  Packing packing_;
  PackingSearch search_;
  std::uint64_t steps_left_ = 0;
  Fitting fitting_ = Fitting::kNotKnown;
};

}  // namespace tenure::internal
