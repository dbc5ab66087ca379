// SPDX-License-Identifier: Apache-2.0
#pragma once

// Blocks that make up a rectangle of bytes and steps without a hole, taken for one block. What is
// left is a smaller problem, whose plans are plans of the whole. Where there is hardly any room to
// spare, blocks that match have mostly been made to.
//
//   +-------+-------+     stacked: of the same live range, one on the other
//   |   b   |       |     joined: of the same size, one after the other, as c to a and b
//   +-------+   c   |
//   |   a   |       |     Four round a fifth, as a pinwheel, are the smallest rectangle that cannot
//   +-------+-------+     be made that way.
//
// Rectangles of rectangles are known from cutting stock as builds (Wang, 1983).

#include <cstddef>
#include <cstdint>

#include "tenure/array.h"
#include "tenure/problem.h"
#include "tenure/span.h"
#include "tenure/upstream.h"

namespace tenure::internal {

enum class Stacking : std::uint8_t {
  kWhereItMatches,  // where blocks of the steps before or behind are together as large
  kEverywhere,
};

struct AssemblyRules {
  Stacking stacking;
  bool stacks_first;  // else what can be joined is joined first
};

class Assembly {
 public:
  explicit Assembly(Upstream upstream) noexcept;

  // Of the region's blocks with bytes. Blocks with a fixed offset, with an alignment above the
  // unit, or in a pair, stay what they are. False: memory refused. O(n log n) a round, and as many
  // rounds as rectangles are made of rectangles. Precondition: the blocks have been placed, so that
  // the sizes of those that are live together add up.
  [[nodiscard]] bool reset(const PlanningProblem& problem, RegionIndex region,
                           std::uint64_t unit_bytes, AssemblyRules rules) noexcept;

  // Borrows from this.
  [[nodiscard]] PlanningProblem problem() const noexcept;
  [[nodiscard]] std::size_t block_count() const noexcept { return blocks_.size(); }

  // Offsets of the region's blocks with bytes, from those of problem()'s.
  void spread(Span<const std::uint64_t> assembled, Span<std::uint64_t> offsets) const noexcept;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Piece {
    std::uint64_t size;
    std::uint64_t begin;
    std::uint64_t end;  // the step behind the last
    std::uint32_t whole;
    std::uint64_t offset;  // in the whole
  };
  struct Part {
    std::uint32_t piece;
    std::uint64_t offset;
  };
  using Pieces = Span<const std::uint32_t>;

  [[nodiscard]] bool list_pieces(const PlanningProblem& problem, std::uint64_t unit_bytes) noexcept;
  [[nodiscard]] bool list_blocks(const PlanningProblem& problem, std::uint64_t unit_bytes) noexcept;
  [[nodiscard]] bool sort() noexcept;
  [[nodiscard]] bool join() noexcept;
  [[nodiscard]] bool stack(Stacking stacking) noexcept;
  [[nodiscard]] bool stack_everywhere() noexcept;
  [[nodiscard]] bool stack_matching() noexcept;
  [[nodiscard]] bool stack_matching(Pieces pieces, Pieces opposite) noexcept;
  [[nodiscard]] bool make_pinwheels() noexcept;
  [[nodiscard]] bool make_pinwheel(std::uint32_t middle) noexcept;
  [[nodiscard]] bool put_together(Span<const Part> parts) noexcept;
  [[nodiscard]] bool is_loose(std::uint32_t piece) const noexcept {
    return pieces_[piece].whole == kNone;
  }
  [[nodiscard]] bool is_alone(Pieces sorted, std::size_t place,
                              std::uint64_t Piece::*step) const noexcept;
  [[nodiscard]] Pieces pieces_at(std::uint64_t at, Pieces sorted,
                                 std::uint64_t Piece::*step) const noexcept;
  [[nodiscard]] Pieces beginning_at(std::uint64_t step) const noexcept {
    return pieces_at(step, by_begin_, &Piece::begin);
  }
  [[nodiscard]] Pieces ending_at(std::uint64_t step) const noexcept {
    return pieces_at(step, by_end_, &Piece::end);
  }

  RegionIndex region_;
  Span<const Region> regions_;
  Array<Piece> pieces_;            // the blocks of the problem, then what they make up
  Array<std::uint32_t> loose_;     // pieces that may be put together
  Array<std::uint32_t> by_begin_;  // those, by begin and size
  Array<std::uint32_t> by_end_;    // by end and size
  Array<std::uint64_t> sums_;
  Array<std::uint32_t> numbers_;  // by piece: of the block that it is now, or kNoNumber
  Array<Block> blocks_;
  Array<BlockPair> conflicts_;
  Array<BlockPair> may_overlap_;
};

}  // namespace tenure::internal
