// SPDX-License-Identifier: Apache-2.0
#pragma once

// Numbers that look random and are the same everywhere: the output function of SplitMix64.

#include <cstdint>

namespace tenure::internal {

[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t value) noexcept {
  value += 0x9E3779B97F4A7C15U;
  value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9U;
  value = (value ^ value >> 27) * 0x94D049BB133111EBU;
  return value ^ value >> 31;
}

}  // namespace tenure::internal
