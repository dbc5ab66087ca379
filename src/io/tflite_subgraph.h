// SPDX-License-Identifier: Apache-2.0
#pragma once

// Turns one subgraph of a checked model into a TensorGraph.

#include <cstdint>

#include "io/tflite_model.h"
#include "io/tflite_variables.h"
#include "tenure/io/tflite.h"

namespace tenure::io {

// Borrows the options while it runs.
[[nodiscard]] Result<TfliteSubgraph> read_subgraph(const ModelView& model,
                                                   const ResourceVariables& variables,
                                                   std::uint32_t index,
                                                   const TfliteOptions& options);

}  // namespace tenure::io
