// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checked arithmetic on bytes: sums, products and round-ups that say when they do not fit, for
// planning (std::uint64_t) and for addresses (std::uintptr_t).
//
//   std::uint64_t end = 0;
//   if (!tenure::checked_add(offset_bytes, size_bytes, &end)) { ... }   // end is unchanged

#include <cstdint>

namespace tenure {

// A cache line, and a full SVE or AVX-512 vector.
inline constexpr std::uint64_t kDefaultAlignmentBytes = 64;

[[nodiscard]] constexpr bool is_power_of_two(std::uint64_t value) noexcept {
  return value != 0 && (value & (value - 1)) == 0;
}

// No arena is larger, so that offsets from 2^63 on can mean negative numbers.
inline constexpr std::uint64_t kMaxArenaBytes = UINT64_MAX / 2;

// Each writes `*result` and returns true when the exact result fits in 64 bits.
[[nodiscard]] constexpr bool checked_add(std::uint64_t a, std::uint64_t b,
                                         std::uint64_t* result) noexcept {
  if (b > UINT64_MAX - a) return false;
  *result = a + b;
  return true;
}

[[nodiscard]] constexpr bool checked_multiply(std::uint64_t a, std::uint64_t b,
                                              std::uint64_t* result) noexcept {
  if (a != 0 && b > UINT64_MAX / a) return false;
  *result = a * b;
  return true;
}

// Precondition: alignment_bytes is a power of two.
[[nodiscard]] constexpr bool checked_align_up(std::uint64_t value, std::uint64_t alignment_bytes,
                                              std::uint64_t* result) noexcept {
  const std::uint64_t mask = alignment_bytes - 1;
  if (value > UINT64_MAX - mask) return false;
  *result = (value + mask) & ~mask;
  return true;
}

// Bytes from `address` to the next multiple of the alignment; less than one alignment for every
// address. Precondition: alignment_bytes is a power of two.
[[nodiscard]] constexpr std::uint64_t padding_to_align(std::uint64_t address,
                                                       std::uint64_t alignment_bytes) noexcept {
  return (0 - address) & (alignment_bytes - 1);
}

}  // namespace tenure
