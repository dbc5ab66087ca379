// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which operators share bytes between operand and result, by profile; the table is in
// tenure/io/tflite.h.

#include <cstdint>
#include <optional>

#include "tenure/graph.h"
#include "tenure/io/tflite.h"
#include "tflite_generated.h"

namespace tenure::io {

// Result 0 shares with one of the first `operand_count` operands; the first that can is taken.
struct SharingRule {
  RelationKind kind = RelationKind::kInPlace;
  std::uint32_t operand_count = 1;
};

[[nodiscard]] std::optional<SharingRule> sharing_rule(TfliteProfile profile,
                                                      tflite::BuiltinOperator code) noexcept;

}  // namespace tenure::io
