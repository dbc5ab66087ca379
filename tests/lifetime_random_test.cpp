// SPDX-License-Identifier: Apache-2.0

// Laws of lifetimes on random graphs, each recounted here in the simplest way.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "support/graphs.h"
#include "support/statuses.h"
#include "tenure/lifetime.h"
#include "tenure/planner.h"
#include "tenure/verify.h"

namespace tenure {
namespace {

constexpr std::uint64_t kSeeds = 2000;

bool lists(Span<const TensorIndex> list, TensorIndex tensor) {
  return std::find(list.begin(), list.end(), tensor) != list.end();
}

// A tensor's own live range, step by step.
std::vector<bool> steps_of(const TensorGraph& graph, TensorIndex index) {
  const Tensor& tensor = graph.tensor(index);
  const std::uint32_t count = graph.step_count();
  std::vector<bool> is_used(count);
  for (std::uint32_t i = 0; i < graph.operator_count(); ++i) {
    const OperatorIndex op(i);
    is_used[i] = lists(graph.inputs(op), index) || lists(graph.outputs(op), index) ||
                 lists(graph.scratch(op), index);
  }
  const bool is_given = tensor.kind == TensorKind::kInput || tensor.kind == TensorKind::kPersistent;
  if (is_given) is_used[0] = true;
  const bool has_use = std::find(is_used.begin(), is_used.end(), true) != is_used.end();
  const bool is_wanted = tensor.is_output || tensor.keep || tensor.kind == TensorKind::kPersistent;
  if (has_use && is_wanted) is_used[count - 1] = true;
  const auto first = std::find(is_used.begin(), is_used.end(), true);
  const auto last = std::find(is_used.rbegin(), is_used.rend(), true).base();
  if (first < last) std::fill(first, last, true);
  return is_used;
}

void expect_ranges(const TensorGraph& graph, const Lifetimes& lifetimes) {
  for (std::uint32_t i = 0; i < graph.tensor_count(); ++i) {
    const std::vector<bool> expected = steps_of(graph, TensorIndex(i));
    const LiveRange range = lifetimes.live_range(TensorIndex(i));
    for (std::uint32_t step = 0; step < graph.step_count(); ++step) {
      const bool is_live = !range.first_use.is_none() && range.overlaps({Step(step), Step(step)});
      ASSERT_EQ(is_live, expected[step]) << "tensor " << i << " at step " << step;
    }
  }
}

// Sizes and ranges of blocks from nothing but the places and ranges of their tensors.
void expect_blocks(const TensorGraph& graph, const Lifetimes& lifetimes) {
  const Span<const Block> blocks = lifetimes.problem().blocks;
  std::uint32_t last_first_tensor = 0;
  for (std::uint32_t b = 0; b < blocks.size(); ++b) {
    const BlockIndex block(b);
    std::uint64_t size = 0;
    std::uint64_t lowest = UINT64_MAX;
    std::uint32_t first_use = UINT32_MAX;
    std::uint32_t last_use = 0;
    std::uint32_t first_tensor = UINT32_MAX;
    for (std::uint32_t i = graph.tensor_count(); i-- > 0;) {
      const StoragePlace place = lifetimes.place(TensorIndex(i));
      if (place.block != block) continue;
      const LiveRange range = lifetimes.live_range(TensorIndex(i));
      size = std::max(size, place.offset_bytes + graph.tensor(TensorIndex(i)).size_bytes);
      lowest = std::min(lowest, place.offset_bytes);
      first_use = std::min(first_use, range.first_use.value);
      last_use = std::max(last_use, range.last_use.value);
      first_tensor = i;
      const std::uint64_t alignment = graph.tensor(TensorIndex(i)).alignment_bytes;
      if (alignment != 0) {
        ASSERT_EQ(place.offset_bytes % alignment, 0U) << "tensor " << i;
        ASSERT_GE(blocks[b].alignment_bytes, alignment) << "tensor " << i;
      }
    }
    ASSERT_EQ(lowest, 0U) << "block " << b;
    ASSERT_EQ(blocks[b].size_bytes, size) << "block " << b;
    ASSERT_EQ(blocks[b].live_range, (LiveRange{Step(first_use), Step(last_use)})) << "block " << b;
    ASSERT_EQ(lifetimes.first_tensor(block), TensorIndex(first_tensor));
    ASSERT_TRUE(b == 0 || last_first_tensor < first_tensor);
    last_first_tensor = first_tensor;
  }
}

void expect_sums(const TensorGraph& graph, const Lifetimes& lifetimes) {
  const PlanningProblem problem = lifetimes.problem();
  std::uint64_t unit = UINT64_MAX;
  for (const Block& block : problem.blocks) {
    const bool counts = block.region == kReusableRegion && block.size_bytes != 0;
    if (counts) unit = std::min(unit, block.alignment_bytes);
  }
  std::uint64_t largest = 0;
  Step peak;
  for (std::uint32_t step = 0; step < graph.step_count(); ++step) {
    std::uint64_t sum = 0;
    for (const Block& block : problem.blocks) {
      const bool counts = block.region == kReusableRegion && block.size_bytes != 0 &&
                          block.live_range.overlaps({Step(step), Step(step)});
      if (counts) sum += (block.size_bytes + unit - 1) / unit * unit;
    }
    ASSERT_EQ(lifetimes.live_bytes()[step], sum) << "step " << step;
    if (sum > largest) {
      largest = sum;
      peak = Step(step);
    }
  }
  ASSERT_EQ(lifetimes.lower_bound_bytes(), largest);
  ASSERT_EQ(lifetimes.peak_step(), peak);
  ASSERT_EQ(lifetimes.peak_operator(),
            peak.is_none() ? OperatorIndex::none() : graph.operator_at(peak));
  const Result<RegionBound> bound = lower_bound(problem, kReusableRegion);
  ASSERT_TRUE(bound.ok());
  ASSERT_EQ(bound->lower_bound_bytes, largest);
  ASSERT_EQ(bound->peak_step, peak);
}

void expect_relations(const TensorGraph& graph, const Lifetimes& lifetimes) {
  std::size_t refused = 0;
  for (const Relation& relation : graph.relations()) {
    const StoragePlace tensor = lifetimes.place(relation.tensor);
    const StoragePlace base = lifetimes.place(relation.base);
    if (is_required(relation.kind)) {
      ASSERT_EQ(tensor.block, base.block);
      if (tensor.block.is_none()) continue;
      ASSERT_EQ(tensor.offset_bytes, base.offset_bytes + relation.offset_bytes);
      continue;
    }
    // Refused ones are listed in the order of the graph.
    const bool is_refused = refused < lifetimes.refused().size() &&
                            lifetimes.refused()[refused].relation.tensor == relation.tensor &&
                            lifetimes.refused()[refused].relation.base == relation.base;
    if (is_refused) {
      const bool is_same_size =
          graph.tensor(relation.tensor).size_bytes == graph.tensor(relation.base).size_bytes;
      ASSERT_EQ(lifetimes.refused()[refused].refusal == Refusal::kSizesDiffer, !is_same_size);
      ++refused;
      continue;
    }
    ASSERT_EQ(tensor.block, base.block);
    ASSERT_EQ(tensor.offset_bytes, base.offset_bytes);
  }
  ASSERT_EQ(refused, lifetimes.refused().size());
}

TEST(LifetimeAnalyzer, AgreesWithARecountOfRandomGraphs) {
  std::size_t taken = 0;
  std::size_t refused = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TensorGraph graph = test::random_graph(seed);
    const Result<Lifetimes> lifetimes = LifetimeAnalyzer().analyze(graph);
    ASSERT_TRUE(lifetimes.ok()) << test::text_of(lifetimes.status());
    ASSERT_NO_FATAL_FAILURE(expect_ranges(graph, *lifetimes));
    ASSERT_NO_FATAL_FAILURE(expect_blocks(graph, *lifetimes));
    ASSERT_NO_FATAL_FAILURE(expect_sums(graph, *lifetimes));
    ASSERT_NO_FATAL_FAILURE(expect_relations(graph, *lifetimes));
    for (const Relation& relation : graph.relations())
      taken += is_required(relation.kind) ? 0U : 1U;
    refused += lifetimes->refused().size();
  }
  taken -= refused;
  EXPECT_GT(taken, kSeeds / 4);
  EXPECT_GT(refused, kSeeds / 4);
}

TEST(LifetimeAnalyzer, LeadsToPlansThatAreProvenTwice) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TensorGraph graph = test::random_graph(seed);
    const Result<Lifetimes> lifetimes = LifetimeAnalyzer().analyze(graph);
    ASSERT_TRUE(lifetimes.ok());
    for (const bool reuse : {true, false}) {
      const ArenaPlanner planner(PlannerOptions().set_reuse(reuse));
      const Result<MemoryPlan> plan = planner.plan(graph);
      ASSERT_TRUE(plan.ok()) << test::text_of(plan.status());
      const Status of_problem = verify(lifetimes->problem(), *plan);
      EXPECT_TRUE(of_problem.ok()) << test::text_of(of_problem);
      const Status of_graph = verify(graph, *plan);
      EXPECT_TRUE(of_graph.ok()) << test::text_of(of_graph);
      EXPECT_EQ(plan->lower_bound_bytes(), lifetimes->lower_bound_bytes());
    }
  }
}

