// SPDX-License-Identifier: Apache-2.0

// Where a free list's blocks lie, and the books of them: what is not asked for with every request.

#include "internal/free_list_steps.h"
#include "tenure/align.h"
#include "tenure/free_list_offsets.h"

namespace tenure {
namespace {

constexpr std::size_t kMaxNodes = std::size_t{1} << 30;
constexpr std::uint32_t kLeastBucketBits = 5;

}  // namespace

FreeListOffsets::FreeListOffsets(std::size_t granule_bytes, Upstream bookkeeping) noexcept
    : shift_(0), bookkeeping_(bookkeeping), nodes_(bookkeeping), buckets_(bookkeeping) {
  TENURE_ASSERT(is_power_of_two(granule_bytes));
  while (std::size_t{1} << shift_ < granule_bytes) ++shift_;
  for (std::uint32_t& list : lists_) list = kNone;
}

// ---- the books

Status FreeListOffsets::reserve_blocks(std::size_t count) noexcept {
  if (count > kMaxNodes) return Status(Reason::kTooMany);
  const std::size_t nodes = count + kMaxRanges;
  if (nodes_.reserve(nodes) && provide_buckets(nodes)) return Status();
  return Status(Reason::kUpstreamRefused).needed(nodes * sizeof(Node));
}

inline bool FreeListOffsets::has_spares(std::size_t count) const noexcept {
  std::uint32_t index = spare_;
  for (; count > 0 && index != kNone; --count) index = nodes_[index].next;
  return count == 0;
}

bool FreeListOffsets::provide_spares(std::size_t count) noexcept {
  while (!has_spares(count)) {
    if (nodes_.size() >= kMaxNodes || !provide_buckets(nodes_.size() + 1)) return false;
    if (nodes_.push_uninitialized() == nullptr) return false;
    give_spare(static_cast<std::uint32_t>(nodes_.size() - 1));
  }
  return true;
}

// A table for so many live blocks; those that are live move over.
bool FreeListOffsets::provide_buckets(std::size_t blocks) noexcept {
  if (blocks <= buckets_.size()) return true;
  std::uint32_t bits = kLeastBucketBits;
  while (std::size_t{1} << bits < blocks) ++bits;
  Array<std::uint32_t> table(bookkeeping_);
  if (!table.resize(std::size_t{1} << bits, kNone)) return false;
  buckets_ = static_cast<Array<std::uint32_t>&&>(table);
  bucket_shift_ = 32 - bits;
  for (const Range& range : ranges_) {
    if (range.granules == 0) continue;
    for (std::uint32_t i = nodes_[range.edge].above; i != range.edge; i = nodes_[i].above) {
      if (nodes_[i].place == kLive) enter(i);
    }
  }
  return true;
}

// ---- ranges

std::uint32_t FreeListOffsets::first_unused_range() const noexcept {
  std::uint32_t range = 0;
  while (range < kMaxRanges && ranges_[range].granules != 0) ++range;
  return range;
}

bool FreeListOffsets::fits_range(std::size_t size_bytes) const noexcept {
  const std::size_t granules = size_bytes >> shift_;
  return granules != 0 && granules <= kMaxGranules;
}

Status FreeListOffsets::check_range(std::size_t size_bytes) const noexcept {
  const bool has_room = first_unused_range() != kMaxRanges;
  return fits_range(size_bytes) && has_room ? Status() : Status(Reason::kTooMany);
}

Result<std::uint32_t> FreeListOffsets::add_range(std::size_t size_bytes,
                                                 std::uintptr_t origin) noexcept {
  if (Status status = check_range(size_bytes); !status.ok()) return status;
  const std::uint32_t range = first_unused_range();
  if (!provide_spares(2)) return Status(Reason::kUpstreamRefused).needed(2 * sizeof(Node));
  const std::uint32_t edge = take_spare();
  const std::uint32_t index = take_spare();
  const auto granules = static_cast<std::uint32_t>(size_bytes >> shift_);
  // Without an origin, as far from the others as may be.
  const std::uint32_t key =
      origin == 0 ? range << 27 : static_cast<std::uint32_t>(origin >> shift_);
  ranges_[range] = {origin, granules, edge, key};
  nodes_[edge] = {0, 0, index, index, kLive, kNone, kNone, range};
  nodes_[index] = {0, granules, edge, edge, kLive, kNone, kNone, range};
  remember(index);
  ++free_blocks_;
  return range;
}

bool FreeListOffsets::is_unused(std::uint32_t range) const noexcept {
  if (range >= kMaxRanges || ranges_[range].granules == 0) return false;
  const Node& first = nodes_[nodes_[ranges_[range].edge].above];
  return first.place != kLive && first.size == ranges_[range].granules;
}

void FreeListOffsets::remove_range(std::uint32_t range) noexcept {
  TENURE_ASSERT(is_unused(range));
  const std::uint32_t edge = ranges_[range].edge;
  const std::uint32_t index = nodes_[edge].above;
  forget(index);
  --free_blocks_;
  give_spare(index);
  give_spare(edge);
  ranges_[range] = Range();
}

}  // namespace tenure
