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

// False when there is none.
template <class Word>
bool take_one(Word& count) noexcept {
  auto seen = count.load();
  while (seen != 0) {
    if (count.compare_exchange(seen, seen - 1)) return true;
  }
  return false;
}

}  // namespace tenure::internal
