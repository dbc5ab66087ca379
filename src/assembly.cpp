// SPDX-License-Identifier: Apache-2.0

#include "internal/assembly.h"

#include <algorithm>

#include "internal/pair_lists.h"

namespace tenure::internal {
namespace {

// Steps at which more begin or end are left alone: what matches there matches by chance.
constexpr std::ptrdiff_t kMostMatched = 24;
// Rectangles deeper than that are not made.
constexpr int kMostRounds = 256;

bool is_crowded(Span<const std::uint32_t> pieces) noexcept {
  return pieces.size() > static_cast<std::size_t>(kMostMatched);
}

}  // namespace

Assembly::Assembly(Upstream upstream) noexcept
    : pieces_(upstream),
      loose_(upstream),
      by_begin_(upstream),
      by_end_(upstream),
      sums_(upstream),
      numbers_(upstream),
      blocks_(upstream),
      conflicts_(upstream),
      may_overlap_(upstream) {}

bool Assembly::reset(const PlanningProblem& problem, RegionIndex region, std::uint64_t unit_bytes,
                     AssemblyRules rules) noexcept {
  region_ = region;
  regions_ = problem.regions;
  if (!list_pieces(problem, unit_bytes)) return false;
  std::size_t before = SIZE_MAX;
  for (int round = 0; round < kMostRounds && before != pieces_.size(); ++round) {
    before = pieces_.size();
    if (rules.stacks_first && !stack(rules.stacking)) return false;
    if (!join()) return false;
    if (before != pieces_.size()) continue;
    if (!rules.stacks_first && !stack(rules.stacking)) return false;
    if (before != pieces_.size()) continue;
    if (!make_pinwheels()) return false;
  }
  return list_blocks(problem, unit_bytes);
}

bool Assembly::list_pieces(const PlanningProblem& problem, std::uint64_t unit_bytes) noexcept {
  pieces_.clear();
  loose_.clear();
  if (!pieces_.reserve(problem.blocks.size() * 2) || !loose_.reserve(problem.blocks.size())) {
    return false;
  }
  for (const Block& block : problem.blocks) {
    const std::uint64_t size = (block.size_bytes + unit_bytes - 1) & ~(unit_bytes - 1);
    const std::uint64_t end = std::uint64_t{block.live_range.last_use.value} + 1;
    if (!pieces_.push_back({size, block.live_range.first_use.value, end, kNone, 0})) return false;
  }
  // Pairs name blocks, not what they are part of.
  numbers_.clear();
  if (!numbers_.resize(problem.blocks.size(), kNoNumber)) return false;
  for (const Span<const BlockPair> pairs : {problem.conflicts, problem.may_overlap}) {
    for (const BlockPair& pair : pairs)
      numbers_[pair.first.value] = numbers_[pair.second.value] = 0;
  }
  for (std::uint32_t i = 0; i < problem.blocks.size(); ++i) {
    const Block& block = problem.blocks[i];
    const bool is_here = block.region == region_ && block.size_bytes != 0;
    if (!is_here || block.is_fixed() || numbers_[i] != kNoNumber) continue;
    if (block.alignment_bytes == unit_bytes && !loose_.push_back(i)) return false;
  }
  return true;
}

bool Assembly::sort() noexcept {
  std::size_t count = 0;
  for (const std::uint32_t piece : loose_) {
    if (is_loose(piece)) loose_[count++] = piece;
  }
  while (loose_.size() > count) loose_.pop_back();
  by_begin_.clear();
  by_end_.clear();
  if (!by_begin_.append(loose_) || !by_end_.append(loose_)) return false;
  const auto comes_first = [&](std::uint64_t Piece::*step) {
    return [this, step](std::uint32_t a, std::uint32_t b) {
      const Piece& first = pieces_[a];
      const Piece& second = pieces_[b];
      if (first.*step != second.*step) return first.*step < second.*step;
      return first.size != second.size ? first.size < second.size : a < b;
    };
  };
  std::sort(by_begin_.begin(), by_begin_.end(), comes_first(&Piece::begin));
  std::sort(by_end_.begin(), by_end_.end(), comes_first(&Piece::end));
  return true;
}

bool Assembly::put_together(Span<const Part> parts) noexcept {
  const auto whole = static_cast<std::uint32_t>(pieces_.size());
  Piece made{0, UINT64_MAX, 0, kNone, 0};
  for (const Part& part : parts) {
    Piece& piece = pieces_[part.piece];
    piece.whole = whole;
    piece.offset = part.offset;
    made.size = std::max(made.size, part.offset + piece.size);
    made.begin = std::min(made.begin, piece.begin);
    made.end = std::max(made.end, piece.end);
  }
  return pieces_.push_back(made) && loose_.push_back(whole);
}

// Whether no other piece of a sorted list has this step and this size.
bool Assembly::is_alone(Pieces sorted, std::size_t place,
                        std::uint64_t Piece::*step) const noexcept {
  const Piece& piece = pieces_[sorted[place]];
  const auto is_same = [&](std::uint32_t other) {
    return pieces_[other].*step == piece.*step && pieces_[other].size == piece.size;
  };
  return (place == 0 || !is_same(sorted[place - 1])) &&
         (place + 1 == sorted.size() || !is_same(sorted[place + 1]));
}

// What ends and what begins at a step with the same size, when there is just one of each.
bool Assembly::join() noexcept {
  if (!sort()) return false;
  for (std::size_t b = 0; b < by_begin_.size(); ++b) {
    const Piece& behind = pieces_[by_begin_[b]];
    const auto found =
        std::partition_point(by_end_.begin(), by_end_.end(), [&](std::uint32_t other) {
          const Piece& piece = pieces_[other];
          return piece.end != behind.begin ? piece.end < behind.begin : piece.size < behind.size;
        });
    if (found == by_end_.end() || !is_loose(*found) || !is_loose(by_begin_[b])) continue;
    if (pieces_[*found].end != behind.begin || pieces_[*found].size != behind.size) continue;
    const auto e = static_cast<std::size_t>(found - by_end_.begin());
    if (!is_alone(by_end_, e, &Piece::end) || !is_alone(by_begin_, b, &Piece::begin)) continue;
    const Part parts[] = {{*found, 0}, {by_begin_[b], 0}};
    if (!put_together(parts)) return false;
  }
  return true;
}

bool Assembly::stack(Stacking stacking) noexcept {
  if (!sort()) return false;
  return stacking == Stacking::kEverywhere ? stack_everywhere() : stack_matching();
}

bool Assembly::stack_everywhere() noexcept {
  std::sort(by_begin_.begin(), by_begin_.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Piece& first = pieces_[a];
    const Piece& second = pieces_[b];
    if (first.begin != second.begin) return first.begin < second.begin;
    return first.end != second.end ? first.end < second.end : a < b;
  });
  for (std::size_t i = 1; i < by_begin_.size(); ++i) {
    std::uint32_t below = by_begin_[i - 1];
    const std::uint32_t above = by_begin_[i];
    if (pieces_[below].begin != pieces_[above].begin || pieces_[below].end != pieces_[above].end) {
      continue;
    }
    while (!is_loose(below)) below = pieces_[below].whole;
    const Part parts[] = {{below, 0}, {above, pieces_[below].size}};
    if (!put_together(parts)) return false;
  }
  return true;
}

