// SPDX-License-Identifier: Apache-2.0

#include "internal/occupancy.h"

#include <algorithm>

#include "internal/radix_sort.h"
#include "tenure/align.h"

namespace tenure::internal {
namespace {

// So few blocks make one slab.
constexpr std::uint64_t kMaxBlocksInOneSlab = 256;
constexpr std::uint64_t kMinSlabWidth = 32;
// Unions pay when a mean live range takes this part of all time.
constexpr std::uint64_t kMeanRangesWithUnions = 8;
constexpr std::uint64_t kUnionSlabsPerMeanRange = 2;

}  // namespace

Occupancy::Occupancy(Upstream upstream) noexcept
    : upstream_(upstream),
      times_(upstream),
      by_rank_(upstream),
      slab_of_(upstream),
      slab_begins_(upstream),
      lists_(upstream),
      conflicts_(upstream),
      may_overlap_(upstream),
      placed_at_(upstream),
      cursors_(upstream),
      conflict_entries_(upstream) {}

bool Occupancy::reset(const PlanningProblem& problem) noexcept {
  problem_ = &problem;
  has_allowed_ = !problem.may_overlap.empty();
  const std::size_t count = problem.blocks.size();
  if (!rank_blocks() || !conflicts_.reset(count, problem.conflicts) ||
      !may_overlap_.reset(count, problem.may_overlap)) {
    return false;
  }
  placed_at_.clear();
  if (!problem.conflicts.empty() && !placed_at_.resize(count, UINT64_MAX)) return false;
  std::uint64_t total = 0;
  for (const Times& times : times_) total += times.last - times.first + 1;
  const std::uint64_t mean = count == 0 ? 1 : total / count;
  const bool is_one_slab = count <= kMaxBlocksInOneSlab;
  has_unions_ = !is_one_slab && !has_allowed_ && mean > count / kMeanRangesWithUnions;
  if (has_unions_) share_first_ranks();
  // A block touches few slabs, so that all lists together have few entries a block.
  const std::uint64_t width = is_one_slab   ? std::max<std::uint64_t>(count, 1)
                              : has_unions_ ? mean / kUnionSlabsPerMeanRange
                                            : std::max(kMinSlabWidth, mean);
  if (!cut_into_slabs(static_cast<std::uint32_t>(width))) return false;
  const std::size_t slab_count = slab_begins_.size() - 1;
  return lists_.reset(has_unions_ ? slab_count * kKinds : slab_count) &&
         cursors_.reserve(slab_count + std::size_t{2} * kKinds);
}

// With unions, at most twice as many slabs as equal widths would give: each ends for its width or
// for its ends.
bool Occupancy::cut_into_slabs(std::uint32_t width) noexcept {
  const auto count = static_cast<std::uint32_t>(times_.size());
  slab_begins_.clear();
  if (!slab_of_.resize(count)) return false;
  std::fill(slab_of_.begin(), slab_of_.end(), 0);  // first the number of blocks that end at a rank
  for (const Times& times : times_) ++slab_of_[times.last];
  std::uint32_t ends = 0;
  bool starts = true;
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    if (starts) {
      if (!slab_begins_.push_back(rank)) return false;
      ends = 0;
    }
    ends += slab_of_[rank];
    slab_of_[rank] = static_cast<std::uint32_t>(slab_begins_.size() - 1);
    starts = (has_unions_ && ends >= width) || rank - slab_begins_.back() + 1 >= width;
  }
  return slab_begins_.push_back(count);
}

Occupancy::Slabs Occupancy::slabs_of(Times times) const noexcept {
  const std::uint32_t first = slab_of_[times.first];
  const std::uint32_t last = slab_of_[times.last];
  const bool covers_first = times.first == slab_begins_[first];
  const bool covers_last = times.last + 1 == slab_begins_[std::size_t{last} + 1];
  return {first, last, covers_first ? first : first + 1, covers_last ? last + 1 : last};
}

bool Occupancy::rank_blocks() noexcept {
  const Span<const Block> blocks = problem_->blocks;
  const auto count = static_cast<std::uint32_t>(blocks.size());
  if (!times_.resize(count) || !by_rank_.resize(count)) return false;
  // The first use above, the index below: sorted so, a key's place is its block's rank.
  Array<std::uint64_t> keys(upstream_);
  Array<std::uint64_t> scratch(upstream_);
  if (!keys.resize(count)) return false;
  for (std::uint32_t i = 0; i < count; ++i) {
    keys[i] = std::uint64_t{blocks[i].live_range.first_use.value} << 32 | i;
  }
  if (!radix_sort(&keys, &scratch, [](std::uint64_t key) { return key >> 32; })) return false;
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    const auto block = static_cast<std::uint32_t>(keys[rank]);
    const std::uint64_t last_key =
        std::uint64_t{blocks[block].live_range.last_use.value} << 32 | UINT32_MAX;
    // Most live ranges are short, so the end is sought in strides that double.
    const std::uint64_t* low = keys.begin() + rank;
    std::ptrdiff_t stride = 1;
    while (stride < keys.end() - low && low[stride] <= last_key) {
      low += stride;
      stride *= 2;
    }
    const std::uint64_t* after =
        std::upper_bound(low, low + std::min(stride, keys.end() - low), last_key);
    by_rank_[rank] = block;
    times_[block] = {rank, static_cast<std::uint32_t>(after - keys.begin() - 1)};
  }
  return true;
}

