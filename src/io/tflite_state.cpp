// SPDX-License-Identifier: Apache-2.0

#include "io/tflite_state.h"

namespace tenure::io {
namespace {

// Also those whose operands show it today (variable tensors, handles) or that call subgraphs, in
// case a model leaves out what shows it.
bool has_state(tflite::BuiltinOperator code) {
  switch (code) {
    case tflite::BuiltinOperator_RANDOM_UNIFORM:
    case tflite::BuiltinOperator_RANDOM_STANDARD_NORMAL:
    case tflite::BuiltinOperator_MULTINOMIAL:
    case tflite::BuiltinOperator_STABLEHLO_RNG_BIT_GENERATOR:

    case tflite::BuiltinOperator_LSTM:
    case tflite::BuiltinOperator_UNIDIRECTIONAL_SEQUENCE_LSTM:
    case tflite::BuiltinOperator_BIDIRECTIONAL_SEQUENCE_LSTM:
    case tflite::BuiltinOperator_RNN:
    case tflite::BuiltinOperator_UNIDIRECTIONAL_SEQUENCE_RNN:
    case tflite::BuiltinOperator_BIDIRECTIONAL_SEQUENCE_RNN:
    case tflite::BuiltinOperator_SVDF:

    case tflite::BuiltinOperator_VAR_HANDLE:
    case tflite::BuiltinOperator_READ_VARIABLE:
    case tflite::BuiltinOperator_ASSIGN_VARIABLE:
    case tflite::BuiltinOperator_HASHTABLE:
    case tflite::BuiltinOperator_HASHTABLE_FIND:
    case tflite::BuiltinOperator_HASHTABLE_IMPORT:
    case tflite::BuiltinOperator_HASHTABLE_SIZE:

    case tflite::BuiltinOperator_CALL:
    case tflite::BuiltinOperator_CALL_ONCE:
    case tflite::BuiltinOperator_IF:
    case tflite::BuiltinOperator_WHILE:
    case tflite::BuiltinOperator_STABLEHLO_CASE:
    case tflite::BuiltinOperator_STABLEHLO_WHILE:
    case tflite::BuiltinOperator_STABLEHLO_COMPOSITE:
    case tflite::BuiltinOperator_STABLEHLO_CUSTOM_CALL:

    case tflite::BuiltinOperator_CUSTOM:
    case tflite::BuiltinOperator_DELEGATE:
    case tflite::BuiltinOperator_PLACEHOLDER_FOR_GREATER_OP_CODES:
      return true;
    default:
      return code < tflite::BuiltinOperator_MIN || code > tflite::BuiltinOperator_MAX;
  }
}

bool has_handle(const tflite::SubGraph& subgraph, const flatbuffers::Vector<std::int32_t>* list) {
  for (std::uint32_t i = 0; i < count_of(list); ++i) {
    if (list->Get(i) == kAbsentTensor) continue;
    const tflite::TensorType type =
        subgraph.tensors()->Get(static_cast<std::uint32_t>(list->Get(i)))->type();
    if (type == tflite::TensorType_RESOURCE || type == tflite::TensorType_VARIANT) return true;
  }
  return false;
}

}  // namespace

bool has_state(const ModelView& model, const tflite::SubGraph& subgraph,
               const tflite::Operator& op) {
  return has_state(model.code(op)) || !ModelView::called_subgraphs(op).empty() ||
         has_handle(subgraph, op.inputs()) || has_handle(subgraph, op.outputs());
}

}  // namespace tenure::io