// Those of a sorted list at that step; of many, as many as are enough to be a crowd.
Assembly::Pieces Assembly::pieces_at(std::uint64_t at, Pieces sorted,
                                     std::uint64_t Piece::*step) const noexcept {
  const auto* const first = std::partition_point(
      sorted.begin(), sorted.end(), [&](std::uint32_t piece) { return pieces_[piece].*step < at; });
  const auto* last = first;
  while (last != sorted.end() && pieces_[*last].*step == at && last - first <= kMostMatched) ++last;
  return sorted.subspan(static_cast<std::size_t>(first - sorted.begin()),
                        static_cast<std::size_t>(last - first));
}

bool Assembly::stack_matching() noexcept {
  for (std::size_t i = 0; i < by_begin_.size();) {
    const Pieces beginning = beginning_at(pieces_[by_begin_[i]].begin);
    const Pieces ending = ending_at(pieces_[by_begin_[i]].begin);
    i += beginning.size();
    if (is_crowded(beginning) || is_crowded(ending)) continue;
    if (!stack_matching(beginning, ending) || !stack_matching(ending, beginning)) return false;
  }
  return true;
}

// Two of the same live range that alone, or with a third, are as large as one or two of the opposite
// side of their step.
bool Assembly::stack_matching(Pieces pieces, Pieces opposite) noexcept {
  sums_.clear();
  for (std::size_t i = 0; i < opposite.size(); ++i) {
    if (!sums_.push_back(pieces_[opposite[i]].size)) return false;
    for (std::size_t j = 0; j < i; ++j) {
      if (!sums_.push_back(pieces_[opposite[i]].size + pieces_[opposite[j]].size)) return false;
    }
  }
  std::sort(sums_.begin(), sums_.end());
  const auto is_matched = [&](std::uint64_t size) {
    return std::binary_search(sums_.begin(), sums_.end(), size);
  };
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (std::size_t j = 0; j < i && is_loose(pieces[i]); ++j) {
      const Piece& above = pieces_[pieces[i]];
      const Piece& below = pieces_[pieces[j]];
      if (!is_loose(pieces[j]) || above.begin != below.begin || above.end != below.end) continue;
      const std::uint64_t size = above.size + below.size;
      bool is_found = is_matched(size);
      for (std::size_t k = 0; k < pieces.size() && !is_found; ++k) {
        is_found = k != i && k != j && is_matched(size + pieces_[pieces[k]].size);
      }
      if (!is_found) continue;
      const Part parts[] = {{pieces[j], 0}, {pieces[i], below.size}};
      if (!put_together(parts)) return false;
    }
  }
  return true;
}

