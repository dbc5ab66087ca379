// SPDX-License-Identifier: Apache-2.0

#include "tenure/guard_blocks.h"

#include <cstring>

#include "internal/poison.h"
#include "internal/text_writer.h"
#include "tenure/align.h"

namespace tenure {
namespace {

constexpr unsigned char kZonePattern = 0xFB;
constexpr unsigned char kResetPattern = 0xDD;

bool is_full_of(unsigned char pattern, const unsigned char* bytes, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    if (bytes[i] != pattern) return false;
  }
  return true;
}

std::size_t hash_of(const void* memory) noexcept {
  const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(memory));
  return static_cast<std::size_t>((address * 0x9E3779B97F4A7C15U) >> 32);
}

}  // namespace

GuardBlocks::GuardBlocks(Allocator& inner, const GuardOptions& options) noexcept
    : inner_(inner), options_(options), records_(options.upstream) {
  TENURE_ASSERT(options.zone_bytes > 0);
}

GuardBlocks::~GuardBlocks() {
  check();
  for (const Record& record : records_) {
    if (record.state == State::kLive) report(record, "leaked", &counts_.leaks);
  }
}

void GuardBlocks::report(const void* memory, const char* what, std::size_t* count) noexcept {
  ++*count;
  TextWriter(options_.sink).text(inner_.tag()).text(": ").address(memory).text(": ").text(what);
  TextWriter(options_.sink).text("\n");
}

void GuardBlocks::report(const Record& record, const char* what, std::size_t* count) noexcept {
  ++*count;
  TextWriter writer(options_.sink);
  writer.text(inner_.tag()).text(": block ").address(record.block).text(" of ");
  writer.number(record.size_bytes).text(record.size_bytes == 1 ? " byte: " : " bytes: ");
  writer.text(what).text("\n");
}

// ---- the table

GuardBlocks::Record* GuardBlocks::find(const void* memory) noexcept {
  if (records_.empty()) return nullptr;
  const std::size_t mask = records_.size() - 1;
  std::size_t index = hash_of(memory) & mask;
  while (records_[index].state != State::kUnused && records_[index].block != memory) {
    index = (index + 1) & mask;
  }
  return records_[index].state == State::kUnused ? nullptr : &records_[index];
}

// The record of that address, or an unused one for it; null when memory was refused.
GuardBlocks::Record* GuardBlocks::provide(const void* memory) noexcept {
  if (Record* known = find(memory); known != nullptr) return known;
  if (used_records_ >= records_.size() / 2 && !grow()) return nullptr;
  const std::size_t mask = records_.size() - 1;
  std::size_t index = hash_of(memory) & mask;
  while (records_[index].state != State::kUnused) index = (index + 1) & mask;
  return &records_[index];
}

// What was freed long ago is forgotten, so that the table grows with what is live.
bool GuardBlocks::grow() noexcept {
  const std::size_t kept = live_blocks_ + reset_records_;
  const std::size_t wanted = kept > records_.size() / 4 ? records_.size() * 2 : records_.size();
  Array<Record> old(options_.upstream);
  if (!old.resize(wanted == 0 ? 64 : wanted)) return false;
  Array<Record> fresh = static_cast<Array<Record>&&>(old);
  old = static_cast<Array<Record>&&>(records_);
  records_ = static_cast<Array<Record>&&>(fresh);
  used_records_ = 0;
  const std::size_t mask = records_.size() - 1;
  for (const Record& record : old) {
    if (record.state != State::kLive && record.state != State::kReset) continue;
    std::size_t index = hash_of(record.block) & mask;
    while (records_[index].state != State::kUnused) index = (index + 1) & mask;
    records_[index] = record;
    ++used_records_;
  }
  return true;
}

// ---- blocks

