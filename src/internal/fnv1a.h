// SPDX-License-Identifier: Apache-2.0
#pragma once

// FNV-1a, 64 bits, over numbers as eight little-endian bytes each: the same on every machine.
//
//   Fnv1a hash;
//   hash.add(size_bytes).add(alignment_bytes);
//   return hash.value();

#include <cstdint>

namespace tenure::internal {

class Fnv1a {
 public:
  Fnv1a& add(std::uint64_t number) noexcept {
    for (int byte = 0; byte < 8; ++byte, number >>= 8) {
      value_ = (value_ ^ (number & 0xFFU)) * 0x100000001B3U;
    }
    return *this;
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0xCBF29CE484222325U;
};

}  // namespace tenure::internal
