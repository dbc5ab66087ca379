// SPDX-License-Identifier: Apache-2.0
#pragma once

// Numbers that look random and are the same on every machine: SplitMix64 (Steele, Lea and Flood,
// "Fast splittable pseudorandom number generators"), because the distributions of <random> may
// differ from one standard library to the next.
//
//   SplitMix64 random(7);
//   const float weight = random.next_float();

#include <cstdint>

namespace example {

class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
    return mixed ^ (mixed >> 31U);
  }

  // In [-0.5, 0.5). Of 24 bits, which a float holds exactly: nothing is rounded.
  float next_float() noexcept {
    const auto bits = static_cast<std::uint32_t>(next() >> 40U);
    return static_cast<float>(bits) / 16777216.0F - 0.5F;
  }

 private:
  std::uint64_t state_;
};

}  // namespace example
