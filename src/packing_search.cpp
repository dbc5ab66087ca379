// SPDX-License-Identifier: Apache-2.0

#include "internal/packing_search.h"

#include <algorithm>

#include "internal/mix.h"

namespace tenure::internal {
PackingSearch::PackingSearch(Upstream upstream) noexcept
    : state_(upstream),
      parts_(upstream),
      frames_(upstream),
      ranks_(upstream),
      ranked_(upstream),
      weights_(upstream) {}

bool PackingSearch::reset(const Packing& packing) noexcept {
  packing_ = &packing;
  weights_.clear();
  return state_.reset(packing) && weights_.resize(packing.item_count());
}

PackingSearch::Outcome PackingSearch::run(std::uint64_t cap_bytes, const PackingOrder& order,
                                          std::uint64_t seed, std::uint64_t* steps_left) noexcept {
  order_ = order;
  seed_ = seed;
  parts_.clear();
  frames_.clear();
  ranks_.clear();
  out_of_memory_ = false;
  if (!state_.restart(cap_bytes)) return Outcome::kNone;
  const std::uint32_t count = packing_->item_count();
  if (!parts_.push_back({0, count, count, 0, 0, 0, kNoPart, kNoPart}) || !enter(0)) {
    return Outcome::kOutOfMemory;
  }
  while (part_ != kNoPart) {
    if (*steps_left == 0) return Outcome::kOutOfSteps;
    --*steps_left;
    bool goes_on = descend();
    while (!goes_on && !out_of_memory_ && !state_.out_of_memory()) {
      if (frames_.empty()) return Outcome::kNone;
      if (*steps_left == 0) return Outcome::kOutOfSteps;
      --*steps_left;
      goes_on = backtrack();
      if (!goes_on && frames_.empty()) return Outcome::kNone;
    }
    if (out_of_memory_ || state_.out_of_memory()) return Outcome::kOutOfMemory;
    // A part that is packed gives way to the next; one that has fallen apart to its pieces.
    while (part_ != kNoPart) {
      if (parts_[part_].count != 0) {
        if (!split()) return Outcome::kOutOfMemory;
        break;
      }
      const std::uint32_t next = parts_[part_].next;
      part_ = kNoPart;
      if (next != kNoPart && !enter(next)) return Outcome::kOutOfMemory;
    }
  }
  return Outcome::kFound;
}

std::uint64_t PackingSearch::height() const noexcept {
  std::uint64_t height = 0;
  for (std::uint32_t i = 0; i < packing_->item_count(); ++i) {
    height = std::max(height, state_.rest(i) + packing_->item(i).size);
  }
  return height;
}

bool PackingSearch::enter(std::uint32_t part) noexcept {
  part_ = part;
  parts_[part].first_frame = static_cast<std::uint32_t>(frames_.size());
  return rank(&parts_[part]);
}

std::uint64_t PackingSearch::key_of(std::uint32_t index, PackingKey key) const noexcept {
  const PackingItem& item = packing_->item(index);
  switch (key) {
    case PackingKey::kNone:
      return 0;
    case PackingKey::kSection: {
      std::uint64_t largest = 0;
      for (std::uint32_t s = item.first_section; s <= item.last_section; ++s) {
        largest = std::max(largest, state_.remaining(s));
      }
      return largest;
    }
    case PackingKey::kLength:
      return item.length;
    case PackingKey::kArea: {
      const std::uint64_t length = std::uint64_t{item.length} + 1;
      return item.size > UINT64_MAX / length ? UINT64_MAX : item.size * length;
    }
    case PackingKey::kOverlaps:
      return packing_->neighbours(index).size();
    case PackingKey::kEnd:
      return item.last_use;
    case PackingKey::kSections:
      return item.last_section - item.first_section;
    case PackingKey::kWeight:
      return weights_[index];
    case PackingKey::kRandom:
      return mix(seed_ * 0x2545F4914F6CDD1DU + index);
  }
  return 0;
}

// Ranks go by what remains now, so they are those of the part.
bool PackingSearch::rank(Part* part) noexcept {
  ranked_.clear();
  for (std::uint32_t i = part->begin; i < part->end; ++i) {
    if (state_.is_placed(i)) continue;
    Ranked ranked{{key_of(i, order_.keys[0]), key_of(i, order_.keys[1]), key_of(i, order_.keys[2])},
                  i};
    if (!ranked_.push_back(ranked)) return false;
  }
  std::sort(ranked_.begin(), ranked_.end(), [](const Ranked& a, const Ranked& b) {
    for (std::size_t k = 0; k < 3; ++k) {
      if (a.keys[k] != b.keys[k]) return a.keys[k] > b.keys[k];
    }
    return a.item < b.item;
  });
  part->ranks_begin = static_cast<std::uint32_t>(ranks_.size());
  if (!ranks_.resize(ranks_.size() + (part->end - part->begin))) return false;
  for (std::uint32_t rank = 0; rank < ranked_.size(); ++rank) {
    ranks_[part->ranks_begin + (ranked_[rank].item - part->begin)] = rank;
  }
  return true;
}

// Cuts the part where no item crosses. Its pieces are packed before whatever comes after it.
bool PackingSearch::split() noexcept {
  const Part whole = parts_[part_];
  if (packing_->has_distant_neighbours()) return true;
  const auto first_piece = static_cast<std::uint32_t>(parts_.size());
  std::uint32_t last_section = 0;
  std::uint32_t count = 0;
  const auto frame_count = static_cast<std::uint32_t>(frames_.size());
  const auto add_piece = [&](std::uint32_t begin, std::uint32_t end) {
    return parts_.push_back({begin, end, count, 0, 0, frame_count, part_, kNoPart});
  };
  std::uint32_t begin = whole.begin;
  for (std::uint32_t i = whole.begin; i < whole.end; ++i) {
    if (state_.is_placed(i)) continue;
    const PackingItem& item = packing_->item(i);
    if (count != 0 && item.first_section > last_section) {
      if (!add_piece(begin, i)) return false;
      begin = i;
      count = 0;
    }
    last_section = count == 0 ? item.last_section : std::max(last_section, item.last_section);
    ++count;
  }
  if (parts_.size() == first_piece) return true;
  if (!add_piece(begin, whole.end)) return false;
  std::sort(parts_.begin() + first_piece, parts_.end(), [](const Part& a, const Part& b) {
    return a.count != b.count ? a.count < b.count : a.begin < b.begin;
  });
  const auto after_last = static_cast<std::uint32_t>(parts_.size());
  for (std::uint32_t piece = first_piece; piece < after_last; ++piece) {
    parts_[piece].next = piece + 1 == after_last ? whole.next : piece + 1;
  }
  return enter(first_piece);
}

bool PackingSearch::descend() noexcept {
  const std::uint32_t item = pick();
  if (item == kNoPart) return false;
  const Frame frame{state_.mark(),
                    item,
                    part_,
                    static_cast<std::uint32_t>(parts_.size()),
                    static_cast<std::uint32_t>(ranks_.size()),
                    false};
  if (!frames_.push_back(frame)) {
    out_of_memory_ = true;
    return false;
  }
  --parts_[part_].count;
  return state_.place(item);
}

// The last item that was placed is skipped instead; when there is none in this part, the part cannot
// be packed, and neither can what it is a piece of.
bool PackingSearch::backtrack() noexcept {
  for (;;) {
    const Part& part = parts_[part_];
    if (frames_.size() == part.first_frame) {
      const std::uint32_t parent = part.parent;
      if (parent == kNoPart) {
        while (!frames_.empty()) frames_.pop_back();
        return false;
      }
      while (frames_.size() > part.split_frame) {
        Frame& dropped = frames_.back();
        if (!dropped.is_skipped) ++parts_[dropped.part].count;
        state_.rewind(dropped.mark);
        frames_.pop_back();
      }
      part_ = parent;
      continue;
    }
    Frame& frame = frames_.back();
    state_.rewind(frame.mark);
    while (parts_.size() > frame.part_count) parts_.pop_back();
    while (ranks_.size() > frame.rank_count) ranks_.pop_back();
    if (frame.is_skipped) {
      frames_.pop_back();
      continue;
    }
    ++parts_[part_].count;
    ++weights_[frame.item];
    frame.is_skipped = true;
    return state_.skip(frame.item);
  }
}

bool PackingSearch::comes_first(std::uint32_t a, std::uint32_t b) const noexcept {
  if (state_.rest(a) != state_.rest(b)) return state_.rest(a) < state_.rest(b);
  const Part& part = parts_[part_];
  return ranks_[part.ranks_begin + (a - part.begin)] < ranks_[part.ranks_begin + (b - part.begin)];
}

std::uint32_t PackingSearch::pick() const noexcept {
  std::uint32_t item = kNoPart;
  if (order_.pick == PackingPick::kTightest) item = pick_tightest();
  if (order_.pick == PackingPick::kFewest) item = pick_fewest();
  return item != kNoPart ? item : pick_lowest();
}

// Nothing that is not placed can still go below it: whatever could would itself rest lower.
std::uint32_t PackingSearch::pick_lowest() const noexcept {
  std::uint32_t best = kNoPart;
  const Part& part = parts_[part_];
  for (std::uint32_t i = part.begin; i < part.end; ++i) {
    if (state_.is_placed(i) || state_.is_skipped(i)) continue;
    if (best == kNoPart || comes_first(i, best)) best = i;
  }
  return best;
}

// A neighbour that can still go below the item; the one with the lowest top.
std::uint32_t PackingSearch::obstacle_below(std::uint32_t item) const noexcept {
  std::uint32_t lowest = kNoPart;
  std::uint64_t lowest_top = state_.rest(item);
  for (const std::uint32_t other : packing_->neighbours(item)) {
    if (state_.is_placed(other)) continue;
    const std::uint64_t top = state_.top(other);
    if (top > lowest_top || (top == lowest_top && lowest != kNoPart)) continue;
    lowest = other;
    lowest_top = top;
  }
  return lowest;
}

// Those of the part in which something that is counted is not placed.
template <class Visit>
void PackingSearch::visit_open_sections(const Visit& visit) const noexcept {
  const Part& part = parts_[part_];
  std::uint32_t done_to = 0;
  for (std::uint32_t i = part.begin; i < part.end; ++i) {
    if (state_.is_placed(i)) continue;
    const PackingItem& item = packing_->item(i);
    for (std::uint32_t s = std::max(done_to, item.first_section); s <= item.last_section; ++s) {
      if (state_.section_floor(s) != UINT64_MAX) visit(s);
    }
    done_to = std::max(done_to, item.last_section + 1);
  }
}

std::uint32_t PackingSearch::tightest_section() const noexcept {
  std::uint32_t tightest = kNoPart;
  std::uint64_t most_needed = 0;
  visit_open_sections([&](std::uint32_t section) {
    const std::uint64_t needed = state_.section_floor(section) + state_.remaining(section);
    if (tightest != kNoPart && needed <= most_needed) return;
    tightest = section;
    most_needed = needed;
  });
  return tightest;
}

// What must be the lowest of its section has a floor that leaves room for the rest above it. The
// fewer can be, the sooner a wrong one shows.
std::uint32_t PackingSearch::pick_fewest() const noexcept {
  std::uint32_t fewest_item = kNoPart;
  std::uint32_t fewest = UINT32_MAX;
  std::uint64_t lowest_floor = 0;
  visit_open_sections([&](std::uint32_t section) {
    const std::uint64_t floor = state_.section_floor(section);
    const std::uint64_t highest = state_.cap() - state_.remaining(section);
    std::uint32_t count = 0;
    std::uint32_t first = kNoPart;
    for (const std::uint32_t member : packing_->members(section)) {
      if (state_.is_placed(member) || state_.floor(member) > highest) continue;
      if (++count > fewest) return;
      if (state_.is_skipped(member)) continue;
      if (first == kNoPart || comes_first(member, first)) first = member;
    }
    if (first == kNoPart || (count == fewest && floor >= lowest_floor)) return;
    if (obstacle_below(first) != kNoPart) return;
    fewest_item = first;
    fewest = count;
    lowest_floor = floor;
  });
  return fewest_item;
}

// From the section that has least room, down to an item that may be placed.
std::uint32_t PackingSearch::pick_tightest() const noexcept {
  const std::uint32_t section = tightest_section();
  if (section == kNoPart) return kNoPart;
  std::uint32_t item = kNoPart;
  for (const std::uint32_t member : packing_->members(section)) {
    if (state_.is_placed(member)) continue;
    if (item == kNoPart || comes_first(member, item)) item = member;
  }
  constexpr int kMaxMoves = 64;
  for (int move = 0; item != kNoPart && move < kMaxMoves; ++move) {
    if (state_.is_skipped(item)) {
      // To what carries it at its floor.
      std::uint32_t carrier = kNoPart;
      std::uint64_t lowest_top = UINT64_MAX;
      for (const std::uint32_t other : packing_->neighbours(item)) {
        if (state_.is_placed(other)) continue;
        const std::uint64_t top = state_.top(other);
        if (top >= lowest_top) continue;
        carrier = other;
        lowest_top = top;
      }
      item = carrier;
      continue;
    }
    const std::uint32_t below = obstacle_below(item);
    if (below == kNoPart) return item;
    item = below;
  }
  return kNoPart;
}

}  // namespace tenure::internal
