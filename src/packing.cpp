// SPDX-License-Identifier: Apache-2.0

#include "internal/packing.h"

#include <algorithm>

#include "internal/pair_lists.h"
#include "tenure/align.h"

namespace tenure::internal {

Packing::Packing(Upstream upstream) noexcept
    : upstream_(upstream),
      items_(upstream),
      neighbours_(upstream),
      neighbour_begins_(upstream),
      members_(upstream),
      member_begins_(upstream),
      obstacles_(upstream),
      obstacle_begins_(upstream) {}

bool Packing::reset(const PlanningProblem& problem, const Selection& selection,
                    std::uint64_t unit_bytes, std::uint64_t max_pairs) noexcept {
  problem_ = &problem;
  is_too_large_ = false;
  items_.clear();
  if (!items_.reserve(selection.movable.size())) return false;
  for (const std::uint32_t index : selection.movable) {
    const Block& block = problem.blocks[index];
    PackingItem item{};
    item.size = (block.size_bytes + unit_bytes - 1) & ~(unit_bytes - 1);
    item.counted = item.size;
    item.alignment_mask = block.alignment_bytes - 1;
    item.block = index;
    item.last_use = block.live_range.last_use.value;
    item.length = item.last_use - block.live_range.first_use.value;
    if (!items_.push_back(item)) return false;
  }
  std::sort(items_.begin(), items_.end(), [&](const PackingItem& a, const PackingItem& b) {
    const std::uint32_t first_a = a.last_use - a.length;
    const std::uint32_t first_b = b.last_use - b.length;
    return first_a != first_b ? first_a < first_b : a.block < b.block;
  });
  return number_sections() && link_neighbours(max_pairs) && list_members() &&
         list_obstacles(selection, max_pairs);
}

// A section is full when something begins after something has ended.
bool Packing::number_sections() noexcept {
  Array<std::uint32_t> by_end(upstream_);
  if (!by_end.resize(items_.size())) return false;
  for (std::uint32_t i = 0; i < items_.size(); ++i) by_end[i] = i;
  std::sort(by_end.begin(), by_end.end(), [&](std::uint32_t a, std::uint32_t b) {
    return items_[a].last_use != items_[b].last_use ? items_[a].last_use < items_[b].last_use
                                                    : a < b;
  });
  std::uint32_t section = 0;
  std::size_t ended = 0;
  for (PackingItem& item : items_) {
    const std::uint32_t first_use = item.last_use - item.length;
    const std::size_t ended_before = ended;
    for (; items_[by_end[ended]].last_use < first_use; ++ended) {
      items_[by_end[ended]].last_section = section;
    }
    if (ended != ended_before) ++section;
    item.first_section = section;
  }
  for (; ended < items_.size(); ++ended) items_[by_end[ended]].last_section = section;
  section_count_ = items_.empty() ? 0 : section + 1;
  return true;
}

bool Packing::list_members() noexcept {
  member_begins_.clear();
  members_.clear();
  if (!member_begins_.resize(std::size_t{section_count_} + 1)) return false;
  std::uint64_t total = 0;
  for (const PackingItem& item : items_) {
    if (item.counted != 0) total += item.last_section - item.first_section + 1;
  }
  if (total > UINT32_MAX) {
    is_too_large_ = true;
    return false;
  }
  for (const PackingItem& item : items_) {
    if (item.counted == 0) continue;
    for (std::uint32_t s = item.first_section; s <= item.last_section; ++s) ++member_begins_[s];
  }
  std::uint32_t begin = 0;
  for (std::uint32_t& count : member_begins_) {
    begin += count;
    count = begin;  // its end for now; filling from the back makes it the begin
  }
  if (!members_.resize(begin)) return false;
  for (std::uint32_t i = item_count(); i-- > 0;) {
    if (items_[i].counted == 0) continue;
    for (std::uint32_t s = items_[i].first_section; s <= items_[i].last_section; ++s) {
      members_[--member_begins_[s]] = i;
    }
  }
  return true;
}

bool Packing::link_neighbours(std::uint64_t max_pairs) noexcept {
  PairLists may_overlap(upstream_);
  const std::size_t block_count = problem_->blocks.size();
  if (!may_overlap.reset(block_count, problem_->may_overlap)) return false;
  has_overlaps_ = false;
  has_distant_neighbours_ = false;
  Array<BlockPair> pairs(upstream_);
  const auto link = [&](std::uint32_t a, std::uint32_t b) {
    if (pairs.size() >= max_pairs) {
      is_too_large_ = true;
      return false;
    }
    return pairs.push_back({BlockIndex(a), BlockIndex(b)});
  };
  for (std::uint32_t i = 0; i < items_.size(); ++i) {
    for (std::uint32_t j = i + 1; j < items_.size(); ++j) {
      if (items_[j].last_use - items_[j].length > items_[i].last_use) break;
      if (may_overlap.has(items_[i].block, items_[j].block)) {
        has_overlaps_ = true;
        (items_[i].size < items_[j].size ? items_[i] : items_[j]).counted = 0;
      } else if (!link(i, j)) {
        return false;
      }
    }
  }
  if (!problem_->conflicts.empty()) {
    Array<std::uint32_t> item_of(upstream_);
    if (!item_of.resize(block_count, UINT32_MAX)) return false;
    for (std::uint32_t i = 0; i < items_.size(); ++i) item_of[items_[i].block] = i;
    for (const BlockPair& pair : problem_->conflicts) {
      const std::uint32_t a = item_of[pair.first.value];
      const std::uint32_t b = item_of[pair.second.value];
      if (a == UINT32_MAX || b == UINT32_MAX || a == b || live_range(a).overlaps(live_range(b)) ||
          may_overlap.has(pair.first.value, pair.second.value)) {
        continue;
      }
      has_distant_neighbours_ = true;
      if (!link(a, b)) return false;
    }
  }
  neighbour_begins_.clear();
  neighbours_.clear();
  if (!neighbour_begins_.resize(items_.size() + 2) || !neighbours_.resize(pairs.size() * 2)) {
    return false;
  }
  for (const BlockPair& pair : pairs) {
    ++neighbour_begins_[pair.first.value + std::size_t{2}];
    ++neighbour_begins_[pair.second.value + std::size_t{2}];
  }
  for (std::size_t i = 2; i < neighbour_begins_.size(); ++i) {
    neighbour_begins_[i] += neighbour_begins_[i - 1];
  }
  for (const BlockPair& pair : pairs) {
    neighbours_[neighbour_begins_[pair.first.value + std::size_t{1}]++] = pair.second.value;
    neighbours_[neighbour_begins_[pair.second.value + std::size_t{1}]++] = pair.first.value;
  }
  return true;
}

bool Packing::list_obstacles(const Selection& selection, std::uint64_t max_pairs) noexcept {
  obstacles_.clear();
  obstacle_begins_.clear();
  if (!obstacle_begins_.resize(items_.size() + 1)) return false;
  if (selection.obstacles.empty()) return true;
  PairLists may_overlap(upstream_);
  PairLists conflicts(upstream_);
  const std::size_t block_count = problem_->blocks.size();
  if (!may_overlap.reset(block_count, problem_->may_overlap) ||
      !conflicts.reset(block_count, problem_->conflicts)) {
    return false;
  }
  Array<Range> found(upstream_);
  for (std::uint32_t i = 0; i < items_.size(); ++i) {
    found.clear();
    const std::uint32_t block = items_[i].block;
    for (const std::uint32_t other : selection.obstacles) {
      const bool meet =
          live_range(i).overlaps(problem_->blocks[other].live_range) || conflicts.has(block, other);
      if (!meet || may_overlap.has(block, other)) continue;
      const std::uint64_t begin = selection.offsets[other];
      if (!found.push_back({begin, begin + problem_->blocks[other].size_bytes})) return false;
    }
    std::sort(found.begin(), found.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    obstacle_begins_[i] = static_cast<std::uint32_t>(obstacles_.size());
    for (const Range& range : found) {
      const bool touches =
          obstacles_.size() > obstacle_begins_[i] && range.begin <= obstacles_.back().end;
      if (touches) {
        obstacles_.back().end = std::max(obstacles_.back().end, range.end);
        continue;
      }
      if (obstacles_.size() >= max_pairs) {
        is_too_large_ = true;
        return false;
      }
      if (!obstacles_.push_back(range)) return false;
    }
  }
  obstacle_begins_[items_.size()] = static_cast<std::uint32_t>(obstacles_.size());
  return true;
}

std::uint64_t Packing::fit(std::uint32_t item, std::uint64_t offset) const noexcept {
  const PackingItem& wanted = items_[item];
  const auto align = [&](std::uint64_t value) {
    return (value + wanted.alignment_mask) & ~wanted.alignment_mask;
  };
  std::uint64_t place = align(offset);
  for (std::uint32_t i = obstacle_begins_[item]; i < obstacle_begins_[item + 1]; ++i) {
    const Range& range = obstacles_[i];
    if (range.end <= place) continue;
    if (place + wanted.size <= range.begin) break;
    place = align(range.end);
  }
  return place;
}

}  // namespace tenure::internal
