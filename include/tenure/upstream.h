// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where memory comes from: two plain functions and a user pointer. Everything in tenure that needs
// memory takes an Upstream, so that a board can hand out a static buffer and a test can refuse any
// call.
//
//   tenure::ArenaPlanner planner(tenure::PlannerOptions().set_upstream(my_upstream));

#include <cstddef>
#include <cstdint>

namespace tenure {

struct Upstream {
  // Returns memory with that alignment (a power of two), or null. size_bytes is never 0.
  void* (*allocate)(void* user, std::size_t size_bytes, std::size_t alignment_bytes) noexcept;
  // Takes back what allocate returned, with the same size and alignment; never null.
  void (*deallocate)(void* user, void* memory, std::size_t size_bytes,
                     std::size_t alignment_bytes) noexcept;
  void* user;
  // May be null. Called for a part of what allocate returned whose contents are not needed any
  // more: pages that lie wholly inside may go, and come again when they are touched; addresses
  // stay.
  void (*discard)(void* user, void* memory, std::size_t size_bytes) noexcept = nullptr;
};

// The C heap; thread-safe. The default wherever an Upstream can be chosen. Aligned memory comes
// from posix_memalign on POSIX and from _aligned_malloc on Windows; elsewhere it is
// malloc_upstream().
[[nodiscard]] Upstream heap_upstream() noexcept;

// The same from malloc and free alone, for C libraries that have no aligned form. Costs the
// alignment and one std::size_t a block. Of malloc it is assumed that an address is a multiple of
// std::size_t at least; that of larger alignments is made sure of here.
[[nodiscard]] Upstream malloc_upstream() noexcept;

enum class PageSize : std::uint8_t {
  kNormal,
  kHugeWhereGiven,  // asks for huge pages (2 MiB on most machines), and does without when refused
};

// Whole pages of the operating system (mmap, VirtualAlloc), zeroed when first touched; thread-safe;
// the only one here that discards. For pools of megabytes. Where there is no operating system it
// is malloc_upstream().
[[nodiscard]] Upstream page_upstream(PageSize pages = PageSize::kNormal) noexcept;

}  // namespace tenure
