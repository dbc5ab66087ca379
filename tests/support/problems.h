// SPDX-License-Identifier: Apache-2.0
#pragma once

// Seeded random PlanningProblems, valid by construction, and what is true of them, found in the
// plainest way: which blocks conflict, where first fit puts them, the lower bound, the optimum.
// Nothing here is shared with the library but its types.
//
//   const OwnedProblem random = test::random_problem(seed);
//   EXPECT_EQ(test::first_fit(random.view()), ...);

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "support/random.h"
#include "tenure/problem.h"

namespace tenure::test {

inline constexpr std::uint64_t kQuarter = std::uint64_t{1} << 62;  // twice this is just too much

[[nodiscard]] inline Block block(std::uint64_t size_bytes, std::uint32_t first_use,
                                 std::uint32_t last_use, std::uint64_t alignment_bytes = 1) {
  Block made;
  made.size_bytes = size_bytes;
  made.live_range = {Step(first_use), Step(last_use)};
  made.alignment_bytes = alignment_bytes;
  return made;
}

[[nodiscard]] inline Block fixed_block(std::uint64_t size_bytes, std::uint32_t first_use,
                                       std::uint32_t last_use, std::uint64_t offset_bytes,
                                       std::uint64_t alignment_bytes = 1) {
  Block made = block(size_bytes, first_use, last_use, alignment_bytes);
  made.fixed_offset_bytes = offset_bytes;
  return made;
}

[[nodiscard]] inline Block in_region(std::uint32_t region, Block block) {
  block.region = RegionIndex(region);
  return block;
}

[[nodiscard]] inline BlockPair pair(std::uint32_t first, std::uint32_t second) {
  return {BlockIndex(first), BlockIndex(second)};
}

// A problem with the lists that it borrows.
struct OwnedProblem {
  std::vector<Block> blocks;
  std::vector<Region> regions = {Region{}, Region{kNoCapacity, 1, false}};
  std::vector<BlockPair> conflicts;
  std::vector<BlockPair> may_overlap;

  [[nodiscard]] PlanningProblem view() const {
    PlanningProblem problem;
    problem.blocks = blocks;
    problem.regions = regions;
    problem.conflicts = conflicts;
    problem.may_overlap = may_overlap;
    return problem;
  }
};

[[nodiscard]] inline bool has_pair(Span<const BlockPair> pairs, std::uint32_t a, std::uint32_t b) {
  return std::any_of(pairs.begin(), pairs.end(), [&](const BlockPair& one) {
    return (one.first.value == a && one.second.value == b) ||
           (one.first.value == b && one.second.value == a);
  });
}

[[nodiscard]] inline bool conflict(const PlanningProblem& problem, std::uint32_t a,
                                   std::uint32_t b) {
  const Block& one = problem.blocks[a];
  const Block& other = problem.blocks[b];
  if (a == b || one.region != other.region || one.size_bytes == 0 || other.size_bytes == 0) {
    return false;
  }
  const bool live_together = one.live_range.first_use.value <= other.live_range.last_use.value &&
                             other.live_range.first_use.value <= one.live_range.last_use.value;
  const bool must_be_apart = live_together || !problem.regions[one.region.value].reuse ||
                             has_pair(problem.conflicts, a, b);
  return must_be_apart && !has_pair(problem.may_overlap, a, b);
}

[[nodiscard]] inline bool share_bytes(const Block& a, std::uint64_t offset_a, const Block& b,
                                      std::uint64_t offset_b) {
  return offset_a < offset_b + b.size_bytes && offset_b < offset_a + a.size_bytes;
}

[[nodiscard]] inline std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit_bytes) {
  return (bytes + unit_bytes - 1) / unit_bytes * unit_bytes;
}

[[nodiscard]] inline std::uint64_t unit_bytes(const PlanningProblem& problem, RegionIndex region) {
  std::uint64_t unit = 0;
  for (const Block& one : problem.blocks) {
    if (one.region != region || one.size_bytes == 0) continue;
    if (unit == 0 || one.alignment_bytes < unit) unit = one.alignment_bytes;
  }
  return unit == 0 ? 1 : unit;
}

// What the random problems are drawn from; chances in percent.
struct ProblemShape {
  std::uint32_t max_blocks = 14;
  std::uint32_t max_steps = 10;
  std::uint32_t max_length = UINT32_MAX;  // of live ranges, in steps
  std::uint64_t max_size_bytes = 300;
  std::uint32_t alignment_count = 8;  // 1, 2, ... 2^(count - 1)
  std::uint32_t region_count = 1;
  std::uint32_t zero_chance = 8;
  std::uint32_t fixed_chance = 15;
  std::uint64_t fixed_range_bytes = 1200;  // of fixed offsets
  std::uint32_t no_reuse_chance = 0;       // of a region
  std::uint32_t max_conflicts = 3;
  std::uint32_t max_overlaps = 3;
};

