// SPDX-License-Identifier: Apache-2.0
#pragma once

// Two independent proofs that a plan is safe. The first checks rectangles: no two blocks that
// conflict share bytes. The second runs the graph in the abstract, byte ranges instead of numbers,
// and finds every read of something else than what was meant; it does not use the analyzer, so that
// wrong live ranges show too.
//
//   Status status = tenure::verify(graph, plan);
//   if (!status.ok()) tenure::describe(status, graph.names(), sink);  // both tensors, the operator

#include "tenure/graph.h"
#include "tenure/plan.h"
#include "tenure/problem.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure {

// Every block is placed in its region, aligned, at its fixed offset if it has one, inside the arena
// and its capacity, apart from all that it conflicts with; no arena is below the stated lower
// bound, nor is the stated bound above the true one. A failure names both blocks. O(n log n) plus
// overlaps that are allowed.
[[nodiscard]] Status verify(const PlanningProblem& problem, const MemoryPlan& plan,
                            Upstream upstream = heap_upstream()) noexcept;

// Every operand that an operator reads holds what its producer (or the application) wrote; results,
// scratch and operands of one operator are apart unless a relation of that operator allows it;
// aliases and views lie where they must; outputs, kept tensors, constants and what lives across
// runs hold their bytes at the end. A failure names both tensors and the operator. O((tensors +
// edges) log tensors).
[[nodiscard]] Status verify(const TensorGraph& graph, const MemoryPlan& plan,
                            Upstream upstream = heap_upstream()) noexcept;

}  // namespace tenure
