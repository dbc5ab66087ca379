// SPDX-License-Identifier: Apache-2.0
#pragma once

// Puts an unordered list of operators into an order in which they can run, for sources that have
// none. A list that is in order already stays as it is: of all operators that could run next the
// one with the smallest index comes first.
//
//   const OperatorEdges operators[] = {{inputs_of_0, outputs_of_0}, {inputs_of_1, outputs_of_1}};
//   Result<Array<OperatorIndex>> order = order_operators(operators, tensor_count);

#include <cstdint>

#include "tenure/array.h"
#include "tenure/index.h"
#include "tenure/span.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure {

struct OperatorEdges {
  Span<const TensorIndex> inputs;  // none: an optional operand that is absent
  Span<const TensorIndex> outputs;
};

// The operators' indices in the order in which to run them. Fails with kOrderCycle, naming an
// operator of the cycle and the operand it waits for, and then fills `cycle` (unless null) with the
// operators of the cycle, each waiting for the one before it and the first for the last. Also fails
// for indices out of range, tensors produced twice, and memory refused. O((operators + edges) log
// operators).
[[nodiscard]] Result<Array<OperatorIndex>> order_operators(
    Span<const OperatorEdges> operators, std::uint32_t tensor_count,
    Array<OperatorIndex>* cycle = nullptr, Upstream upstream = heap_upstream()) noexcept;

}  // namespace tenure
