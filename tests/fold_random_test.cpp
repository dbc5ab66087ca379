// SPDX-License-Identifier: Apache-2.0

// Folding on seeded random graphs: what is folded is what a search for anything that varies does
// not reach, plans are proven, and runs on real bytes stay the same when what needs to run once is
// left out of the second run.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "support/graphs.h"
#include "support/simulate.h"
#include "support/statuses.h"
#include "tenure/fold.h"
#include "tenure/lifetime.h"
#include "tenure/plan_bytes.h"
#include "tenure/planner.h"
#include "tenure/verify.h"

namespace tenure {
namespace {

test::RandomGraphOptions mostly_constant() {
  test::RandomGraphOptions options;
  options.max_inputs = 1;
  options.max_constants = 6;
  return options;
}

// By rounds, until nothing changes: a tensor varies unless constants alone lead to it.
std::vector<bool> varying(const TensorGraph& graph) {
  std::vector<bool> varies(graph.tensor_count(), true);
  for (std::uint32_t i = 0; i < graph.tensor_count(); ++i) {
    varies[i] = graph.tensor(TensorIndex(i)).kind != TensorKind::kConstant;
  }
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (std::uint32_t i = 0; i < graph.tensor_count(); ++i) {
      const Tensor& tensor = graph.tensor(TensorIndex(i));
      if (!varies[i] || tensor.producer.is_none() || tensor.kind == TensorKind::kExternal ||
          tensor.kind == TensorKind::kScratch || graph.has_state(tensor.producer)) {
        continue;
      }
      const Span<const TensorIndex> operands = graph.inputs(tensor.producer);
      const auto count = std::count_if(operands.begin(), operands.end(),
                                       [](TensorIndex operand) { return !operand.is_none(); });
      if (count == 0 || std::any_of(operands.begin(), operands.end(), [&](TensorIndex operand) {
            return !operand.is_none() && varies[operand.value];
          })) {
        continue;
      }
      varies[i] = false;
      has_changed = true;
    }
  }
  return varies;
}

bool has_required_relation(const TensorGraph& graph, TensorIndex tensor) {
  return std::any_of(graph.relations().begin(), graph.relations().end(), [&](const Relation& one) {
    return is_required(one.kind) && (one.tensor == tensor || one.base == tensor);
  });
}

TEST(FoldConstants, FoldsWhatDoesNotVaryInRandomGraphs) {
  int folded_count = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TensorGraph graph = test::random_graph(seed, mostly_constant());
    const Result<TensorGraph> folded = fold_constants(graph);
    ASSERT_TRUE(folded.ok());
    const std::vector<bool> varies = varying(graph);
    for (std::uint32_t i = 0; i < graph.tensor_count(); ++i) {
      const Tensor& before = graph.tensor(TensorIndex(i));
      const bool is_folded = folded->tensor(TensorIndex(i)).kind != before.kind;
      const bool may_be = !varies[i] && before.kind == TensorKind::kIntermediate;
      if (is_folded) {
        EXPECT_TRUE(may_be) << i;
        EXPECT_EQ(folded->tensor(TensorIndex(i)).kind, TensorKind::kPersistent);
        ++folded_count;
      } else if (may_be) {
        EXPECT_TRUE(has_required_relation(graph, TensorIndex(i))) << i;
      }
    }
  }
  EXPECT_GT(folded_count, 500);
}

TEST(FoldConstants, LeavesRandomGraphsSafeWhenFoldedOperatorsRunOnce) {
  int once_count = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TensorGraph graph = test::random_graph(seed, mostly_constant());
    Array<OperatorIndex> once;
    const Result<TensorGraph> folded = fold_constants(graph, &once);
    ASSERT_TRUE(folded.ok());
    const Result<Lifetimes> lifetimes = LifetimeAnalyzer().analyze(*folded);
    ASSERT_TRUE(lifetimes.ok()) << test::text_of(lifetimes.status());
    const Result<MemoryPlan> plan = ArenaPlanner().plan(*lifetimes);
    ASSERT_TRUE(plan.ok());
    EXPECT_TRUE(verify(lifetimes->problem(), *plan).ok());
    const Status status = verify(*folded, *plan);
    EXPECT_TRUE(status.ok()) << test::text_of(status);
    EXPECT_EQ(test::first_difference(*folded, *plan, once), "");
    once_count += static_cast<int>(once.size());
  }
  EXPECT_GT(once_count, 1000);
}

TEST(FoldConstants, ChangesNothingTheSecondTime) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const TensorGraph graph = test::random_graph(seed, mostly_constant());
    const Result<TensorGraph> folded = fold_constants(graph);
    ASSERT_TRUE(folded.ok());
    const Result<TensorGraph> again = fold_constants(*folded);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(fingerprint(*again), fingerprint(*folded)) << seed;
  }
}

}  // namespace
}  // namespace tenure
