// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folds constants: tensors that operators compute from constants alone have the same bytes in every
// run, so they are computed once and kept. In the folded graph they are persistent, which takes
// them out of the reusable region and away from every in place result. Between building a graph
// and planning it:
//
//   Result<TensorGraph> folded = fold_constants(graph);
//   Result<MemoryPlan> plan = ArenaPlanner().plan(*folded);
//
// Indices, names, operators and steps stay as they are: the first run computes what is folded, at
// its step and with its operators' scratch, and leaves it for all later ones.
//
// It saves work, and bytes only where what is folded is held through a peak: what is not folded is
// computed anew in bytes that others use too. face_landmark_with_attention, whose float16 weights
// are widened before use, needs 155,264 reusable bytes less and 4,757,632 persistent ones more.
//
// Follows LiteRT, whose kernels compute results of constants while they are prepared, into tensors
// that are not shared (kTfLitePersistentRo; kTfLiteArenaRwPersistent for DEQUANTIZE), and TFLite's
// converters, which fold before they write a model. It differs on purpose: it goes by what an
// operator reads and not by a list of kernels; SHAPE and RANK of what is computed are not folded,
// although their results are known; an output that LiteRT would fold stays an output.

#include "tenure/array.h"
#include "tenure/graph.h"
#include "tenure/index.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure {

// A copy of the graph in which constant results are persistent. A result is constant when its
// operator has no state (OperatorBuilder::stateful), reads something, and reads only constants and
// constant results; an absent operand counts for nothing. It stays what it was when it
//
//   - is an output, external or persistent itself. What is computed from a constant output is
//     constant all the same; what is computed from state is not;
//   - lies in a constant's bytes (alias, view): it has none of its own;
//   - shares bytes, by required relations, with a tensor that stays, or in another way than as
//     parts of parts of one whole. Then the whole becomes persistent, and its parts lie in it.
//
// Results that nobody reads and kept ones are folded like others. Where the base of an update is
// folded, the update becomes a result in place, which the analyzer refuses like any that would be
// written over persistent bytes. Folding again changes nothing.
//
// `once`, unless null, is filled with the operators, in their order, all of whose results are
// folded or lie in constants: after the first run they need not run, as long as the persistent
// region keeps its bytes.
//
// O(operators + edges), times the inverse Ackermann function where tensors share bytes. Fails for
// memory refused only, and then leaves `once` as it was. Thread-safe.
[[nodiscard]] Result<TensorGraph> fold_constants(const TensorGraph& graph,
                                                 Array<OperatorIndex>* once = nullptr,
                                                 Upstream upstream = heap_upstream()) noexcept;

}  // namespace tenure
