// SPDX-License-Identifier: Apache-2.0

// Every reason for which a TensorGraphBuilder refuses a graph, with its culprits; relations have a
// file of their own.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "support/statuses.h"
#include "tenure/graph_builder.h"

namespace tenure {
namespace {

using test::expect_refused;
using test::kNoTensor;

constexpr OperatorIndex kNoOperator = OperatorIndex::none();

TEST(TensorGraphBuilder, RefusesTensorsThatDoNotExist) {
  const TensorIndex missing(1);
  {
    TensorGraphBuilder builder;
    builder.add_tensor("only", 4);
    builder.add_operator("op").input(missing);
    expect_refused(builder, Reason::kIndexOutOfRange, {missing, kNoTensor, OperatorIndex(0)});
  }
  {
    TensorGraphBuilder builder;
    builder.add_tensor("only", 4);
    builder.add_operator("op").output(missing);
    expect_refused(builder, Reason::kIndexOutOfRange, {missing, kNoTensor, OperatorIndex(0)});
  }
  {
    TensorGraphBuilder builder;
    const TensorIndex only = builder.add_input("only", 4);
    builder.add_operator("op").input(only, view_of(missing, 0));
    expect_refused(builder, Reason::kIndexOutOfRange, {missing, kNoTensor, OperatorIndex(0)});
  }
}

TEST(TensorGraphBuilder, RefusesResultsThatAreAbsent) {
  TensorGraphBuilder builder;
  builder.add_operator("op").output(kNoTensor);
  expect_refused(builder, Reason::kIndexOutOfRange, {kNoTensor, kNoTensor, OperatorIndex(0)});
}

TEST(TensorGraphBuilder, RefusesRelationsOfAbsentOperands) {
  TensorGraphBuilder builder;
  const TensorIndex result = builder.add_tensor("result", 4);
  builder.add_operator("op").input(kNoTensor).output(result, in_place_of(kNoTensor));
  expect_refused(builder, Reason::kIndexOutOfRange, {kNoTensor, kNoTensor, OperatorIndex(0)});
}

TEST(TensorGraphBuilder, RefusesToMarkTensorsThatDoNotExist) {
  const TensorIndex missing(0);
  using Mark = void (*)(TensorGraphBuilder&, TensorIndex);
  const Mark marks[] = {
      [](TensorGraphBuilder& builder, TensorIndex tensor) { builder.mark_output(tensor); },
      [](TensorGraphBuilder& builder, TensorIndex tensor) { builder.mark_keep(tensor); },
      [](TensorGraphBuilder& builder, TensorIndex tensor) { builder.mark_disposable(tensor); },
      [](TensorGraphBuilder& builder, TensorIndex tensor) { builder.set_alignment(tensor, 8); },
  };
  for (const Mark mark : marks) {
    for (const TensorIndex tensor : {missing, kNoTensor}) {
      TensorGraphBuilder builder;
      mark(builder, tensor);
      expect_refused(builder, Reason::kIndexOutOfRange, {tensor, kNoTensor, kNoOperator});
    }
  }
}

TEST(TensorGraphBuilder, RefusesToReadWhatIsProducedLater) {
  TensorGraphBuilder builder;
  const TensorIndex early = builder.add_tensor("early", 4);
  const TensorIndex late = builder.add_tensor("late", 4);
  builder.add_operator("first").output(early);
  builder.add_operator("second").input(early).input(late);
  builder.add_operator("third").output(late);
  expect_refused(builder, Reason::kUsedBeforeProduced, {late, kNoTensor, OperatorIndex(1)});
}

TEST(TensorGraphBuilder, RefusesOperatorsThatReadTheirOwnResult) {
  TensorGraphBuilder builder;
  const TensorIndex tensor = builder.add_tensor("tensor", 4);
  builder.add_operator("op").input(tensor).output(tensor);
  expect_refused(builder, Reason::kUsedBeforeProduced, {tensor, kNoTensor, OperatorIndex(0)});
}

TEST(TensorGraphBuilder, RefusesToReadWhatNobodyProduces) {
  TensorGraphBuilder builder;
  const TensorIndex tensor = builder.add_tensor("tensor", 4);
  builder.add_operator("first");
  builder.add_operator("second").input(tensor);
  expect_refused(builder, Reason::kNeverProduced, {tensor, kNoTensor, OperatorIndex(1)});
}

TEST(TensorGraphBuilder, RefusesOutputsThatNobodyProduces) {
  TensorGraphBuilder builder;
  builder.add_tensor("first", 4);
  const TensorIndex output = builder.add_tensor("output", 4, TensorKind::kOutput);
  expect_refused(builder, Reason::kNeverProduced, {output, kNoTensor, kNoOperator});
}

TEST(TensorGraphBuilder, RefusesTensorsThatAreProducedTwice) {
  for (const TensorKind kind :
       {TensorKind::kIntermediate, TensorKind::kOutput, TensorKind::kExternal}) {
    {
      TensorGraphBuilder builder;
      const TensorIndex tensor = builder.add_tensor("tensor", 4, kind);
      builder.add_operator("first").output(tensor);
      builder.add_operator("second").output(tensor);
      expect_refused(builder, Reason::kProducedTwice, {tensor, kNoTensor, OperatorIndex(1)});
    }
    TensorGraphBuilder builder;
    const TensorIndex tensor = builder.add_tensor("tensor", 4, kind);
    builder.add_operator("first").output(tensor).output(tensor);
    expect_refused(builder, Reason::kProducedTwice, {tensor, kNoTensor, OperatorIndex(0)});
  }
}

TEST(TensorGraphBuilder, RefusesToProduceWhatComesFromOutside) {
  for (const TensorKind kind : {TensorKind::kInput, TensorKind::kConstant}) {
    TensorGraphBuilder builder;
    const TensorIndex tensor = builder.add_tensor("tensor", 4, kind);
    builder.add_operator("op").input(tensor).output(tensor);
    expect_refused(builder, Reason::kProducedByGraph, {tensor, kNoTensor, OperatorIndex(0)});
  }
}

TEST(TensorGraphBuilder, RefusesScratchInAnyOtherRole) {
  const TensorIndex scratch(0);
  {
    TensorGraphBuilder builder;
    builder.add_operator("first").scratch("scratch", 4);
    builder.add_operator("second").input(scratch);
    expect_refused(builder, Reason::kScratchMisused, {scratch, kNoTensor, OperatorIndex(1)});
  }
  {
    TensorGraphBuilder builder;
    builder.add_operator("first").scratch("scratch", 4).output(scratch);
    expect_refused(builder, Reason::kScratchMisused, {scratch, kNoTensor, OperatorIndex(0)});
  }
  {
    TensorGraphBuilder builder;
    builder.add_operator("first");
    builder.add_tensor("scratch", 4, TensorKind::kScratch);
    expect_refused(builder, Reason::kScratchMisused, {scratch, kNoTensor, kNoOperator});
  }
}

TEST(TensorGraphBuilder, RefusesScratchThatOutlivesItsOperator) {
  const TensorIndex scratch(0);
  {
    TensorGraphBuilder builder;
    builder.add_operator("op").scratch("scratch", 4);
    builder.mark_output(scratch);
    expect_refused(builder, Reason::kScratchMisused, {scratch, kNoTensor, OperatorIndex(0)});
  }
  TensorGraphBuilder builder;
  builder.add_operator("op").scratch("scratch", 4);
  builder.mark_keep(scratch);
  expect_refused(builder, Reason::kScratchMisused, {scratch, kNoTensor, OperatorIndex(0)});
}

TEST(TensorGraphBuilder, RefusesAlignmentsThatAreNoPowerOfTwo) {
  for (const std::uint64_t alignment : {UINT64_C(0), UINT64_C(3), UINT64_C(65), UINT64_MAX}) {
    TensorGraphBuilder builder;
    const TensorIndex tensor = builder.add_input("tensor", 4);
    builder.set_alignment(tensor, alignment);
    expect_refused(builder, Reason::kNotPowerOfTwo, {tensor, kNoTensor, kNoOperator});
    EXPECT_EQ(builder.build().status().needed_bytes, alignment);
  }
  TensorGraphBuilder builder;
  builder.add_operator("op").scratch("scratch", 4, 12);
  expect_refused(builder, Reason::kNotPowerOfTwo, {TensorIndex(0), kNoTensor, kNoOperator});
}

TEST(TensorGraphBuilder, TakesEveryPowerOfTwoAsAlignment) {
  TensorGraphBuilder builder;
  for (int shift = 0; shift < 64; ++shift) {
    builder.set_alignment(builder.add_input("tensor", 4), std::uint64_t{1} << shift);
  }
  const TensorGraph graph = test::build(builder);
  ASSERT_EQ(graph.tensor_count(), 64U);
  EXPECT_EQ(graph.tensor(TensorIndex(63)).alignment_bytes, std::uint64_t{1} << 63);
}

TEST(TensorGraphBuilder, KeepsTheFirstOfSeveralErrors) {
  TensorGraphBuilder builder;
  const TensorIndex never = builder.add_tensor("never", 4);
  builder.add_operator("conv").input(never);
  builder.set_alignment(never, 3);  // the first that shows before build()
  builder.mark_output(TensorIndex(9));
  builder.add_operator("relu").output(TensorIndex(7));
  for (int i = 0; i < 2; ++i) {
    const Result<TensorGraph> graph = builder.build();
    ASSERT_FALSE(graph.ok());
    EXPECT_EQ(graph.status().reason(), Reason::kNotPowerOfTwo);
    EXPECT_EQ(graph.status().tensor, never);
  }
}

TEST(TensorGraphBuilder, DescribesItsErrorWithTheNamesGiven) {
  TensorGraphBuilder builder;
  const TensorIndex never = builder.add_tensor("features", 4);
  builder.add_operator("conv").input(never);
  const Result<TensorGraph> graph = builder.build();
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(
      test::text_of(graph.status(), builder.names()),
      std::string(text_of(Reason::kNeverProduced)) + ": operator 0 'conv', tensor 0 'features'");
}

TEST(TensorGraphBuilder, TakesSizesThatNoMachineHas) {
  TensorGraphBuilder builder;
  const TensorIndex input = builder.add_input("input", UINT64_MAX);
  const TensorIndex result = builder.add_tensor("result", UINT64_MAX);
  builder.add_operator("op").input(input).output(result, in_place_of(input));
  EXPECT_EQ(test::build(builder).tensor(result).size_bytes, UINT64_MAX);
}

}  // namespace
}  // namespace tenure
