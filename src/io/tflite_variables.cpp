// SPDX-License-Identifier: Apache-2.0

#include "io/tflite_variables.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenure::io {
namespace {

// The tensor with a variable's value: the result of a read, the second operand of an assignment.
std::int32_t value_tensor(const tflite::Operator& op, tflite::BuiltinOperator code) {
  const auto* list = ResourceVariables::reads(code) ? op.outputs() : op.inputs();
  const std::uint32_t place = ResourceVariables::reads(code) ? 0 : 1;
  return place < count_of(list) ? list->Get(place) : kAbsentTensor;
}

std::string joined_name(const std::string& container, const std::string& shared_name) {
  if (container.empty()) return shared_name;
  return shared_name.empty() ? container : container + '/' + shared_name;
}

}  // namespace

Result<ResourceVariables> ResourceVariables::find(const ModelView& model) {
  ResourceVariables variables;
  for (std::uint32_t i = 0; i < model.subgraph_count(); ++i) variables.add_handles(model, i);
  for (std::uint32_t i = 0; i < model.subgraph_count(); ++i) {
    if (MaybeError error = variables.measure(model, i)) return *error;
  }
  return variables;
}

void ResourceVariables::add_handles(const ModelView& model, std::uint32_t subgraph) {
  const auto* operators = model.subgraph(subgraph).operators();
  for (std::uint32_t i = 0; i < count_of(operators); ++i) {
    const tflite::Operator& op = *operators->Get(i);
    const bool makes_handle = model.code(op) == tflite::BuiltinOperator_VAR_HANDLE;
    if (!makes_handle || count_of(op.outputs()) == 0) continue;
    Identity identity;
    if (const auto* options = op.builtin_options_as_VarHandleOptions()) {
      identity = {text_of(options->container()), text_of(options->shared_name())};
    }
    const auto [entry, is_new] = numbers_.emplace(identity, variables_.size());
    if (is_new) {
      variables_.emplace_back();
      variables_.back().name = joined_name(identity.first, identity.second);
    }
    handles_[{subgraph, op.outputs()->Get(0)}] = entry->second;
  }
}

MaybeError ResourceVariables::measure(const ModelView& model, std::uint32_t subgraph) {
  const tflite::SubGraph& parent = model.subgraph(subgraph);
  for (std::uint32_t i = 0; i < count_of(parent.operators()); ++i) {
    const tflite::Operator& op = *parent.operators()->Get(i);
    const tflite::BuiltinOperator code = model.code(op);
    if (!reads(code) && !assigns(code)) continue;
    const std::optional<std::size_t> number = behind(subgraph, op);
    const std::int32_t value = value_tensor(op, code);
    if (!number || value == kAbsentTensor) continue;
    const Result<std::uint64_t> size =
        size_of_shape(*parent.tensors()->Get(static_cast<std::uint32_t>(value)));
    if (!size.ok()) return prefixed(model.tensor_label(subgraph, value), size.error());
    ResourceVariable& variable = variables_[*number];
    if (variable.has_value && variable.size_bytes != *size) variable.has_several_sizes = true;
    variable.has_value = true;
    variable.size_bytes = std::max(variable.size_bytes, *size);
  }
  return std::nullopt;
}

std::optional<std::size_t> ResourceVariables::behind(std::uint32_t subgraph,
                                                     const tflite::Operator& op) const {
  if (count_of(op.inputs()) == 0) return std::nullopt;
  const auto found = handles_.find({subgraph, op.inputs()->Get(0)});
  if (found == handles_.end()) return std::nullopt;
  return found->second;
}

}  // namespace tenure::io
