// SPDX-License-Identifier: Apache-2.0

#include "io/tflite_profile.h"

namespace tenure::io {

std::optional<SharingRule> sharing_rule(TfliteProfile profile,
                                        tflite::BuiltinOperator code) noexcept {
  if (profile != TfliteProfile::kLitert) return std::nullopt;
  switch (code) {
    case tflite::BuiltinOperator_RESHAPE:
    case tflite::BuiltinOperator_SQUEEZE:
    case tflite::BuiltinOperator_EXPAND_DIMS:
    case tflite::BuiltinOperator_BITCAST:
      return SharingRule{RelationKind::kAlias, 1};
    case tflite::BuiltinOperator_ADD:
    case tflite::BuiltinOperator_SUB:
    case tflite::BuiltinOperator_MUL:
    case tflite::BuiltinOperator_DIV:
      return SharingRule{RelationKind::kInPlace, 2};
    case tflite::BuiltinOperator_SOFTMAX:
    case tflite::BuiltinOperator_DYNAMIC_UPDATE_SLICE:
      return SharingRule{RelationKind::kInPlace, 1};
    default:
      return std::nullopt;
  }
}

}  // namespace tenure::io
