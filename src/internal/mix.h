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

// The same for 32 bits and a table of 2^bits slots, whose numbers are the uppermost bits. A single
// product would put keys a Fibonacci number apart side by side.
inline std::uint32_t spread(std::uint32_t value) noexcept {
  value = (value ^ (value >> 16)) * 0x7FEB352DU;
  value = (value ^ (value >> 15)) * 0x846CA68BU;
  return value;
}

}  // namespace tenure::internal
