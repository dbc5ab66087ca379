// SPDX-License-Identifier: Apache-2.0
#pragma once

// The waist of the library: what is to be placed, and nothing of where it came from. Graphs, CSV
// files and recorded allocations turn into a PlanningProblem; strategies, bounds and verify know
// nothing else. A problem only borrows its lists, so it costs nothing to make from arrays that
// exist:
//
//   const Block blocks[] = {{1024, {Step(0), Step(1)}}, {2048, {Step(1), Step(2)}}};
//   Result<MemoryPlan> plan = ArenaPlanner().plan(PlanningProblem{blocks});
//
//   bytes |      +-----------+     A block is a rectangle: its live range wide, its size high.
//         | +----+----+ 2048 |     It may slide up and down, never sideways, and the arena is as
//         | |  1024   |      |     high as the highest top.
//         +-0----1----2----------> steps

#include <cstdint>

#include "tenure/align.h"
#include "tenure/index.h"
#include "tenure/layout.h"
#include "tenure/span.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure {

inline constexpr std::uint64_t kNoFixedOffset = UINT64_MAX;
inline constexpr std::uint64_t kNoCapacity = UINT64_MAX;

struct Block {
  std::uint64_t size_bytes =
      0;  // 0 is planned like any other, takes no bytes and conflicts with nothing
  LiveRange live_range;
  std::uint64_t alignment_bytes = kDefaultAlignmentBytes;  // a power of two
  RegionIndex region = kReusableRegion;
  std::uint64_t fixed_offset_bytes =
      kNoFixedOffset;  // above kMaxArenaBytes a negative number is meant

  [[nodiscard]] constexpr bool is_fixed() const noexcept {
    return fixed_offset_bytes != kNoFixedOffset;
  }
};

struct Region {
  std::uint64_t capacity_bytes = kNoCapacity;
  std::uint64_t alignment_bytes = 1;  // its arena's base has this and every block's
  bool reuse = true;  // false: no two blocks share bytes, and they lie in the order of the list
};

inline constexpr Region kDefaultRegions[] = {Region{}, Region{kNoCapacity, 1, false}};

struct BlockPair {
  BlockIndex first;
  BlockIndex second;
};

struct PlanningProblem {
  Span<const Block> blocks;
  Span<const Region> regions = kDefaultRegions;
  Span<const BlockPair> conflicts = {};    // apart, though their live ranges do not overlap
  Span<const BlockPair> may_overlap = {};  // may share bytes, though their live ranges overlap
};

// Sets the fixed offset of each block from a list (kNoFixedOffset: none). Fails with
// kFixedOffsetsCount, and changes nothing, when the list has another length; the offsets themselves
// are for validate to judge.
[[nodiscard]] Status fix_offsets(Span<const std::uint64_t> offsets_bytes,
                                 Span<Block> blocks) noexcept;

// Names the first block that cannot be planned: indices, alignments, live ranges, ends beyond 64
// bits, and fixed offsets that are negative, misaligned, beyond the capacity or on top of each
// other. O(n log n) for n blocks, plus pairs of fixed blocks that overlap.
[[nodiscard]] Status validate(const PlanningProblem& problem,
                              Upstream upstream = heap_upstream()) noexcept;

// No plan of the region can be smaller than lower_bound_bytes.
struct RegionBound {
  std::uint64_t lower_bound_bytes = 0;
  std::uint64_t unit_bytes =
      1;           // the smallest alignment of its blocks; arena sizes are multiples of it
  Step peak_step;  // the first where the live sizes, rounded up to the unit, are largest
};

// The largest sum over one step of live sizes, each rounded up to the unit; no less than the end of
// a fixed block or the sum of a conflicting pair. Of two blocks that may overlap only the larger
// one is counted. O(n log n). Precondition: validate(problem).
[[nodiscard]] Result<RegionBound> lower_bound(const PlanningProblem& problem, RegionIndex region,
                                              Upstream upstream = heap_upstream()) noexcept;

}  // namespace tenure
