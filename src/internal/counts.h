// SPDX-License-Identifier: Apache-2.0
#pragma once

// What allocators count in words that may be shared: see tenure/sharing.h.
//
//   raise(peak_bytes_, add(in_use_bytes_, size_bytes));

namespace tenure::internal {

// Returns the sum.
template <class Word, class T>
T add(Word& count, T extra) noexcept {
  T seen = count.load();
  while (!count.compare_exchange(seen, seen + extra)) {
  }
  return seen + extra;
}

template <class Word, class T>
void raise(Word& peak, T value) noexcept {
  T seen = peak.load();
  while (seen < value && !peak.compare_exchange(seen, value)) {
  }
}

}  // namespace tenure::internal
