// SPDX-License-Identifier: Apache-2.0

// What relations a TensorGraphBuilder takes, and which it refuses.

#include <gtest/gtest.h>

#include <cstdint>

#include "support/statuses.h"
#include "tenure/graph_builder.h"
#include "tenure/lifetime.h"

namespace tenure {
namespace {

using test::expect_refused;
using test::kNoTensor;

constexpr std::uint64_t kLargest = std::uint64_t{1} << 62;  // of a tensor in a relation

// An input and a result of one operator, which a test relates.
struct Pair {
  TensorGraphBuilder builder;
  TensorIndex input;
  TensorIndex result;
  OperatorBuilder op;

  Pair(std::uint64_t input_bytes, std::uint64_t result_bytes)
      : input(builder.add_input("input", input_bytes)),
        result(builder.add_tensor("result", result_bytes)),
        op(builder.add_operator("op")) {}
};

TEST(Relations, HoldAViewUpToTheLastByte) {
  struct Case {
    std::uint64_t size_bytes;
    std::uint64_t offset_bytes;
    bool fits;
  };
  const Case cases[] = {
      {100, 0, true},
      {99, 1, true},
      {1, 99, true},
      {0, 0, true},
      {0, 100, true},
      {100, 1, false},
      {101, 0, false},
      {1, 100, false},
      {0, 101, false},
      {99, 2, false},
      {1, UINT64_MAX, false},         // offset + size = 0
      {100, UINT64_MAX - 99, false},  // the same, from further off
      {UINT64_MAX, 0, false},
      {UINT64_MAX, 1, false},  // the same, by the size
      {0, UINT64_MAX, false},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(testing::Message() << one.size_bytes << " at " << one.offset_bytes);
    Pair pair(100, one.size_bytes);
    pair.op.input(pair.input).output(pair.result, view_of(pair.input, one.offset_bytes));
    if (one.fits) {
      static_cast<void>(test::build(pair.builder));
    } else {
      expect_refused(pair.builder, Reason::kViewOutOfBounds,
                     {pair.result, pair.input, OperatorIndex(0)});
    }
  }
}

TEST(Relations, HoldAViewNamedFromAnOperandUpToTheLastByte) {
  for (const std::uint64_t offset : {UINT64_C(0), UINT64_C(60), UINT64_C(61)}) {
    Pair pair(40, 100);
    pair.op.input(pair.input, view_of(pair.result, offset)).output(pair.result);
    if (offset <= 60) {  // 60 + 40 = 100
      static_cast<void>(test::build(pair.builder));
    } else {
      expect_refused(pair.builder, Reason::kViewOutOfBounds,
                     {pair.input, pair.result, OperatorIndex(0)});
    }
  }
}

TEST(Relations, GiveAnAliasTheSameSize) {
  for (const std::uint64_t size : {0U, 99U, 101U}) {
    Pair pair(100, size);
    pair.op.input(pair.input).output(pair.result, alias_of(pair.input));
    expect_refused(pair.builder, Reason::kAliasSizeMismatch,
                   {pair.result, pair.input, OperatorIndex(0)});
  }
  Pair empty(0, 0);
  empty.op.input(empty.input).output(empty.result, alias_of(empty.input));
  static_cast<void>(test::build(empty.builder));
}

TEST(Relations, GiveAnAliasNoOffset) {
  Pair pair(100, 100);
  pair.op.input(pair.input).output(pair.result, Sharing{RelationKind::kAlias, pair.input, 8});
  expect_refused(pair.builder, Reason::kViewOutOfBounds,
                 {pair.result, pair.input, OperatorIndex(0)});
}

TEST(Relations, MayBeRepeatedAsLongAsTheyAgree) {
  TensorGraphBuilder builder;
  const TensorIndex whole = builder.add_input("whole", 100);
  const TensorIndex part = builder.add_tensor("part", 50);
  const TensorIndex inner = builder.add_tensor("inner", 20);
  builder.add_operator("split").input(whole).output(part, view_of(whole, 50));
  builder.add_operator("again").input(whole).input(part, view_of(whole, 50));
  // 50 + 10 = 60: the same place by another way.
  builder.add_operator("slice").input(part).input(whole).output(
      inner, {view_of(part, 10), view_of(whole, 60)});
  static_cast<void>(test::build(builder));
}

TEST(Relations, MustNotContradictEachOther) {
  {
    Pair pair(100, 50);
    pair.op.input(pair.input)
        .output(pair.result, {view_of(pair.input, 0), view_of(pair.input, 50)});
    expect_refused(pair.builder, Reason::kRelationCycle,
                   {pair.result, pair.input, OperatorIndex(0)});
  }
  TensorGraphBuilder builder;
  const TensorIndex whole = builder.add_input("whole", 100);
  const TensorIndex part = builder.add_tensor("part", 50);
  const TensorIndex inner = builder.add_tensor("inner", 20);
  builder.add_operator("split").input(whole).output(part, view_of(whole, 50));
  builder.add_operator("slice").input(part).output(inner, view_of(part, 10));
  builder.add_operator("odd").input(whole).input(inner, view_of(whole, 61));  // 50 + 10 = 60
  expect_refused(builder, Reason::kRelationCycle, {inner, whole, OperatorIndex(2)});
}

TEST(Relations, MustNotJoinATensorToItself) {
  Pair pair(8, 8);
  pair.op.input(pair.input).output(pair.result, alias_of(pair.result));
  expect_refused(pair.builder, Reason::kRelationCycle,
                 {pair.result, pair.result, OperatorIndex(0)});
}

TEST(Relations, StayAmongOperandsAndResultsOfTheirOperator) {
  {
    TensorGraphBuilder builder;
    const TensorIndex elsewhere = builder.add_input("elsewhere", 8);
    const TensorIndex result = builder.add_tensor("result", 8);
    builder.add_operator("first").input(elsewhere);
    builder.add_operator("second").output(result, alias_of(elsewhere));
    expect_refused(builder, Reason::kRelationOutsideOperator,
                   {result, elsewhere, OperatorIndex(1)});
  }
  {
    TensorGraphBuilder builder;
    const TensorIndex input = builder.add_input("input", 8);
    const TensorIndex later = builder.add_tensor("later", 8);
    builder.add_operator("first").input(input, view_of(later, 0));
    builder.add_operator("second").output(later);
    expect_refused(builder, Reason::kRelationOutsideOperator, {input, later, OperatorIndex(0)});
  }
  TensorGraphBuilder builder;
  const TensorIndex result = builder.add_tensor("result", 8);
  builder.add_operator("op").scratch("scratch", 8).output(result, in_place_of(TensorIndex(1)));
  expect_refused(builder, Reason::kRelationOutsideOperator,
                 {result, TensorIndex(1), OperatorIndex(0)});
}

TEST(Relations, NameTheResultWhenTheyPermit) {
  for (const RelationKind kind : {RelationKind::kInPlace, RelationKind::kUpdate}) {
    {
      Pair pair(8, 8);  // the wrong way round
      pair.op.input(pair.input, Sharing{kind, pair.result, 0}).output(pair.result);
      expect_refused(pair.builder, Reason::kRelationOutsideOperator,
                     {pair.input, pair.result, OperatorIndex(0)});
    }
    {
      Pair pair(8, 8);  // over another result
      const TensorIndex other = pair.builder.add_tensor("other", 8);
      pair.op.output(other).output(pair.result, Sharing{kind, other, 0});
      expect_refused(pair.builder, Reason::kRelationOutsideOperator,
                     {pair.result, other, OperatorIndex(0)});
    }
    {
      Pair pair(8, 8);  // one operand over another
      const TensorIndex other = pair.builder.add_input("other", 8);
      pair.op.input(pair.input).input(other, Sharing{kind, pair.input, 0}).output(pair.result);
      expect_refused(pair.builder, Reason::kRelationOutsideOperator,
                     {other, pair.input, OperatorIndex(0)});
    }
    Pair pair(8, 8);  // over an operand of another operator
    pair.op.output(pair.result, Sharing{kind, pair.input, 0});
    expect_refused(pair.builder, Reason::kRelationOutsideOperator,
                   {pair.result, pair.input, OperatorIndex(0)});
  }
}

TEST(Relations, PermitWhateverTheSizes) {
  Pair pair(8, 9);
  pair.op.input(pair.input).output(pair.result, in_place_of(pair.input));
  EXPECT_EQ(test::build(pair.builder).relations().size(), 1U);
}

TEST(Relations, HoldTheAlignmentThatAViewAsksFor) {
  for (const std::uint64_t alignment : {1U, 16U, 32U, 64U}) {
    Pair pair(256, 64);
    pair.builder.set_alignment(pair.result, alignment);
    pair.op.input(pair.input).output(pair.result, view_of(pair.input, 96));  // 96 = 3 * 32
    if (alignment <= 32) {
      static_cast<void>(test::build(pair.builder));
    } else {
      expect_refused(pair.builder, Reason::kViewMisaligned, {pair.result, kNoTensor, {}});
      EXPECT_EQ(pair.builder.build().status().needed_bytes, alignment);
    }
  }
}

// The base of the class is the outermost tensor, whichever way the tensors were joined.
TEST(Relations, HoldTheAlignmentOfATensorThatOthersEnclose) {
  TensorGraphBuilder builder;
  const TensorIndex part = builder.add_input("part", 64);
  const TensorIndex whole = builder.add_tensor("whole", 128);
  builder.set_alignment(part, 32);
  builder.add_operator("concat").input(part, view_of(whole, 16)).output(whole);
  expect_refused(builder, Reason::kViewMisaligned, {part, kNoTensor, {}});
}

TEST(Relations, RefuseSizesWhoseOffsetsCannotBeCounted) {
  {
    Pair pair(kLargest, kLargest);
    pair.op.input(pair.input).output(pair.result, alias_of(pair.input));
    static_cast<void>(test::build(pair.builder));
  }
  for (const std::uint64_t size : {kLargest + 1, std::uint64_t{1} << 63, UINT64_MAX}) {
    Pair pair(size, size);
    pair.op.input(pair.input).output(pair.result, alias_of(pair.input));
    expect_refused(pair.builder, Reason::kSizeOverflow,
                   {pair.result, pair.input, OperatorIndex(0)});
  }
  // Two tensors of the largest size, one byte apart in one class: it would end at 2^62 + 1.
  TensorGraphBuilder builder;
  const TensorIndex first = builder.add_input("first", kLargest);
  const TensorIndex part = builder.add_tensor("part", 8);
  const TensorIndex second = builder.add_tensor("second", kLargest);
  builder.add_operator("split").input(first).output(part, view_of(first, 1));
  builder.add_operator("concat").input(part, view_of(second, 0)).output(second);
  expect_refused(builder, Reason::kSizeOverflow, {part, second, OperatorIndex(1)});
}

TEST(Relations, RefuseToJoinTwoStorages) {
  const TensorKind kinds[] = {TensorKind::kConstant, TensorKind::kExternal,
                              TensorKind::kPersistent};
  for (const TensorKind kind : kinds) {
    for (const TensorKind other_kind : kinds) {
      TensorGraphBuilder builder;
      const TensorIndex first = builder.add_tensor("first", 8, kind);
      const TensorIndex second = builder.add_tensor("second", 8, other_kind);
      builder.add_operator("op").input(first).input(second, alias_of(first));
      expect_refused(builder, Reason::kConflictingStorage, {second, first, {}});
    }
  }
}

TEST(Relations, KeepAClassInsideABufferFromOutside) {
  for (const TensorKind kind :
       {TensorKind::kConstant, TensorKind::kExternal, TensorKind::kPersistent}) {
    for (const std::uint64_t size : {8U, 9U}) {
      TensorGraphBuilder builder;
      const TensorIndex before = builder.add_tensor("before", 8);
      const TensorIndex owner = builder.add_tensor("owner", 8, kind);
      const TensorIndex whole = builder.add_tensor("whole", size);
      builder.add_operator("name").input(owner).output(before, alias_of(owner));
      builder.add_operator("concat").input(before, view_of(whole, 0)).output(whole);
      // Persistent storage is placed here, so that it can grow.
      if (size == 8 || kind == TensorKind::kPersistent) {
        static_cast<void>(test::build(builder));
      } else {
        expect_refused(builder, Reason::kConflictingStorage, {owner, whole, {}});
      }
    }
  }
}

TEST(Relations, LetNobodyWriteIntoConstants) {
  {
    TensorGraphBuilder builder;
    const TensorIndex constant = builder.add_constant("constant", 8);
    const TensorIndex written = builder.add_tensor("written", 8);
    builder.add_operator("write").output(written);
    builder.add_operator("join").input(written, alias_of(constant)).input(constant);
    expect_refused(builder, Reason::kConflictingStorage, {written, constant, {}});
  }
  {
    TensorGraphBuilder builder;  // the application writes it
    const TensorIndex input = builder.add_input("input", 4);
    const TensorIndex constant = builder.add_constant("constant", 8);
    builder.add_operator("join").input(input, view_of(constant, 4)).input(constant);
    expect_refused(builder, Reason::kConflictingStorage, {input, constant, {}});
  }
  TensorGraphBuilder builder;  // names of constants are not written, from whichever side
  const TensorIndex constant = builder.add_constant("constant", 8);
  const TensorIndex slice = builder.add_tensor("slice", 4);
  const TensorIndex same = builder.add_tensor("same", 8);
  builder.add_operator("split").input(constant).output(slice, view_of(constant, 4));
  builder.add_operator("reshape").input(constant, alias_of(same)).output(same);
  static_cast<void>(test::build(builder));
}

}  // namespace
}  // namespace tenure
