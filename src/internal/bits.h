// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where bits lie in a word that is not 0.

#include <cstdint>

namespace tenure::internal {

// 31 less the leading zeros, in the form that is one instruction on x86.
inline std::uint32_t log2_floor(std::uint32_t value) noexcept {
  return 31U ^ static_cast<std::uint32_t>(__builtin_clz(value));
}

inline std::uint32_t lowest_bit(std::uint32_t bits) noexcept {
  return static_cast<std::uint32_t>(__builtin_ctz(bits));
}

}  // namespace tenure::internal
