// SPDX-License-Identifier: Apache-2.0
#pragma once

// Going back in a pool: a position to rewind to, and what happens to blocks that are live beyond
// it. A mark is stale once the pool was reset, or rewound to an older mark, or the mark or an older
// one was forgotten, and in any other pool. It must not outlive its pool.
//
//   void* output = pool.fastMalloc(...);    // of one layer, kept
//   const auto mark = pool.mark();
//   ...                                     // its scratch
//   if (!pool.rewind(*mark).ok()) { ... }   // refuses while that is live
//   if (!pool.forget(*mark).ok()) { ... }   // so that there may be any number of layers

#include <cstddef>
#include <cstdint>

namespace tenure {

inline constexpr std::size_t kMaxMarks = 16;  // nested in each other, at different positions

// What a forced reset or rewind is told of the blocks that it takes away.
enum class LateFrees : std::uint8_t {
  kMayCome,    // their owners may yet free them: until as many frees have come, none gives bytes
               // back, and a reset or rewind refuses what may be live
  kNeverCome,  // their owners are gone, or never free, or a GuardAllocator keeps late frees back;
               // nor are those of earlier resets waited for any longer. Below the mark of a rewind,
               // blocks whose frees were taken for earlier late ones stay counted as live, until a
               // forced reset
};

struct PoolMark {
  const void* pool = nullptr;  // whose it is
  std::uint32_t depth = 0;
  std::uint64_t serial = 0;
};

}  // namespace tenure
