// SPDX-License-Identifier: Apache-2.0

// Every single number of a safe plan made wrong: verify says what a look at every pair says.

#include <gtest/gtest.h>

#include <cstdint>

#include "support/plans.h"
#include "support/problems.h"
#include "tenure/planner.h"
#include "tenure/verify.h"

namespace tenure {
namespace {

using test::OwnedProblem;
using test::PlanCopy;

class Corruption {
 public:
  Corruption(const OwnedProblem& owned, const PlanCopy& safe)
      : problem_(owned.view()), safe_(safe) {}

  // Exact agreement, and a pair that is named is one that meets.
  void expect_agreement(const PlanCopy& plan) {
    const Status status = verify(problem_, plan.make());
    ASSERT_EQ(status.ok(), test::is_acceptable(problem_, plan)) << text_of(status.reason());
    if (status.ok()) {
      ++accepted_;
      return;
    }
    ++refused_;
    ASSERT_EQ(status.code(), StatusCode::kUnsafePlan) << text_of(status.reason());
    if (status.reason() != Reason::kBlocksOverlap) return;
    ++overlaps_;
    ASSERT_TRUE(test::meet(problem_, plan, status.block.value, status.other_block.value))
        << status.block.value << ", " << status.other_block.value;
  }

  void move_each_block() {
    for (std::size_t i = 0; i < safe_.placements.size(); ++i) {
      const std::uint64_t offset = safe_.placements[i].offset_bytes;
      const std::uint64_t alignment = problem_.blocks[i].alignment_bytes;
      for (const std::uint64_t moved :
           {offset + 1, offset - 1, offset + alignment, offset - alignment, std::uint64_t{0},
            offset + (1U << 20)}) {
        if (moved > UINT64_MAX / 2) continue;  // below 0
        PlanCopy plan = safe_;
        plan.placements[i].offset_bytes = moved;
        expect_agreement(plan);
      }
      for (const Placement& other : safe_.placements) {
        PlanCopy plan = safe_;
        plan.placements[i] = other;
        expect_agreement(plan);
      }
      for (std::uint32_t region = 0; region <= safe_.regions.size(); ++region) {
        PlanCopy plan = safe_;
        plan.placements[i].region = RegionIndex(region);
        expect_agreement(plan);
      }
      PlanCopy plan = safe_;
      plan.placements[i] = Placement::none();
      expect_agreement(plan);
    }
  }

  void change_each_region() {
    for (std::size_t i = 0; i < safe_.regions.size(); ++i) {
      const std::uint64_t arena = safe_.regions[i].arena_bytes;
      const std::uint64_t bound = safe_.regions[i].lower_bound_bytes;
      for (const std::uint64_t bytes :
           {arena - 1, arena + 1, arena / 2, std::uint64_t{0}, bound, bound - 1, bound + 1}) {
        if (bytes > UINT64_MAX / 2) continue;
        PlanCopy plan = safe_;
        plan.regions[i].arena_bytes = bytes;
        expect_agreement(plan);
        plan.regions[i].lower_bound_bytes = 0;
        expect_agreement(plan);
        plan = safe_;
        plan.regions[i].lower_bound_bytes = bytes;
        expect_agreement(plan);
        plan = safe_;
        plan.layouts[i].size_bytes = bytes;
        expect_agreement(plan);
      }
      for (const std::uint64_t alignment : {0U, 1U, 2U, 3U, 16U, 64U, 4096U}) {
        PlanCopy plan = safe_;
        plan.layouts[i].alignment_bytes = alignment;
        expect_agreement(plan);
      }
    }
  }

  void change_counts() {
    PlanCopy plan = safe_;
    plan.placements.push_back({RegionIndex(0), 0});
    expect_agreement(plan);
    plan = safe_;
    plan.regions.emplace_back();
    plan.layouts.emplace_back();
    expect_agreement(plan);
    if (safe_.placements.empty()) return;
    plan = safe_;
    plan.placements.pop_back();
    expect_agreement(plan);
  }

  std::uint32_t accepted_ = 0;
  std::uint32_t refused_ = 0;
  std::uint32_t overlaps_ = 0;

 private:
  PlanningProblem problem_;
  PlanCopy safe_;
};

void corrupt_all(const test::ProblemShape& shape, std::uint64_t rounds) {
  std::uint32_t accepted = 0;
  std::uint32_t refused = 0;
  std::uint32_t overlaps = 0;
  for (std::uint64_t seed = 0; seed < rounds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const OwnedProblem random = test::random_problem(seed, shape);
    const Result<MemoryPlan> plan = ArenaPlanner().plan(random.view());
    ASSERT_TRUE(plan.ok());
    Corruption corruption(random, PlanCopy(*plan));
    corruption.move_each_block();
    corruption.change_each_region();
    corruption.change_counts();
    accepted += corruption.accepted_;
    refused += corruption.refused_;
    overlaps += corruption.overlaps_;
  }
  // All three kinds of answers, or this would prove little.
  EXPECT_GT(accepted, rounds * 5);
  EXPECT_GT(refused, rounds * 20);
  EXPECT_GT(overlaps, rounds * 2);
}

TEST(VerifyProblem, FindsEveryCorruptionOfPlainPlansThatIsUnsafeAndNoOther) {
  test::ProblemShape shape;
  shape.fixed_chance = shape.max_conflicts = shape.max_overlaps = 0;
  shape.alignment_count = 3;
  corrupt_all(shape, 60);
}

TEST(VerifyProblem, FindsEveryCorruptionAmongFixedBlocksAndPairs) {
  test::ProblemShape shape;
  shape.fixed_chance = 25;
  shape.max_conflicts = shape.max_overlaps = 8;
  shape.alignment_count = 3;
  corrupt_all(shape, 60);
}

TEST(VerifyProblem, FindsEveryCorruptionAmongRegions) {
  test::ProblemShape shape;
  shape.region_count = 3;
  shape.no_reuse_chance = 30;
  shape.alignment_count = 5;
  corrupt_all(shape, 60);
}

}  // namespace
}  // namespace tenure
