// SPDX-License-Identifier: Apache-2.0
#pragma once

// A byte to write over memory whose contents are not needed, or none: so that what reads memory
// that it has not written shows.
//
//   arena.commit(layouts, tenure::Fill::with(0xCD));

#include <cstdint>

namespace tenure {

class Fill {
 public:
  [[nodiscard]] static constexpr Fill none() noexcept { return Fill(-1); }
  [[nodiscard]] static constexpr Fill with(std::uint8_t pattern) noexcept { return Fill(pattern); }
  [[nodiscard]] constexpr bool is_none() const noexcept { return pattern_ < 0; }
  [[nodiscard]] constexpr std::uint8_t pattern() const noexcept {
    return static_cast<std::uint8_t>(pattern_);
  }

 private:
  constexpr explicit Fill(std::int16_t pattern) noexcept : pattern_(pattern) {}
  std::int16_t pattern_;
};

}  // namespace tenure
