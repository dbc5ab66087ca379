// SPDX-License-Identifier: Apache-2.0
#pragma once

// PoolAllocator: one block of memory, taken or lent up front, handed out from the front to the
// back. For what is freed all at once, such as the tensors of one inference.
//
//   tenure::PoolAllocator pool;
//   if (!pool.reserve(64 << 20).ok()) { ... }
//   void* scratch = pool.fastMalloc(size_bytes);
//   pool.fastFree(scratch);
//   if (!pool.reset().ok()) { ... }              // refuses while blocks are live
//
// PoolAllocator may be called from any thread and does not lock, where there are atomics of 64 bits
// (not on a Cortex-M); SingleOwnerPool is the same without atomics.

#include <cstddef>
#include <cstdint>

#include "tenure/allocator.h"
#include "tenure/bump_offsets.h"
#include "tenure/pool_mark.h"
#include "tenure/pool_memory.h"
#include "tenure/span.h"
#include "tenure/status.h"

namespace tenure {

// fastMalloc, allocate, fastFree and statistics: as BumpOffsets' allocate and free. All else is for
// one thread while no other is in a call. The functions are inline, so that the program that uses
// them has RTTI or not as it likes.
template <class Sharing>
class BasicPoolAllocator final : public Allocator {
 public:
  explicit BasicPoolAllocator(const PoolOptions& options = PoolOptions()) noexcept
      : memory_(options) {}
  ~BasicPoolAllocator() {
    report_live_blocks(tag(), BasicPoolAllocator::statistics(), memory_.options().sink);
  }

  // Fails with kBlocksLive: blocks that are live, or that may yet be freed late, where as many frees
  // can come after a forced reset. Until there are none, the memory stays the pool's.
  [[nodiscard]] Status check_idle() const noexcept {
    const std::size_t live = offsets_.live_blocks() + offsets_.late_frees();
    return live == 0 ? Status() : Status(Reason::kBlocksLive).live(live);
  }
  // Memory for the pool; until then every request is refused. As in PoolMemory; fails with
  // check_idle, too.
  [[nodiscard]] Status reserve(std::size_t size_bytes) noexcept {
    if (Status status = check_idle(); !status.ok()) return status;
    return opened(memory_.reserve(size_bytes));
  }
  [[nodiscard]] Status lend(Span<std::byte> buffer) noexcept {
    if (Status status = check_idle(); !status.ok()) return status;
    return opened(memory_.lend(buffer));
  }
  // Without memory again. Fails with check_idle.
  [[nodiscard]] Status release() noexcept {
    if (Status status = check_idle(); !status.ok()) return status;
    memory_.release();
    return opened(Status());
  }

  [[nodiscard]] void* fastMalloc(std::size_t size_bytes) noexcept override {
    const Offset offset = offsets_.allocate_whole_units(size_bytes);
    if (offset.is_none()) return allocate_with_care(size_bytes, 1);
    return memory_.open(offset.bytes, size_bytes);
  }
  [[nodiscard]] void* allocate(std::size_t size_bytes,
                               std::size_t alignment_bytes) noexcept override {
    if (alignment_bytes <= memory_.options().alignment_bytes) {
      return BasicPoolAllocator::fastMalloc(size_bytes);
    }
    return allocate_with_care(size_bytes, alignment_bytes);
  }
  // The newest block's bytes can be taken again at once; others' with the next reset or rewind.
  void fastFree(void* memory) noexcept override {
    if (memory == nullptr) return;
    offsets_.free(memory_.offset_of(memory),
                  [this](std::size_t begin, std::size_t end) { memory_.close(begin, end); });
  }

