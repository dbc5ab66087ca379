// SPDX-License-Identifier: Apache-2.0

#include "internal/offset_lists.h"

#include <algorithm>
#include <cstring>

namespace tenure::internal {

bool OffsetLists::reset(std::size_t list_count) noexcept {
  heads_.clear();
  chunks_.clear();
  free_chunk_ = kNoChunk;
  return heads_.resize(list_count, kNoChunk) && chunks_.reserve(list_count);
}

bool OffsetLists::add(std::uint32_t list, const Entry& entry) noexcept {
  if (heads_[list] == kNoChunk) return start(list, entry);
  const std::uint32_t index = chunk_before(list, entry.begin);
  const Chunk& chunk = chunks_[index];
  std::uint32_t position = chunk.count;
  while (position > 0 && entry.begin < chunk.entries[position - 1].begin) --position;
  return insert(index, position, entry);
}

bool OffsetLists::merge(std::uint32_t list, std::uint64_t begin, std::uint64_t end) noexcept {
  const Entry entry{begin, end, {0, 0}};
  if (heads_[list] == kNoChunk) return start(list, entry);
  std::uint32_t index = chunk_before(list, begin);
  std::uint32_t position = 0;
  while (position < chunks_[index].count && chunks_[index].entries[position].end < begin)
    ++position;
  if (position == chunks_[index].count) {
    const std::uint32_t next = chunks_[index].next;
    if (next == kNoChunk || chunks_[next].entries[0].begin > end)
      return insert(index, position, entry);
    index = next;
    position = 0;
  }
  Entry& old = chunks_[index].entries[position];
  if (old.begin > end) return insert(index, position, entry);
  if (old.begin <= begin && end <= old.end) return true;
  old.begin = std::min(old.begin, begin);
  old.end = std::max(old.end, end);
  absorb_after(index, position);
  return true;
}

bool OffsetLists::start(std::uint32_t list, const Entry& entry) noexcept {
  std::uint32_t index = 0;
  if (!take_chunk(&index)) return false;
  Chunk& chunk = chunks_[index];
  chunk.next = kNoChunk;
  chunk.count = 1;
  chunk.entries[0] = entry;
  summarize(&chunk);
  heads_[list] = index;
  return true;
}

// The last chunk that begins at or before `begin`; the first chunk when there is none.
std::uint32_t OffsetLists::chunk_before(std::uint32_t list, std::uint64_t begin) const noexcept {
  std::uint32_t index = heads_[list];
  for (std::uint32_t next = chunks_[index].next;
       next != kNoChunk && chunks_[next].entries[0].begin <= begin; next = chunks_[index].next) {
    index = next;
  }
  return index;
}

bool OffsetLists::insert(std::uint32_t index, std::uint32_t position, const Entry& entry) noexcept {
  if (chunks_[index].count == kChunkEntries) {
    if (!split(index)) return false;
    if (position > chunks_[index].count) {
      position -= chunks_[index].count;
      index = chunks_[index].next;
    }
  }
  Chunk& chunk = chunks_[index];
  Entry* const place = chunk.entries + position;
  std::memmove(place + 1, place, (chunk.count - position) * sizeof(Entry));
  *place = entry;
  ++chunk.count;
  // The gap that was here is two smaller ones now; at either end a new one opens.
  const auto gap_between = [](const Entry& low, const Entry& high) {
    return high.begin > low.end ? high.begin - low.end : 0;
  };
  const bool has_below = position > 0;
  const bool has_above = position + 1 < chunk.count;
  if (has_below && has_above && gap_between(place[-1], place[1]) == chunk.max_gap) {
    summarize(&chunk);
    return true;
  }
  if (has_below) chunk.max_gap = std::max(chunk.max_gap, gap_between(place[-1], entry));
  if (has_above) chunk.max_gap = std::max(chunk.max_gap, gap_between(entry, place[1]));
  chunk.max_end = std::max(chunk.max_end, entry.end);
  return true;
}

bool OffsetLists::split(std::uint32_t index) noexcept {
  std::uint32_t added = 0;
  if (!take_chunk(&added)) return false;
  Chunk& lower = chunks_[index];
  Chunk& upper = chunks_[added];
  const std::uint32_t kept = lower.count / 2;
  upper.next = lower.next;
  upper.count = lower.count - kept;
  std::memcpy(upper.entries, lower.entries + kept, upper.count * sizeof(Entry));
  lower.next = added;
  lower.count = kept;
  summarize(&upper);
  summarize(&lower);
  return true;
}

// The entry has grown: what it has reached above it becomes part of it, and emptied chunks are
// unlinked.
void OffsetLists::absorb_after(std::uint32_t index, std::uint32_t position) noexcept {
  Chunk& chunk = chunks_[index];
  Entry& grown = chunk.entries[position];
  std::uint32_t kept = position + 1;
  while (kept < chunk.count && chunk.entries[kept].begin <= grown.end) {
    grown.end = std::max(grown.end, chunk.entries[kept++].end);
  }
  std::memmove(chunk.entries + position + 1, chunk.entries + kept,
               (chunk.count - kept) * sizeof(Entry));
  chunk.count -= kept - position - 1;
  while (position + 1 == chunk.count && chunk.next != kNoChunk) {
    const std::uint32_t next_index = chunk.next;
    Chunk& next = chunks_[next_index];
    std::uint32_t taken = 0;
    while (taken < next.count && next.entries[taken].begin <= grown.end) {
      grown.end = std::max(grown.end, next.entries[taken++].end);
    }
    if (taken < next.count) {
      std::memmove(next.entries, next.entries + taken, (next.count - taken) * sizeof(Entry));
      next.count -= taken;
      if (taken != 0) summarize(&next);
      break;
    }
    chunk.next = next.next;
    next.next = free_chunk_;
    free_chunk_ = next_index;
  }
  summarize(&chunk);
}

bool OffsetLists::take_chunk(std::uint32_t* index) noexcept {
  if (free_chunk_ != kNoChunk) {
    *index = free_chunk_;
    free_chunk_ = chunks_[free_chunk_].next;
    return true;
  }
  *index = static_cast<std::uint32_t>(chunks_.size());
  return chunks_.push_uninitialized() != nullptr;
}

void OffsetLists::summarize(Chunk* chunk) noexcept {
  std::uint64_t max_end = 0;
  std::uint64_t max_gap = 0;
  for (std::uint32_t i = 0; i < chunk->count; ++i) {
    const Entry& entry = chunk->entries[i];
    if (i > 0 && entry.begin > max_end) max_gap = std::max(max_gap, entry.begin - max_end);
    max_end = std::max(max_end, entry.end);
  }
  chunk->max_end = max_end;
  chunk->max_gap = max_gap;
}

}  // namespace tenure::internal
