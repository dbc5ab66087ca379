// SPDX-License-Identifier: Apache-2.0

#include "io/tflite_model.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenure::io {
namespace {

bool has_no_elements(const tflite::Tensor& tensor) {
  const auto* shape = tensor.shape();
  return shape != nullptr && std::find(shape->begin(), shape->end(), 0) != shape->end();
}

void append_called(const tflite::Operator& op, std::vector<std::int64_t>* called) {
  if (const auto* call = op.builtin_options_as_CallOptions()) called->push_back(call->subgraph());
  if (const auto* branch = op.builtin_options_as_IfOptions()) {
    called->push_back(branch->then_subgraph_index());
    called->push_back(branch->else_subgraph_index());
  }
  if (const auto* loop = op.builtin_options_as_WhileOptions()) {
    called->push_back(loop->cond_subgraph_index());
    called->push_back(loop->body_subgraph_index());
  }
  if (const auto* once = op.builtin_options_as_CallOnceOptions()) {
    called->push_back(once->init_subgraph_index());
  }
}

void append_called_by_stablehlo(const tflite::Operator& op, std::vector<std::int64_t>* called) {
  const auto append_all = [called](const flatbuffers::Vector<std::int32_t>* indices) {
    if (indices != nullptr) called->insert(called->end(), indices->begin(), indices->end());
  };
  if (const auto* custom = op.builtin_options_2_as_StablehloCustomCallOptions()) {
    append_all(custom->called_computations());
  }
  if (const auto* reduce = op.builtin_options_2_as_StablehloReduceOptions()) {
    called->push_back(reduce->body_subgraph_index());
  }
  if (const auto* scatter = op.builtin_options_2_as_StablehloScatterOptions()) {
    called->push_back(scatter->update_computation_subgraph_index());
  }
  if (const auto* window = op.builtin_options_2_as_StablehloReduceWindowOptions()) {
    called->push_back(window->body_subgraph_index());
  }
  if (const auto* sort = op.builtin_options_2_as_StablehloSortOptions()) {
    called->push_back(sort->comparator_subgraph_index());
  }
  if (const auto* loop = op.builtin_options_2_as_StablehloWhileOptions()) {
    called->push_back(loop->cond_subgraph_index());
    called->push_back(loop->body_subgraph_index());
  }
  if (const auto* composite = op.builtin_options_2_as_StableHLOCompositeOptions()) {
    called->push_back(composite->decomposition_subgraph_index());
  }
  if (const auto* branch = op.builtin_options_2_as_StablehloCaseOptions()) {
    append_all(branch->branch_subgraph_indices());
  }
}

}  // namespace

// Old files fill in only the byte, new operators only the larger field.
tflite::BuiltinOperator ModelView::code(const tflite::Operator& op) const {
  const tflite::OperatorCode& code = *model_.operator_codes()->Get(op.opcode_index());
  return std::max(code.builtin_code(),
                  static_cast<tflite::BuiltinOperator>(code.deprecated_builtin_code()));
}

std::string ModelView::operator_name(const tflite::Operator& op) const {
  const tflite::BuiltinOperator builtin = code(op);
  if (builtin == tflite::BuiltinOperator_CUSTOM) {
    const tflite::OperatorCode& custom = *model_.operator_codes()->Get(op.opcode_index());
    if (count_of(custom.custom_code()) != 0) return custom.custom_code()->str();
  }
  const char* const name = tflite::EnumNameBuiltinOperator(builtin);
  return *name != '\0' ? name : fmt::format("BUILTIN_{}", static_cast<std::int32_t>(builtin));
}

std::vector<std::int64_t> ModelView::called_subgraphs(const tflite::Operator& op) {
  std::vector<std::int64_t> called;
  append_called(op, &called);
  append_called_by_stablehlo(op, &called);
  return called;
}

const tflite::Buffer* ModelView::buffer(const tflite::Tensor& tensor) const {
  return tensor.buffer() == 0 ? nullptr : model_.buffers()->Get(tensor.buffer());
}

bool ModelView::is_constant(const tflite::Tensor& tensor) const {
  if (tensor.external_buffer() != 0) return true;
  const tflite::Buffer* data = buffer(tensor);
  if (data == nullptr) return false;
  if (count_of(data->data()) != 0 || data->offset() > 1) return true;
  return data->data() != nullptr && has_no_elements(tensor);
}

std::uint64_t ModelView::stored_bytes(const tflite::Tensor& tensor) const {
  const tflite::Buffer* data = buffer(tensor);
  if (data == nullptr) return 0;
  const std::uint32_t count = count_of(data->data());
  return count != 0 || data->offset() <= 1 ? count : data->size();
}

std::string ModelView::tensor_label(std::uint32_t subgraph_index, std::int64_t tensor) const {
  const auto* tensors = subgraph(subgraph_index).tensors();
  const auto* name = tensors->Get(static_cast<std::uint32_t>(tensor))->name();
  return fmt::format("subgraph {}, tensor {} '{}'", subgraph_index, tensor, text_of(name));
}

std::string ModelView::operator_label(std::uint32_t subgraph_index, std::uint32_t op) const {
  return fmt::format("subgraph {}, operator {} '{}'", subgraph_index, op,
                     operator_name(*subgraph(subgraph_index).operators()->Get(op)));
}

}  // namespace tenure::io
