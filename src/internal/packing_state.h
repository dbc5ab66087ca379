// SPDX-License-Identifier: Apache-2.0
#pragma once

// A packing that is built from the bottom up, and can be taken back step by step.
//
// Every packing can be pushed down until each item rests on the bottom, on an obstacle or on another
// item, so only such packings are built: the next item goes to the lowest place above all placed
// neighbours, its *rest*. Or it is *skipped*: then it rests on a neighbour that is not placed yet,
// which raises its *floor*, a proven lower bound of its final offset. Floors raise each other, and a
// section whose lowest floor and remaining sizes exceed the cap ends the attempt.

#include <cstdint>

#include "internal/packing.h"
#include "tenure/array.h"
#include "tenure/upstream.h"

namespace tenure::internal {

class PackingState {
 public:
  explicit PackingState(Upstream upstream) noexcept;

  // Nothing is placed. The packing must outlive this. False: memory refused. O(items + members).
  [[nodiscard]] bool reset(const Packing& packing) noexcept;
  // Everything is taken back, and from here on no top may be above the cap. False: that cannot be.
  [[nodiscard]] bool restart(std::uint64_t cap_bytes) noexcept;

  // Precondition: not placed and not skipped. False: the cap cannot be kept (or memory was refused,
  // see out_of_memory); the state is to be rewound then.
  [[nodiscard]] bool place(std::uint32_t placed) noexcept;
  // Also skips its twins, which it could trade places with.
  [[nodiscard]] bool skip(std::uint32_t skipped) noexcept;

  [[nodiscard]] std::size_t mark() const noexcept { return trail_.size(); }
  void rewind(std::size_t mark) noexcept;

  [[nodiscard]] bool is_placed(std::uint32_t item) const noexcept { return spots_[item].is_placed; }
  [[nodiscard]] bool is_skipped(std::uint32_t item) const noexcept {
    return spots_[item].is_skipped();
  }
  [[nodiscard]] std::uint64_t rest(std::uint32_t item) const noexcept { return spots_[item].rest; }
  [[nodiscard]] std::uint64_t floor(std::uint32_t item) const noexcept {
    return spots_[item].floor;
  }
  // Of its bytes when it goes no lower than its floor.
  [[nodiscard]] std::uint64_t top(std::uint32_t item) const noexcept { return spots_[item].top(); }
  [[nodiscard]] std::uint64_t remaining(std::uint32_t section) const noexcept {
    return remaining_[section];
  }
  // The lowest floor of its items that are not placed.
  [[nodiscard]] std::uint64_t section_floor(std::uint32_t section) const noexcept {
    return section_floor_[section];
  }
  [[nodiscard]] std::uint64_t cap() const noexcept { return cap_; }
  [[nodiscard]] bool out_of_memory() const noexcept { return out_of_memory_; }

 private:
  // Where an item is or can go.
  struct Spot {
    std::uint64_t rest;
    std::uint64_t floor;
    std::uint64_t size;
    bool is_placed;
    bool has_risen;  // and waits for the others to be told
    bool is_listed;  // in skipped_

    [[nodiscard]] bool is_skipped() const noexcept { return floor > rest; }
    [[nodiscard]] std::uint64_t top() const noexcept { return floor + size; }
  };
  enum class Kind : std::uint8_t { kPlaced, kListed, kRest, kFloor, kRemaining, kSectionFloor };
  struct Change {
    std::uint64_t before;
    std::uint32_t index;
    Kind kind;
  };
  void note(Kind kind, std::uint32_t index, std::uint64_t before) noexcept;
  void raise_floor(std::uint32_t item, std::uint64_t floor) noexcept;
  void touch_sections(const PackingItem& item, std::uint64_t floor) noexcept;
  void list_skipped(std::uint32_t item) noexcept;
  void support(std::uint32_t item) noexcept;
  [[nodiscard]] bool tell_skipped() noexcept;
  [[nodiscard]] bool settle() noexcept;
  [[nodiscard]] bool fail() noexcept;

  const Packing* packing_ = nullptr;
  std::uint64_t cap_ = UINT64_MAX;
  Array<Spot> spots_;
  Array<std::uint64_t> remaining_;
  Array<std::uint64_t> section_floor_;
  Array<std::uint32_t> skipped_;  // all that are skipped, and some that no longer are
  Array<Change> trail_;
  bool out_of_memory_ = false;

  // Work under way: items whose floors have risen, and the floors that they had when the others
  // last heard of them; sections to sum up anew.
  Array<std::uint32_t> risen_;
  Array<std::uint64_t> known_floor_;
  Array<std::uint32_t> touched_;
  Array<std::uint8_t> is_touched_;
};

}  // namespace tenure::internal
