// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts what a program takes from the heap: every call of operator new, in all its forms (which a
// program may replace, and counting_heap.cpp does), and every call of an Upstream that tenure is
// given. What calls malloc itself is not counted; neither tenure, beyond its Upstream, nor the
// examples do.
//
//   const std::size_t before = heap_call_count();
//   ArenaPlanner planner(PlannerOptions().set_upstream(counting_upstream()));

#include <cstddef>

#include "tenure/upstream.h"

namespace example {

[[nodiscard]] tenure::Upstream counting_upstream() noexcept;
// Allocations since the program began; giving back is not counted.
[[nodiscard]] std::size_t heap_call_count() noexcept;

}  // namespace example
