// SPDX-License-Identifier: Apache-2.0
#pragma once

// The baseline that ncnn's users have: what its two pools do, behind tenure's interface. Freed blocks
// are kept, and the oldest that is large enough is taken again; with ten kept and none of use, the
// smallest goes back to the heap when all are too small. A free looks through what is out. Follows
// ncnn's PoolAllocator (with a std::mutex) and UnlockedPoolAllocator (with NoLock), which free a
// list's node and make another one with every call; kMoved spares that.

#include <cstddef>
#include <list>
#include <mutex>

#include "tenure/allocator.h"
#include "tenure/upstream.h"

namespace tenure::bench {

struct NoLock {
  void lock() noexcept {}
  void unlock() noexcept {}
};

enum class Nodes { kMadeAnew, kMoved };

template <class Lock, Nodes kNodes = Nodes::kMadeAnew>
class FirstFitCache final : public Allocator {
 public:
  FirstFitCache() = default;
  ~FirstFitCache() {
    while (!kept_.empty()) give_back(kept_.begin());
  }

  void* fastMalloc(std::size_t size_bytes) noexcept override {
    {
      const std::lock_guard<Lock> guard(kept_lock_);
      const auto found = find_kept(size_bytes);
      if (found != kept_.end()) {
        const std::lock_guard<Lock> out_guard(out_lock_);
        move_to(out_, kept_, found);
        return out_.back().memory;
      }
      drop_smallest();
    }
    const std::size_t padded_bytes = size_bytes + kTailBytes;
    void* memory = heap_.allocate(heap_.user, padded_bytes, kAlignmentBytes);
    if (memory == nullptr) return nullptr;
    const std::lock_guard<Lock> guard(out_lock_);
    held_bytes_ += padded_bytes;
    out_.push_back({size_bytes, memory});
    return memory;
  }
  void* allocate(std::size_t size_bytes, std::size_t) noexcept override {
    return FirstFitCache::fastMalloc(size_bytes);
  }
  void fastFree(void* memory) noexcept override {
    const std::lock_guard<Lock> guard(kept_lock_);
    const std::lock_guard<Lock> out_guard(out_lock_);
    auto chunk = out_.begin();
    while (chunk != out_.end() && chunk->memory != memory) ++chunk;
    if (chunk != out_.end()) move_to(kept_, out_, chunk);
  }
  AllocatorStatistics statistics() const noexcept override {
    AllocatorStatistics result;
    result.held_bytes = held_bytes_;
    result.live_blocks = out_.size();
    return result;
  }
  std::size_t alignment_bytes() const noexcept override { return kAlignmentBytes; }
  const char* tag() const noexcept override { return "first fit cache"; }

 private:
  static constexpr std::size_t kAlignmentBytes = 64;
  static constexpr std::size_t kTailBytes = 64;  // the heap's part of an over-read
  static constexpr std::size_t kMostKept = 10;

  struct Chunk {
    std::size_t size_bytes;
    void* memory;
  };
  using Chunks = std::list<Chunk>;

  static void move_to(Chunks& to, Chunks& from, typename Chunks::iterator chunk) noexcept {
    if (kNodes == Nodes::kMoved) return to.splice(to.end(), from, chunk);
    const Chunk moved = *chunk;
    from.erase(chunk);
    to.push_back(moved);
  }
  typename Chunks::iterator find_kept(std::size_t size_bytes) noexcept {
    auto chunk = kept_.begin();
    while (chunk != kept_.end() && chunk->size_bytes < size_bytes) ++chunk;
    return chunk;
  }
  // None of them was large enough.
  void drop_smallest() noexcept {
    if (kept_.size() < kMostKept) return;
    auto smallest = kept_.begin();
    for (auto chunk = kept_.begin(); chunk != kept_.end(); ++chunk) {
      if (chunk->size_bytes < smallest->size_bytes) smallest = chunk;
    }
    give_back(smallest);
  }
  void give_back(typename Chunks::iterator chunk) noexcept {
    const std::size_t padded_bytes = chunk->size_bytes + kTailBytes;
    heap_.deallocate(heap_.user, chunk->memory, padded_bytes, kAlignmentBytes);
    held_bytes_ -= padded_bytes;
    kept_.erase(chunk);
  }

  const Upstream heap_ = heap_upstream();
  Chunks kept_;
  Chunks out_;
  Lock kept_lock_;
  Lock out_lock_;
  std::size_t held_bytes_ = 0;
};

}  // namespace tenure::bench
