// SPDX-License-Identifier: Apache-2.0
#pragma once

// AddressSanitizer's switch for memory that must not be touched, declared weak: the library need
// not be built with it, and it works as soon as the application is.
//
//   if (poison_works()) poison(memory, size_bytes);

#include <cstddef>

#if defined(__GNUC__) && !defined(_WIN32)
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the sanitizer's names
extern "C" {
__attribute__((weak)) void __asan_poison_memory_region(const volatile void* memory,
                                                       std::size_t size_bytes);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void* memory,
                                                         std::size_t size_bytes);
__attribute__((weak)) void* __asan_region_is_poisoned(void* memory, std::size_t size_bytes);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace tenure {

inline bool poison_works() noexcept {
  return __asan_poison_memory_region != nullptr && __asan_unpoison_memory_region != nullptr;
}
inline void poison(const void* memory, std::size_t size_bytes) noexcept {
  __asan_poison_memory_region(memory, size_bytes);
}
inline void unpoison(const void* memory, std::size_t size_bytes) noexcept {
  __asan_unpoison_memory_region(memory, size_bytes);
}
// Whether any of it is, whoever did that; false where poison_works() is.
inline bool is_poisoned(void* memory, std::size_t size_bytes) noexcept {
  return __asan_region_is_poisoned != nullptr &&
         __asan_region_is_poisoned(memory, size_bytes) != nullptr;
}

}  // namespace tenure

#else

namespace tenure {

inline bool poison_works() noexcept { return false; }
inline void poison(const void* /*memory*/, std::size_t /*size_bytes*/) noexcept {}
inline void unpoison(const void* /*memory*/, std::size_t /*size_bytes*/) noexcept {}
inline bool is_poisoned(void* /*memory*/, std::size_t /*size_bytes*/) noexcept { return false; }

}  // namespace tenure

#endif
