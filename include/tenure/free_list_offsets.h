// SPDX-License-Identifier: Apache-2.0
#pragma once

// The core of a free list: offsets for blocks that come and go in any order, in constant time, with
// free neighbours merged at once. It touches no memory, and keeps its books elsewhere, so that the
// space may be a device's. FreeListAllocator puts addresses on top.
//
//   tenure::FreeListOffsets heap(256);                       // bytes of a granule
//   const auto buffer = heap.add_range(16 << 20);
//   const tenure::RangeOffset offset = heap.allocate(size_bytes, 256);
//   bind(buffers[offset.range], offset.bytes);
//   heap.free(offset);
//
// Two-level segregated fit: free blocks are listed by size, 16 lists for each power of two, and two
// words of bits lead to the first list that surely fits. The few free blocks that changed last are
// in no list: most requests come out of one of them, and most frees go back to it.

#include <cstddef>
#include <cstdint>

#include "tenure/array.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure {

// Where a block lies: in one of several ranges, or nowhere, when the request was refused.
struct RangeOffset {
  std::uint32_t range = kNoRange;
  std::size_t bytes = 0;

  static constexpr std::uint32_t kNoRange = 0xFFFFFFFFU;

  [[nodiscard]] static constexpr RangeOffset none() noexcept { return {}; }
  [[nodiscard]] constexpr bool is_none() const noexcept { return range == kNoRange; }
};

inline constexpr std::uint32_t kMaxRanges = 32;

// Blocks take whole granules. Where room was reserved, the books take 36 to 40 bytes a block, live
// or free; otherwise they grow with the blocks, to up to 100, and what grows is copied or entered
// anew. Live blocks are found in a hash table: O(1) is so as expected of one. Neither copied
// nor moved. Not thread-safe. The upstream must outlive it.
class FreeListOffsets {
 public:
  // Precondition: granule_bytes is a power of two.
  explicit FreeListOffsets(std::size_t granule_bytes,
                           Upstream bookkeeping = heap_upstream()) noexcept;
  FreeListOffsets(const FreeListOffsets&) = delete;
  FreeListOffsets& operator=(const FreeListOffsets&) = delete;

  // Room in the books for that many blocks, live and free: until there are more, nothing is taken
  // from the upstream. Fails with kUpstreamRefused or kTooMany.
  [[nodiscard]] Status reserve_blocks(std::size_t count) noexcept;

  // Another range to place blocks in, rounded down to whole granules: at most 2^30 of them.
  // `origin` is the address of its offset 0, a multiple of the granule. Fails with kTooMany
  // (ranges, granules) or kUpstreamRefused.
  [[nodiscard]] Result<std::uint32_t> add_range(std::size_t size_bytes,
                                                std::uintptr_t origin = 0) noexcept;
  // Whether a range may be of that size.
  [[nodiscard]] bool fits_range(std::size_t size_bytes) const noexcept;
  // What add_range would fail with, but for the upstream.
  [[nodiscard]] Status check_range(std::size_t size_bytes) const noexcept;
  // Precondition: there is such a range, and no block is live in it.
  void remove_range(std::uint32_t range) noexcept;
  [[nodiscard]] bool is_unused(std::uint32_t range) const noexcept;
  // Calls visit(begin_bytes, size_bytes) for each free block of a range, from below. O(blocks).
  template <class Visit>
  void visit_free(std::uint32_t range, const Visit& visit) const noexcept {
    const std::uint32_t edge = ranges_[range].edge;
    for (std::uint32_t i = nodes_[edge].above; i != edge; i = nodes_[i].above) {
      if (nodes_[i].place == kLive) continue;
      visit(std::size_t{nodes_[i].begin} << shift_, std::size_t{nodes_[i].size} << shift_);
    }
  }

  // None when refused: then nothing has changed. O(1) where a free block is larger by a 16th and
  // by what aligning may skip, or one of the newest few of that size fits. Otherwise all free
  // blocks between are looked at, because one may fit. An alignment above 2^30 granules is refused.
  // Precondition: alignment_bytes is a power of two.
  [[nodiscard]] RangeOffset allocate(std::size_t size_bytes, std::size_t alignment_bytes) noexcept;

  // False, and counted as stray, when no live block begins there. O(1).
  bool free(RangeOffset offset) noexcept;
  // The same by address, for ranges that have an origin.
  bool free_address(std::uintptr_t address) noexcept;

