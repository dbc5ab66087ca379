// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs the small network from a planned arena, from an arena without reuse and from a buffer for
// each tensor, and compares the output bit for bit. Then runs it from a plan with a wrong live
// range: the output changes, and both proofs say why.

#include <cstdint>

namespace example {

struct ComparisonResult {
  bool is_as_expected = false;
  std::uint64_t output_hash = 0;
};

// Prints figures, and everything that is not as it should be.
[[nodiscard]] ComparisonResult compare_memory_of_inference();

}  // namespace example
