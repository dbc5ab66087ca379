// SPDX-License-Identifier: Apache-2.0
#pragma once

// Whose scratch the rows of a list are: names and indices become operators of one subgraph.

#include <cstdint>
#include <vector>

#include "io/tflite_model.h"
#include "tenure/io/scratch.h"

namespace tenure::io {

struct OperatorScratch {
  std::uint32_t op = 0;
  const ScratchRow* row = nullptr;  // of the list
};

// By operator, ascending, those of one operator in the order of the list. Fails with the list's
// name and line for a row that names no operator, or several. O(operators + rows log rows).
// Precondition: the view has been checked, and the list outlives what is returned.
[[nodiscard]] Result<std::vector<OperatorScratch>> find_operators(const ModelView& model,
                                                                  std::uint32_t subgraph,
                                                                  const ScratchList& list);

}  // namespace tenure::io
