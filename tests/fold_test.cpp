// SPDX-License-Identifier: Apache-2.0

#include "tenure/fold.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/simulate.h"
#include "support/statuses.h"
#include "support/upstreams.h"
#include "tenure/graph_builder.h"
#include "tenure/lifetime.h"
#include "tenure/plan_bytes.h"
#include "tenure/planner.h"
#include "tenure/verify.h"

namespace tenure {
namespace {

// A graph before and after, with what both plans need at alignment 1.
class Folded {
 public:
  explicit Folded(TensorGraphBuilder& builder) : before_(test::build(builder)) {
    Result<TensorGraph> graph = fold_constants(before_, &once_);
    EXPECT_TRUE(graph.ok()) << test::text_of(graph.status(), before_.names());
    if (graph.ok()) graph_ = static_cast<TensorGraph&&>(graph.value());
    expect_safe();
  }

  [[nodiscard]] const TensorGraph& graph() const { return graph_; }
  [[nodiscard]] TensorKind kind(TensorIndex tensor) const { return graph_.tensor(tensor).kind; }
  [[nodiscard]] bool is_persistent(TensorIndex tensor) const {
    return kind(tensor) == TensorKind::kPersistent;
  }
  [[nodiscard]] bool changes_nothing() const {
    return fingerprint(graph_) == fingerprint(before_) && once_.empty();
  }
  [[nodiscard]] std::vector<std::uint32_t> once() const {
    std::vector<std::uint32_t> operators;
    for (const OperatorIndex op : once_) operators.push_back(op.value);
    return operators;
  }
  [[nodiscard]] static MemoryPlan plan(const TensorGraph& graph) {
    Result<MemoryPlan> plan =
        ArenaPlanner(PlannerOptions().set_default_alignment_bytes(1)).plan(graph);
    EXPECT_TRUE(plan.ok()) << test::text_of(plan.status(), graph.names());
    return plan.ok() ? static_cast<MemoryPlan&&>(plan.value()) : MemoryPlan();
  }
  void expect_bytes(RegionIndex region, std::uint64_t before, std::uint64_t after) const {
    EXPECT_EQ(plan(before_).region(region).arena_bytes, before);
    EXPECT_EQ(plan(graph_).region(region).arena_bytes, after);
  }

 private:
  // Proven, and computing the same when the operators to run once are left out later.
  void expect_safe() const {
    const MemoryPlan folded = plan(graph_);
    const Status status = verify(graph_, folded);
    EXPECT_TRUE(status.ok()) << test::text_of(status, graph_.names());
    EXPECT_EQ(test::first_difference(graph_, folded, once_), "");
  }

  TensorGraph before_;
  TensorGraph graph_;
  Array<OperatorIndex> once_;
};

// weights 8 -> first 16 -> second 32, and image 64, second -> scores 8
struct Chain {
  TensorGraphBuilder builder;
  TensorIndex weights = builder.add_constant("weights", 8);
  TensorIndex first = builder.add_tensor("first", 16);
  TensorIndex second = builder.add_tensor("second", 32);
  TensorIndex image = builder.add_input("image", 64);
  TensorIndex scores = builder.add_tensor("scores", 8);

