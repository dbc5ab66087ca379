// SPDX-License-Identifier: Apache-2.0
#pragma once

// What planning and runtime have in common: how large each region's arena is, and where a thing
// lies in one. Plain numbers, so that neither side needs to know the other.
//
//   arena.commit(plan.layouts());                        // planning's numbers become memory
//   arena.address(plan.placement(tensor));

#include <cstdint>

#include "tenure/index.h"

namespace tenure {

// The two regions that exist from the start; a problem may list more.
inline constexpr RegionIndex kReusableRegion{0};    // shared by tensors that are not live together
inline constexpr RegionIndex kPersistentRegion{1};  // lives across runs

// One region's arena, an arena being one contiguous buffer.
struct RegionLayout {
  std::uint64_t size_bytes = 0;       // with any tail padding
  std::uint64_t alignment_bytes = 1;  // of the arena's first byte; a power of two
  bool keeps_contents = false;        // bytes survive when another layout is committed
};

struct Placement {
  RegionIndex region;  // none: no memory of an arena (constants, external tensors)
  std::uint64_t offset_bytes = 0;

  [[nodiscard]] static constexpr Placement none() noexcept { return {}; }
  [[nodiscard]] constexpr bool is_none() const noexcept { return region.is_none(); }
  friend constexpr bool operator==(Placement a, Placement b) noexcept {
    return a.region == b.region && a.offset_bytes == b.offset_bytes;
  }
};

}  // namespace tenure
