// SPDX-License-Identifier: Apache-2.0
#pragma once

// One line on a terminal that is written over while a search goes on, and gone when it ends:
//
//   [########            ]  41 %   1075200 bytes, at least 1048576

#include <cstdint>
#include <iosfwd>

#include "tenure/planner.h"

namespace tenure::cli {

class ProgressBar {
 public:
  // The stream must outlive it.
  explicit ProgressBar(std::ostream& terminal) noexcept : terminal_(terminal) {}
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // For the planner's options, as long as the bar is there.
  [[nodiscard]] SearchProgress progress() noexcept;

 private:
  void show(const SearchReport& state) noexcept;

  std::ostream& terminal_;
  std::uint64_t shown_percent_ = UINT64_MAX;
  std::uint64_t shown_bytes_ = 0;
};

}  // namespace tenure::cli
