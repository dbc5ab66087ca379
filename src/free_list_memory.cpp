// SPDX-License-Identifier: Apache-2.0

#include "tenure/free_list_memory.h"

namespace tenure {
namespace {

std::size_t granule_of(const FreeListOptions& options) noexcept {
  return options.granule_bytes == 0 ? options.alignment_bytes : options.granule_bytes;
}

// Nothing overlaps no bytes.
bool overlap(const std::byte* a, std::size_t a_bytes, const std::byte* b,
             std::size_t b_bytes) noexcept {
  const auto first = reinterpret_cast<std::uintptr_t>(a);
  const auto second = reinterpret_cast<std::uintptr_t>(b);
  return first < second ? second - first < a_bytes && b_bytes != 0 : first - second < b_bytes;
}

}  // namespace

FreeListMemory::FreeListMemory(const FreeListOptions& options) noexcept
    : options_(options), offsets_(granule_of(options), options.bookkeeping) {
  TENURE_ASSERT(is_power_of_two(options.alignment_bytes));
  TENURE_ASSERT(offsets_.granule_bytes() <= options.alignment_bytes);
}

FreeListMemory::~FreeListMemory() {
  for (std::uint32_t i = 0; i < piece_end_; ++i) give_back(i);
}

void FreeListMemory::deallocate(const Piece& piece) const noexcept {
  if (piece.is_lent || piece.base == nullptr) return;
  options_.upstream.deallocate(options_.upstream.user, piece.base, piece.held_bytes,
                               piece.alignment_bytes);
}

void FreeListMemory::give_back(std::uint32_t range) noexcept {
  held_bytes_ -= pieces_[range].held_bytes;
  deallocate(pieces_[range]);
  pieces_[range] = Piece();
}

Status FreeListMemory::check_budget(const Piece& piece) const noexcept {
  const std::size_t left_bytes = options_.budget_bytes - held_bytes_;
  if (piece.held_bytes <= left_bytes) return Status();
  return Status(Reason::kPoolExhausted).needed(piece.held_bytes).available(left_bytes);
}

Status FreeListMemory::adopt(const Piece& piece) noexcept {
  const Result<std::uint32_t> range =
      offsets_.add_range(piece.size_bytes, reinterpret_cast<std::uintptr_t>(piece.base));
  if (!range.ok()) return range.status();
  pieces_[*range] = piece;
  held_bytes_ += piece.held_bytes;
  if (*range >= piece_end_) piece_end_ = *range + 1;
  return Status();
}

Result<FreeListMemory::Piece> FreeListMemory::measure(std::size_t size_bytes,
                                                      std::size_t alignment_bytes) const noexcept {
  const std::size_t granule = offsets_.granule_bytes();
  std::uint64_t whole = 0;
  std::uint64_t held = 0;
  if (!checked_align_up(size_bytes == 0 ? 1 : size_bytes, granule, &whole) ||
      !checked_add(whole, options_.tail_bytes, &held) || alignment_bytes > SIZE_MAX / 2 ||
      held > SIZE_MAX / 2 - alignment_bytes) {
    return Status(Reason::kAddressSpace).needed(size_bytes);
  }
  Piece piece;
  piece.size_bytes = static_cast<std::size_t>(whole);
  piece.held_bytes = static_cast<std::size_t>(held);
  piece.alignment_bytes = alignment_bytes;
  return piece;
}

// The upstream is asked last, for what will surely be used.
Status FreeListMemory::take(Piece piece) noexcept {
  if (Status status = check_budget(piece); !status.ok()) return status;
  if (Status status = offsets_.check_range(piece.size_bytes); !status.ok()) return status;
  piece.base = static_cast<std::byte*>(
      options_.upstream.allocate(options_.upstream.user, piece.held_bytes, piece.alignment_bytes));
  if (piece.base == nullptr) return Status(Reason::kUpstreamRefused).needed(piece.held_bytes);
  const Status status = adopt(piece);
  if (!status.ok()) deallocate(piece);
  return status;
}

Status FreeListMemory::reserve(std::size_t size_bytes) noexcept {
  Result<Piece> piece = measure(size_bytes, options_.alignment_bytes);
  if (!piece.ok()) return piece.status();
  piece->is_reserved = true;
  return take(*piece);
}

Status FreeListMemory::lend(Span<std::byte> buffer) noexcept {
  const std::size_t granule = offsets_.granule_bytes();
  const std::uint64_t padding =
      padding_to_align(reinterpret_cast<std::uintptr_t>(buffer.data()), options_.alignment_bytes);
  std::uint64_t least = UINT64_MAX;
  if (!checked_add(padding + granule, options_.tail_bytes, &least) || least > buffer.size()) {
    return Status(Reason::kBufferTooSmall).needed(least).available(buffer.size());
  }
  const auto padding_bytes = static_cast<std::size_t>(padding);
  Piece piece;
  piece.base = buffer.data() + padding_bytes;
  piece.size_bytes = (buffer.size() - padding_bytes - options_.tail_bytes) & ~(granule - 1);
  piece.held_bytes = piece.size_bytes + options_.tail_bytes;
  piece.is_lent = true;
  for (const Piece& other : pieces_) {
    if (overlap(piece.base, piece.held_bytes, other.base, other.held_bytes)) {
      return Status(Reason::kBuffersOverlap);
    }
  }
  if (Status status = check_budget(piece); !status.ok()) return status;
  return adopt(piece);
}

// The more pieces there are, the more is taken ahead: from a 32nd of what is held to as much again,
// so that little is held in vain, and yet pieces suffice; no more than the budget allows.
std::size_t FreeListMemory::bytes_ahead() const noexcept {
  const std::size_t share_bytes = held_bytes_ / kMaxRanges * piece_end_;
  const std::size_t wanted_bytes =
      share_bytes > options_.piece_bytes ? share_bytes : options_.piece_bytes;
  const std::size_t left_bytes = options_.budget_bytes - held_bytes_;
  if (left_bytes <= options_.tail_bytes) return 0;
  const std::size_t most_bytes =
      (left_bytes - options_.tail_bytes) & ~(offsets_.granule_bytes() - 1);
  return wanted_bytes < most_bytes ? wanted_bytes : most_bytes;
}

// What the upstream does not give is asked for by halves, down to what is needed.
bool FreeListMemory::grow_for(std::size_t size_bytes, std::size_t alignment_bytes) noexcept {
  const Result<Piece> needed = measure(size_bytes, alignment_bytes);
  if (!needed.ok()) return false;
  for (std::size_t bytes = bytes_ahead(); bytes > size_bytes; bytes /= 2) {
    const Result<Piece> ahead = measure(bytes, alignment_bytes);
    if (ahead.ok() && take(*ahead).ok()) return true;
  }
  const Status refused = take(*needed);
  if (refused.ok()) return true;
  return trim_for(*needed, refused.reason()) && take(*needed).ok();
}

void* FreeListMemory::grow_and_allocate(std::size_t size_bytes,
                                        std::size_t alignment_bytes) noexcept {
  const std::size_t piece_alignment =
      alignment_bytes > options_.alignment_bytes ? alignment_bytes : options_.alignment_bytes;
  RangeOffset offset = RangeOffset::none();
  if (grow_for(size_bytes, piece_alignment)) {
    offset = offsets_.allocate(size_bytes, alignment_bytes);
  }
  if (offset.is_none()) return ++refusals_, nullptr;
  return pieces_[offset.range].base + offset.bytes;
}

bool FreeListMemory::can_trim(std::uint32_t range, Trim which) const noexcept {
  const Piece& piece = pieces_[range];
  if (piece.is_lent || (which == Trim::kTakenForRequests && piece.is_reserved)) return false;
  return offsets_.is_unused(range);
}

std::size_t FreeListMemory::trim(Trim which) noexcept {
  const std::size_t before_bytes = held_bytes_;
  for (std::uint32_t i = 0; i < piece_end_; ++i) {
    if (!can_trim(i, which)) continue;
    offsets_.remove_range(i);
    give_back(i);
  }
  while (piece_end_ != 0 && pieces_[piece_end_ - 1].base == nullptr) --piece_end_;
  return before_bytes - held_bytes_;
}

std::size_t FreeListMemory::trim() noexcept { return trim(Trim::kAll); }

bool FreeListMemory::discard_unused() const noexcept {
  const Upstream& upstream = options_.upstream;
  bool has_own = false;
  for (std::uint32_t i = 0; i < piece_end_ && upstream.discard != nullptr; ++i) {
    const Piece& piece = pieces_[i];
    if (piece.base == nullptr || piece.is_lent) continue;
    has_own = true;
    offsets_.visit_free(i, [&](std::size_t begin_bytes, std::size_t size_bytes) {
      upstream.discard(upstream.user, piece.base + begin_bytes, size_bytes);
    });
  }
  return has_own;
}

// Not where that cannot help: a piece that is too large for itself, for the budget, or for an
// upstream that may have no more than it gets back.
bool FreeListMemory::trim_for(const Piece& piece, Reason refused) noexcept {
  if (!offsets_.fits_range(piece.size_bytes)) return false;
  std::size_t unused_bytes = 0;
  for (std::uint32_t i = 0; i < piece_end_; ++i) {
    if (can_trim(i, Trim::kTakenForRequests)) unused_bytes += pieces_[i].held_bytes;
  }
  const std::size_t given_bytes = options_.budget_bytes - held_bytes_ + unused_bytes;
  const std::size_t most_bytes = refused == Reason::kUpstreamRefused ? unused_bytes : given_bytes;
  return piece.held_bytes <= most_bytes && trim(Trim::kTakenForRequests) != 0;
}

}  // namespace tenure
