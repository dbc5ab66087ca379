// SPDX-License-Identifier: Apache-2.0

// The live ranges of real networks: their arenas are explained, and a limit below the lower bound
// names blocks that are live together.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include "support/data_dir.h"
#include "tenure/explain.h"
#include "tenure/io/csv.h"
#include "tenure/planner.h"

namespace tenure {
namespace {

namespace fs = std::filesystem;

struct Counts {
  std::uint32_t files = 0;
  std::uint32_t above = 0;
  std::uint32_t fitting = 0;
};

void expect_chain_sums_up(const PlanningProblem& problem, const MemoryPlan& plan) {
  const Result<ArenaExplanation> why = explain_arena(problem, plan);
  ASSERT_TRUE(why.ok()) << text_of(why.status().reason());
  std::uint64_t sum = why->top_gap_bytes;
  for (const ChainLink& link : why->chain) {
    sum += link.size_bytes + link.gap_bytes;
    ASSERT_NE(link.gap_reason, GapReason::kLeftOpen);
  }
  ASSERT_EQ(sum, plan.arena_bytes());
  ASSERT_EQ(why->peaks.empty(), plan.arena_bytes() == 0);
}

void expect_blame_below_the_bound(const PlanningProblem& problem, std::uint64_t bound_bytes) {
  const Result<LimitExplanation> who = explain_limit(problem, bound_bytes - 1);
  ASSERT_TRUE(who.ok()) << text_of(who.status().reason());
  ASSERT_EQ(who->fitting, Fitting::kDoesNotFit);
  ASSERT_TRUE(who->is_irreducible);
  ASSERT_FALSE(who->step.is_none());
  std::uint64_t sum = 0;
  for (const BlockIndex index : who->blocks) {
    const Block& block = problem.blocks[index.value];
    ASSERT_TRUE(block.live_range.overlaps({who->step, who->step}));
    sum += (block.size_bytes + block.alignment_bytes - 1) / block.alignment_bytes *
           block.alignment_bytes;
  }
  ASSERT_GE(sum, bound_bytes);
}

void explain_file(const fs::path& path, Counts* counts) {
  SCOPED_TRACE(path);
  const io::Result<io::CsvProblem> csv = io::read_csv(path.string());
  ASSERT_TRUE(csv.ok()) << csv.error().message;
  const PlanningProblem problem = csv->problem();
  const Result<MemoryPlan> plan = ArenaPlanner().plan(problem);
  ASSERT_TRUE(plan.ok());
  ++counts->files;
  expect_chain_sums_up(problem, *plan);
  const std::uint64_t bound = plan->lower_bound_bytes();
  if (bound == 0) return;
  expect_blame_below_the_bound(problem, bound);
  if (plan->arena_bytes() == bound) return;
  ++counts->above;
  const Result<LimitExplanation> at_the_bound =
      explain_limit(problem, bound, LimitOptions().set_search_steps(20'000));
  ASSERT_TRUE(at_the_bound.ok());
  ASSERT_NE(at_the_bound->fitting, Fitting::kDoesNotFit);  // searches have met all these bounds
  if (at_the_bound->fitting == Fitting::kFits) ++counts->fitting;
}

TEST(ExplainRealNetworks, TheirChainsSumUpAndTheirBoundsAreBlamed) {
  TENURE_SKIP_WITHOUT_DATA();
  for (const char* set : {"models", "large"}) {
    Counts counts;
    for (const auto& entry : fs::directory_iterator(test::data_dir() + "/lifetimes/" + set)) {
      if (entry.path().extension() == ".csv") explain_file(entry.path(), &counts);
    }
    std::printf("%s: %u files, %u above the bound, of which %u fit into it\n", set, counts.files,
                counts.above, counts.fitting);
    EXPECT_GT(counts.files, 0U);
  }
}

}  // namespace
}  // namespace tenure
