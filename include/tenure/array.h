// SPDX-License-Identifier: Apache-2.0
#pragma once

// The one owner of heap memory inside the core: a growable array over an Upstream that says when
// memory was refused (std::vector can only throw) and is unchanged then. For elements that can be
// copied as bytes. Move-only; the upstream must outlive it. Not thread-safe.
//
//   tenure::Array<std::uint32_t> order(upstream);
//   if (!order.push_back(7)) return Status(Reason::kUpstreamRefused);

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "tenure/span.h"
#include "tenure/upstream.h"

namespace tenure {

template <class T>
class Array {
  static_assert(std::is_trivially_copyable<T>::value && std::is_trivially_destructible<T>::value,
                "elements are moved as bytes");

 public:
  Array() noexcept : Array(heap_upstream()) {}
  explicit Array(Upstream upstream) noexcept : upstream_(upstream) {}
  ~Array() { release(); }

  Array(Array&& other) noexcept
      : upstream_(other.upstream_),
        data_(other.data_),
        count_(other.count_),
        capacity_(other.capacity_) {
    other.forget();
  }
  Array& operator=(Array&& other) noexcept {
    if (this == &other) return *this;
    release();
    upstream_ = other.upstream_;
    data_ = other.data_;
    count_ = other.count_;
    capacity_ = other.capacity_;
    other.forget();
    return *this;
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] T* data() noexcept { return data_; }
  [[nodiscard]] const T* data() const noexcept { return data_; }
  [[nodiscard]] T* begin() noexcept { return data_; }
  [[nodiscard]] T* end() noexcept { return data_ + count_; }
  [[nodiscard]] const T* begin() const noexcept { return data_; }
  [[nodiscard]] const T* end() const noexcept { return data_ + count_; }
  T& operator[](std::size_t index) noexcept { return TENURE_ASSERT(index < count_), data_[index]; }
  const T& operator[](std::size_t index) const noexcept {
    return TENURE_ASSERT(index < count_), data_[index];
  }
  [[nodiscard]] T& back() noexcept { return (*this)[count_ - 1]; }

  // Room for `capacity` elements in all. False when refused: nothing has changed.
  [[nodiscard]] bool reserve(std::size_t capacity) noexcept {
    if (capacity <= capacity_) return true;
    if (capacity > SIZE_MAX / sizeof(T)) return false;
    void* memory = upstream_.allocate(upstream_.user, capacity * sizeof(T), alignof(T));
    if (memory == nullptr) return false;
    if (count_ != 0) std::memcpy(memory, data_, count_ * sizeof(T));
    const std::size_t count = count_;
    release();
    data_ = static_cast<T*>(memory);
    count_ = count;
    capacity_ = capacity;
    return true;
  }

  // New elements are copies of `value`.
  [[nodiscard]] bool resize(std::size_t count, const T& value = T()) noexcept {
    const T copy = value;
    if (!reserve(count)) return false;
    for (std::size_t i = count_; i < count; ++i) new (data_ + i) T(copy);
    count_ = count;
    return true;
  }

  [[nodiscard]] bool push_back(const T& value) noexcept {
    const T copy = value;  // which may lie in this array, and growing moves that
    if (count_ == capacity_ && !grow_for(1)) return false;
    new (data_ + count_++) T(copy);
    return true;
  }

  // One more element at the end, with any bytes in it. Null when refused.
  [[nodiscard]] T* push_uninitialized() noexcept {
    if (count_ == capacity_ && !grow_for(1)) return nullptr;
    return new (data_ + count_++) T;
  }

  // `values` may lie inside this array.
  [[nodiscard]] bool append(Span<const T> values) noexcept {
    if (values.empty()) return true;
    if (values.size() <= capacity_ - count_) {
      std::memcpy(data_ + count_, values.data(), values.size() * sizeof(T));
      count_ += values.size();
      return true;
    }
    Array larger(upstream_);
    if (values.size() > SIZE_MAX - count_) return false;
    if (!larger.reserve(capacity_for(values.size()))) return false;
    if (count_ != 0) std::memcpy(larger.data_, data_, count_ * sizeof(T));
    std::memcpy(larger.data_ + count_, values.data(), values.size() * sizeof(T));
    larger.count_ = count_ + values.size();
    *this = static_cast<Array&&>(larger);
    return true;
  }

  void pop_back() noexcept {
    TENURE_ASSERT(count_ > 0);
    --count_;
  }

  // Keeps the memory.
  void clear() noexcept { count_ = 0; }

 private:
  [[nodiscard]] bool grow_for(std::size_t extra) noexcept { return reserve(capacity_for(extra)); }
  [[nodiscard]] std::size_t capacity_for(std::size_t extra) const noexcept {
    const std::size_t doubled = capacity_ > SIZE_MAX / 2 ? SIZE_MAX : capacity_ * 2;
    const std::size_t needed = extra > SIZE_MAX - count_ ? SIZE_MAX : count_ + extra;
    const std::size_t at_least = needed < 8 ? 8 : needed;
    return at_least > doubled ? at_least : doubled;
  }
  void release() noexcept {
    if (data_ != nullptr) {
      upstream_.deallocate(upstream_.user, data_, capacity_ * sizeof(T), alignof(T));
    }
    forget();
  }
  void forget() noexcept {
    data_ = nullptr;
    count_ = 0;
    capacity_ = 0;
  }

  Upstream upstream_;
  T* data_ = nullptr;
  std::size_t count_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace tenure
