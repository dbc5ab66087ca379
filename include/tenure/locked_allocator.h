// SPDX-License-Identifier: Apache-2.0
#pragma once

// LockedAllocator: another allocator behind a lock, for several threads. The lock's type is the
// caller's: anything with lock() and unlock().
//
//   tenure::FreeListAllocator models;
//   tenure::LockedAllocator<std::mutex, tenure::FreeListAllocator> shared(models);
//   shared.with_lock([](tenure::FreeListAllocator& inner) { inner.trim(); });

#include <cstddef>

#include "tenure/allocator.h"

namespace tenure {

// The allocator inside must outlive it, and must not be called but through it. Every call locks,
// but for alignment_bytes() and tag(), which do not change.
template <class Lock, class Inner = Allocator>
class LockedAllocator final : public Allocator {
 public:
  explicit LockedAllocator(Inner& inner) noexcept : inner_(inner) {}

  [[nodiscard]] void* fastMalloc(std::size_t size_bytes) noexcept override {
    const Hold hold(lock_);
    return inner_.fastMalloc(size_bytes);
  }
  [[nodiscard]] void* allocate(std::size_t size_bytes,
                               std::size_t alignment_bytes) noexcept override {
    const Hold hold(lock_);
    return inner_.allocate(size_bytes, alignment_bytes);
  }
  void fastFree(void* memory) noexcept override {
    const Hold hold(lock_);
    inner_.fastFree(memory);
  }
  [[nodiscard]] AllocatorStatistics statistics() const noexcept override {
    const Hold hold(lock_);
    return inner_.statistics();
  }
  [[nodiscard]] std::size_t alignment_bytes() const noexcept override {
    return inner_.alignment_bytes();
  }
  [[nodiscard]] const char* tag() const noexcept override { return inner_.tag(); }

  // Calls work(inner) and returns what that does, while no other thread is inside.
  template <class Work>
  auto with_lock(Work&& work) noexcept {
    const Hold hold(lock_);
    return work(inner_);
  }

 private:
  class Hold {
   public:
    explicit Hold(Lock& lock) noexcept : lock_(lock) { lock_.lock(); }
    ~Hold() { lock_.unlock(); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    Lock& lock_;
  };

  Inner& inner_;
  mutable Lock lock_;
};

}  // namespace tenure
