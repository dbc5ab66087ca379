// SPDX-License-Identifier: Apache-2.0
#pragma once

// Searches for a packing below a cap, depth first: place an item or skip it. Parts of time that no
// item crosses any more are searched one by one, the smallest first, and a part that cannot be
// packed ends what led to it.

#include <cstdint>

#include "internal/packing.h"
#include "internal/packing_state.h"
#include "tenure/array.h"
#include "tenure/upstream.h"

namespace tenure::internal {

// What an order goes by, the most important first; larger numbers come first.
enum class PackingKey : std::uint8_t {
  kNone,
  kSection,   // the largest remaining sum of a section that it lives in
  kLength,    // of the live range
  kArea,      // size x length
  kOverlaps,  // how many neighbours it has
  kEnd,       // the last use
  kSections,  // in how many sections it lives
  kWeight,    // how often it was to blame
  kRandom,
};
// Which item is next; those that a rule leaves equal go by the keys.
enum class PackingPick : std::uint8_t {
  kLowest,    // the one that can go lowest
  kTightest,  // from the section that has least room
  kFewest,    // from the section in which the fewest can be the lowest
};
struct PackingOrder {
  PackingKey keys[3];
  PackingPick pick;
};

// Those worth trying; proofs that there is no packing come soonest in the first.
inline constexpr PackingOrder kPackingOrders[] = {
    {{PackingKey::kSection, PackingKey::kLength, PackingKey::kArea}, PackingPick::kLowest},
    {{PackingKey::kSection, PackingKey::kArea, PackingKey::kLength}, PackingPick::kLowest},
    {{PackingKey::kLength, PackingKey::kArea, PackingKey::kSection}, PackingPick::kLowest},
    {{PackingKey::kSection, PackingKey::kOverlaps, PackingKey::kNone}, PackingPick::kLowest},
    {{PackingKey::kEnd, PackingKey::kLength, PackingKey::kNone}, PackingPick::kLowest},
    {{PackingKey::kSection, PackingKey::kSections, PackingKey::kNone}, PackingPick::kLowest},
    {{PackingKey::kSection, PackingKey::kLength, PackingKey::kArea}, PackingPick::kTightest},
    {{PackingKey::kSection, PackingKey::kLength, PackingKey::kArea}, PackingPick::kFewest},
};

class PackingSearch {
 public:
  enum class Outcome : std::uint8_t { kFound, kNone, kOutOfSteps, kOutOfMemory };

  explicit PackingSearch(Upstream upstream) noexcept;

  // The packing must outlive this.
  [[nodiscard]] bool reset(const Packing& packing) noexcept;

  // Every top at or below the cap. kNone is a proof that there is no such packing. Takes steps from
  // `*steps_left`: one for each item that is placed or skipped.
  [[nodiscard]] Outcome run(std::uint64_t cap_bytes, const PackingOrder& order, std::uint64_t seed,
                            std::uint64_t* steps_left) noexcept;

  // Of what was found: by item, and the highest top.
  [[nodiscard]] std::uint64_t offset(std::uint32_t item) const noexcept {
    return state_.rest(item);
  }
  [[nodiscard]] std::uint64_t height() const noexcept;

 private:
  static constexpr std::uint32_t kNoPart = UINT32_MAX;
  // Items [begin, end) that are not placed; no other item meets them.
  struct Part {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t count;        // of items that are not placed
    std::uint32_t ranks_begin;  // in ranks_
    std::uint32_t first_frame;  // of this part
    std::uint32_t split_frame;  // frames from here on belong to it and to its sisters
    std::uint32_t parent;
    std::uint32_t next;  // what is to be packed after it
  };
  struct Frame {
    std::size_t mark;
    std::uint32_t item;
    std::uint32_t part;
    std::uint32_t part_count;
    std::uint32_t rank_count;
    bool is_skipped;
  };
  struct Ranked {
    std::uint64_t keys[3];
    std::uint32_t item;
  };

  [[nodiscard]] bool enter(std::uint32_t part) noexcept;
  [[nodiscard]] bool rank(Part* part) noexcept;
  [[nodiscard]] std::uint64_t key_of(std::uint32_t index, PackingKey key) const noexcept;
  [[nodiscard]] bool split() noexcept;
  [[nodiscard]] bool descend() noexcept;
  [[nodiscard]] bool backtrack() noexcept;
  [[nodiscard]] std::uint32_t pick() const noexcept;
  template <class Visit>
  void visit_open_sections(const Visit& visit) const noexcept;
  [[nodiscard]] std::uint32_t tightest_section() const noexcept;
  [[nodiscard]] std::uint32_t pick_tightest() const noexcept;
  [[nodiscard]] std::uint32_t pick_fewest() const noexcept;
  [[nodiscard]] std::uint32_t pick_lowest() const noexcept;
  [[nodiscard]] bool comes_first(std::uint32_t a, std::uint32_t b) const noexcept;
  [[nodiscard]] std::uint32_t obstacle_below(std::uint32_t item) const noexcept;

  const Packing* packing_ = nullptr;
  PackingState state_;
  PackingOrder order_{};
  std::uint64_t seed_ = 0;
  Array<Part> parts_;
  Array<Frame> frames_;
  Array<std::uint32_t> ranks_;
  Array<Ranked> ranked_;
  Array<std::uint32_t> weights_;
  std::uint32_t part_ = kNoPart;
  bool out_of_memory_ = false;
};

}  // namespace tenure::internal
