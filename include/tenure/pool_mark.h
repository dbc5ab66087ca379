// SPDX-License-Identifier: Apache-2.0
#pragma once

// Going back in a pool: a position to rewind to, and what happens to blocks that are live beyond
// it. A mark is stale once the pool was reset, or rewound to an older mark, and in any other pool.
//
//   const auto mark = pool.mark();
//   ...                                     // scratch of one layer
//   if (!pool.rewind(*mark).ok()) { ... }   // refuses while that is live

#include <cstddef>
#include <cstdint>

namespace tenure {

inline constexpr std::size_t kMaxMarks = 16;  // nested in each other

// What a forced reset or rewind is told of the blocks that it takes away.
enum class LateFrees : std::uint8_t {
  kMayCome,    // their owners may yet free them: until as many frees have come, none gives bytes
               // back, and a reset or rewind refuses what may be live
  kNeverCome,  // their owners are gone, or never free, or a GuardAllocator keeps late frees back;
               // nor are those of earlier resets waited for any longer
};

struct PoolMark {
  const void* pool = nullptr;  // whose it is
  std::uint32_t depth = 0;
  std::uint32_t serial = 0;
};

}  // namespace tenure
