// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where memory comes from: two plain functions and a user pointer. Everything in tenure that needs
// memory takes an Upstream, so that a board can hand out a static buffer and a test can refuse any
// call.
//
//   tenure::ArenaPlanner planner(tenure::PlannerOptions().set_upstream(my_upstream));

#include <cstddef>

namespace tenure {

struct Upstream {
  // Returns memory with that alignment (a power of two), or null. size_bytes is never 0.
  void* (*allocate)(void* user, std::size_t size_bytes, std::size_t alignment_bytes) noexcept;
  // Takes back what allocate returned, with the same size and alignment; never null.
  void (*deallocate)(void* user, void* memory, std::size_t size_bytes,
                     std::size_t alignment_bytes) noexcept;
  void* user;
};

// The C heap; thread-safe. The default wherever an Upstream can be chosen.
[[nodiscard]] Upstream heap_upstream() noexcept;

}  // namespace tenure