// True when a fixed offset of this block would meet no other block's fixed offset.
[[nodiscard]] inline bool is_free_for(const OwnedProblem& made, std::uint32_t index,
                                      std::uint64_t offset_bytes) {
  for (std::uint32_t other = 0; other < made.blocks.size(); ++other) {
    const Block& block = made.blocks[other];
    if (block.is_fixed() && conflict(made.view(), index, other) &&
        share_bytes(made.blocks[index], offset_bytes, block, block.fixed_offset_bytes)) {
      return false;
    }
  }
  return true;
}

[[nodiscard]] inline std::vector<BlockPair> random_pairs(Random& random, std::size_t block_count,
                                                         std::uint32_t max_pairs) {
  std::vector<BlockPair> pairs;
  if (block_count < 2) return pairs;
  for (std::uint64_t i = random.below(std::uint64_t{max_pairs} + 1); i > 0; --i) {
    const std::uint32_t first = random.index(block_count);
    const std::uint32_t second = random.index(block_count);
    if (first != second) pairs.push_back(pair(first, second));
  }
  return pairs;
}

[[nodiscard]] inline OwnedProblem random_problem(std::uint64_t seed,
                                                 const ProblemShape& shape = {}) {
  Random random(seed);
  OwnedProblem made;
  made.regions.clear();
  for (std::uint32_t i = 0; i < shape.region_count; ++i) {
    const std::uint64_t alignment = std::uint64_t{1} << random.below(shape.alignment_count);
    made.regions.push_back({kNoCapacity, alignment, !random.chance(shape.no_reuse_chance)});
  }
  // Often few sizes, so that there are ties; sometimes the last steps that there are.
  const std::uint64_t grain =
      random.chance(50) ? random.between(1, std::min<std::uint64_t>(64, shape.max_size_bytes)) : 1;
  const std::uint32_t first_step = random.chance(10) ? Step::kNoneValue - shape.max_steps : 0;
  const std::uint64_t count = random.between(0, shape.max_blocks);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t draw = round_up(random.between(1, shape.max_size_bytes), grain);
    const std::uint64_t size = random.chance(shape.zero_chance) ? 0 : draw;
    const std::uint32_t a = first_step + random.index(shape.max_steps);
    const std::uint32_t b = first_step + random.index(shape.max_steps);
    const std::uint64_t alignment = std::uint64_t{1} << random.below(shape.alignment_count);
    const std::uint32_t first = std::min(a, b);
    const std::uint32_t last = first + std::min(std::max(a, b) - first, shape.max_length - 1);
    made.blocks.push_back(
        in_region(random.index(shape.region_count), block(size, first, last, alignment)));
  }
  made.conflicts = random_pairs(random, made.blocks.size(), shape.max_conflicts);
  made.may_overlap = random_pairs(random, made.blocks.size(), shape.max_overlaps);
  for (std::uint32_t i = 0; i < made.blocks.size(); ++i) {
    if (!random.chance(shape.fixed_chance)) continue;
    Block& block = made.blocks[i];
    const std::uint64_t wish = random.below(shape.fixed_range_bytes);
    const std::uint64_t offset = wish / block.alignment_bytes * block.alignment_bytes;
    if (is_free_for(made, i, offset)) block.fixed_offset_bytes = offset;
  }
  return made;
}

// The lowest aligned offset at which a block meets none of those placed. What a meeting rules out
// is every offset up to the other's end.
[[nodiscard]] inline std::uint64_t lowest_free_offset(const PlanningProblem& problem,
                                                      const std::vector<std::uint64_t>& offsets,
                                                      const std::vector<bool>& is_placed,
                                                      std::uint32_t index) {
  const Block& block = problem.blocks[index];
  std::vector<std::uint32_t> obstacles;
  for (std::uint32_t other = 0; other < problem.blocks.size(); ++other) {
    if (is_placed[other] && conflict(problem, index, other)) obstacles.push_back(other);
  }
  std::uint64_t offset = 0;
  for (bool has_moved = true; has_moved;) {
    has_moved = false;
    for (const std::uint32_t other : obstacles) {
      const Block& obstacle = problem.blocks[other];
      if (!share_bytes(block, offset, obstacle, offsets[other])) continue;
      offset = round_up(offsets[other] + obstacle.size_bytes, block.alignment_bytes);
      has_moved = true;
    }
  }
  return offset;
}