  [[nodiscard]] std::size_t granule_bytes() const noexcept { return std::size_t{1} << shift_; }
  [[nodiscard]] std::size_t in_use_bytes() const noexcept { return in_use_granules_ << shift_; }
  [[nodiscard]] std::size_t peak_bytes() const noexcept { return peak_granules_ << shift_; }
  [[nodiscard]] std::size_t live_blocks() const noexcept { return live_blocks_; }
  [[nodiscard]] std::size_t refusals() const noexcept { return refusals_; }
  [[nodiscard]] std::size_t stray_frees() const noexcept { return stray_frees_; }
  // Free blocks of all ranges; after the last block has come back, one a range.
  [[nodiscard]] std::size_t free_blocks() const noexcept { return free_blocks_; }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;
  // So that a size, what aligning may skip and a part of a power of two add up in 32 bits.
  static constexpr std::uint32_t kMaxGranules = 0x40000000U;
  static constexpr std::uint32_t kBinsPerPower = 16;
  static constexpr std::uint32_t kPowers = 29;
  static constexpr std::uint32_t kRecent = 3;
  // Where a node is: below that in the list of this number, from there on among the recent.
  static constexpr std::uint32_t kFirstRecent = kPowers * kBinsPerPower;
  static constexpr std::uint32_t kLive = kNone;

  // A block, in granules. The blocks of a range and its edge, which counts as live, are a ring.
  struct Node {
    std::uint32_t begin;
    std::uint32_t size;
    std::uint32_t below;
    std::uint32_t above;
    std::uint32_t place;
    std::uint32_t next;      // in its list, among the live of one hash, or among the spare
    std::uint32_t previous;  // in its list
    std::uint32_t range;
  };
  struct Range {
    std::uintptr_t origin = 0;
    std::uint32_t granules = 0;  // 0: there is no such range
    std::uint32_t edge = kNone;
    std::uint32_t key = 0;  // of its first granule
  };
  struct Request {
    std::uint32_t granules;
    std::uint32_t slack;  // granules that aligning may skip
    std::size_t alignment_bytes;
  };

  static std::uint32_t shift_of(std::uint32_t granules) noexcept;
  static std::uint32_t power_of(std::uint32_t granules) noexcept;
  static std::uint32_t bin_of(std::uint32_t granules) noexcept;
  static std::uint32_t bin_that_fits(std::uint32_t granules) noexcept;
  [[nodiscard]] std::uint32_t first_unused_range() const noexcept;
  [[nodiscard]] std::uint32_t first_bin_from(std::uint32_t bin) const noexcept;
  [[nodiscard]] std::uint32_t padding_of(const Node& node, const Request& request) const noexcept;
  [[nodiscard]] bool fits(std::uint32_t index, const Request& request) const noexcept;
  [[nodiscard]] std::uint32_t look_through(std::uint32_t bin, const Request& request,
                                           std::size_t most) const noexcept;
  [[nodiscard]] std::uint32_t find_recent(const Request& request) const noexcept;
  [[nodiscard]] std::uint32_t find_listed(const Request& request) const noexcept;
  [[nodiscard]] std::uint32_t find_unlikely(const Request& request) const noexcept;
  [[nodiscard]] std::uint32_t find(const Request& request) const noexcept;
  [[nodiscard]] RangeOffset hand_out(std::uint32_t index) noexcept;
  [[nodiscard]] bool has_spares(std::size_t count) const noexcept;
  [[nodiscard]] bool provide_spares(std::size_t count) noexcept;
  [[nodiscard]] bool provide_buckets(std::size_t blocks) noexcept;
  [[nodiscard]] std::uint32_t* bucket_of(std::uint32_t key) noexcept;
  template <class Matches>
  [[nodiscard]] bool free_matching(std::uint32_t key, const Matches& matches) noexcept;
  void enter(std::uint32_t index) noexcept;
  std::uint32_t take_spare() noexcept;
  void give_spare(std::uint32_t index) noexcept;
  void list(std::uint32_t index) noexcept;
  void unlist(std::uint32_t index) noexcept;
  void remember(std::uint32_t index) noexcept;
  void forget(std::uint32_t index) noexcept;
  void note_resized(std::uint32_t index) noexcept;
  std::uint32_t split_front(std::uint32_t index, std::uint32_t granules) noexcept;
  void merge_into_above(std::uint32_t index) noexcept;
  void merge_into_below(std::uint32_t index) noexcept;
  void merge_or_remember(std::uint32_t index) noexcept;

  std::uint32_t shift_;
  std::uint32_t spare_ = kNone;
  Upstream bookkeeping_;
  Array<Node> nodes_;
  // Live blocks by where they begin: a hash table of chains, a bucket for each block at least.
  Array<std::uint32_t> buckets_;
  std::uint32_t bucket_shift_ = 32;
  std::uint32_t powers_ = 0;  // bits: powers with a list that is not empty
  std::uint32_t bins_[kPowers] = {};
  std::uint32_t lists_[kPowers * kBinsPerPower];
  std::uint32_t recent_count_ = 0;
  std::uint32_t next_to_list_ = 0;  // of the recent, when there are more
  std::uint32_t recent_sizes_[kRecent];
  std::uint32_t recent_[kRecent];
  Range ranges_[kMaxRanges];
  std::size_t in_use_granules_ = 0;
  std::size_t peak_granules_ = 0;
  std::size_t live_blocks_ = 0;
  std::size_t free_blocks_ = 0;
  std::size_t refusals_ = 0;
  std::size_t stray_frees_ = 0;
};

}  // namespace tenure
