// SPDX-License-Identifier: Apache-2.0

#include "tenure/graph.h"

namespace tenure {

void TensorGraph::use(Upstream upstream) noexcept {
  tensors_ = Array<Tensor>(upstream);
  tensor_names_ = Array<std::uint32_t>(upstream);
  operators_ = Array<OperatorRecord>(upstream);
  edges_ = Array<TensorIndex>(upstream);
  relations_ = Array<Relation>(upstream);
  text_ = Array<char>(upstream);
}

Span<const TensorIndex> TensorGraph::inputs(OperatorIndex op) const noexcept {
  return edges(edges_begin(op), operators_[op.value].inputs_end);
}

Span<const TensorIndex> TensorGraph::outputs(OperatorIndex op) const noexcept {
  return edges(operators_[op.value].inputs_end, operators_[op.value].outputs_end);
}

Span<const TensorIndex> TensorGraph::scratch(OperatorIndex op) const noexcept {
  return edges(operators_[op.value].outputs_end, operators_[op.value].scratch_end);
}

Span<const Relation> TensorGraph::relations(OperatorIndex op) const noexcept {
  const std::uint32_t begin = op.value == 0 ? 0 : operators_[op.value - 1].relations_end;
  return relations().subspan(begin, operators_[op.value].relations_end - begin);
}

const char* TensorGraph::tensor_name(TensorIndex index) const noexcept {
  return text_.data() + tensor_names_[index.value];
}

const char* TensorGraph::operator_name(OperatorIndex index) const noexcept {
  return text_.data() + operators_[index.value].name;
}

// A Status may name an index that does not exist; that has no name.
NameSource TensorGraph::names() const noexcept {
  NameSource source;
  source.user = this;
  source.tensor_name = [](const void* user, TensorIndex tensor) -> const char* {
    const auto* graph = static_cast<const TensorGraph*>(user);
    return tensor.value < graph->tensor_count() ? graph->tensor_name(tensor) : nullptr;
  };
  source.operator_name = [](const void* user, OperatorIndex op) -> const char* {
    const auto* graph = static_cast<const TensorGraph*>(user);
    return op.value < graph->operator_count() ? graph->operator_name(op) : nullptr;
  };
  return source;
}

}  // namespace tenure
