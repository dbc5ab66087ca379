// SPDX-License-Identifier: Apache-2.0

// Every order and fit against the same thing written plainly: sort by the words of the option's
// documentation, then look at all placed blocks for each place.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <vector>

#include "support/problems.h"
#include "tenure/planner.h"
#include "tenure/verify.h"

namespace tenure {
namespace {

using test::OwnedProblem;
using test::ProblemShape;

constexpr PlacementOrder kOrders[] = {PlacementOrder::kSize,    PlacementOrder::kLength,
                                      PlacementOrder::kArea,    PlacementOrder::kFirstUse,
                                      PlacementOrder::kBreadth, PlacementOrder::kSection};

std::uint64_t length_of(const Block& block) {
  return std::uint64_t{block.live_range.last_use.value} - block.live_range.first_use.value + 1;
}

std::uint64_t live_bytes_at(const OwnedProblem& problem, RegionIndex region, Step step) {
  std::uint64_t sum = 0;
  for (const Block& block : problem.blocks) {
    if (block.region == region && block.live_range.overlaps({step, step})) sum += block.size_bytes;
  }
  return sum;
}

// The most live bytes in the block's live range, and the first step that has them.
std::pair<std::uint64_t, std::uint32_t> widest_step_of(const OwnedProblem& problem,
                                                       const Block& block) {
  std::pair<std::uint64_t, std::uint32_t> widest{0, 0};
  for (std::uint64_t i = 0; i < length_of(block); ++i) {
    const Step step(block.live_range.first_use.value + static_cast<std::uint32_t>(i));
    const std::uint64_t bytes = live_bytes_at(problem, block.region, step);
    if (i == 0 || bytes > widest.first) widest = {bytes, step.value};
  }
  return widest;
}

// Smaller tuples are placed first.
using PlainKey = std::tuple<std::uint64_t, std::uint64_t>;
PlainKey plain_key(const OwnedProblem& problem, const Block& block, PlacementOrder order) {
  constexpr std::uint64_t kMost = UINT64_MAX;
  switch (order) {
    case PlacementOrder::kSize:
      return {kMost - block.size_bytes, 0};
    case PlacementOrder::kLength:
      return {kMost - length_of(block), 0};
    case PlacementOrder::kArea:
      return {kMost - block.size_bytes * length_of(block), 0};
    case PlacementOrder::kFirstUse:
      return {block.live_range.first_use.value, 0};
    case PlacementOrder::kBreadth: {
      const auto widest = widest_step_of(problem, block);
      return {kMost - widest.first, widest.second};
    }
    case PlacementOrder::kSection:
      return {kMost - widest_step_of(problem, block).first, kMost - length_of(block)};
  }
  return {};
}

std::vector<std::uint32_t> plain_order(const OwnedProblem& problem, PlacementOrder order) {
  std::vector<std::tuple<PlainKey, std::uint64_t, std::uint32_t, std::uint32_t, std::uint64_t,
                         std::uint32_t>>
      keys;
  for (std::uint32_t i = 0; i < problem.blocks.size(); ++i) {
    const Block& block = problem.blocks[i];
    if (block.is_fixed()) continue;
    keys.emplace_back(plain_key(problem, block, order), UINT64_MAX - block.size_bytes,
                      block.live_range.first_use.value, block.live_range.last_use.value,
                      block.alignment_bytes, i);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::uint32_t> blocks;
  for (const auto& key : keys) blocks.push_back(std::get<5>(key));
  return blocks;
}

struct Range {
  std::uint64_t begin;
  std::uint64_t end;
};

// The free ranges, as large as they go, for one more block among those that are placed.
std::vector<Range> free_ranges(const OwnedProblem& problem, const std::vector<bool>& is_placed,
                               const std::vector<std::uint64_t>& offsets, std::uint32_t block) {
  std::vector<Range> taken;
  for (std::uint32_t i = 0; i < problem.blocks.size(); ++i) {
    if (!is_placed[i] || !test::conflict(problem.view(), block, i)) continue;
    if (problem.blocks[i].size_bytes == 0) continue;
    taken.push_back({offsets[i], offsets[i] + problem.blocks[i].size_bytes});
  }
  std::sort(taken.begin(), taken.end(), [](Range a, Range b) { return a.begin < b.begin; });
  std::vector<Range> ranges;
  std::uint64_t end = 0;
  for (const Range& one : taken) {
    if (one.begin > end) ranges.push_back({end, one.begin});
    end = std::max(end, one.end);
  }
  ranges.push_back({end, UINT64_MAX});
  return ranges;
}

std::uint64_t plain_offset(const Block& block, const std::vector<Range>& ranges, Fit fit) {
  if (block.size_bytes == 0) return 0;
  std::uint64_t best = 0;
  std::uint64_t best_size = 0;
  for (const Range& range : ranges) {
    const std::uint64_t offset = test::round_up(range.begin, block.alignment_bytes);
    if (offset > range.end || range.end - offset < block.size_bytes) continue;
    if (fit == Fit::kFirst) return offset;
    if (best_size == 0 || range.end - offset < best_size) {
      best = offset;
      best_size = range.end - offset;
    }
  }
  return best;
}

std::vector<std::uint64_t> plain_offsets(const OwnedProblem& problem, PlacementOrder order,
                                         Fit fit) {
  std::vector<std::uint64_t> offsets(problem.blocks.size());
  std::vector<bool> is_placed(problem.blocks.size());
  for (std::uint32_t i = 0; i < problem.blocks.size(); ++i) {
    if (!problem.blocks[i].is_fixed()) continue;
    offsets[i] = problem.blocks[i].fixed_offset_bytes;
    is_placed[i] = true;
  }
  for (const std::uint32_t block : plain_order(problem, order)) {
    offsets[block] =
        plain_offset(problem.blocks[block], free_ranges(problem, is_placed, offsets, block), fit);
    is_placed[block] = true;
  }
  return offsets;
}

void expect_plain_offsets(const ProblemShape& shape, std::uint64_t rounds) {
  for (std::uint64_t seed = 0; seed < rounds; ++seed) {
    SCOPED_TRACE(seed);
    const OwnedProblem problem = test::random_problem(seed, shape);
    for (const PlacementOrder order : kOrders) {
      SCOPED_TRACE(static_cast<int>(order));
      for (const Fit fit : {Fit::kFirst, Fit::kBest}) {
        const ArenaPlanner planner(PlannerOptions().set_order(order).set_fit(fit));
        const Result<MemoryPlan> plan = planner.plan(problem.view());
        ASSERT_TRUE(plan.ok());
        ASSERT_TRUE(verify(problem.view(), *plan).ok());
        const std::vector<std::uint64_t> expected = plain_offsets(problem, order, fit);
        for (std::uint32_t i = 0; i < problem.blocks.size(); ++i) {
          ASSERT_EQ(plan->placement(BlockIndex(i)).offset_bytes, expected[i]) << "block " << i;
        }
      }
    }
  }
}

TEST(Strategies, PlaceAsTheirWordsSay) {
  ProblemShape plain;
  plain.fixed_chance = plain.max_conflicts = plain.max_overlaps = 0;
  expect_plain_offsets(plain, 150);
}

TEST(Strategies, PlaceAroundFixedBlocksConflictsAndOverlaps) {
  ProblemShape everything;
  everything.max_conflicts = everything.max_overlaps = 12;
  everything.fixed_chance = 25;
  expect_plain_offsets(everything, 150);
}

TEST(Strategies, PlaceHundredsOfBlocks) {
  ProblemShape large;
  large.max_blocks = 600;
  large.max_steps = 150;
  large.fixed_range_bytes = 20'000;
  expect_plain_offsets(large, 2);
  large.max_length = 20;
  expect_plain_offsets(large, 2);
}

// Two gaps between fixed blocks, the larger one below: first fit takes it, best fit the other.
//
//   300 +-----+
//       |  f  |
//   240 +-----+
//       | 40  |   best fit
//   200 +-----+
//       |  f  |
//   100 +-----+
//       | 100 |   first fit
//     0 +-----+
TEST(Strategies, BestFitTakesTheSmallestGapThatHoldsTheBlock) {
  const Block blocks[] = {test::fixed_block(100, 0, 0, 100), test::fixed_block(60, 0, 0, 240),
                          test::block(30, 0, 0)};
  PlanningProblem problem;
  problem.blocks = blocks;
  const Result<MemoryPlan> first = ArenaPlanner().plan(problem);
  const Result<MemoryPlan> best = ArenaPlanner(PlannerOptions().set_fit(Fit::kBest)).plan(problem);
  ASSERT_TRUE(first.ok() && best.ok());
  EXPECT_EQ(first->placement(BlockIndex(2)).offset_bytes, 0U);
  EXPECT_EQ(best->placement(BlockIndex(2)).offset_bytes, 200U);  // 40 left there, 100 at 0
}

// The area of 2^63 - 1 bytes over 2^32 - 1 steps does not fit in 64 bits; its order must still
// hold.
TEST(Strategies, AreasBeyond64BitsAreCompared) {
  const std::uint32_t last_step = Step::kNoneValue - 1;
  const Block blocks[] = {test::block(UINT64_C(1) << 40, 0, last_step),
                          test::block(UINT64_C(1) << 41, 0, last_step - 1)};
  PlanningProblem problem;
  problem.blocks = blocks;
  const Result<MemoryPlan> plan =
      ArenaPlanner(PlannerOptions().set_order(PlacementOrder::kArea)).plan(problem);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->placement(BlockIndex(1)).offset_bytes, 0U);
  EXPECT_EQ(plan->placement(BlockIndex(0)).offset_bytes, UINT64_C(1) << 41);
}

}  // namespace
}  // namespace tenure
