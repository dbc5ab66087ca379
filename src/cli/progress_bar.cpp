// SPDX-License-Identifier: Apache-2.0

#include "cli/progress_bar.h"

#include <cinttypes>
#include <cstdio>
#include <ostream>

namespace tenure::cli {
namespace {

constexpr const char* kEraseLine = "\r\x1b[K";
constexpr int kWidth = 20;

}  // namespace

ProgressBar::~ProgressBar() {
  if (shown_percent_ != UINT64_MAX) terminal_ << kEraseLine << std::flush;
}

SearchProgress ProgressBar::progress() noexcept {
  SearchProgress progress;
  progress.user = this;
  progress.report = [](void* user, const SearchReport& state) noexcept {
    static_cast<ProgressBar*>(user)->show(state);
    return true;
  };
  return progress;
}

// Only what has changed, so that a terminal is not what the search waits for.
void ProgressBar::show(const SearchReport& state) noexcept {
  const auto share = static_cast<double>(state.steps) / static_cast<double>(state.max_steps);
  const std::uint64_t percent =
      state.max_steps == 0 ? 100 : static_cast<std::uint64_t>(share * 100);
  if (percent == shown_percent_ && state.arena_bytes == shown_bytes_) return;
  shown_percent_ = percent;
  shown_bytes_ = state.arena_bytes;
  char bar[kWidth + 1] = {};
  for (int i = 0; i < kWidth; ++i) {
    bar[i] = static_cast<std::uint64_t>(i) * 100 < percent * kWidth ? '#' : ' ';
  }
  char line[160];
  std::snprintf(line, sizeof line, "%s[%s] %3" PRIu64 " %%   %" PRIu64 " bytes, at least %" PRIu64,
                kEraseLine, bar, percent, state.arena_bytes, state.lower_bound_bytes);
  terminal_ << line << std::flush;
}

}  // namespace tenure::cli
