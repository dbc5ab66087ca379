// SPDX-License-Identifier: Apache-2.0
#pragma once

// An order of blocks that learns from placing them: those that were blamed come first, the more often
// the earlier, and the rest as they were. The idea is "squeaky wheel" optimization (Joslin and
// Clements, 1999).

#include <cstdint>

#include "tenure/array.h"
#include "tenure/span.h"
#include "tenure/upstream.h"

namespace tenure::internal {

class SqueakyWheel {
 public:
  explicit SqueakyWheel(Upstream upstream) noexcept
      : blames_(upstream), blamed_(upstream), order_(upstream) {}

  // For an order of so many blocks, none of them blamed. False: memory refused.
  [[nodiscard]] bool reset(std::size_t count) noexcept;

  // O(n + b log b) for b that are blamed.
  [[nodiscard]] bool turn(Span<const std::uint32_t> blocks) noexcept;
  [[nodiscard]] Span<const std::uint32_t> order() const noexcept { return order_; }

  // Of the order that turn() was given.
  void blame(std::size_t rank) noexcept { ++blames_[rank]; }

 private:
  Array<std::uint32_t> blames_;  // by rank
  Array<std::uint32_t> blamed_;  // ranks
  Array<std::uint32_t> order_;
};

}  // namespace tenure::internal