// Offsets by block: fixed ones first, then by size from the largest, each at its lowest offset. Of
// regions that are reused; entries of others stay 0.
[[nodiscard]] inline std::vector<std::uint64_t> first_fit(const PlanningProblem& problem) {
  std::vector<std::uint64_t> offsets(problem.blocks.size());
  std::vector<bool> is_placed(problem.blocks.size());
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < problem.blocks.size(); ++i) {
    const Block& block = problem.blocks[i];
    if (!problem.regions[block.region.value].reuse) continue;
    if (block.is_fixed()) {
      offsets[i] = block.fixed_offset_bytes;
      is_placed[i] = true;
    } else {
      order.push_back(i);
    }
  }
  const auto key = [&](std::uint32_t i) {
    const Block& block = problem.blocks[i];
    return std::make_tuple(UINT64_MAX - block.size_bytes, block.live_range.first_use.value,
                           block.live_range.last_use.value, block.alignment_bytes, i);
  };
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  for (const std::uint32_t i : order) {
    offsets[i] = lowest_free_offset(problem, offsets, is_placed, i);
    is_placed[i] = true;
  }
  return offsets;
}

// Largest offset + size in a region, rounded up to the unit.
[[nodiscard]] inline std::uint64_t arena_bytes(const PlanningProblem& problem, RegionIndex region,
                                               const std::vector<std::uint64_t>& offsets) {
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < problem.blocks.size(); ++i) {
    const Block& block = problem.blocks[i];
    if (block.region != region || block.size_bytes == 0) continue;
    end = std::max(end, offsets[i] + block.size_bytes);
  }
  return round_up(end, unit_bytes(problem, region));
}

// Live bytes at one step as the lower bound counts them: of two blocks that live there and may
// overlap not the smaller one, nor of two equal ones the later.
[[nodiscard]] inline std::uint64_t counted_bytes(const PlanningProblem& problem, RegionIndex region,
                                                 std::uint32_t step) {
  const std::uint64_t unit = unit_bytes(problem, region);
  const bool reuse = problem.regions[region.value].reuse;
  const auto counts = [&](std::uint32_t i) {
    const Block& block = problem.blocks[i];
    return block.region == region && block.size_bytes != 0 &&
           (!reuse ||
            (block.live_range.first_use.value <= step && step <= block.live_range.last_use.value));
  };
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < problem.blocks.size(); ++i) {
    if (!counts(i)) continue;
    const std::uint64_t size = round_up(problem.blocks[i].size_bytes, unit);
    bool is_left_out = false;
    for (std::uint32_t j = 0; j < problem.blocks.size() && !problem.may_overlap.empty(); ++j) {
      if (i == j || !counts(j) || !has_pair(problem.may_overlap, i, j)) continue;
      const std::uint64_t other = round_up(problem.blocks[j].size_bytes, unit);
      is_left_out = is_left_out || size < other || (size == other && j < i);
    }
    if (!is_left_out) sum += size;
  }
  return sum;
}

struct NaiveBound {
  std::uint64_t live_bytes = 0;  // the largest sum over one step
  std::uint32_t peak_step = Step::kNoneValue;
  std::uint64_t other_bytes = 0;  // the largest end of a fixed block or sum of a conflicting pair
  [[nodiscard]] std::uint64_t bytes() const { return std::max(live_bytes, other_bytes); }
};

[[nodiscard]] inline NaiveBound naive_bound(const PlanningProblem& problem, RegionIndex region) {
  NaiveBound bound;
  const std::uint64_t unit = unit_bytes(problem, region);
  std::uint32_t first = Step::kNoneValue;
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < problem.blocks.size(); ++i) {
    const Block& block = problem.blocks[i];
    if (block.region != region || block.size_bytes == 0) continue;
    first = std::min(first, block.live_range.first_use.value);
    last = std::max(last, block.live_range.last_use.value);
    const std::uint64_t size = round_up(block.size_bytes, unit);
    if (block.is_fixed()) {
      const std::uint64_t end = block.fixed_offset_bytes + block.size_bytes;
      bound.other_bytes = std::max(bound.other_bytes, round_up(end, unit));
    }
    for (std::uint32_t j = 0; j < i && !problem.conflicts.empty(); ++j) {
      if (!has_pair(problem.conflicts, i, j) || !conflict(problem, i, j)) continue;
      const std::uint64_t sum = size + round_up(problem.blocks[j].size_bytes, unit);
      bound.other_bytes = std::max(bound.other_bytes, sum);
    }
  }
  if (first == Step::kNoneValue) return bound;
  if (!problem.regions[region.value].reuse) first = last = 0;
  for (std::uint32_t step = first; step <= last; ++step) {
    const std::uint64_t sum = counted_bytes(problem, region, step);
    if (sum <= bound.live_bytes) continue;
    bound.live_bytes = sum;
    bound.peak_step = step;
  }
  return bound;
}

}  // namespace tenure::test
