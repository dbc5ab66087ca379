// SPDX-License-Identifier: Apache-2.0
#pragma once

// A position of a pool to rewind to. A mark is stale once the pool was reset, or rewound to an
// older mark.
//
//   const auto mark = pool.mark();
//   ...                                     // scratch of one layer
//   if (!pool.rewind(*mark).ok()) { ... }   // refuses while that is live

#include <cstddef>
#include <cstdint>

namespace tenure {

inline constexpr std::size_t kMaxMarks = 16;  // nested in each other

struct PoolMark {
  std::uint32_t depth = 0;
  std::uint32_t serial = 0;  // 0: of no pool
};

}  // namespace tenure
