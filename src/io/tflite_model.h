// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the parts of a model mean: operators' names, calls, constants, sizes. Every vector and
// string of a FlatBuffer may be null, which counts as empty here.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/boundary.h"
#include "tflite_generated.h"

namespace tenure::io {

template <class Vector>
[[nodiscard]] std::uint32_t count_of(const Vector* vector) noexcept {
  return vector == nullptr ? 0 : vector->size();
}

[[nodiscard]] inline const char* text_of(const flatbuffers::String* text) noexcept {
  return text == nullptr ? "" : text->c_str();
}

// The index of an operand that is absent.
inline constexpr std::int32_t kAbsentTensor = -1;

class ModelView {
 public:
  // Preconditions: `model` has been verified, and it outlives this object. All functions but labels
  // of tensors, names and calls of operators, and counts also rely on check_model.
  explicit ModelView(const tflite::Model& model) noexcept : model_(model) {}

  [[nodiscard]] std::uint32_t subgraph_count() const noexcept {
    return count_of(model_.subgraphs());
  }
  [[nodiscard]] const tflite::SubGraph& subgraph(std::uint32_t index) const {
    return *model_.subgraphs()->Get(index);
  }
  [[nodiscard]] tflite::BuiltinOperator code(const tflite::Operator& op) const;
  [[nodiscard]] std::string operator_name(const tflite::Operator& op) const;
  // Of all bodies, branches and decompositions.
  [[nodiscard]] static std::vector<std::int64_t> called_subgraphs(const tflite::Operator& op);

  // Whether there is data for it; then stored_bytes says how much, 0 when it is in another file.
  [[nodiscard]] bool is_constant(const tflite::Tensor& tensor) const;
  [[nodiscard]] std::uint64_t stored_bytes(const tflite::Tensor& tensor) const;

  // "subgraph 0, tensor 3 'x'"
  [[nodiscard]] std::string tensor_label(std::uint32_t subgraph, std::int64_t tensor) const;
  [[nodiscard]] std::string operator_label(std::uint32_t subgraph, std::uint32_t op) const;

 private:
  [[nodiscard]] const tflite::Buffer* buffer(const tflite::Tensor& tensor) const;

  const tflite::Model& model_;
};

// From the shape: null or empty is one element, a dimension 0 none. Strings and variants, whose
// size is only known at run time, and resource handles have 0 bytes. Fails for a negative
// dimension, a type that is not known, and more than 64 bits; the message says so without naming
// the tensor.
[[nodiscard]] Result<std::uint64_t> size_of_shape(const tflite::Tensor& tensor);

// A type whose bytes do not follow from the shape, and are more than a handle.
[[nodiscard]] bool has_run_time_size(const tflite::Tensor& tensor) noexcept;

}  // namespace tenure::io