// Blocks that begin at the same step all begin at the first one's rank: so they live all through a
// slab that begins there.
void Occupancy::share_first_ranks() noexcept {
  for (std::size_t rank = 1; rank < by_rank_.size(); ++rank) {
    const std::uint32_t before = by_rank_[rank - 1];
    const std::uint32_t block = by_rank_[rank];
    const Span<const Block> blocks = problem_->blocks;
    if (blocks[before].live_range.first_use == blocks[block].live_range.first_use) {
      times_[block].first = times_[before].first;
    }
  }
}

bool Occupancy::insert(std::uint32_t block, std::uint64_t offset_bytes) noexcept {
  const std::uint64_t size = problem_->blocks[block].size_bytes;
  if (size == 0) return true;
  if (!placed_at_.empty()) placed_at_[block] = offset_bytes;
  const Times times = times_[block];
  const Entry entry{offset_bytes, offset_bytes + size, times};
  if (has_unions_) return insert_with_unions(entry);
  for (std::uint32_t slab = slab_of_[times.first]; slab <= slab_of_[times.last]; ++slab) {
    if (!lists_.add(slab, entry)) return false;
  }
  return true;
}

bool Occupancy::insert_with_unions(const Entry& entry) noexcept {
  const Slabs slabs = slabs_of(entry.times);
  const Kind partly = slabs.first == slabs.last ? Kind::kInside : Kind::kEnds;
  for (std::uint32_t slab = slabs.first; slab <= slabs.last; ++slab) {
    const bool is_covered = slabs.covered_begin <= slab && slab < slabs.covered_end;
    const bool inserted =
        lists_.merge(list(slab, Kind::kTouching), entry.begin, entry.end) &&
        (is_covered ? lists_.merge(list(slab, Kind::kThrough), entry.begin, entry.end)
                    : lists_.add(list(slab, partly), entry));
    if (!inserted) return false;
  }
  return true;
}

void Occupancy::add_cursor(std::uint32_t list, bool is_union) noexcept {
  const std::uint32_t head = lists_.head(list);
  if (head == OffsetLists::kNoChunk) return;
  const bool added = cursors_.push_back({head, 0, is_union});
  TENURE_ASSERT(added);  // reserved for all lists that a search can need
  static_cast<void>(added);
}

bool Occupancy::begin_search(std::uint32_t block) noexcept {
  const Block& wanted = problem_->blocks[block];
  const Times times = times_[block];
  search_ = {times, block, wanted.size_bytes, wanted.alignment_bytes - 1};
  cursors_.clear();
  conflict_entries_.clear();
  next_conflict_ = 0;
  if (has_unions_) {
    add_cursors_with_unions(times);
  } else {
    for (std::uint32_t slab = slab_of_[times.first]; slab <= slab_of_[times.last]; ++slab) {
      add_cursor(slab, false);
    }
  }
  return placed_at_.empty() || gather_conflicts(block);
}

// Unions come first: they raise the offset fastest.
void Occupancy::add_cursors_with_unions(Times times) noexcept {
  const Slabs slabs = slabs_of(times);
  for (std::uint32_t slab = slabs.covered_begin; slab < slabs.covered_end; ++slab) {
    add_cursor(list(slab, Kind::kTouching), true);
  }
  for (const std::uint32_t slab : {slabs.first, slabs.last}) {
    const bool is_covered = slabs.covered_begin <= slab && slab < slabs.covered_end;
    if (!is_covered) {
      add_cursor(list(slab, Kind::kThrough), true);
      add_cursor(list(slab, Kind::kEnds), false);
      add_cursor(list(slab, Kind::kInside), false);
    }
    if (slabs.first == slabs.last) break;
  }
}