  void add_operators() {
    builder.add_operator("dequantize").input(weights).output(first);
    builder.add_operator("transpose").input(first).output(second);
    builder.add_operator("dense").input(image).input(second).output(scores);
    builder.mark_output(scores);
  }
};

TEST(FoldConstants, MakesAChainOfResultsPersistent) {
  Chain chain;
  chain.add_operators();
  const Folded folded(chain.builder);
  EXPECT_TRUE(folded.is_persistent(chain.first));
  EXPECT_TRUE(folded.is_persistent(chain.second));
  EXPECT_EQ(folded.kind(chain.scores), TensorKind::kOutput);
  EXPECT_EQ(folded.once(), (std::vector<std::uint32_t>{0, 1}));
  // Step 0 and 1: image 64 + first 16 + second 32 = 112; then image 64 + scores 8 = 72.
  folded.expect_bytes(kReusableRegion, 112, 72);
  folded.expect_bytes(kPersistentRegion, 0, 48);  // first 16 + second 32
}

TEST(FoldConstants, KeepsNamesOperatorsAndSteps) {
  Chain chain;
  chain.add_operators();
  const Folded folded(chain.builder);
  const TensorGraph& graph = folded.graph();
  ASSERT_EQ(graph.operator_count(), 3U);
  EXPECT_STREQ(graph.operator_name(OperatorIndex(1)), "transpose");
  EXPECT_STREQ(graph.tensor_name(chain.second), "second");
  EXPECT_EQ(graph.inputs(OperatorIndex(1))[0], chain.first);
  EXPECT_TRUE(graph.tensor(chain.first).producer.is_none());  // as of all persistent tensors
  EXPECT_EQ(graph.tensor(chain.scores).producer, OperatorIndex(2));
}

TEST(FoldConstants, LeavesResultsOfOneComputedOperand) {
  TensorGraphBuilder builder;
  const TensorIndex image = builder.add_input("image", 64);
  const TensorIndex weights = builder.add_constant("weights", 8);
  const TensorIndex features = builder.add_tensor("features", 64);
  const TensorIndex scores = builder.add_tensor("scores", 8);
  builder.add_operator("conv").input(weights).input(image).output(features);
  builder.add_operator("dense").input(features).input(weights).output(scores);
  EXPECT_TRUE(Folded(builder).changes_nothing());
}

TEST(FoldConstants, LeavesWhatIsComputedFromStateOrBuffers) {
  for (const TensorKind kind :
       {TensorKind::kPersistent, TensorKind::kExternal, TensorKind::kInput}) {
    TensorGraphBuilder builder;
    const TensorIndex given = builder.add_tensor("given", 8, kind);
    const TensorIndex result = builder.add_tensor("result", 16);
    builder.add_operator("op").input(given).output(result);
    EXPECT_TRUE(Folded(builder).changes_nothing()) << static_cast<int>(kind);
  }
}

TEST(FoldConstants, PassesOverAbsentOperandsButAsksForOne) {
  TensorGraphBuilder builder;
  const TensorIndex weights = builder.add_constant("weights", 8);
  const TensorIndex table = builder.add_tensor("table", 16);
  const TensorIndex from_nothing = builder.add_tensor("from_nothing", 16);
  const TensorIndex from_absent = builder.add_tensor("from_absent", 16);
  builder.add_operator("pack").input(TensorIndex::none()).input(weights).output(table);
  builder.add_operator("read_sensor").output(from_nothing);
  builder.add_operator("read_sensor").input(TensorIndex::none()).output(from_absent);
  const Folded folded(builder);
  EXPECT_TRUE(folded.is_persistent(table));
  EXPECT_EQ(folded.kind(from_nothing), TensorKind::kIntermediate);
  EXPECT_EQ(folded.kind(from_absent), TensorKind::kIntermediate);
  EXPECT_EQ(folded.once(), std::vector<std::uint32_t>{0});
}

TEST(FoldConstants, NeverFoldsOperatorsWithStateNorWhatFollows) {
  TensorGraphBuilder builder;
  const TensorIndex shape = builder.add_constant("shape", 8);
  const TensorIndex noise = builder.add_tensor("noise", 16);
  const TensorIndex scaled = builder.add_tensor("scaled", 16);
  builder.add_operator("random").input(shape).output(noise).stateful();
  builder.add_operator("mul").input(noise).input(shape).output(scaled);
  const Folded folded(builder);
  EXPECT_TRUE(folded.changes_nothing());
  EXPECT_TRUE(folded.graph().has_state(OperatorIndex(0)));
  EXPECT_FALSE(folded.graph().has_state(OperatorIndex(1)));
}

// weights -> scores, an output, and spare; scores -> table
TEST(FoldConstants, LeavesOutputsAndFoldsWhatIsBesideAndBehindThem) {
  TensorGraphBuilder builder;
  const TensorIndex weights = builder.add_constant("weights", 8);
  const TensorIndex scores = builder.add_tensor("scores", 16);
  const TensorIndex spare = builder.add_tensor("spare", 32);
  const TensorIndex table = builder.add_tensor("table", 64);
  builder.add_operator("split").input(weights).output(scores).output(spare);
  builder.add_operator("pad").input(scores).output(table);
  builder.mark_output(scores);
  const Folded folded(builder);
  EXPECT_EQ(folded.kind(scores), TensorKind::kOutput);
  EXPECT_TRUE(folded.is_persistent(spare));
  EXPECT_TRUE(folded.is_persistent(table));
  EXPECT_EQ(folded.once(), std::vector<std::uint32_t>{1});  // the output is made in every run
}

TEST(FoldConstants, LeavesStateAndBuffersThatConstantsAreWrittenTo) {
  TensorGraphBuilder builder;
  const TensorIndex zeros = builder.add_constant("zeros", 8);
  const TensorIndex state = builder.add_persistent("state", 8);
  const TensorIndex buffer = builder.add_external("buffer", 8);
  const TensorIndex from_state = builder.add_tensor("from_state", 16);
  const TensorIndex from_buffer = builder.add_tensor("from_buffer", 16);
  builder.add_operator("reset").input(zeros).output(state).output(buffer);
  builder.add_operator("read").input(state).output(from_state);
  builder.add_operator("read").input(buffer).output(from_buffer);
  EXPECT_TRUE(Folded(builder).changes_nothing());
}

TEST(FoldConstants, GivesNamesOfConstantsNoBytesAndFoldsWhatReadsThem) {
  TensorGraphBuilder builder;
  const TensorIndex weights = builder.add_constant("weights", 64);
  const TensorIndex flat = builder.add_tensor("flat", 64);
  const TensorIndex half = builder.add_tensor("half", 32);
  const TensorIndex table = builder.add_tensor("table", 16);
  builder.add_operator("reshape").input(weights).output(flat, alias_of(weights));
  builder.add_operator("slice").input(flat).output(half, view_of(flat, 32));
  builder.add_operator("pool").input(half).output(table);
  const Folded folded(builder);
  EXPECT_EQ(folded.kind(flat), TensorKind::kIntermediate);
  EXPECT_EQ(folded.kind(half), TensorKind::kIntermediate);
  EXPECT_TRUE(folded.is_persistent(table));
  EXPECT_EQ(folded.once(), (std::vector<std::uint32_t>{0, 1, 2}));
  folded.expect_bytes(kPersistentRegion, 0, 16);
}

TEST(FoldConstants, KeepsPartsInTheirFoldedWhole) {
  TensorGraphBuilder builder;
  const TensorIndex weights = builder.add_constant("weights", 8);
  const TensorIndex left = builder.add_tensor("left", 32);
  const TensorIndex right = builder.add_tensor("right", 32);
  const TensorIndex whole = builder.add_tensor("whole", 64);
  const TensorIndex flat = builder.add_tensor("flat", 64);
  builder.add_operator("dequantize").input(weights).output(left);
  builder.add_operator("dequantize").input(weights).output(right);
  builder.add_operator("concat")
      .input(left, view_of(whole, 0))
      .input(right, view_of(whole, 32))
      .output(whole);
  builder.add_operator("reshape").input(whole).output(flat, alias_of(whole));
  const Folded folded(builder);
  EXPECT_TRUE(folded.is_persistent(whole));
  EXPECT_EQ(folded.kind(left), TensorKind::kIntermediate);
  EXPECT_EQ(folded.kind(flat), TensorKind::kIntermediate);
  EXPECT_EQ(folded.once(), (std::vector<std::uint32_t>{0, 1, 2, 3}));
  const MemoryPlan plan = Folded::plan(folded.graph());
  EXPECT_EQ(plan.tensor_placement(right).region, kPersistentRegion);
  EXPECT_EQ(plan.tensor_placement(right).offset_bytes, 32U);
  folded.expect_bytes(kPersistentRegion, 0, 64);
  folded.expect_bytes(kReusableRegion, 64, 0);
}

TEST(FoldConstants, LeavesAPartOfAComputedWhole) {
  TensorGraphBuilder builder;
  const TensorIndex weights = builder.add_constant("weights", 8);
  const TensorIndex image = builder.add_input("image", 8);
  const TensorIndex left = builder.add_tensor("left", 32);
  const TensorIndex right = builder.add_tensor("right", 32);
  const TensorIndex whole = builder.add_tensor("whole", 64);
  builder.add_operator("dequantize").input(weights).output(left);
  builder.add_operator("conv").input(image).output(right);
  builder.add_operator("concat")
      .input(left, view_of(whole, 0))
      .input(right, view_of(whole, 32))
      .output(whole);
  EXPECT_TRUE(Folded(builder).changes_nothing());
}

TEST(FoldConstants, LeavesAPartOfAnOutput) {
  TensorGraphBuilder builder;
  const TensorIndex weights = builder.add_constant("weights", 8);
  const TensorIndex left = builder.add_tensor("left", 32);
  const TensorIndex whole = builder.add_tensor("whole", 32);
  builder.add_operator("dequantize").input(weights).output(left);
  builder.add_operator("concat").input(left, alias_of(whole)).output(whole);
  builder.mark_output(whole);
  EXPECT_TRUE(Folded(builder).changes_nothing());
}

// beside and later take turns in the bytes beside the part that both wholes have:
//
//   bytes |   bbbb lll        b beside, in first     step 3: image, first -> sum
//         | pppppppppp        l later, in second     a second run would find l where step 3 reads b
//         +-----------> steps
TEST(FoldConstants, LeavesPartsOfTwoWholesThatTakeTurns) {
  TensorGraphBuilder builder;
  const TensorIndex weights = builder.add_constant("weights", 8);
  const TensorIndex image = builder.add_input("image", 8);
  const TensorIndex part = builder.add_tensor("part", 32);
  const TensorIndex beside = builder.add_tensor("beside", 32);
  const TensorIndex later = builder.add_tensor("later", 32);
  const TensorIndex first = builder.add_tensor("first", 64);
  const TensorIndex second = builder.add_tensor("second", 64);
  const TensorIndex sum = builder.add_tensor("sum", 8);
  builder.add_operator("a").input(weights).output(part);
  builder.add_operator("b").input(weights).output(beside);
  builder.add_operator("concat")
      .input(part, view_of(first, 0))
      .input(beside, view_of(first, 32))
      .output(first);
  builder.add_operator("add").input(image).input(first).output(sum);
  builder.add_operator("c").input(weights).output(later);
  builder.add_operator("concat")
      .input(part, view_of(second, 0))
      .input(later, view_of(second, 32))
      .output(second);
  builder.mark_output(sum);
  EXPECT_TRUE(Folded(builder).changes_nothing());
}

TEST(FoldConstants, KeepsResultsFromBeingWrittenOverWhatIsFolded) {
  TensorGraphBuilder builder;
  const TensorIndex weights = builder.add_constant("weights", 8);
  const TensorIndex image = builder.add_input("image", 64);
  const TensorIndex table = builder.add_tensor("table", 64);
  const TensorIndex active = builder.add_tensor("active", 64);
  const TensorIndex sum = builder.add_tensor("sum", 64);
  builder.add_operator("dequantize").input(weights).output(table);
  builder.add_operator("relu").input(table).output(active, in_place_of(table));
  builder.add_operator("add").input(active).input(image).output(sum, in_place_of(active));
  const Folded folded(builder);
  EXPECT_TRUE(folded.is_persistent(active));
  const Result<Lifetimes> lifetimes = LifetimeAnalyzer().analyze(folded.graph());
  ASSERT_TRUE(lifetimes.ok());
  ASSERT_EQ(lifetimes->refused().size(), 2U);
  EXPECT_EQ(lifetimes->refused()[0].refusal, Refusal::kPersistent);
  EXPECT_EQ(lifetimes->refused()[1].refusal, Refusal::kPersistent);
}

// An update of a tensor without state counts as in place, until the tensor is state.
TEST(FoldConstants, KeepsUpdatesFromBeingWrittenOverWhatIsFolded) {
  TensorGraphBuilder builder;
  const TensorIndex weights = builder.add_constant("weights", 8);
  const TensorIndex state = builder.add_persistent("state", 64);
  const TensorIndex image = builder.add_input("image", 64);
  const TensorIndex table = builder.add_tensor("table", 64);
  const TensorIndex next = builder.add_tensor("next", 64);
  const TensorIndex next_state = builder.add_tensor("next_state", 64);
  builder.add_operator("dequantize").input(weights).output(table);
  builder.add_operator("step").input(table).input(image).output(next, update_of(table));
  builder.add_operator("step").input(state).output(next_state, update_of(state));
  const Folded folded(builder);
  EXPECT_EQ(folded.graph().relations()[0].kind, RelationKind::kInPlace);
  EXPECT_EQ(folded.graph().relations()[1].kind, RelationKind::kUpdate);
  EXPECT_EQ(Folded::plan(folded.graph()).tensor_placement(next).region, kReusableRegion);
  EXPECT_EQ(Folded::plan(folded.graph()).tensor_placement(next_state).region, kPersistentRegion);
}

TEST(FoldConstants, FoldsUnreadAndKeptResults) {
  TensorGraphBuilder builder;
  const TensorIndex weights = builder.add_constant("weights", 8);
  const TensorIndex kept = builder.add_tensor("kept", 16);
  const TensorIndex unread = builder.add_tensor("unread", 32);
  builder.add_operator("unpack").input(weights).output(kept).output(unread);
  builder.mark_keep(kept);
  const Folded folded(builder);
  EXPECT_TRUE(folded.is_persistent(kept));
  EXPECT_TRUE(folded.graph().tensor(kept).keep);
  EXPECT_TRUE(folded.is_persistent(unread));
  folded.expect_bytes(kPersistentRegion, 0, 48);
}

TEST(FoldConstants, KeepsScratchAtItsStep) {
  TensorGraphBuilder builder;
  const TensorIndex weights = builder.add_constant("weights", 8);
  const TensorIndex table = builder.add_tensor("table", 16);
  builder.add_operator("dequantize").input(weights).output(table).scratch("lanes", 32);
  const Folded folded(builder);
  EXPECT_EQ(folded.once(), std::vector<std::uint32_t>{0});
  folded.expect_bytes(kReusableRegion, 48, 32);
}

TEST(FoldConstants, TakesAGraphWithoutOperators) {
  TensorGraphBuilder builder;
  builder.add_constant("weights", 8);
  builder.add_tensor("unused", 16);
  EXPECT_TRUE(Folded(builder).changes_nothing());
}

TEST(FoldConstants, GivesAStatusForEveryRefusalAndLeavesTheListOfOperators) {
  Chain chain;
  chain.add_operators();
  const TensorGraph graph = test::build(chain.builder);
  test::TestUpstream upstream;
  for (std::uint64_t call = 0;; ++call) {
    SCOPED_TRACE(call);
    ASSERT_LT(call, 100U);
    Array<OperatorIndex> once;
    ASSERT_TRUE(once.push_back(OperatorIndex(7)));
    upstream.start_counting();
    upstream.refuse_call(call);
    {
      const Result<TensorGraph> folded = fold_constants(graph, &once, upstream.get());
      if (upstream.refusals() == 0) {
        EXPECT_TRUE(folded.ok());
        EXPECT_EQ(once.size(), 2U);
        EXPECT_GE(call, 10U);  // 4 lists, 5 of the copy, the operators to run once
        break;
      }
      EXPECT_EQ(folded.status().reason(), Reason::kUpstreamRefused);
      ASSERT_EQ(once.size(), 1U);
      EXPECT_EQ(once[0], OperatorIndex(7));
    }
    EXPECT_EQ(upstream.live_blocks(), 0U);
  }
}

}  // namespace
}  // namespace tenure
