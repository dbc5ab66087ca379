// SPDX-License-Identifier: Apache-2.0

// Permitted relations: each reason for which one is refused, beside a neighbour that is taken.

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "support/lifetimes.h"
#include "tenure/graph_builder.h"
#include "tenure/lifetime.h"

namespace tenure {
namespace {

using test::AnalyzedGraph;
using Sums = std::vector<std::uint64_t>;

// "make" makes `operand`, "work" reads it and makes `result` of it; tests add what is around.
struct Worked {
  TensorGraphBuilder builder;
  TensorIndex operand;
  TensorIndex result;

  explicit Worked(std::uint64_t operand_bytes = 100, std::uint64_t result_bytes = 100)
      : operand(builder.add_tensor("operand", operand_bytes)),
        result(builder.add_tensor("result", result_bytes)) {
    builder.add_operator("make").output(operand);
  }
  OperatorBuilder work() {
    OperatorBuilder op = builder.add_operator("work");
    op.input(operand).output(result, in_place_of(operand));
    return op;
  }
};

TEST(Refusal, HasATextOfItsOwn) {
  std::set<std::string> texts;
  for (auto i = static_cast<int>(Refusal::kSizesDiffer);
       i <= static_cast<int>(Refusal::kRaisesLowerBound); ++i) {
    EXPECT_TRUE(texts.insert(text_of(static_cast<Refusal>(i))).second) << i;
  }
}

TEST(InPlace, WritesOverAnOperandThatEnds) {
  Worked worked;
  worked.work();
  worked.builder.add_operator("read").input(worked.result);
  const AnalyzedGraph analyzed(worked.builder);
  analyzed.expect_taken(worked.result, worked.operand);
  EXPECT_EQ(analyzed.live_bytes(), (Sums{100, 100, 100}));  // not 200 at "work"
  EXPECT_EQ(analyzed.lifetimes().live_range(worked.operand), (LiveRange{Step(0), Step(1)}));
}

TEST(InPlace, SaysThatTheFirstOfTwoOperandsWasTaken) {
  TensorGraphBuilder builder;
  const TensorIndex a = builder.add_tensor("a", 64);
  const TensorIndex b = builder.add_tensor("b", 64);
  const TensorIndex sum = builder.add_tensor("sum", 64);
  builder.add_operator("make").output(a).output(b);
  builder.add_operator("add").input(a).input(b).output(sum, {in_place_of(a), in_place_of(b)});
  const AnalyzedGraph analyzed(builder);
  EXPECT_EQ(analyzed.lifetimes().place(sum).block, analyzed.lifetimes().place(a).block);
  analyzed.expect_refused(sum, b, Refusal::kInPlaceAlready);
}

// s alone has alignment 1. Joined with q, which asks for 64, it would leave a unit of 64, in which 65
// bytes count as 128: 3 x 128 = 384 at "many" instead of 128 + 65 + 65 = 258.
TEST(InPlace, DoesNotTakeAwayTheSmallestAlignment) {
  for (const std::uint64_t alignment : {1U, 64U}) {
    TensorGraphBuilder builder;
    const TensorIndex x = builder.add_input("x", 65);
    const TensorIndex s = builder.add_tensor("s", 128);
    const TensorIndex q = builder.add_tensor("q", 128);
    const TensorIndex a = builder.add_tensor("a", 65);
    const TensorIndex c = builder.add_tensor("c", 65);
    const TensorIndex y = builder.add_tensor("y", 65);
    for (const TensorIndex tensor : {x, q, a, c, y}) builder.set_alignment(tensor, 64);
    builder.set_alignment(s, alignment);
    builder.add_operator("first").input(x).output(s);
    builder.add_operator("work").input(s).output(q, in_place_of(s));
    builder.add_operator("many").input(q).output(a).output(c);
    builder.add_operator("last").input(a).input(c).output(y);
    builder.mark_output(y);
    const AnalyzedGraph analyzed(builder);
    if (alignment == 1) {
      analyzed.expect_refused(q, s, Refusal::kRaisesLowerBound);
      EXPECT_EQ(analyzed.lifetimes().lower_bound_bytes(), 258U);  // 128 + 65 + 65 at "many"
    } else {
      analyzed.expect_taken(q, s);
      EXPECT_EQ(analyzed.lifetimes().lower_bound_bytes(), 384U);  // 3 x 128: the unit is 64 anyway
    }
  }
}

TEST(InPlace, NeedsTheSameSize) {
  for (const std::uint64_t size : {0U, 99U, 101U}) {
    Worked worked(100, size);
    worked.work();
    AnalyzedGraph(worked.builder)
        .expect_refused(worked.result, worked.operand, Refusal::kSizesDiffer);
  }
  Worked empty(0, 0);
  empty.work();
  AnalyzedGraph(empty.builder).expect_taken(empty.result, empty.operand);
}

TEST(InPlace, LeavesAnOperandThatIsReadLater) {
  Worked worked;
  worked.work();
  worked.builder.add_operator("read").input(worked.operand);
  AnalyzedGraph(worked.builder).expect_refused(worked.result, worked.operand, Refusal::kReadLater);
}

// LiteRT 8889, 8928.
TEST(InPlace, LeavesAnOperandThatIsReadThroughAnotherAlias) {
  for (const bool is_read_later : {true, false}) {
    TensorGraphBuilder builder;
    const TensorIndex in = builder.add_input("in", 1024);
    const TensorIndex x = builder.add_tensor("X", 1024);
    const TensorIndex r1 = builder.add_tensor("R1", 1024);
    const TensorIndex r2 = builder.add_tensor("R2", 1024);
    const TensorIndex m = builder.add_tensor("M", 1024);
    const TensorIndex y = builder.add_tensor("Y", 1024);
    builder.add_operator("n0").input(in).output(x);
    builder.add_operator("n1").input(x).output(r1, alias_of(x));
    builder.add_operator("n2").input(r1).output(r2, alias_of(r1));
    builder.add_operator("n3").input(r2).output(m, in_place_of(r2));
    builder.add_operator("n4").input(is_read_later ? r1 : in).input(m).output(y);
    builder.mark_output(y);
    const AnalyzedGraph analyzed(builder);
    EXPECT_TRUE(analyzed.shares(x, r1) && analyzed.shares(r1, r2));
    if (is_read_later) {
      analyzed.expect_refused(m, r2, Refusal::kReadLater);
      EXPECT_FALSE(analyzed.shares(m, x));
      EXPECT_EQ(analyzed.live_bytes(), (Sums{2048, 1024, 1024, 2048, 3072}));
    } else {
      analyzed.expect_taken(m, r2);
      EXPECT_TRUE(analyzed.shares(m, x));
    }
  }
}

TEST(InPlace, LeavesAnOperandWhoseBytesAreReadThroughAView) {
  for (const std::uint64_t offset : {UINT64_C(0), UINT64_C(60)}) {  // even a view apart from it
    TensorGraphBuilder builder;
    const TensorIndex whole = builder.add_tensor("whole", 100);
    const TensorIndex part = builder.add_tensor("part", 40);
    const TensorIndex other = builder.add_tensor("other", 40);
    const TensorIndex result = builder.add_tensor("result", 40);
    builder.add_operator("make").output(whole);
    builder.add_operator("split")
        .input(whole)
        .output(part, view_of(whole, 0))
        .output(other, view_of(whole, offset));
    builder.add_operator("work").input(part).output(result, in_place_of(part));
    builder.add_operator("read").input(other);
    AnalyzedGraph(builder).expect_refused(result, part, Refusal::kReadLater);
  }
}

TEST(InPlace, LeavesAnOutputAndLetsAnIntermediateBecomeOne) {
  {
    Worked worked;
    worked.work();
    worked.builder.mark_output(worked.operand);
    AnalyzedGraph(worked.builder)
        .expect_refused(worked.result, worked.operand, Refusal::kHeldToTheEnd);
  }
  {
    Worked worked;
    worked.work();
    worked.builder.mark_keep(worked.operand);
    AnalyzedGraph(worked.builder)
        .expect_refused(worked.result, worked.operand, Refusal::kHeldToTheEnd);
  }
  Worked worked;
  worked.work();
  worked.builder.mark_output(worked.result);
  worked.builder.mark_keep(worked.result);
  AnalyzedGraph(worked.builder).expect_taken(worked.result, worked.operand);
}

// llama.cpp 25729, ggml 1151.
TEST(InPlace, LeavesStorageThatIsAnOutputUnderAnotherName) {
  TensorGraphBuilder builder;
  const TensorIndex x = builder.add_input("x", 64);
  const TensorIndex a = builder.add_input("A", 64);
  const TensorIndex r = builder.add_tensor("r", 64);
  const TensorIndex v = builder.add_tensor("v", 64);
  const TensorIndex d = builder.add_tensor("d", 64);
  builder.add_operator("n0").input(x).output(r);
  builder.add_operator("n1").input(r).output(v, alias_of(r));
  builder.add_operator("n2").input(a).input(r).output(d, in_place_of(r));
  for (const TensorIndex output : {v, d}) builder.mark_output(output);
  const AnalyzedGraph analyzed(builder);
  analyzed.expect_refused(d, r, Refusal::kHeldToTheEnd);
  const StoragePlace place = analyzed.lifetimes().place(r);
  EXPECT_EQ(analyzed.lifetimes().problem().blocks[place.block.value].live_range,
            (LiveRange{Step(0), Step(2)}));
}

TEST(InPlace, LeavesStorageThatIsReadTwice) {
  {
    Worked worked;  // add(x, x)
    worked.work().input(worked.operand);
    AnalyzedGraph(worked.builder)
        .expect_refused(worked.result, worked.operand, Refusal::kAnotherOperand);
  }
  {
    Worked worked;  // add(x, reshape(x))
    const TensorIndex name = worked.builder.add_tensor("name", 100);
    worked.builder.add_operator("reshape")
        .input(worked.operand)
        .output(name, alias_of(worked.operand));
    worked.work().input(name);
    AnalyzedGraph(worked.builder)
        .expect_refused(worked.result, worked.operand, Refusal::kAnotherOperand);
  }
  Worked worked;  // add(x, y), and an operand that is absent
  const TensorIndex other = worked.builder.add_input("other", 100);
  worked.work().input(TensorIndex::none()).input(other);
  AnalyzedGraph(worked.builder).expect_taken(worked.result, worked.operand);
}

TEST(InPlace, GivesAnOperandToOneResult) {
  Worked worked;
  const TensorIndex second = worked.builder.add_tensor("second", 100);
  worked.work().output(second, in_place_of(worked.operand));
  const AnalyzedGraph analyzed(worked.builder);
  EXPECT_TRUE(analyzed.shares(worked.result, worked.operand));
  analyzed.expect_refused(second, worked.operand, Refusal::kAnotherResult);
}

TEST(InPlace, LeavesAnOperandThatIsAResultUnderAnotherName) {
  Worked worked;
  const TensorIndex name = worked.builder.add_tensor("name", 40);
  worked.work().output(name, view_of(worked.operand, 0));
  AnalyzedGraph(worked.builder)
      .expect_refused(worked.result, worked.operand, Refusal::kAnotherResult);
}

TEST(InPlace, TakesTheFirstOperandThatHolds) {
  TensorGraphBuilder builder;
  const TensorIndex first = builder.add_tensor("first", 100);
  const TensorIndex second = builder.add_tensor("second", 100);
  const TensorIndex result = builder.add_tensor("result", 100);
  builder.add_operator("make").output(first).output(second);
  builder.add_operator("work").input(first).input(second).output(
      result, {in_place_of(first), in_place_of(second)});
  builder.add_operator("read").input(first);
  const AnalyzedGraph analyzed(builder);
  EXPECT_TRUE(analyzed.shares(result, second));
  analyzed.expect_refused(result, first, Refusal::kReadLater);
}

TEST(InPlace, LeavesAResultWhoseStorageIsInUseBefore) {
  // "early" and the result are parts of one whole; where it is written after "work", they may meet.
  for (const bool is_early : {true, false}) {
    Worked worked;
    const TensorIndex part = worked.builder.add_tensor("part", 50);
    const TensorIndex whole = worked.builder.add_tensor("whole", 150);
    if (is_early) worked.builder.add_operator("early").output(part);
    worked.work();
    if (!is_early) worked.builder.add_operator("late").output(part);
    worked.builder.add_operator("concat")
        .input(worked.result, view_of(whole, 0))
        .input(part, view_of(whole, 100))
        .output(whole);
    const AnalyzedGraph analyzed(worked.builder);
    if (is_early) {
      analyzed.expect_refused(worked.result, worked.operand, Refusal::kResultLiveBefore);
    } else {
      analyzed.expect_taken(worked.result, worked.operand);
    }
  }
}

TEST(InPlace, LeavesAResultWhoseStorageHoldsAnInput) {
  Worked worked;
  const TensorIndex input = worked.builder.add_input("input", 50);
  const TensorIndex whole = worked.builder.add_tensor("whole", 150);
  worked.builder.mark_disposable(input);
  worked.work();
  worked.builder.add_operator("concat")
      .input(worked.result, view_of(whole, 0))
      .input(input, view_of(whole, 100))
      .output(whole);
  AnalyzedGraph(worked.builder)
      .expect_refused(worked.result, worked.operand, Refusal::kResultLiveBefore);
}

TEST(InPlace, LeavesConstantsUnderAnyName) {
  for (const RelationKind kind : {RelationKind::kInPlace, RelationKind::kUpdate}) {
    TensorGraphBuilder builder;
    const TensorIndex constant = builder.add_constant("constant", 100);
    const TensorIndex name = builder.add_tensor("name", 100);
    const TensorIndex result = builder.add_tensor("result", 100);
    builder.add_operator("reshape").input(constant).output(name, alias_of(constant));
    builder.add_operator("work").input(name).output(result, Sharing{kind, name, 0});
    const AnalyzedGraph analyzed(builder);
    analyzed.expect_refused(result, name, Refusal::kReadOnly);
    EXPECT_TRUE(analyzed.is_placed(result));
    EXPECT_FALSE(analyzed.is_placed(name));
  }
}

TEST(InPlace, LeavesInputsThatAreNotDisposable) {
  for (const bool is_disposable : {false, true}) {
    TensorGraphBuilder builder;
    const TensorIndex input = builder.add_input("input", 100);
    const TensorIndex name = builder.add_tensor("name", 100);
    const TensorIndex result = builder.add_tensor("result", 100);
    if (is_disposable) builder.mark_disposable(input);
    builder.add_operator("reshape").input(input).output(name, alias_of(input));
    builder.add_operator("work").input(name).output(result, in_place_of(name));
    const AnalyzedGraph analyzed(builder);
    if (is_disposable) {
      analyzed.expect_taken(result, name);
      EXPECT_TRUE(analyzed.shares(result, input));
    } else {
      analyzed.expect_refused(result, name, Refusal::kGraphInput);
    }
  }
}

// One input of a class that is not disposable protects all of it.
TEST(InPlace, LeavesAWholeOfWhichOnePartIsAnInputToKeep) {
  TensorGraphBuilder builder;
  const TensorIndex a = builder.add_input("a", 50);
  const TensorIndex b = builder.add_input("b", 50);
  const TensorIndex whole = builder.add_tensor("whole", 100);
  const TensorIndex result = builder.add_tensor("result", 100);
  builder.mark_disposable(a);
  builder.add_operator("concat")
      .input(a, view_of(whole, 0))
      .input(b, view_of(whole, 50))
      .output(whole);
  builder.add_operator("work").input(whole).output(result, in_place_of(whole));
  AnalyzedGraph(builder).expect_refused(result, whole, Refusal::kGraphInput);
}

}  // namespace
}  // namespace tenure
