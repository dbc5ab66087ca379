// SPDX-License-Identifier: Apache-2.0
#pragma once

// What one buffer must have when regions lie in it one behind the other, each aligned, from an
// aligned base on. Whoever lays regions out sums them up here.

#include <cstddef>
#include <cstdint>

#include "tenure/align.h"
#include "tenure/arena.h"
#include "tenure/index.h"
#include "tenure/layout.h"
#include "tenure/status.h"

namespace tenure::internal {

// kNotPowerOfTwo or kAddressSpace, with the region.
[[nodiscard]] inline Status check_layout(const RegionLayout& layout, RegionIndex region) noexcept {
  if (!is_power_of_two(layout.alignment_bytes)) {
    return Status(Reason::kNotPowerOfTwo).with(region).needed(layout.alignment_bytes);
  }
  // One alignment is spared, so that aligning inside a buffer cannot wrap round either.
  if (layout.alignment_bytes > SIZE_MAX / 2 ||
      layout.size_bytes > SIZE_MAX / 2 - layout.alignment_bytes) {
    return Status(Reason::kAddressSpace).with(region).needed(layout.size_bytes);
  }
  return Status();
}

struct RegionSum {
  std::uint64_t bytes = 0;
  std::uint64_t alignment_bytes = 1;  // the largest

  // One region more. Fails as check_layout does, and leaves the sum as it was.
  [[nodiscard]] Status add(const RegionLayout& layout, RegionIndex region) noexcept {
    if (Status status = check_layout(layout, region); !status.ok()) return status;
    std::uint64_t end = 0;
    if (!checked_align_up(bytes, layout.alignment_bytes, &end) ||
        !checked_add(end, layout.size_bytes, &end) || end > SIZE_MAX / 2) {
      return Status(Reason::kAddressSpace).with(region).needed(layout.size_bytes);
    }
    bytes = end;
    if (layout.alignment_bytes > alignment_bytes) alignment_bytes = layout.alignment_bytes;
    return Status();
  }

  [[nodiscard]] LentSize lent_size() const noexcept {
    LentSize size;
    size.aligned_bytes = static_cast<std::size_t>(bytes);
    size.alignment_bytes = static_cast<std::size_t>(alignment_bytes);
    size.any_base_bytes = bytes == 0 ? 0 : size.aligned_bytes + size.alignment_bytes - 1;
    return size;
  }
};

}  // namespace tenure::internal
