// SPDX-License-Identifier: Apache-2.0
#pragma once

// What FlatBuffers' verifier cannot know of a model: that every number names something that exists.

#include <cstdint>

#include "io/boundary.h"
#include "tflite_generated.h"

namespace tenure::io {

struct ModelSizes {
  std::uint64_t flatbuffer_bytes = 0;  // what was verified
  std::uint64_t file_bytes = 0;        // constants may lie behind the FlatBuffer
};

// The version; indices of tensors, buffers, operator codes and subgraphs; the place of constants
// outside the FlatBuffer; and that its lists are no longer than the file, since many may lie in one
// place. Precondition: `model` has been verified.
[[nodiscard]] MaybeError check_model(const tflite::Model& model, const ModelSizes& sizes);

}  // namespace tenure::io