bool Occupancy::gather_conflicts(std::uint32_t block) noexcept {
  for (const std::uint32_t other : conflicts_.of(block)) {
    const std::uint64_t begin = placed_at_[other];
    if (begin == UINT64_MAX || may_overlap_.has(block, other)) continue;
    const Entry entry{begin, begin + problem_->blocks[other].size_bytes, times_[other]};
    if (!conflict_entries_.push_back(entry)) return false;
  }
  std::sort(conflict_entries_.begin(), conflict_entries_.end(),
            [](const Entry& a, const Entry& b) { return a.begin < b.begin; });
  return true;
}

// Raises the offset to the lowest one at which this list leaves room for the block. Entries below
// the cursor stay below for the rest of the search, because the offset only rises. Whether an entry
// is an obstacle is hard to foresee, so the answer is selected, not branched on.
template <bool kHasAllowed>
std::uint64_t Occupancy::settle(Cursor* cursor, std::uint64_t offset) const noexcept {
  const Search search = search_;
  while (cursor->chunk != OffsetLists::kNoChunk) {
    const OffsetLists::Chunk& chunk = lists_.chunk(cursor->chunk);
    const bool is_below = chunk.max_end <= offset;
    const bool has_no_gap = cursor->is_union && chunk.max_gap < search.size_bytes &&
                            chunk.entries[0].begin < offset + search.size_bytes;
    if (has_no_gap && !is_below) offset = search.align(chunk.max_end);
    if (!has_no_gap && !is_below) {
      for (std::uint32_t position = cursor->position; position < chunk.count; ++position) {
        const Entry& entry = chunk.entries[position];
        if (entry.begin >= offset + search.size_bytes) {
          cursor->position = position;
          return offset;
        }
        bool is_obstacle = (entry.end > offset) & (cursor->is_union | search.overlaps(entry.times));
        if (kHasAllowed) is_obstacle = is_obstacle && !may_overlap(entry);
        offset = is_obstacle ? search.align(entry.end) : offset;
      }
    }
    cursor->chunk = chunk.next;
    cursor->position = 0;
  }
  return offset;
}

bool Occupancy::may_overlap(const Entry& entry) const noexcept {
  return may_overlap_.has(search_.block, by_rank_[entry.times.first]);
}

std::uint64_t Occupancy::settle_conflicts(std::uint64_t offset) noexcept {
  for (; next_conflict_ < conflict_entries_.size(); ++next_conflict_) {
    const Entry& entry = conflict_entries_[next_conflict_];
    if (entry.begin >= offset + search_.size_bytes) break;
    if (entry.end > offset) offset = search_.align(entry.end);
  }
  return offset;
}

// Round and round over the lists, until all have been asked since the offset last rose.
bool Occupancy::next_gap(std::uint64_t from_bytes, std::uint64_t* offset_bytes) noexcept {
  if (from_bytes > kMaxArenaBytes) return false;
  std::uint64_t offset = search_.align(from_bytes);
  if (search_.size_bytes != 0) {
    const std::size_t count = cursors_.size();
    std::size_t unasked = count + 1;
    for (std::size_t i = 0; unasked != 0; i = i == count ? 0 : i + 1) {
      const std::uint64_t before = offset;
      if (i == count) {
        offset = settle_conflicts(offset);
      } else if (has_allowed_) {
        offset = settle<true>(&cursors_[i], offset);
      } else {
        offset = settle<false>(&cursors_[i], offset);
      }
      unasked = offset == before ? unasked - 1 : count;
    }
  }
  *offset_bytes = offset;
  return search_.size_bytes <= kMaxArenaBytes && offset <= kMaxArenaBytes - search_.size_bytes;
}

// Where the list's first obstacle at or above the offset begins; the cursor stands at or before it.
std::uint64_t Occupancy::next_obstacle(Cursor cursor, std::uint64_t offset) const noexcept {
  for (; cursor.chunk != OffsetLists::kNoChunk;
       cursor = {lists_.chunk(cursor.chunk).next, 0, cursor.is_union}) {
    const OffsetLists::Chunk& chunk = lists_.chunk(cursor.chunk);
    for (std::uint32_t position = cursor.position; position < chunk.count; ++position) {
      const Entry& entry = chunk.entries[position];
      const bool is_taken = cursor.is_union || search_.overlaps(entry.times);
      if (entry.begin < offset || !is_taken) continue;
      if (!has_allowed_ || !may_overlap(entry)) return entry.begin;
    }
  }
  return UINT64_MAX;
}

std::uint64_t Occupancy::gap_end(std::uint64_t offset_bytes) const noexcept {
  std::uint64_t end = UINT64_MAX;
  if (search_.size_bytes == 0) return end;
  for (const Cursor& cursor : cursors_) end = std::min(end, next_obstacle(cursor, offset_bytes));
  if (next_conflict_ < conflict_entries_.size()) {
    end = std::min(end, conflict_entries_[next_conflict_].begin);
  }
  return end;
}

}  // namespace tenure::internal