  [[nodiscard]] AllocatorStatistics statistics() const noexcept override {
    AllocatorStatistics result;
    result.in_use_bytes = offsets_.used_bytes();
    result.held_bytes = memory_.held_bytes();
    result.peak_bytes = offsets_.peak_bytes();
    result.live_blocks = offsets_.live_blocks();
    result.refusals = offsets_.refusals();
    result.stray_frees = offsets_.stray_frees();
    return result;
  }
  [[nodiscard]] std::size_t alignment_bytes() const noexcept override {
    return memory_.options().alignment_bytes;
  }
  [[nodiscard]] const char* tag() const noexcept override { return memory_.options().tag; }

  // As in BumpOffsets. What is given back is filled and poisoned, and addresses repeat.
  [[nodiscard]] Status reset() noexcept {
    const std::size_t used = used_bytes();
    return closed(offsets_.reset(), used);
  }
  // Where owners of what is live are gone, or never free it: force_reset(LateFrees::kNeverCome).
  // Otherwise as many frees are waited for, and until then a reset refuses what may be live.
  void force_reset(LateFrees late = LateFrees::kMayCome) noexcept {
    const std::size_t used = used_bytes();
    offsets_.force_reset(late);
    memory_.close(0, used);
  }
  [[nodiscard]] Result<PoolMark> mark() noexcept { return offsets_.mark(); }
  [[nodiscard]] Status rewind(PoolMark mark) noexcept {
    const std::size_t used = used_bytes();
    return closed(offsets_.rewind(mark), used);
  }
  [[nodiscard]] Status force_rewind(PoolMark mark, LateFrees late = LateFrees::kMayCome) noexcept {
    const std::size_t used = used_bytes();
    return closed(offsets_.force_rewind(mark, late), used);
  }
  [[nodiscard]] Status forget(PoolMark mark) noexcept { return offsets_.forget(mark); }
  // After a reset: gives pages that are not used back to the operating system, while addresses
  // stay and bytes held count as before. False when the upstream cannot, or memory is lent.
  bool discard_unused() noexcept { return memory_.discard(used_bytes(), memory_.held_bytes()); }

  // Bytes up to the position: of blocks that are live or were freed since the last reset.
  [[nodiscard]] std::size_t used_bytes() const noexcept { return offsets_.used_bytes(); }
  [[nodiscard]] std::size_t total_bytes() const noexcept { return offsets_.capacity_bytes(); }
  // used_bytes / total_bytes; 0 of an empty pool.
  [[nodiscard]] double utilization() const noexcept {
    if (total_bytes() == 0) return 0;
    return static_cast<double>(used_bytes()) / static_cast<double>(total_bytes());
  }
  // From the position to the end.
  [[nodiscard]] Span<std::byte> unused_memory() const noexcept {
    return {memory_.base() + used_bytes(), total_bytes() - used_bytes()};
  }
  [[nodiscard]] bool owns(const void* memory) const noexcept {
    return memory_.offset_of(memory) < memory_.size_bytes();
  }

 private:
  // Not inline, so that the short way has nothing to save.
  [[gnu::noinline]] void* allocate_with_care(std::size_t size_bytes,
                                             std::size_t alignment_bytes) noexcept {
    const Offset offset = offsets_.allocate_with_care(size_bytes, alignment_bytes);
    return offset.is_none() ? nullptr : memory_.open(offset.bytes, size_bytes);
  }
  [[nodiscard]] Status opened(const Status& status) noexcept {
    if (!status.ok()) return status;
    offsets_.open(BumpSpace()
                      .set_capacity_bytes(memory_.size_bytes())
                      .set_alignment_bytes(memory_.options().alignment_bytes)
                      .set_origin(reinterpret_cast<std::uintptr_t>(memory_.base())));
    return status;
  }
  [[nodiscard]] Status closed(const Status& status, std::size_t used) noexcept {
    if (status.ok()) memory_.close(used_bytes(), used);
    return status;
  }

  PoolMemory memory_;
  BumpOffsets<Sharing> offsets_;
};

using PoolAllocator = BasicPoolAllocator<ThreadSafe>;
using SingleOwnerPool = BasicPoolAllocator<SingleOwner>;

}  // namespace tenure
