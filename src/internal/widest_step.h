// SPDX-License-Identifier: Apache-2.0
#pragma once

// The step with the most live bytes inside a live range, for orders that place what is crowded
// first. Live bytes only rise where a block begins, so only those steps count.

#include <cstdint>

#include "tenure/array.h"
#include "tenure/problem.h"
#include "tenure/upstream.h"

namespace tenure::internal {

class WidestStep {
 public:
  struct Width {
    std::uint64_t live_bytes = 0;  // UINT64_MAX where the sum overflows
    Step step;
  };

  explicit WidestStep(Upstream upstream) noexcept
      : steps_(upstream), ending_(upstream), tree_(upstream) {}

  // Of the blocks of one region. O(n log n). False: memory refused.
  [[nodiscard]] bool reset(const PlanningProblem& problem, RegionIndex region) noexcept;

  // Of equally wide steps the first. Precondition: a block of the region begins within the range.
  // O(log n).
  [[nodiscard]] Width within(LiveRange range) const noexcept;

 private:
  [[nodiscard]] static const Width& wider(const Width& a, const Width& b) noexcept;

  Array<std::uint32_t> steps_;   // where blocks begin, each once, sorted
  Array<std::uint64_t> ending_;  // by slot: bytes no longer live there
  Array<Width> tree_;            // heap-shaped: the widest of the steps below
};

}  // namespace tenure::internal
