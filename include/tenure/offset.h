// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where a block lies in memory that need not be visible to the CPU: bytes from the beginning, or
// nowhere, when the request was refused.
//
//   const tenure::Offset offset = offsets.allocate(size_bytes, 256);
//   if (offset.is_none()) { ... }
//   bind(buffer, offset.bytes);

#include <cstddef>
#include <cstdint>

namespace tenure {

struct Offset {
  std::size_t bytes = kNoneBytes;

  static constexpr std::size_t kNoneBytes = SIZE_MAX;

  [[nodiscard]] static constexpr Offset none() noexcept { return {}; }
  [[nodiscard]] constexpr bool is_none() const noexcept { return bytes == kNoneBytes; }
};

}  // namespace tenure
