// SPDX-License-Identifier: Apache-2.0
#pragma once

// Upstreams for tests: all count what goes through them, hand out memory that is not zero, and
// complain when something comes back with another size or alignment, or not at all.
//
//   TestUpstream upstream;
//   upstream.refuse_call(3);              // the fourth call is refused
//   ArenaPlanner planner(PlannerOptions().set_upstream(upstream.get()));

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>

#include "tenure/align.h"
#include "tenure/upstream.h"

namespace tenure::test {

class TestUpstream {
 public:
  static constexpr std::uint64_t kNever = UINT64_MAX;

  TestUpstream() = default;
  ~TestUpstream() { EXPECT_EQ(live_.size(), 0U) << "blocks leaked, " << live_bytes_ << " bytes"; }
  TestUpstream(const TestUpstream&) = delete;
  TestUpstream& operator=(const TestUpstream&) = delete;

  // Refuses one call, counted from 0 since the last start_counting().
  void refuse_call(std::uint64_t call) { refused_call_ = call; }
  // Refuses whatever would bring the bytes in use above this.
  void limit_to(std::uint64_t capacity_bytes) { capacity_bytes_ = capacity_bytes; }
  void start_counting() { calls_ = refusals_ = peak_bytes_ = 0; }

  [[nodiscard]] Upstream get() noexcept { return {&allocate, &deallocate, this}; }
  // The same with discard, which overwrites.
  [[nodiscard]] Upstream get_discarding() noexcept {
    return {&allocate, &deallocate, this, &discard};
  }

  [[nodiscard]] std::uint64_t calls() const { return calls_; }
  [[nodiscard]] std::uint64_t refusals() const { return refusals_; }
  [[nodiscard]] std::size_t live_blocks() const { return live_.size(); }
  [[nodiscard]] std::uint64_t live_bytes() const { return live_bytes_; }
  [[nodiscard]] std::uint64_t peak_bytes() const { return peak_bytes_; }
  [[nodiscard]] std::uint64_t discarded_bytes() const { return discarded_bytes_; }

 private:
  struct Taken {
    std::size_t size_bytes;
    std::size_t alignment_bytes;
  };

  static void* allocate(void* user, std::size_t size_bytes, std::size_t alignment_bytes) noexcept {
    auto* self = static_cast<TestUpstream*>(user);
    EXPECT_NE(size_bytes, 0U);
    EXPECT_TRUE(is_power_of_two(alignment_bytes)) << alignment_bytes;
    const bool is_beyond = self->live_bytes_ > self->capacity_bytes_ ||
                           size_bytes > self->capacity_bytes_ - self->live_bytes_;
    if (self->calls_++ == self->refused_call_ || is_beyond) {
      ++self->refusals_;
      return nullptr;
    }
    const Upstream heap = heap_upstream();
    void* memory = heap.allocate(heap.user, size_bytes, alignment_bytes);
    if (memory == nullptr) return nullptr;
    std::memset(memory, 0xA5, size_bytes);
    self->live_[memory] = {size_bytes, alignment_bytes};
    self->live_bytes_ += size_bytes;
    if (self->live_bytes_ > self->peak_bytes_) self->peak_bytes_ = self->live_bytes_;
    return memory;
  }

  static void deallocate(void* user, void* memory, std::size_t size_bytes,
                         std::size_t alignment_bytes) noexcept {
    auto* self = static_cast<TestUpstream*>(user);
    const auto found = self->live_.find(memory);
    if (found == self->live_.end()) {
      ADD_FAILURE() << "what comes back was not taken here, or came back before";
      return;
    }
    EXPECT_EQ(found->second.size_bytes, size_bytes);
    EXPECT_EQ(found->second.alignment_bytes, alignment_bytes);
    self->live_bytes_ -= found->second.size_bytes;
    const Upstream heap = heap_upstream();
    heap.deallocate(heap.user, memory, found->second.size_bytes, found->second.alignment_bytes);
    self->live_.erase(found);
  }

  static void discard(void* user, void* memory, std::size_t size_bytes) noexcept {
    auto* self = static_cast<TestUpstream*>(user);
    auto taken = self->live_.upper_bound(memory);
    ASSERT_NE(taken, self->live_.begin());
    --taken;
    const std::size_t distance = static_cast<std::size_t>(static_cast<std::byte*>(memory) -
                                                          static_cast<std::byte*>(taken->first));
    ASSERT_LE(distance, taken->second.size_bytes);
    ASSERT_LE(size_bytes, taken->second.size_bytes - distance);
    std::memset(memory, 0, size_bytes);
    self->discarded_bytes_ += size_bytes;
  }

  std::map<void*, Taken> live_;
  std::uint64_t refused_call_ = kNever;
  std::uint64_t capacity_bytes_ = UINT64_MAX;
  std::uint64_t calls_ = 0;
  std::uint64_t refusals_ = 0;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t peak_bytes_ = 0;
  std::uint64_t discarded_bytes_ = 0;
};

}  // namespace tenure::test
