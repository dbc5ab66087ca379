// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which operators have state, and so give other results for the same operands; the list is in
// tenure/io/tflite.h.

#include "io/tflite_model.h"
#include "tflite_generated.h"

namespace tenure::io {

// Precondition: the view, of which `subgraph` and `op` are parts, has been checked.
[[nodiscard]] bool has_state(const ModelView& model, const tflite::SubGraph& subgraph,
                             const tflite::Operator& op);

}  // namespace tenure::io
