// SPDX-License-Identifier: Apache-2.0

// A network runs from one planned arena as it does with a buffer for each tensor: the same bits
// come out, on every machine. And a plan that is wrong is found before it does harm.
//
// What to read, in this order: common/small_network.cpp (the network), common/inference.cpp (the
// executor), common/comparison.cpp (what is run here).

#include <cinttypes>
#include <cstdio>

#include "common/comparison.h"

namespace {

// Of the small network; changes with it, but not with compiler, options or machine.
constexpr std::uint64_t kExpectedOutputHash = 0xDAFD87CC7C3F1C5A;

}  // namespace

int main() {
  const example::ComparisonResult result = example::compare_memory_of_inference();
  if (result.output_hash != kExpectedOutputHash) {
    std::printf("FAILED: the output is the same on every machine (hash %016" PRIx64 ")\n",
                kExpectedOutputHash);
    return 1;
  }
  return result.is_as_expected ? 0 : 1;
}
