// SPDX-License-Identifier: Apache-2.0
#pragma once

// Strong types for the things that are numbered: tensors, operators, blocks, regions, steps. They
// do not mix, so that a step is never taken for an operator. Each starts at 0 and has one constant
// for "none".
//
//   TensorIndex image{0};
//   image.value;              // 0
//   TensorIndex::none();      // an optional operand that is absent

#include <cstdint>

namespace tenure {

template <class Tag>
struct Index {
  std::uint32_t value = kNoneValue;

  static constexpr std::uint32_t kNoneValue = 0xFFFFFFFFU;

  constexpr Index() noexcept = default;
  constexpr explicit Index(std::uint32_t index) noexcept : value(index) {}

  [[nodiscard]] static constexpr Index none() noexcept { return Index(); }
  [[nodiscard]] constexpr bool is_none() const noexcept { return value == kNoneValue; }

  friend constexpr bool operator==(Index a, Index b) noexcept { return a.value == b.value; }
  friend constexpr bool operator!=(Index a, Index b) noexcept { return a.value != b.value; }
  friend constexpr bool operator<(Index a, Index b) noexcept { return a.value < b.value; }
  friend constexpr bool operator<=(Index a, Index b) noexcept { return a.value <= b.value; }
  friend constexpr bool operator>(Index a, Index b) noexcept { return a.value > b.value; }
  friend constexpr bool operator>=(Index a, Index b) noexcept { return a.value >= b.value; }
};

using TensorIndex = Index<struct TensorTag>;      // a value of the graph
using OperatorIndex = Index<struct OperatorTag>;  // a piece of work, by identity
using BlockIndex = Index<struct BlockTag>;        // what is placed
using RegionIndex = Index<struct RegionTag>;      // a kind of memory
using Step = Index<struct StepTag>;               // a point of execution time

// A live range in steps, both ends inclusive.
struct LiveRange {
  Step first_use;
  Step last_use;

  [[nodiscard]] constexpr bool overlaps(LiveRange other) const noexcept {
    return first_use <= other.last_use && other.first_use <= last_use;
  }
  friend constexpr bool operator==(LiveRange a, LiveRange b) noexcept {
    return a.first_use == b.first_use && a.last_use == b.last_use;
  }
};

}  // namespace tenure