void* GuardBlocks::allocate(std::size_t size_bytes, std::size_t alignment_bytes) noexcept {
  const std::size_t inner_alignment = inner_.alignment_bytes();
  const std::size_t alignment =
      alignment_bytes > inner_alignment ? alignment_bytes : inner_alignment;
  std::uint64_t front = 0;
  std::uint64_t total = 0;
  if (!checked_align_up(options_.zone_bytes, alignment, &front) ||
      !checked_add(front, size_bytes, &total) || !checked_add(total, options_.zone_bytes, &total) ||
      total > SIZE_MAX / 2) {
    return ++refusals_, nullptr;
  }
  auto* const memory =
      static_cast<unsigned char*>(inner_.allocate(static_cast<std::size_t>(total), alignment));
  if (memory == nullptr) return ++refusals_, nullptr;
  unsigned char* const block = memory + static_cast<std::size_t>(front);
  Record* const record = provide(block);
  if (record == nullptr) return inner_.fastFree(memory), ++refusals_, nullptr;
  check_what_is_reused(memory, static_cast<std::size_t>(total));
  if (record->state == State::kUnused) ++used_records_;
  if (record->state == State::kReset) --reset_records_;
  if (record->state == State::kLive) --live_blocks_;  // taken back, and nobody has said so
  record->block = block;
  record->size_bytes = size_bytes;
  record->front_bytes = static_cast<std::size_t>(front);
  record->state = State::kLive;
  record->is_reported = false;
  ++live_blocks_;
  std::memset(memory, kZonePattern, record->front_bytes);
  std::memset(block + size_bytes, kZonePattern, options_.zone_bytes);
  return block;
}

void GuardBlocks::free(void* memory) noexcept {
  Record* const record = find(memory);
  if (record == nullptr) return report(memory, "freed, but no block", &counts_.foreign_frees);
  if (record->state == State::kFreed) return report(*record, "freed twice", &counts_.double_frees);
  if (record->state == State::kReset) {
    return report(*record, "freed after a reset", &counts_.stale_frees);
  }
  check_zones(record);
  record->state = State::kFreed;
  --live_blocks_;
  inner_.fastFree(record->block - record->front_bytes);
}

void GuardBlocks::note_reset(Span<const std::byte> memory) noexcept { take_back(memory, true); }

void GuardBlocks::note_gone(Span<const std::byte> memory) noexcept { take_back(memory, false); }

// What was taken back before gets its pattern anew: the memory may have been filled since. Writes
// into what the allocator inside has poisoned are found by AddressSanitizer, which would find ours.
void GuardBlocks::take_back(Span<const std::byte> memory, bool writes_pattern) noexcept {
  const auto first = reinterpret_cast<std::uintptr_t>(memory.data());
  for (Record& record : records_) {
    if (record.state != State::kLive && record.state != State::kReset) continue;
    if (reinterpret_cast<std::uintptr_t>(record.block) - first >= memory.size()) continue;
    if (record.state == State::kLive) {
      record.state = State::kReset;
      --live_blocks_;
      ++reset_records_;
    }
    record.is_reported = false;
    record.has_pattern = writes_pattern && !is_poisoned(record.block, record.size_bytes);
    if (record.has_pattern) std::memset(record.block, kResetPattern, record.size_bytes);
  }
}

bool GuardBlocks::check() noexcept {
  const std::size_t before = counts_.total();
  for (Record& record : records_) {
    if (record.state == State::kLive) check_zones(&record);
    if (record.state == State::kReset) check_bytes(&record);
  }
  return counts_.total() == before;
}

void GuardBlocks::check_zones(Record* record) noexcept {
  if (record->is_reported) return;
  const std::size_t front = record->front_bytes;
  if (!is_full_of(kZonePattern, record->block - front, front)) {
    report(*record, "written before its beginning", &counts_.underruns);
    record->is_reported = true;
  }
  if (!is_full_of(kZonePattern, record->block + record->size_bytes, options_.zone_bytes)) {
    report(*record, "written behind its end", &counts_.overruns);
    record->is_reported = true;
  }
}

void GuardBlocks::check_bytes(Record* record) noexcept {
  if (!record->has_pattern || record->is_reported) return;
  if (is_full_of(kResetPattern, record->block, record->size_bytes)) return;
  report(*record, "written after a reset", &counts_.stale_writes);
  record->is_reported = true;
}

// A block's bytes are about to be somebody's: the last moment to look at what was reset there. The
// addresses stay known, so that a late free is.
void GuardBlocks::check_what_is_reused(const unsigned char* begin,
                                       std::size_t size_bytes) noexcept {
  if (reset_records_ == 0) return;
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  for (Record& record : records_) {
    if (record.state != State::kReset || !record.has_pattern) continue;
    const auto block = reinterpret_cast<std::uintptr_t>(record.block);
    const bool overlaps =
        block < first ? first - block < record.size_bytes : block - first < size_bytes;
    if (!overlaps) continue;
    check_bytes(&record);
    record.has_pattern = false;
  }
}

}  // namespace tenure
