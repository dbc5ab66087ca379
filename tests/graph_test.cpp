// SPDX-License-Identifier: Apache-2.0

#include "tenure/graph.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/statuses.h"
#include "support/upstreams.h"
#include "tenure/graph_builder.h"

namespace tenure {
namespace {

using test::expect_refused;

std::vector<std::uint32_t> numbers(Span<const TensorIndex> tensors) {
  std::vector<std::uint32_t> values;
  for (const TensorIndex tensor : tensors) values.push_back(tensor.value);
  return values;
}

using Numbers = std::vector<std::uint32_t>;

TEST(TensorGraphBuilder, BuildsTheEmptyGraph) {
  TensorGraphBuilder builder;
  const TensorGraph graph = test::build(builder);
  EXPECT_EQ(graph.tensor_count(), 0U);
  EXPECT_EQ(graph.operator_count(), 0U);
  EXPECT_EQ(graph.step_count(), 1U);
  EXPECT_TRUE(graph.operator_at(Step(0)).is_none());
  EXPECT_TRUE(graph.relations().empty());
}

TEST(TensorGraphBuilder, BuildsAGraphWithoutOperators) {
  TensorGraphBuilder builder;
  const TensorIndex input = builder.add_input("input", 8);
  builder.add_persistent("state", 16);
  builder.add_tensor("unused", 32);
  builder.mark_output(input);
  const TensorGraph graph = test::build(builder);
  EXPECT_EQ(graph.tensor_count(), 3U);
  EXPECT_EQ(graph.step_count(), 1U);
  EXPECT_TRUE(graph.tensor(input).is_output);
  EXPECT_EQ(graph.tensor(input).kind, TensorKind::kInput);
}

TEST(TensorGraphBuilder, KeepsThePartsOfAnOperatorInTheOrderAdded) {
  TensorGraphBuilder builder;
  const TensorIndex a = builder.add_input("a", 1);
  const TensorIndex b = builder.add_input("b", 2);
  const TensorIndex c = builder.add_tensor("c", 3);
  const TensorIndex d = builder.add_tensor("d", 4);
  const TensorIndex e = builder.add_tensor("e", 5);
  OperatorBuilder first = builder.add_operator("first");
  OperatorBuilder second = builder.add_operator("second");
  second.input(d).output(e).scratch("s5", 1);
  first.output(d).input(b).scratch("s6", 2);
  second.input(TensorIndex::none()).input(a);
  first.input(a).output(c).scratch("s7", 3, 16).input(b);
  const TensorGraph graph = test::build(builder);
  EXPECT_EQ(numbers(graph.inputs(first.index())), (Numbers{1, 0, 1}));
  EXPECT_EQ(numbers(graph.outputs(first.index())), (Numbers{3, 2}));
  EXPECT_EQ(numbers(graph.scratch(first.index())), (Numbers{6, 7}));
  EXPECT_EQ(numbers(graph.inputs(second.index())), (Numbers{3, TensorIndex::kNoneValue, 0}));
  EXPECT_EQ(numbers(graph.outputs(second.index())), (Numbers{4}));
  EXPECT_EQ(numbers(graph.scratch(second.index())), (Numbers{5}));
  EXPECT_EQ(graph.tensor(d).producer, first.index());
  EXPECT_EQ(graph.tensor(TensorIndex(7)).producer, first.index());
  EXPECT_EQ(graph.tensor(TensorIndex(7)).alignment_bytes, 16U);
  EXPECT_EQ(graph.tensor(TensorIndex(7)).kind, TensorKind::kScratch);
  EXPECT_EQ(graph.tensor(TensorIndex(6)).alignment_bytes, 0U);
  EXPECT_TRUE(graph.tensor(a).producer.is_none());
}

TEST(TensorGraphBuilder, KeepsRelationsWithTheirOperators) {
  TensorGraphBuilder builder;
  const TensorIndex a = builder.add_input("a", 8);
  const TensorIndex b = builder.add_tensor("b", 8);
  const TensorIndex c = builder.add_tensor("c", 8);
  const TensorIndex d = builder.add_tensor("d", 4);
  OperatorBuilder first = builder.add_operator("first");
  OperatorBuilder second = builder.add_operator("second");
  second.input(a).input(b).output(c, {in_place_of(b), in_place_of(a)});
  first.input(a).output(b, alias_of(a));
  second.output(d, view_of(c, 4));
  const TensorGraph graph = test::build(builder);
  ASSERT_EQ(graph.relations(first.index()).size(), 1U);
  ASSERT_EQ(graph.relations(second.index()).size(), 3U);
  EXPECT_EQ(graph.relations().size(), 4U);
  const Span<const Relation> relations = graph.relations(second.index());
  EXPECT_EQ(relations[0].kind, RelationKind::kInPlace);
  EXPECT_EQ(relations[0].base, b);
  EXPECT_EQ(relations[1].base, a);
  EXPECT_EQ(relations[2].kind, RelationKind::kView);
  EXPECT_EQ(relations[2].tensor, d);
  EXPECT_EQ(relations[2].base, c);
  EXPECT_EQ(relations[2].offset_bytes, 4U);
  EXPECT_EQ(relations[2].op, second.index());
}

TEST(TensorGraphBuilder, MarksTensorsAsOftenAsAsked) {
  TensorGraphBuilder builder;
  const TensorIndex input = builder.add_input("input", 1);
  const TensorIndex result = builder.add_tensor("result", 1);
  const TensorIndex state = builder.add_persistent("state", 1);
  builder.add_operator("op").input(input).output(result);
  for (const TensorIndex tensor : {result, input, result, state, input}) {
    builder.mark_output(tensor);
    builder.mark_keep(tensor);
  }
  builder.mark_disposable(input);
  builder.set_alignment(result, 32);
  builder.set_alignment(result, 1);
  const TensorGraph graph = test::build(builder);
  ASSERT_EQ(graph.tensor_count(), 3U);
  EXPECT_EQ(graph.tensor(result).kind, TensorKind::kOutput);
  EXPECT_EQ(graph.tensor(state).kind, TensorKind::kPersistent);
  EXPECT_TRUE(graph.tensor(state).is_output && graph.tensor(state).keep);
  EXPECT_TRUE(graph.tensor(input).is_disposable);
  EXPECT_FALSE(graph.tensor(result).is_disposable);
  EXPECT_EQ(graph.tensor(result).alignment_bytes, 1U);
}

TEST(TensorGraphBuilder, LetsStateBeWrittenAgainAndAgain) {
  TensorGraphBuilder builder;
  const TensorIndex state = builder.add_persistent("state", 8);
  const TensorIndex cache = builder.add_external("cache", 8);
  builder.add_operator("reset").output(state);
  builder.add_operator("step").input(state).input(cache).output(state).output(cache);
  builder.add_operator("end").input(cache).output(state);
  const TensorGraph graph = test::build(builder);
  EXPECT_TRUE(graph.tensor(state).producer.is_none());
  EXPECT_EQ(graph.tensor(cache).producer, OperatorIndex(1));
}

TEST(TensorGraphBuilder, CopiesNamesOfEveryLength) {
  TensorGraphBuilder builder;
  std::string name(100000, 'n');
  const TensorIndex first = builder.add_tensor(name.c_str(), 1);
  name[0] = 'x';
  const TensorIndex second = builder.add_tensor(nullptr, 1);
  const TensorIndex third = builder.add_tensor("", 1);
  const TensorIndex fourth = builder.add_tensor("last", 1);
  builder.add_operator(nullptr).output(first);
  builder.add_operator(name.c_str()).output(second);
  const TensorGraph graph = test::build(builder);
  EXPECT_EQ(graph.tensor_name(first), std::string(100000, 'n'));
  EXPECT_STREQ(graph.tensor_name(second), "");
  EXPECT_STREQ(graph.tensor_name(third), "");
  EXPECT_STREQ(graph.tensor_name(fourth), "last");
  EXPECT_STREQ(graph.operator_name(OperatorIndex(0)), "");
  EXPECT_EQ(graph.operator_name(OperatorIndex(1)), name);
}

TEST(TensorGraph, NamesOnlyWhatExists) {
  TensorGraphBuilder builder;
  builder.add_tensor("only", 1);
  const TensorGraph graph = test::build(builder);
  const NameSource names = graph.names();
  EXPECT_STREQ(names.tensor_name(names.user, TensorIndex(0)), "only");
  EXPECT_EQ(names.tensor_name(names.user, TensorIndex(1)), nullptr);
  EXPECT_EQ(names.tensor_name(names.user, TensorIndex::none()), nullptr);
  EXPECT_EQ(names.operator_name(names.user, OperatorIndex(0)), nullptr);
}

TEST(TensorGraph, RunsOneOperatorEachStep) {
  TensorGraphBuilder builder;
  for (int i = 0; i < 3; ++i) builder.add_operator("op");
  const TensorGraph graph = test::build(builder);
  EXPECT_EQ(graph.step_count(), 3U);
  EXPECT_EQ(graph.step(OperatorIndex(2)), Step(2));
  EXPECT_EQ(graph.operator_at(Step(2)), OperatorIndex(2));
  EXPECT_TRUE(graph.operator_at(Step(3)).is_none());
  EXPECT_TRUE(graph.operator_at(Step::none()).is_none());
  EXPECT_TRUE(graph.inputs(OperatorIndex(1)).empty());
  EXPECT_TRUE(graph.scratch(OperatorIndex(2)).empty());
}

TEST(TensorGraphBuilder, IsEmptyAndOfUseAfterItHasBuilt) {
  TensorGraphBuilder builder;
  builder.add_operator("op").output(builder.add_tensor("first", 4));
  const TensorGraph first = test::build(builder);
  EXPECT_EQ(builder.tensor_count(), 0U);
  EXPECT_EQ(builder.operator_count(), 0U);
  const TensorIndex input = builder.add_input("second", 4);
  EXPECT_EQ(input, TensorIndex(0));
  builder.add_operator("op").input(input);
  const TensorGraph second = test::build(builder);
  EXPECT_STREQ(first.tensor_name(TensorIndex(0)), "first");
  EXPECT_STREQ(second.tensor_name(TensorIndex(0)), "second");
  EXPECT_TRUE(second.outputs(OperatorIndex(0)).empty());
}

TEST(TensorGraphBuilder, MayBeMendedAfterABuildThatFailed) {
  TensorGraphBuilder builder;
  const TensorIndex input = builder.add_input("input", 4);
  const TensorIndex result = builder.add_tensor("result", 4);
  builder.mark_output(result);
  expect_refused(builder, Reason::kNeverProduced, {result, {}, {}});
  builder.add_operator("op").input(input).output(result, in_place_of(input));
  const TensorGraph graph = test::build(builder);
  EXPECT_EQ(graph.relations().size(), 1U);
  EXPECT_EQ(numbers(graph.inputs(OperatorIndex(0))), (Numbers{0}));
}

// A model with all that takes memory of its own kind.
void describe_model(TensorGraphBuilder& builder) {
  const TensorIndex image = builder.add_input("image", 64);
  const TensorIndex flat = builder.add_tensor("flat", 64);
  const TensorIndex state = builder.add_persistent("state", 64);
  const TensorIndex next = builder.add_tensor("next", 64);
  builder.add_operator("reshape").input(image).output(flat, alias_of(image)).scratch("s", 8);
  builder.add_operator("update").input(flat).input(state).output(next, update_of(state));
  builder.mark_output(next);
}

TEST(TensorGraphBuilder, SurvivesTheRefusalOfEveryCallForMemory) {
  test::TestUpstream upstream;
  std::uint64_t calls_before_build = 0;
  {
    TensorGraphBuilder builder(upstream.get());
    describe_model(builder);
    calls_before_build = upstream.calls();
    ASSERT_TRUE(builder.build().ok());
  }
  const std::uint64_t calls = upstream.calls();
  EXPECT_GT(calls, calls_before_build + 3);
  for (std::uint64_t k = 0; k < calls; ++k) {
    SCOPED_TRACE("call " + std::to_string(k));
    upstream.start_counting();
    upstream.refuse_call(k);
    TensorGraphBuilder builder(upstream.get());
    describe_model(builder);
    const Result<TensorGraph> graph = builder.build();
    ASSERT_FALSE(graph.ok());
    EXPECT_EQ(graph.status().reason(), Reason::kUpstreamRefused);
    EXPECT_EQ(upstream.refusals(), 1U);
    // What was refused in build() may be asked for again; what was lost before is lost.
    EXPECT_EQ(builder.build().ok(), k >= calls_before_build);
  }
}

TEST(TensorGraphBuilder, GivesTensorsTheirOwnNamesThoughOneWasRefused) {
  test::TestUpstream upstream;
  for (std::uint64_t k = 0; k < 20; ++k) {
    SCOPED_TRACE("call " + std::to_string(k));
    upstream.start_counting();
    upstream.refuse_call(k);
    TensorGraphBuilder builder(upstream.get());
    for (int i = 0; i < 30; ++i) {
      const std::string name = "tensor with a long name " + std::to_string(i);
      const TensorIndex tensor = builder.add_tensor(name.c_str(), 1);
      if (tensor.is_none()) continue;
      const NameSource names = builder.names();
      ASSERT_EQ(names.tensor_name(names.user, tensor), name);
    }
  }
}

}  // namespace
}  // namespace tenure
