// SPDX-License-Identifier: Apache-2.0
#pragma once

// SimpleMemoryArena carries a plan out: one buffer for each region, owned or lent, and an address
// for each placement. It knows sizes and offsets, not tensors.
//
//   SimpleMemoryArena arena;
//   if (Status status = arena.commit(plan.layouts()); !status.ok()) { ... }
//   void* input = arena.address(plan.tensor_placement(image));
//
// A commit that fails changes nothing: memory, addresses and contents stay as they were. Named
// after and used like LiteRT's SimpleMemoryArena.

#include <cstddef>
#include <cstdint>

#include "tenure/fill.h"
#include "tenure/index.h"
#include "tenure/layout.h"
#include "tenure/span.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure {

inline constexpr std::size_t kMaxRegions = 8;

// Bytes that one lent buffer needs for all regions of a plan.
struct LentSize {
  std::size_t aligned_bytes = 0;    // for a base that is aligned to alignment_bytes
  std::size_t any_base_bytes = 0;   // for every base: the worst case
  std::size_t alignment_bytes = 1;  // the largest of the regions
};
[[nodiscard]] Result<LentSize> lent_size(Span<const RegionLayout> layouts) noexcept;

// What a commit does about a region that has to grow.
enum class Growth : std::uint8_t {
  kKeepOld,       // takes the larger buffer first: both exist for a moment, and a refusal changes
                  // nothing
  kReleaseFirst,  // for tight memory: gives regions that keep no contents back first; a refusal
                  // leaves them released (reacquire), with everything else as it was
};

// Move-only. Not thread-safe while committing; address() may then be called from several threads.
// The upstream and lent buffers must outlive it.
class SimpleMemoryArena {
 public:
  explicit SimpleMemoryArena(Upstream upstream = heap_upstream()) noexcept : upstream_(upstream) {}
  ~SimpleMemoryArena() { release(); }
  SimpleMemoryArena(SimpleMemoryArena&& other) noexcept;
  SimpleMemoryArena& operator=(SimpleMemoryArena&& other) noexcept;
  SimpleMemoryArena(const SimpleMemoryArena&) = delete;
  SimpleMemoryArena& operator=(const SimpleMemoryArena&) = delete;

  // Provides one buffer for each region, from the upstream. A region whose buffer is large enough
  // already keeps it; otherwise its contents are copied if the layout keeps contents, and lost if
  // not. `fill` is written over the whole of regions that keep no contents, and over what is new in
  // the others. Fails with kAddressSpace (sizes beyond this machine), kUpstreamRefused (region,
  // needed), kNotPowerOfTwo or kTooMany (regions).
  [[nodiscard]] Status commit(Span<const RegionLayout> layouts, Fill fill = Fill::none(),
                              Growth growth = Growth::kKeepOld) noexcept;

  // Lays the regions one behind the other into a buffer of the caller, aligning inside; the buffer
  // may be or overlap the one lent before. Fails as commit does, or with kBufferTooSmall:
  // needed_bytes is exact for this buffer's address.
  [[nodiscard]] Status commit_lent(Span<std::byte> buffer, Span<const RegionLayout> layouts,
                                   Fill fill = Fill::none()) noexcept;

  // True when the last commit, trim or reacquire gave a region another address than it had been
  // given before: addresses have to be asked for again.
  [[nodiscard]] bool moved() const noexcept { return moved_; }

  // Gives back what buffers have beyond the committed sizes. Fails with kUpstreamRefused.
  [[nodiscard]] Status trim() noexcept;

  // Between runs: owned regions that keep no contents go back to the upstream, and come again. In
  // between their addresses are null; layouts stay. reacquire fails with kUpstreamRefused.
  void release_reusable() noexcept;
  [[nodiscard]] Status reacquire(Fill fill = Fill::none()) noexcept;

  // Writes the pattern over regions that keep no contents: before inputs are written, so that a run
  // that reads what it has not written shows.
  void fill_reusable(Fill fill) const noexcept;

  // Gives all owned memory back; afterwards nothing is committed.
  void release() noexcept;

  // O(1). Null for a placement that is none. Precondition: the placement lies in a committed
  // region.
  [[nodiscard]] void* address(Placement placement) const noexcept {
    if (placement.is_none()) return nullptr;
    TENURE_ASSERT(placement.region.value < region_count_);
    const RegionMemory& memory = regions_[placement.region.value];
    TENURE_ASSERT(placement.offset_bytes <= memory.size_bytes);
    if (memory.base == nullptr) return nullptr;
    return memory.base + static_cast<std::size_t>(placement.offset_bytes);
  }

  [[nodiscard]] std::size_t region_count() const noexcept { return region_count_; }
  // The committed bytes of one region; empty when there are none.
  [[nodiscard]] Span<std::byte> region(RegionIndex index) const noexcept;

 private:
  struct RegionMemory {
    std::byte* base = nullptr;
    std::size_t size_bytes = 0;
    std::size_t capacity_bytes = 0;   // of the buffer behind base
    std::size_t alignment_bytes = 1;  // with which the buffer was taken
    bool keeps_contents = false;
  };
  enum class Capacity : std::uint8_t { kAtLeast, kExact };

  void take(SimpleMemoryArena& other) noexcept;
  [[nodiscard]] Status provide(Span<const RegionLayout> layouts, Fill fill, Growth growth,
                               Capacity capacity) noexcept;
  [[nodiscard]] bool suits(std::size_t index, const RegionMemory& wanted,
                           Capacity capacity) const noexcept;
  [[nodiscard]] Status allocate_missing(RegionMemory* wanted, std::size_t count) const noexcept;
  void give_back(RegionMemory* memory) const noexcept;
  void adopt(const RegionMemory* wanted, std::size_t count, Fill fill) noexcept;
  void move_contents(const RegionMemory* wanted, std::size_t count) noexcept;

  Upstream upstream_;
  RegionMemory regions_[kMaxRegions];
  std::size_t region_count_ = 0;
  bool is_lent_ = false;
  bool moved_ = false;
};

}  // namespace tenure
