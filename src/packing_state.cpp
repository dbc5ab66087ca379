// SPDX-License-Identifier: Apache-2.0

#include "internal/packing_state.h"

#include <algorithm>

namespace tenure::internal {

PackingState::PackingState(Upstream upstream) noexcept
    : spots_(upstream),
      remaining_(upstream),
      section_floor_(upstream),
      skipped_(upstream),
      trail_(upstream),
      risen_(upstream),
      known_floor_(upstream),
      touched_(upstream),
      is_touched_(upstream) {}

bool PackingState::reset(const Packing& packing) noexcept {
  packing_ = &packing;
  const std::size_t items = packing.item_count();
  const std::size_t sections = packing.section_count();
  trail_.clear();
  risen_.clear();
  touched_.clear();
  skipped_.clear();
  spots_.clear();
  is_touched_.clear();
  for (Array<std::uint64_t>* numbers : {&known_floor_, &remaining_, &section_floor_}) {
    numbers->clear();
  }
  return spots_.resize(items) && is_touched_.resize(sections) && known_floor_.resize(items) &&
         remaining_.resize(sections) && section_floor_.resize(sections) &&
         touched_.reserve(sections) && skipped_.reserve(items);
}

bool PackingState::restart(std::uint64_t cap_bytes) noexcept {
  trail_.clear();
  skipped_.clear();
  cap_ = cap_bytes;
  out_of_memory_ = false;
  std::fill(remaining_.begin(), remaining_.end(), 0);
  bool fits = true;
  for (std::uint32_t i = 0; i < packing_->item_count(); ++i) {
    const PackingItem& item = packing_->item(i);
    const std::uint64_t rest = packing_->fit(i, 0);
    spots_[i] = {rest, rest, item.size, false, false, false};
    fits = fits && rest <= cap_ && item.size <= cap_ - rest;
    for (std::uint32_t s = item.first_section; s <= item.last_section; ++s) {
      remaining_[s] += item.counted;
    }
  }
  for (std::uint32_t s = 0; s < packing_->section_count(); ++s) {
    std::uint64_t lowest = UINT64_MAX;
    for (const std::uint32_t member : packing_->members(s)) {
      lowest = std::min(lowest, spots_[member].floor);
    }
    section_floor_[s] = lowest;
    if (lowest == UINT64_MAX) continue;  // nothing in it is counted
    fits = fits && lowest <= cap_ && remaining_[s] <= cap_ - lowest;
  }
  return fits;
}

void PackingState::note(Kind kind, std::uint32_t index, std::uint64_t before) noexcept {
  if (!trail_.push_back({before, index, kind})) out_of_memory_ = true;
}

void PackingState::rewind(std::size_t mark) noexcept {
  while (trail_.size() > mark) {
    const Change change = trail_.back();
    trail_.pop_back();
    switch (change.kind) {
      case Kind::kPlaced:
        spots_[change.index].is_placed = false;
        break;
      case Kind::kListed:
        spots_[change.index].is_listed = false;
        skipped_.pop_back();
        break;
      case Kind::kRest:
        spots_[change.index].rest = change.before;
        break;
      case Kind::kFloor:
        spots_[change.index].floor = change.before;
        break;
      case Kind::kRemaining:
        remaining_[change.index] = change.before;
        break;
      case Kind::kSectionFloor:
        section_floor_[change.index] = change.before;
        break;
    }
  }
}

// Those in which it was the lowest: elsewhere nothing has become worse.
void PackingState::touch_sections(const PackingItem& item, std::uint64_t floor) noexcept {
  for (std::uint32_t s = item.first_section; s <= item.last_section; ++s) {
    if (section_floor_[s] < floor || is_touched_[s] != 0) continue;
    is_touched_[s] = 1;
    static_cast<void>(touched_.push_back(s));  // reserved
  }
}

void PackingState::raise_floor(std::uint32_t item, std::uint64_t floor) noexcept {
  Spot& spot = spots_[item];
  if (!spot.has_risen) {
    spot.has_risen = true;
    known_floor_[item] = spot.floor;
    if (!risen_.push_back(item)) out_of_memory_ = true;
  }
  note(Kind::kFloor, item, spot.floor);
  spot.floor = floor;
}

bool PackingState::place(std::uint32_t placed) noexcept {
  const PackingItem& item = packing_->item(placed);
  note(Kind::kPlaced, placed, 0);
  spots_[placed].is_placed = true;
  for (std::uint32_t s = item.first_section; s <= item.last_section; ++s) {
    note(Kind::kRemaining, s, remaining_[s]);
    remaining_[s] -= item.counted;
  }
  touch_sections(item, spots_[placed].floor);
  const std::uint64_t top = spots_[placed].rest + item.size;
  for (const std::uint32_t other : packing_->neighbours(placed)) {
    Spot& spot = spots_[other];
    if (spot.is_placed || spot.rest >= top) continue;
    const std::uint64_t rest = packing_->fit(other, top);
    note(Kind::kRest, other, spot.rest);
    spot.rest = rest;
    if (rest > spot.floor) raise_floor(other, rest);
  }
  // What was skipped has one neighbour less to rest on.
  for (const std::uint32_t other : skipped_) {
    if (!spots_[other].is_placed && spots_[other].is_skipped()) support(other);
  }
  return settle();
}

void PackingState::list_skipped(std::uint32_t item) noexcept {
  if (spots_[item].is_listed) return;
  spots_[item].is_listed = true;
  note(Kind::kListed, item, 0);
  static_cast<void>(skipped_.push_back(item));  // reserved
}

bool PackingState::skip(std::uint32_t skipped) noexcept {
  const PackingItem& item = packing_->item(skipped);
  const std::uint64_t rest = spots_[skipped].rest;
  const auto is_twin = [&](std::uint32_t other) {
    const Spot& spot = spots_[other];
    if (spot.is_placed || spot.rest != rest || spot.floor != rest) return false;
    const PackingItem& twin = packing_->item(other);
    return twin.size == item.size && twin.alignment_mask == item.alignment_mask &&
           twin.first_section == item.first_section && twin.last_section == item.last_section;
  };
  const auto leave_rest = [&](std::uint32_t other) {
    list_skipped(other);
    raise_floor(other, packing_->fit(other, rest + 1));
  };
  leave_rest(skipped);
  if (packing_->time_says_all()) {
    for (const std::uint32_t other : packing_->neighbours(skipped)) {
      if (is_twin(other)) leave_rest(other);
    }
  }
  return settle();
}

// A skipped item lies on one of its neighbours that are not placed.
void PackingState::support(std::uint32_t item) noexcept {
  std::uint64_t lowest = UINT64_MAX;
  for (const std::uint32_t other : packing_->neighbours(item)) {
    if (!spots_[other].is_placed) lowest = std::min(lowest, spots_[other].top());
  }
  const std::uint64_t floor = spots_[item].floor;
  if (lowest > cap_) {
    // Nothing is left to carry it.
    if (floor <= cap_) raise_floor(item, cap_ == UINT64_MAX ? cap_ : cap_ + 1);
    return;
  }
  if (lowest <= floor) return;
  const std::uint64_t raised = packing_->fit(item, lowest);
  if (raised > floor) raise_floor(item, raised);
}

bool PackingState::fail() noexcept {
  for (const std::uint32_t item : risen_) spots_[item].has_risen = false;
  for (const std::uint32_t section : touched_) is_touched_[section] = 0;
  risen_.clear();
  touched_.clear();
  return false;
}

// Passes risen floors on to what is skipped in the same sections.
bool PackingState::tell_skipped() noexcept {
  std::uint32_t first = UINT32_MAX;
  std::uint32_t last = 0;
  for (const std::uint32_t index : risen_) {
    Spot& risen = spots_[index];
    if (out_of_memory_ || risen.floor > cap_ || risen.size > cap_ - risen.floor) return false;
    const PackingItem& item = packing_->item(index);
    touch_sections(item, known_floor_[index]);
    risen.has_risen = false;
    first = std::min(first, item.first_section);
    last = std::max(last, item.last_section);
  }
  risen_.clear();
  const bool is_anywhere = packing_->has_distant_neighbours();
  for (const std::uint32_t index : skipped_) {
    const Spot& spot = spots_[index];
    if (spot.is_placed || !spot.is_skipped()) continue;
    const PackingItem& item = packing_->item(index);
    if (is_anywhere || (item.first_section <= last && first <= item.last_section)) support(index);
  }
  return true;
}

// Until no floor raises another one.
bool PackingState::settle() noexcept {
  while (!risen_.empty()) {
    if (!tell_skipped()) return fail();
  }
  for (const std::uint32_t section : touched_) {
    is_touched_[section] = 0;
    std::uint64_t lowest = UINT64_MAX;
    for (const std::uint32_t member : packing_->members(section)) {
      if (spots_[member].is_placed) continue;
      lowest = std::min(lowest, spots_[member].floor);
      if (lowest == section_floor_[section]) break;  // floors only rise
    }
    if (lowest != section_floor_[section]) {
      note(Kind::kSectionFloor, section, section_floor_[section]);
      section_floor_[section] = lowest;
    }
    if (lowest == UINT64_MAX) continue;
    if (lowest > cap_ || remaining_[section] > cap_ - lowest) return fail();
  }
  touched_.clear();
  risen_.clear();
  return !out_of_memory_;
}

}  // namespace tenure::internal
