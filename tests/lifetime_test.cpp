// SPDX-License-Identifier: Apache-2.0

#include "tenure/lifetime.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/statuses.h"
#include "support/upstreams.h"
#include "tenure/graph_builder.h"

namespace tenure {
namespace {

Lifetimes analyze(TensorGraphBuilder& builder, std::uint64_t alignment_bytes = 64) {
  const TensorGraph graph = test::build(builder);
  Result<Lifetimes> lifetimes = LifetimeAnalyzer(alignment_bytes).analyze(graph);
  EXPECT_TRUE(lifetimes.ok()) << test::text_of(lifetimes.status(), graph.names());
  return lifetimes.ok() ? static_cast<Lifetimes&&>(lifetimes.value()) : Lifetimes();
}

LiveRange range(std::uint32_t first_use, std::uint32_t last_use) {
  return {Step(first_use), Step(last_use)};
}

const Block& block_of(const Lifetimes& lifetimes, TensorIndex tensor) {
  return lifetimes.problem().blocks[lifetimes.place(tensor).block.value];
}

std::vector<std::uint64_t> live_bytes(const Lifetimes& lifetimes) {
  return {lifetimes.live_bytes().begin(), lifetimes.live_bytes().end()};
}

using Sums = std::vector<std::uint64_t>;

TEST(LifetimeAnalyzer, KeepsNothingForTheEmptyGraph) {
  TensorGraphBuilder builder;
  const Lifetimes lifetimes = analyze(builder);
  EXPECT_TRUE(lifetimes.problem().blocks.empty());
  EXPECT_EQ(live_bytes(lifetimes), (Sums{0}));
  EXPECT_EQ(lifetimes.lower_bound_bytes(), 0U);
  EXPECT_TRUE(lifetimes.peak_step().is_none());
  EXPECT_TRUE(lifetimes.peak_operator().is_none());
}

TEST(LifetimeAnalyzer, HoldsInputsAndStateOfAGraphWithoutOperators) {
  TensorGraphBuilder builder;
  const TensorIndex input = builder.add_input("input", 10);
  const TensorIndex state = builder.add_persistent("state", 20);
  const TensorIndex unused = builder.add_tensor("unused", 30);
  const Lifetimes lifetimes = analyze(builder);
  EXPECT_EQ(lifetimes.live_range(input), range(0, 0));
  EXPECT_EQ(lifetimes.live_range(state), range(0, 0));
  EXPECT_TRUE(lifetimes.live_range(unused).first_use.is_none());
  EXPECT_TRUE(lifetimes.place(unused).block.is_none());
  EXPECT_EQ(live_bytes(lifetimes), (Sums{64}));  // 10 rounded up; state has a region of its own
  EXPECT_EQ(lifetimes.peak_step(), Step(0));
  EXPECT_TRUE(lifetimes.peak_operator().is_none());
}

TEST(LifetimeAnalyzer, GivesEachKindOfTensorItsRange) {
  TensorGraphBuilder builder;
  const TensorIndex input = builder.add_input("input", 1);
  const TensorIndex late_input = builder.add_input("late_input", 1);
  const TensorIndex unused_input = builder.add_input("unused_input", 1);
  const TensorIndex constant = builder.add_constant("constant", 1);
  const TensorIndex external = builder.add_external("external", 1);
  const TensorIndex state = builder.add_persistent("state", 1);
  const TensorIndex middle = builder.add_tensor("middle", 1);
  const TensorIndex output = builder.add_tensor("output", 1);
  builder.add_operator("n0");
  builder.add_operator("n1").input(input).input(constant).output(middle);
  builder.add_operator("n2").input(middle).input(external).output(output).scratch("scratch", 1);
  builder.add_operator("n3").input(late_input).input(middle).input(state);
  builder.add_operator("n4");
  builder.mark_output(output);
  const TensorIndex scratch(8);
  const Lifetimes lifetimes = analyze(builder);
  EXPECT_EQ(lifetimes.live_range(input), range(0, 1));
  EXPECT_EQ(lifetimes.live_range(late_input), range(0, 3));
  EXPECT_EQ(lifetimes.live_range(unused_input), range(0, 0));
  EXPECT_EQ(lifetimes.live_range(constant), range(1, 1));
  EXPECT_EQ(lifetimes.live_range(external), range(2, 2));
  EXPECT_EQ(lifetimes.live_range(state), range(0, 4));
  EXPECT_EQ(lifetimes.live_range(middle), range(1, 3));
  EXPECT_EQ(lifetimes.live_range(output), range(2, 4));
  EXPECT_EQ(lifetimes.live_range(scratch), range(2, 2));
  EXPECT_TRUE(lifetimes.place(constant).block.is_none());
  EXPECT_TRUE(lifetimes.place(external).block.is_none());
  EXPECT_EQ(block_of(lifetimes, state).region, kPersistentRegion);
  EXPECT_EQ(block_of(lifetimes, state).live_range, range(0, 4));
  EXPECT_EQ(block_of(lifetimes, middle).region, kReusableRegion);
}

// TensorFlow 35121.
TEST(LifetimeAnalyzer, KeepsAnOutputThatManyOperatorsRead) {
  TensorGraphBuilder builder;
  const TensorIndex tensor = builder.add_tensor("T", 64);
  builder.mark_output(tensor);
  builder.add_operator("n0").output(tensor);
  builder.add_operator("n1").input(tensor);
  builder.add_operator("n2");
  builder.add_operator("n3").input(tensor);
  builder.add_operator("n4");
  builder.add_operator("n5").input(tensor);
  builder.add_operator("n6");
  EXPECT_EQ(analyze(builder).live_range(tensor), range(0, 6));
}

// ONNX Runtime 21019, IREE 19355.
TEST(LifetimeAnalyzer, KeepsAResultThatNobodyReadsForItsOwnStep) {
  TensorGraphBuilder builder;
  const TensorIndex a = builder.add_tensor("A", 50);
  const TensorIndex p = builder.add_tensor("P", 100);
  const TensorIndex q = builder.add_tensor("Q", 200);
  builder.add_operator("n0").output(a);
  builder.add_operator("n1").input(a).output(p).output(q).scratch("S", 30);
  builder.add_operator("n2").input(p);
  const Lifetimes lifetimes = analyze(builder, 1);
  EXPECT_EQ(lifetimes.live_range(q), range(1, 1));
  // n1: 50 + 100 + 200 + 30; n2: P alone.
  EXPECT_EQ(live_bytes(lifetimes), (Sums{50, 380, 100}));
  EXPECT_EQ(lifetimes.peak_step(), Step(1));
  EXPECT_EQ(lifetimes.peak_operator(), OperatorIndex(1));
}

// tflite-micro 913.
TEST(LifetimeAnalyzer, KeepsScratchBesideOperandsThatEndAndResultsThatBegin) {
  TensorGraphBuilder builder;
  const TensorIndex input = builder.add_input("input", 10);
  const TensorIndex output = builder.add_tensor("output", 20);
  builder.add_operator("n0").input(input).output(output).scratch("scratch", 40);
  const Lifetimes lifetimes = analyze(builder, 1);
  EXPECT_EQ(lifetimes.problem().blocks.size(), 3U);
  EXPECT_EQ(live_bytes(lifetimes), (Sums{70}));  // 10 + 20 + 40
}

// tflite-micro 2764, ggml 700.
TEST(LifetimeAnalyzer, KeepsWhatIsNamedAndNothingElse) {
  for (const bool keeps : {false, true}) {
    TensorGraphBuilder builder;
    const TensorIndex input = builder.add_input("input", 1);
    const TensorIndex a = builder.add_tensor("a", 10);
    const TensorIndex b = builder.add_tensor("b", 100);
    const TensorIndex c = builder.add_tensor("c", 1000);
    builder.add_operator("n0").input(input).output(a);
    builder.add_operator("n1").input(a).output(b);
    builder.add_operator("n2").input(b).output(c);
    builder.add_operator("n3").input(c);
    if (keeps) builder.mark_keep(a);
    const Lifetimes lifetimes = analyze(builder, 1);
    // 1 + 10, 10 + 100, 100 + 1000, 1000; keeping a costs its own 10 bytes in n2 and n3.
    EXPECT_EQ(live_bytes(lifetimes),
              keeps ? (Sums{11, 110, 1110, 1010}) : (Sums{11, 110, 1100, 1000}));
    EXPECT_EQ(lifetimes.live_range(a), range(0, keeps ? 3 : 1));
  }
}

TEST(LifetimeAnalyzer, TakesInputsAsOutputsAndOutputsTwice) {
  TensorGraphBuilder builder;
  const TensorIndex input = builder.add_input("input", 10);
  const TensorIndex result = builder.add_tensor("result", 20);
  builder.add_operator("n0").input(input).output(result);
  builder.add_operator("n1");
  for (const TensorIndex tensor : {input, result, result}) builder.mark_output(tensor);
  const Lifetimes lifetimes = analyze(builder, 1);
  EXPECT_EQ(lifetimes.live_range(input), range(0, 1));
  EXPECT_EQ(live_bytes(lifetimes), (Sums{30, 30}));
}

TEST(LifetimeAnalyzer, KeepsAClassAsLongAsAnyTensorOfIt) {
  TensorGraphBuilder builder;
  const TensorIndex x = builder.add_tensor("x", 100);
  const TensorIndex left = builder.add_tensor("left", 40);
  const TensorIndex right = builder.add_tensor("right", 50);
  builder.add_operator("n0").output(x);
  builder.add_operator("n1").input(x).output(left, view_of(x, 0)).output(right, view_of(x, 50));
  builder.add_operator("n2").input(left);
  builder.add_operator("n3").input(right);
  builder.add_operator("n4");
  const Lifetimes lifetimes = analyze(builder, 1);
  EXPECT_EQ(lifetimes.problem().blocks.size(), 1U);
  EXPECT_EQ(lifetimes.live_range(x), range(0, 1));
  EXPECT_EQ(lifetimes.live_range(left), range(1, 2));
  EXPECT_EQ(block_of(lifetimes, right).live_range, range(0, 3));
  EXPECT_EQ(lifetimes.place(right).offset_bytes, 50U);
  EXPECT_EQ(live_bytes(lifetimes), (Sums{100, 100, 100, 100, 0}));
}

TEST(LifetimeAnalyzer, PutsThePartsOfAConcatenationIntoTheWhole) {
  TensorGraphBuilder builder;
  const TensorIndex a = builder.add_tensor("a", 30);
  const TensorIndex b = builder.add_tensor("b", 70);
  const TensorIndex whole = builder.add_tensor("whole", 110);
  builder.add_operator("n0").output(b);
  builder.add_operator("n1").output(a);
  builder.add_operator("n2").input(a, view_of(whole, 0)).input(b, view_of(whole, 40)).output(whole);
  const Lifetimes lifetimes = analyze(builder, 1);
  ASSERT_EQ(lifetimes.problem().blocks.size(), 1U);
  EXPECT_EQ(lifetimes.first_tensor(BlockIndex(0)), a);
  EXPECT_EQ(lifetimes.place(a).offset_bytes, 0U);
  EXPECT_EQ(lifetimes.place(b).offset_bytes, 40U);
  EXPECT_EQ(lifetimes.place(whole).offset_bytes, 0U);
  EXPECT_EQ(block_of(lifetimes, a).live_range, range(0, 2));
  EXPECT_EQ(block_of(lifetimes, a).size_bytes, 110U);
}

// However the tensors of a class were joined; here pair by pair, which makes the longest way from
// the deepest one to the base.
TEST(LifetimeAnalyzer, FindsEachTensorOfALargeClass) {
  TensorGraphBuilder builder;
  TensorIndex t[8];
  for (int i = 7; i >= 0; --i)
    t[i] = builder.add_tensor("t", 400 - 50 * static_cast<std::uint64_t>(i));
  builder.add_operator("make").output(t[0]);
  OperatorBuilder op = builder.add_operator("names");
  op.input(t[0]);
  op.output(t[1], view_of(t[0], 1)).output(t[3], view_of(t[2], 4)).output(t[2], view_of(t[0], 8));
  op.output(t[5], view_of(t[4], 2)).output(t[7], view_of(t[6], 3)).output(t[6], view_of(t[4], 5));
  op.output(t[4], view_of(t[0], 16));
  const Lifetimes lifetimes = analyze(builder, 1);
  // 2: 8, 3: 8 + 4; 4: 16, 5: 16 + 2, 6: 16 + 5, 7: 16 + 5 + 3.
  const std::uint64_t offsets[8] = {0, 1, 8, 12, 16, 18, 21, 24};
  ASSERT_EQ(lifetimes.problem().blocks.size(), 1U);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(lifetimes.place(t[i]).offset_bytes, offsets[i]) << i;
}

TEST(LifetimeAnalyzer, OrdersBlocksByTheirFirstTensor) {
  TensorGraphBuilder builder;
  const TensorIndex view = builder.add_tensor("view", 1);
  const TensorIndex unused = builder.add_tensor("unused", 1);
  const TensorIndex other = builder.add_tensor("other", 2);
  const TensorIndex base = builder.add_tensor("base", 3);
  builder.add_operator("n0").output(base).output(other);
  builder.add_operator("n1").input(base).output(view, view_of(base, 2));
  const Lifetimes lifetimes = analyze(builder);
  ASSERT_EQ(lifetimes.problem().blocks.size(), 2U);
  EXPECT_EQ(lifetimes.first_tensor(BlockIndex(0)), view);
  EXPECT_EQ(lifetimes.first_tensor(BlockIndex(1)), other);
  EXPECT_EQ(lifetimes.place(base).block, BlockIndex(0));
  EXPECT_EQ(lifetimes.place(view).offset_bytes, 2U);
  EXPECT_TRUE(lifetimes.place(unused).block.is_none());
}

// ONE 4826.
TEST(LifetimeAnalyzer, PlansATensorWithoutBytes) {
  TensorGraphBuilder builder;
  const TensorIndex empty = builder.add_input("empty", 0);
  const TensorIndex result = builder.add_tensor("result", 0);
  builder.add_operator("n0").input(empty).output(result, in_place_of(empty));
  const Lifetimes lifetimes = analyze(builder);
  EXPECT_EQ(lifetimes.problem().blocks.size(), 2U);
  EXPECT_FALSE(lifetimes.place(empty).block.is_none());
  EXPECT_FALSE(lifetimes.place(result).block.is_none());
  EXPECT_EQ(lifetimes.live_range(empty), range(0, 0));
  EXPECT_EQ(live_bytes(lifetimes), (Sums{0}));
  EXPECT_TRUE(lifetimes.peak_step().is_none());
}

TEST(LifetimeAnalyzer, RoundsToTheSmallestAlignmentThatTakesBytes) {
  TensorGraphBuilder builder;
  const TensorIndex small = builder.add_input("small", 17);
  const TensorIndex large = builder.add_input("large", 100);
  const TensorIndex empty = builder.add_input("empty", 0);
  const TensorIndex state = builder.add_persistent("state", 5);
  builder.set_alignment(small, 16);
  builder.set_alignment(empty, 1);
  builder.set_alignment(state, 2);
  builder.add_operator("n0").input(small).input(large).input(empty).input(state);
  const Lifetimes lifetimes = analyze(builder);
  EXPECT_EQ(block_of(lifetimes, small).alignment_bytes, 16U);
  EXPECT_EQ(block_of(lifetimes, large).alignment_bytes, 64U);
  EXPECT_EQ(block_of(lifetimes, state).alignment_bytes, 2U);
  EXPECT_EQ(live_bytes(lifetimes), (Sums{32 + 112}));  // 17 and 100 to multiples of 16
}

TEST(LifetimeAnalyzer, PeaksWhereTheSumIsFirstLargest) {
  TensorGraphBuilder builder;
  for (int i = 0; i < 4; ++i) {
    const TensorIndex tensor = builder.add_tensor("tensor", i == 0 ? 63 : 64);
    builder.add_operator("op").output(tensor);
  }
  const Lifetimes lifetimes = analyze(builder, 1);
  EXPECT_EQ(live_bytes(lifetimes), (Sums{63, 64, 64, 64}));
  EXPECT_EQ(lifetimes.lower_bound_bytes(), 64U);
  EXPECT_EQ(lifetimes.peak_step(), Step(1));
  EXPECT_EQ(lifetimes.peak_operator(), OperatorIndex(1));
}

TEST(LifetimeAnalyzer, HandsItsUpstreamsRefusalOn) {
  TensorGraphBuilder builder;
  const TensorIndex input = builder.add_input("input", 64);
  const TensorIndex left = builder.add_tensor("left", 32);
  const TensorIndex result = builder.add_tensor("result", 32);
  builder.add_operator("n0").input(input).output(left, view_of(input, 32));
  builder.add_operator("n1").input(left).output(result, in_place_of(left));
  const TensorGraph graph = test::build(builder);
  test::TestUpstream upstream;
  const LifetimeAnalyzer analyzer(64, upstream.get());
  ASSERT_TRUE(analyzer.analyze(graph).ok());
  const std::uint64_t calls = upstream.calls();
  EXPECT_GT(calls, 5U);
  for (std::uint64_t k = 0; k < calls; ++k) {
    SCOPED_TRACE("call " + std::to_string(k));
    upstream.start_counting();
    upstream.refuse_call(k);
    const Result<Lifetimes> lifetimes = analyzer.analyze(graph);
    ASSERT_FALSE(lifetimes.ok());
    EXPECT_EQ(lifetimes.status().reason(), Reason::kUpstreamRefused);
  }
}

}  // namespace
}  // namespace tenure
