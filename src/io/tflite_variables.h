// SPDX-License-Identifier: Apache-2.0
#pragma once

// Resource variables of a model: state behind handles, shared by name between subgraphs. A variable
// has no size of its own; it is that of the value which an operator assigns to it or reads from it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/tflite_model.h"

namespace tenure::io {

struct ResourceVariable {
  std::string name;              // "container/shared_name", or the one that is not empty
  std::uint64_t size_bytes = 0;  // of the largest value: it must fit whatever is assigned last
  bool has_several_sizes = false;
  bool has_value = false;
};

class ResourceVariables {
 public:
  // Looks at all subgraphs. Precondition: the view has been checked.
  [[nodiscard]] static Result<ResourceVariables> find(const ModelView& model);

  // The variable behind the handle that the operator reads first; none when no VAR_HANDLE of this
  // subgraph has made that handle.
  [[nodiscard]] std::optional<std::size_t> behind(std::uint32_t subgraph,
                                                  const tflite::Operator& op) const;
  [[nodiscard]] const std::vector<ResourceVariable>& all() const noexcept { return variables_; }

  [[nodiscard]] static bool reads(tflite::BuiltinOperator code) noexcept {
    return code == tflite::BuiltinOperator_READ_VARIABLE;
  }
  [[nodiscard]] static bool assigns(tflite::BuiltinOperator code) noexcept {
    return code == tflite::BuiltinOperator_ASSIGN_VARIABLE;
  }

 private:
  using Identity = std::pair<std::string, std::string>;   // container, shared_name
  using Handle = std::pair<std::uint32_t, std::int32_t>;  // subgraph, tensor

  void add_handles(const ModelView& model, std::uint32_t subgraph);
  [[nodiscard]] MaybeError measure(const ModelView& model, std::uint32_t subgraph);

  std::vector<ResourceVariable> variables_;
  std::map<Identity, std::size_t> numbers_;
  std::map<Handle, std::size_t> handles_;
};

}  // namespace tenure::io
