// SPDX-License-Identifier: Apache-2.0
#pragma once

// A borrowed run of elements: pointer and count. It owns nothing; what it points at must outlive
// it. Every list that tenure takes or gives is a Span, so that arrays, std::vector and std::array
// all fit. Also the home of TENURE_ASSERT, the check for broken preconditions: off when NDEBUG is
// defined, and overridable by defining the macro before the first tenure header.
//
//   void take(tenure::Span<const int> values);
//   std::vector<int> numbers = {1, 2, 3};
//   take(numbers);

#include <cstddef>
#include <cstdint>
#include <utility>

#ifndef TENURE_ASSERT
#ifdef NDEBUG
#define TENURE_ASSERT(condition) static_cast<void>(0)
#else
#define TENURE_ASSERT(condition) ((condition) ? static_cast<void>(0) : __builtin_trap())
#endif
#endif

namespace tenure {

template <class T>
class Span {
 public:
  constexpr Span() noexcept = default;
  constexpr Span(T* data, std::size_t count) noexcept : data_(data), count_(count) {}

  template <std::size_t kCount>
  constexpr Span(T (&array)[kCount]) noexcept : data_(array), count_(kCount) {}

  // Anything with data() and size(): std::vector, std::array, another Span.
  template <class Container, class = decltype(static_cast<T*>(std::declval<Container&>().data())),
            class = decltype(static_cast<std::size_t>(std::declval<Container&>().size()))>
  constexpr Span(Container&& container) noexcept
      : data_(container.data()), count_(container.size()) {}

  [[nodiscard]] constexpr T* data() const noexcept { return data_; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return count_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] constexpr T* begin() const noexcept { return data_; }
  [[nodiscard]] constexpr T* end() const noexcept { return data_ + count_; }

  constexpr T& operator[](std::size_t index) const noexcept {
    TENURE_ASSERT(index < count_);
    return data_[index];
  }

  // Precondition: first + count <= size().
  [[nodiscard]] constexpr Span subspan(std::size_t first, std::size_t count) const noexcept {
    TENURE_ASSERT(first <= count_ && count <= count_ - first);
    return {data_ + first, count};
  }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace tenure
