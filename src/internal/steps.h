// SPDX-License-Identifier: Apache-2.0
#pragma once

// The steps that a search may take: not time, so that plans do not depend on the machine.

#include <cstdint>

namespace tenure::internal {

// False when there are not as many left; then none is.
[[nodiscard]] inline bool take_steps(std::uint64_t count, std::uint64_t* left) noexcept {
  const bool is_enough = count <= *left;
  *left -= is_enough ? count : *left;
  return is_enough;
}

}  // namespace tenure::internal
