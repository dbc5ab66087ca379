// SPDX-License-Identifier: Apache-2.0
#pragma once

// What makes a grouped list of operators a graph: every read after its production, relations that
// stay inside their operator and do not contradict each other. O(operators + edges).

#include "tenure/graph.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure::internal {

// Precondition: indices are in range and producers are set.
[[nodiscard]] Status check_graph(const TensorGraph& graph, Upstream upstream) noexcept;

}  // namespace tenure::internal