bool Assembly::make_pinwheels() noexcept {
  if (!sort()) return false;
  for (const std::uint32_t middle : by_begin_) {
    if (is_loose(middle) && !make_pinwheel(middle)) return false;
  }
  return true;
}

//   +---------+----+
//   |  above  |    |     left = middle + below in size, where the middle begins,
//   +---+-----+ r. |     right = middle + above, where it ends.
//   | l.| mid |    |
//   |   +-----+----+
//   |   |  below   |
//   +---+----------+
bool Assembly::make_pinwheel(std::uint32_t middle) noexcept {
  const Piece core = pieces_[middle];
  const Pieces lefts = ending_at(core.begin);
  const Pieces belows = beginning_at(core.begin);
  const Pieces aboves = ending_at(core.end);
  const Pieces rights = beginning_at(core.end);
  for (const Pieces side : {lefts, belows, aboves, rights}) {
    if (side.empty() || is_crowded(side)) return true;
  }
  for (const std::uint32_t left : lefts) {
    for (const std::uint32_t below : belows) {
      if (below == middle || pieces_[left].size != pieces_[below].size + core.size) continue;
      for (const std::uint32_t above : aboves) {
        if (above == middle || pieces_[above].begin != pieces_[left].begin) continue;
        for (const std::uint32_t right : rights) {
          if (pieces_[right].end != pieces_[below].end) continue;
          if (pieces_[right].size != pieces_[above].size + core.size) continue;
          if (!is_loose(left) || !is_loose(below) || !is_loose(above) || !is_loose(right)) continue;
          const std::uint64_t low = pieces_[below].size;
          const Part parts[] = {
              {left, 0}, {below, 0}, {middle, low}, {right, low}, {above, low + core.size}};
          return put_together(parts);
        }
      }
    }
  }
  return true;
}

bool Assembly::list_blocks(const PlanningProblem& problem, std::uint64_t unit_bytes) noexcept {
  numbers_.clear();
  blocks_.clear();
  if (!numbers_.resize(pieces_.size(), kNoNumber)) return false;
  for (std::uint32_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    if (piece.whole != kNone || piece.size == 0) continue;
    Block block;
    if (i < problem.blocks.size()) {
      block = problem.blocks[i];
      if (block.region != region_) continue;
    } else {
      block.size_bytes = piece.size;
      block.live_range = {Step(static_cast<std::uint32_t>(piece.begin)),
                          Step(static_cast<std::uint32_t>(piece.end - 1))};
      block.alignment_bytes = unit_bytes;
      block.region = region_;
    }
    numbers_[i] = static_cast<std::uint32_t>(blocks_.size());
    if (!blocks_.push_back(block)) return false;
  }
  return renumber_pairs(problem.conflicts, numbers_, &conflicts_) &&
         renumber_pairs(problem.may_overlap, numbers_, &may_overlap_);
}

PlanningProblem Assembly::problem() const noexcept {
  return {blocks_, regions_, conflicts_, may_overlap_};
}

// What was made last is in nothing else, so that whole pieces come before their parts.
void Assembly::spread(Span<const std::uint64_t> assembled,
                      Span<std::uint64_t> offsets) const noexcept {
  for (std::uint32_t i = 0; i < offsets.size(); ++i) {
    std::uint64_t offset = 0;
    std::uint32_t piece = i;
    for (; pieces_[piece].whole != kNone; piece = pieces_[piece].whole) {
      offset += pieces_[piece].offset;
    }
    if (numbers_[piece] != kNoNumber) offsets[i] = offset + assembled[numbers_[piece]];
  }
}

}  // namespace tenure::internal
