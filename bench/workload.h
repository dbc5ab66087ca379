// SPDX-License-Identifier: Apache-2.0
#pragma once

// The synthetic problems that planning is timed on: first use uniform in [0, n), length of the live
// range geometric, size log-normal with median 8 KiB and sigma 1.5, rounded up to 64; alignment 64.
// One seed. *Short* ranges have a mean length of 16 steps whatever n is, *long* ones of n / 20.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tenure/problem.h"

namespace tenure::bench {

class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  // SplitMix64.
  std::uint64_t next() noexcept {
    std::uint64_t value = state_ += 0x9E3779B97F4A7C15U;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9U;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBU;
    return value ^ (value >> 31);
  }
  // In (0, 1).
  double uniform() noexcept {
    return (static_cast<double>(next() >> 11) + 0.5) / 9007199254740992.0;
  }
  // In [0, 1) of `count`.
  std::uint32_t below(std::uint32_t count) noexcept {
    return static_cast<std::uint32_t>(uniform() * count);
  }
  double normal() noexcept {
    constexpr double kTwoPi = 6.283185307179586;
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    return radius * std::cos(kTwoPi * uniform());
  }

 private:
  std::uint64_t state_;
};

inline std::vector<Block> random_blocks(std::uint32_t count, double mean_length) {
  Random random(1);
  std::vector<Block> blocks(count);
  for (Block& block : blocks) {
    const std::uint32_t first = random.below(count);
    const double extra = std::log(random.uniform()) / std::log1p(-1.0 / mean_length);
    const double last = std::min(first + std::floor(extra), static_cast<double>(count) - 1.0);
    const double bytes = 8192.0 * std::exp(1.5 * random.normal());
    block.live_range = {Step(first), Step(static_cast<std::uint32_t>(last))};
    block.size_bytes = static_cast<std::uint64_t>(std::ceil(bytes / 64.0)) * 64;
  }
  return blocks;
}

inline std::vector<Block> short_blocks(std::uint32_t count) { return random_blocks(count, 16.0); }
inline std::vector<Block> long_blocks(std::uint32_t count) {
  return random_blocks(count, count / 20.0);
}

}  // namespace tenure::bench
