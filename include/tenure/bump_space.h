// SPDX-License-Identifier: Apache-2.0
#pragma once

// The space that a pool hands out from the front to the back: how large it is, how blocks in it are
// aligned, and where it lies when that counts. See bump_offsets.h.
//
//   heap.open(tenure::BumpSpace().set_capacity_bytes(64 << 20).set_alignment_bytes(256));

#include <cstddef>
#include <cstdint>

#include "tenure/align.h"

namespace tenure {

struct BumpSpace {
  std::size_t capacity_bytes = 0;  // at most SIZE_MAX / 2
  std::size_t alignment_bytes = static_cast<std::size_t>(kDefaultAlignmentBytes);
  std::uintptr_t origin = 0;  // address of offset 0, a multiple of unit_bytes()

  BumpSpace& set_capacity_bytes(std::size_t bytes) noexcept {
    return capacity_bytes = bytes, *this;
  }
  BumpSpace& set_alignment_bytes(std::size_t bytes) noexcept {
    return alignment_bytes = bytes, *this;
  }
  BumpSpace& set_origin(std::uintptr_t address) noexcept { return origin = address, *this; }

  // Blocks take whole units: of the alignment, or in a space of 2^31 - 1 of those and more of twice
  // that, and so on. So no sum of a position and a size, each a unit above the space at most, wraps
  // round in 32 bits.
  [[nodiscard]] std::size_t unit_bytes() const noexcept {
    std::size_t unit = alignment_bytes;
    while (capacity_bytes / unit >= UINT32_MAX / 2) unit *= 2;
    return unit;
  }
};

}  // namespace tenure
