// SPDX-License-Identifier: Apache-2.0
#pragma once

// Numbers for seeded tests: splitmix64, the same on every machine and compiler.
//
//   test::Random random(seed);
//   random.between(1, 6);

#include <cstddef>
#include <cstdint>

namespace tenure::test {

[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept { return mix(state_ += 0x9E3779B97F4A7C15U); }
  // In [0, count). Precondition: count > 0. Slightly uneven for huge counts, which no test minds.
  std::uint64_t below(std::uint64_t count) noexcept { return next() % count; }
  // Both ends inclusive.
  std::uint64_t between(std::uint64_t first, std::uint64_t last) noexcept {
    return first + below(last - first + 1);
  }
  // The same for sizes in memory.
  std::size_t size_below(std::size_t count) noexcept {
    return static_cast<std::size_t>(below(count));
  }
  std::size_t size_between(std::size_t first, std::size_t last) noexcept {
    return static_cast<std::size_t>(between(first, last));
  }
  std::uint32_t index(std::size_t count) noexcept {
    return static_cast<std::uint32_t>(below(count));
  }
  bool chance(std::uint64_t percent) noexcept { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

}  // namespace tenure::test
