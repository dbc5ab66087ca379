// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sorts what has a number as its key, without comparing.

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tenure/array.h"

namespace tenure::internal {

// Ascending by `key_of(item)`, a 64-bit number; equal keys keep their order. O(n) for each byte in
// which keys differ. `scratch` is overwritten. False: memory refused, and nothing has changed.
template <class T, class KeyOf>
[[nodiscard]] bool radix_sort(Array<T>* items, Array<T>* scratch, KeyOf key_of) noexcept {
  constexpr std::size_t kDigits = 256;
  const std::size_t count = items->size();
  scratch->clear();
  if (count == 0) return true;
  if (!scratch->resize(count, (*items)[0])) return false;
  const std::uint64_t first = key_of((*items)[0]);
  std::uint64_t differing = 0;
  for (const T& item : *items) differing |= key_of(item) ^ first;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    if ((differing >> shift & (kDigits - 1)) == 0) continue;
    std::size_t places[kDigits] = {};  // how many have a digit, then where the next of them goes
    for (const T& item : *items) ++places[key_of(item) >> shift & (kDigits - 1)];
    std::size_t begin = 0;
    for (std::size_t& place : places) {
      const std::size_t end = begin + place;
      place = begin;
      begin = end;
    }
    for (const T& item : *items) {
      (*scratch)[places[key_of(item) >> shift & (kDigits - 1)]++] = item;
    }
    std::swap(*items, *scratch);
  }
  return true;
}

}  // namespace tenure::internal
