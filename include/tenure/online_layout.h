// SPDX-License-Identifier: Apache-2.0
#pragma once

// OnlineLayout lays a region out without a plan: request after request, each at the lowest offset
// that is free now. For sizes that become known one by one, and for runtimes that ask operator by
// operator. Only numbers: SimpleMemoryArena carries the layout out.
//
//   OnlineLayout online;
//   const Result<OnlineBlock> scores = online.allocate(4096);
//   ...
//   if (!arena.commit(online.layouts()).ok()) return;      // as large as it ever was
//   void* memory = arena.address(scores->placement);
//
// Behaves like the arena that TFLite had before it planned ahead: first fit in a table sorted by
// offset, growing at the end. Different on purpose: the table is a tree, so that thousands of live
// blocks cost no scan, and a block that is not there cannot be given back.

#include <cstdint>

#include "tenure/align.h"
#include "tenure/array.h"
#include "tenure/index.h"
#include "tenure/layout.h"
#include "tenure/span.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure {

// What allocate gave; it is given back as a whole.
struct OnlineBlock {
  Placement placement;
  std::uint64_t size_bytes = 0;
};

struct OnlineOptions {
  std::uint64_t capacity_bytes = kMaxArenaBytes;  // the layout never grows beyond
  std::uint64_t tail_padding_bytes = 0;           // readable bytes after the end; part of capacity
  bool keeps_contents = true;                     // when the arena commits a layout that has grown
  Upstream upstream = heap_upstream();

  OnlineOptions& set_capacity_bytes(std::uint64_t value) noexcept {
    return capacity_bytes = value, *this;
  }
  OnlineOptions& set_tail_padding_bytes(std::uint64_t value) noexcept {
    return tail_padding_bytes = value, *this;
  }
  OnlineOptions& set_keeps_contents(bool value) noexcept { return keeps_contents = value, *this; }
  OnlineOptions& set_upstream(Upstream value) noexcept { return upstream = value, *this; }
};

// Move-only; not thread-safe.
class OnlineLayout {
 public:
  explicit OnlineLayout(const OnlineOptions& options = OnlineOptions()) noexcept;

  // The lowest free offset; blocks of no bytes take none. O(log n), and O(1) more for each gap that
  // is large enough but for its alignment. Fails with kNotPowerOfTwo, kCapacityExceeded (needed:
  // the size the layout would have; available) and kUpstreamRefused; nothing has changed then.
  [[nodiscard]] Result<OnlineBlock> allocate(
      std::uint64_t size_bytes, std::uint64_t alignment_bytes = kDefaultAlignmentBytes) noexcept;

  // Its bytes are free for the next allocate, which merges them with what is free beside them.
  // O(log n), takes no memory. Fails with kNotAllocated when there is no such block now.
  Status deallocate(const OnlineBlock& block) noexcept;

  // Forgets all blocks and the high-water mark; keeps the table's memory.
  void clear() noexcept;

  // The largest end that a block ever had.
  [[nodiscard]] std::uint64_t high_water_mark_bytes() const noexcept { return high_water_mark_; }
  [[nodiscard]] std::uint64_t live_bytes() const noexcept { return live_bytes_; }
  [[nodiscard]] std::uint32_t live_count() const noexcept { return live_count_; }

  // What an arena has to provide for all blocks so far: one region. Valid until this changes.
  [[nodiscard]] Span<const RegionLayout> layouts() const noexcept { return {&layout_, 1}; }

 private:
  // The live blocks, sorted by offset, in a treap: a search tree by offset, a heap by a number that
  // looks random, so that it is about balanced.
  using NodeIndex = std::uint32_t;
  static constexpr NodeIndex kNoNode = UINT32_MAX;
  struct Node {
    std::uint64_t offset;
    std::uint64_t size;
    std::uint64_t gap;      // free bytes between the block before and this one
    std::uint64_t max_gap;  // in this subtree
    std::uint32_t priority;
    NodeIndex left;
    NodeIndex right;
    NodeIndex next_dead;  // given back, and still in the tree; itself when it is not
  };
  struct Split {
    NodeIndex below;
    NodeIndex above;
  };

  [[nodiscard]] NodeIndex first_fit(NodeIndex root, std::uint64_t size,
                                    std::uint64_t alignment) const noexcept;
  [[nodiscard]] std::uint64_t end() const noexcept;
  [[nodiscard]] NodeIndex find(std::uint64_t offset) const noexcept;
  [[nodiscard]] NodeIndex take_node() noexcept;
  void insert(NodeIndex node) noexcept;
  void erase(NodeIndex node) noexcept;
  void merge_dead() noexcept;
  void update(NodeIndex node) noexcept;
  [[nodiscard]] Split split(NodeIndex root, std::uint64_t offset) noexcept;
  [[nodiscard]] NodeIndex join(NodeIndex below, NodeIndex above) noexcept;
  void set_first_gap(NodeIndex root, std::uint64_t below_end) noexcept;

  Array<Node> nodes_;
  NodeIndex root_ = kNoNode;
  NodeIndex free_ = kNoNode;  // nodes in no tree, linked by left
  NodeIndex dead_ = kNoNode;
  std::uint32_t live_count_ = 0;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t high_water_mark_ = 0;
  std::uint64_t capacity_;
  std::uint64_t tail_padding_;
  RegionLayout layout_;
};

}  // namespace tenure