// With one alignment for all, since the unit of the bound would change with the classes.
TEST(LifetimeAnalyzer, NeverRaisesTheBoundBySharing) {
  std::size_t lowered = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::RandomGraphOptions options;
    options.explicit_alignments = false;
    const TensorGraph sharing = test::random_graph(seed, options);
    options.permitted_relations = false;
    const TensorGraph apart = test::random_graph(seed, options);
    ASSERT_EQ(sharing.tensor_count(), apart.tensor_count());
    for (const std::uint64_t alignment : {UINT64_C(1), UINT64_C(64)}) {
      const LifetimeAnalyzer analyzer(alignment);
      const Result<Lifetimes> with = analyzer.analyze(sharing);
      const Result<Lifetimes> without = analyzer.analyze(apart);
      ASSERT_TRUE(with.ok() && without.ok());
      for (const RegionIndex region : {kReusableRegion, kPersistentRegion}) {
        const Result<RegionBound> bound = lower_bound(with->problem(), region);
        const Result<RegionBound> bound_apart = lower_bound(without->problem(), region);
        ASSERT_TRUE(bound.ok() && bound_apart.ok());
        EXPECT_LE(bound->lower_bound_bytes, bound_apart->lower_bound_bytes);
        if (bound->lower_bound_bytes < bound_apart->lower_bound_bytes) ++lowered;
      }
    }
  }
  EXPECT_GT(lowered, kSeeds / 20);
}

}  // namespace
}  // namespace tenure
