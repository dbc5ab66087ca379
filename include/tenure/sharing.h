// SPDX-License-Identifier: Apache-2.0
#pragma once

// Who calls an allocator: any thread at any time, or one owner at a time. Both forms are the same
// code; what differs is the word that the code keeps its state in.
//
//   tenure::BumpOffsets<tenure::SingleOwner> scratch;
//   tenure::BumpOffsets<tenure::ThreadSafe> shared;

#include <atomic>

namespace tenure {

// No atomics. Callers see to it that calls do not meet.
struct SingleOwner {
  template <class T>
  class Word {
   public:
    [[nodiscard]] T load() const noexcept { return value_; }
    void store(T value) noexcept { value_ = value; }
    [[nodiscard]] bool compare_exchange(T& /*expected*/, T desired) noexcept {
      return value_ = desired, true;
    }

   private:
    T value_{};
  };
};

// No locks, where the machine has atomics of the word's size; a pool's is 64 bits, which not all
// 32-bit boards have. A compare_exchange that succeeds sees everything that happened before the one
// whose value it replaces; store and load of the other words order nothing.
struct ThreadSafe {
  template <class T>
  class Word {
   public:
    [[nodiscard]] T load() const noexcept { return value_.load(std::memory_order_relaxed); }
    void store(T value) noexcept { value_.store(value, std::memory_order_relaxed); }
    // On failure `expected` becomes what is there.
    [[nodiscard]] bool compare_exchange(T& expected, T desired) noexcept {
      return value_.compare_exchange_weak(expected, desired, std::memory_order_acq_rel,
                                          std::memory_order_relaxed);
    }

   private:
    std::atomic<T> value_{};
  };
};

}  // namespace tenure
