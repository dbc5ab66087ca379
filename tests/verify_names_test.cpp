// SPDX-License-Identifier: Apache-2.0

// verify(graph, plan) where tensors are names of one another's bytes: aliases, views of a split,
// parts of a concatenation.

#include <gtest/gtest.h>

#include <cstdint>

#include "support/hand_plan.h"

namespace tenure {
namespace {

using test::expect_found;
using test::HandPlan;
using test::kAtTheEnd;

// L1 (LiteRT 8889, 8928): n0 in->X; n1 reshape X->R1; n2 reshape R1->R2; n3 multiply in place
// R2->M; n4 add(R1, M)->Y.
TEST(VerifyAlias, FindsAnInPlaceResultOverAnAliasThatIsReadLater) {
  HandPlan hand;
  const TensorIndex in = hand.builder.add_input("in", 1024);
  const TensorIndex x = hand.builder.add_tensor("X", 1024);
  const TensorIndex r1 = hand.builder.add_tensor("R1", 1024);
  const TensorIndex r2 = hand.builder.add_tensor("R2", 1024);
  const TensorIndex m = hand.builder.add_tensor("M", 1024);
  const TensorIndex y = hand.builder.add_tensor("Y", 1024);
  hand.builder.add_operator("n0").input(in).output(x);
  hand.builder.add_operator("n1").input(x).output(r1, alias_of(x));
  hand.builder.add_operator("n2").input(r1).output(r2, alias_of(r1));
  hand.builder.add_operator("n3").input(r2).output(m, in_place_of(r2));
  hand.builder.add_operator("n4").input(r1).input(m).output(y);
  hand.builder.mark_output(y);
  EXPECT_TRUE(hand.put_all().check().ok());
  EXPECT_FALSE(hand.placement(m) == hand.placement(r2));
  hand.put(m, hand.placement(r2).offset_bytes);
  expect_found(hand.check(), Reason::kOverwritten, r1, m, OperatorIndex(4));
}

// L4 (llama.cpp 25729): the class of v lives to the end.
TEST(VerifyAlias, FindsAnInPlaceResultOverAnAliasThatIsAnOutput) {
  HandPlan hand;
  const TensorIndex a = hand.builder.add_input("A", 64);
  const TensorIndex r = hand.builder.add_tensor("r", 64);
  const TensorIndex v = hand.builder.add_tensor("v", 64);
  const TensorIndex d = hand.builder.add_tensor("d", 64);
  hand.builder.add_operator("n0").output(r);
  hand.builder.add_operator("n1").input(r).output(v, alias_of(r));
  hand.builder.add_operator("n2").input(a).input(r).output(d, in_place_of(r));
  hand.builder.mark_output(v);
  hand.builder.mark_output(d);
  EXPECT_TRUE(hand.put_all().check().ok());
  hand.put(d, hand.placement(r).offset_bytes);
  expect_found(hand.check(), Reason::kOverwritten, v, d, kAtTheEnd);
}

TEST(VerifyAlias, FindsAliasesAndViewsThatLieElsewhere) {
  HandPlan hand;
  const TensorIndex x = hand.builder.add_input("x", 64);
  const TensorIndex alias = hand.builder.add_tensor("alias", 64);
  const TensorIndex view = hand.builder.add_tensor("view", 16);
  hand.builder.add_operator("0").input(x).output(alias, alias_of(x)).output(view, view_of(x, 48));
  EXPECT_TRUE(hand.put(x, 128).put(alias, 128).put(view, 176).check().ok());
  for (const std::uint64_t offset : {0U, 127U, 129U, 192U}) {
    expect_found(hand.put(alias, offset).check(), Reason::kRelationBroken, alias, x,
                 OperatorIndex(0));
  }
  hand.put(alias, 128);
  for (const std::uint64_t offset : {48U, 128U, 175U, 177U}) {
    expect_found(hand.put(view, offset).check(), Reason::kRelationBroken, view, x,
                 OperatorIndex(0));
  }
  expect_found(hand.put(view, 176, kPersistentRegion).check(), Reason::kRelationBroken, view, x,
               OperatorIndex(0));
  expect_found(hand.take_away(view).check(), Reason::kRelationBroken, view, x, OperatorIndex(0));
}

// A base below offset 0 would be needed for this view: the difference must not wrap into being
// right.
TEST(VerifyAlias, FindsAViewBelowItsBase) {
  HandPlan hand;
  const TensorIndex x = hand.builder.add_input("x", 64);
  const TensorIndex view = hand.builder.add_tensor("view", 16);
  hand.builder.add_operator("0").input(x).output(view, view_of(x, 32));
  expect_found(hand.put(x, 32).put(view, 0).check(), Reason::kRelationBroken, view, x,
               OperatorIndex(0));
}

TEST(VerifyAlias, AcceptsAnAliasOfAConstantWithoutAPlace) {
  HandPlan hand;
  const TensorIndex weights = hand.builder.add_constant("weights", 64);
  const TensorIndex alias = hand.builder.add_tensor("alias", 64);
  const TensorIndex view = hand.builder.add_tensor("view", 32);
  const TensorIndex y = hand.builder.add_tensor("y", 64);
  hand.builder.add_operator("0").input(weights).output(alias, alias_of(weights));
  hand.builder.add_operator("1").input(alias).output(view, view_of(alias, 32));
  hand.builder.add_operator("2").input(view).output(y);
  hand.builder.mark_output(view);
  EXPECT_TRUE(hand.put_all().check().ok());
  EXPECT_TRUE(hand.placement(view).is_none());
  expect_found(hand.put(alias, 256).check(), Reason::kRelationBroken, alias, weights,
               OperatorIndex(0));
}

// Relations of one operator hold in whatever order they were written.
TEST(VerifyAlias, AcceptsAChainOfNamesWithinOneOperatorInAnyOrder) {
  for (const bool is_reversed : {false, true}) {
    HandPlan hand;
    const TensorIndex x = hand.builder.add_input("x", 64);
    const TensorIndex first = hand.builder.add_tensor("first", 32);
    const TensorIndex second = hand.builder.add_tensor("second", 16);
    const TensorIndex y = hand.builder.add_tensor("y", 64);
    OperatorBuilder op = hand.builder.add_operator("0").input(x);
    if (is_reversed) op.output(second, view_of(first, 8)).output(first, view_of(x, 16));
    if (!is_reversed) op.output(first, view_of(x, 16)).output(second, view_of(first, 8));
    hand.builder.add_operator("1").input(second).output(y);
    hand.put(x, 0).put(first, 16).put(second, 24).put(y, 128);
    EXPECT_TRUE(hand.check().ok()) << is_reversed << ": " << text_of(hand.check().reason());
  }
}

// Two results that are names of each other: nothing writes them. Refused by the builder or here.
TEST(VerifyAlias, FindsNamesOfOneAnotherThatNothingWrites) {
  TensorGraphBuilder builder;
  const TensorIndex x = builder.add_input("x", 64);
  const TensorIndex a = builder.add_tensor("a", 64);
  const TensorIndex b = builder.add_tensor("b", 64);
  builder.add_operator("0").input(x).output(a, alias_of(b)).output(b, alias_of(a));
  builder.add_operator("1").input(b);
  const Result<TensorGraph> graph = builder.build();
  if (!graph.ok()) return;
  const Result<MemoryPlan> plan = ArenaPlanner().plan(*graph);
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(verify(*graph, *plan).ok());
}

TEST(VerifyAlias, AcceptsAResultThatIsNamedFromItsOperand) {
  HandPlan hand;
  const TensorIndex x = hand.builder.add_tensor("x", 64);
  const TensorIndex y = hand.builder.add_tensor("y", 64);
  hand.builder.add_operator("0").output(x);
  hand.builder.add_operator("1").input(x, alias_of(y)).output(y);
  hand.builder.add_operator("2").input(x).input(y);
  EXPECT_TRUE(hand.put(x, 0).put(y, 0).check().ok());
  expect_found(hand.put(y, 1).check(), Reason::kRelationBroken, x, y, OperatorIndex(1));
}

//  64 |   right
//   0 | x left
class Split : public HandPlan {
 public:
  TensorIndex x = builder.add_input("x", 128);
  TensorIndex left = builder.add_tensor("left", 64);
  TensorIndex right = builder.add_tensor("right", 64);
  TensorIndex a = builder.add_tensor("a", 64);
  TensorIndex b = builder.add_tensor("b", 64);
  Split() {
    builder.add_operator("split")
        .input(x)
        .output(left, view_of(x, 0))
        .output(right, view_of(x, 64));
    builder.add_operator("1").input(left).output(a);
    builder.add_operator("2").input(right).output(b);
    put(x, 0).put(left, 0).put(right, 64).put(a, 512).put(b, 1024);
  }
};

TEST(VerifyViews, AcceptsReuseOfTheHalfThatIsNoLongerRead) {
  Split hand;
  EXPECT_TRUE(hand.check().ok());
  EXPECT_TRUE(hand.put(hand.b, 0).check().ok());  // where left was
}

TEST(VerifyViews, FindsTheHalfThatIsStillRead) {
  Split hand;
  expect_found(hand.put(hand.a, 64).check(), Reason::kOverwritten, hand.right, hand.a,
               OperatorIndex(2));
  expect_found(hand.put(hand.a, 127).check(), Reason::kOverwritten, hand.right, hand.a,
               OperatorIndex(2));
  expect_found(hand.put(hand.a, 63).check(), Reason::kSharedWithinOperator, hand.left, hand.a,
               OperatorIndex(1));
}

// L10 (ExecuTorch 3210): a, b, c are written straight into slices of y; a gap of 8 after a.
class Concatenation : public HandPlan {
 public:
  TensorIndex a = builder.add_tensor("a", 64);
  TensorIndex b = builder.add_tensor("b", 32);
  TensorIndex y = builder.add_tensor("y", 104);
  TensorIndex z = builder.add_tensor("z", 104);
  Concatenation() {
    builder.add_operator("0").output(a);
    builder.add_operator("1").output(b);
    builder.add_operator("concat").input(a, view_of(y, 0)).input(b, view_of(y, 72)).output(y);
    put(y, 0).put(a, 0).put(b, 72).put(z, 512);
  }
};

TEST(VerifyViews, AcceptsAConcatenationInPlace) {
  Concatenation hand;
  hand.builder.add_operator("3").input(hand.y).output(hand.z);
  EXPECT_TRUE(hand.check().ok());
  EXPECT_TRUE(hand.put_all().check().ok());
  EXPECT_EQ(hand.placement(hand.b).offset_bytes, hand.placement(hand.y).offset_bytes + 72);
}

TEST(VerifyViews, PartsOfAConcatenationAreStillReadableAfterIt) {
  Concatenation hand;
  hand.builder.add_operator("3").input(hand.a).input(hand.y).output(hand.z);
  hand.builder.mark_output(hand.b);
  EXPECT_TRUE(hand.check().ok());
  // But not where the whole is overwritten.
  expect_found(hand.put(hand.z, 103).check(), Reason::kSharedWithinOperator, hand.y, hand.z,
               OperatorIndex(3));
}

TEST(VerifyViews, FindsAPartThatIsLostWhenTheWholeIsOverwritten) {
  Concatenation hand;
  hand.builder.add_operator("3").input(hand.y).output(hand.z, in_place_of(hand.y));
  hand.builder.mark_output(hand.b);
  EXPECT_TRUE(hand.check().ok());
  expect_found(hand.put(hand.z, 0).check(), Reason::kOverwritten, hand.b, hand.z, kAtTheEnd);
}

TEST(VerifyViews, FindsAPartAtTheWrongOffset) {
  Concatenation hand;
  for (const std::uint64_t offset : {71U, 73U, 64U, 512U}) {
    expect_found(hand.put(hand.b, offset).check(), Reason::kRelationBroken, hand.b, hand.y,
                 OperatorIndex(2));
  }
}

TEST(VerifyViews, FindsPartsThatOverwriteEachOther) {
  HandPlan hand;
  const TensorIndex a = hand.builder.add_tensor("a", 64);
  const TensorIndex b = hand.builder.add_tensor("b", 64);
  const TensorIndex y = hand.builder.add_tensor("y", 127);
  hand.builder.add_operator("0").output(a);
  hand.builder.add_operator("1").output(b);
  hand.builder.add_operator("concat").input(a, view_of(y, 0)).input(b, view_of(y, 63)).output(y);
  expect_found(hand.put(a, 0).put(b, 63).put(y, 0).check(), Reason::kOverwritten, a, b,
               OperatorIndex(2));
}

// What lies in a gap of the whole is lost when the whole is written.
TEST(VerifyViews, FindsATensorInTheGapOfAConcatenation) {
  Concatenation hand;
  const TensorIndex q = hand.builder.add_input("q", 8);
  hand.builder.add_operator("3").input(q);
  expect_found(hand.put(q, 64).check(), Reason::kOverwritten, q, hand.y, OperatorIndex(3));
  EXPECT_TRUE(hand.put(q, 104).check().ok());
}

// y = concat(a, b), w = concat(y, c): all are slices of w.
TEST(VerifyViews, AcceptsNestedConcatenations) {
  HandPlan hand;
  const TensorIndex a = hand.builder.add_tensor("a", 64);
  const TensorIndex b = hand.builder.add_tensor("b", 64);
  const TensorIndex c = hand.builder.add_tensor("c", 64);
  const TensorIndex y = hand.builder.add_tensor("y", 128);
  const TensorIndex w = hand.builder.add_tensor("w", 192);
  const TensorIndex z = hand.builder.add_tensor("z", 192);
  hand.builder.add_operator("0").output(a);
  hand.builder.add_operator("1").output(b);
  hand.builder.add_operator("2").input(a, view_of(y, 0)).input(b, view_of(y, 64)).output(y);
  hand.builder.add_operator("3").output(c);
  hand.builder.add_operator("4").input(y, view_of(w, 0)).input(c, view_of(w, 128)).output(w);
  hand.builder.add_operator("5").input(a).input(w).output(z);
  hand.put(w, 0).put(y, 0).put(a, 0).put(b, 64).put(c, 128).put(z, 512);
  EXPECT_TRUE(hand.check().ok()) << text_of(hand.check().reason());
  expect_found(hand.put(c, 127).check(), Reason::kRelationBroken, c, w, OperatorIndex(4));
  hand.put(c, 128);
  // An operator between that writes over a slice is found at the next reader.
  expect_found(hand.put(z, 191).check(), Reason::kSharedWithinOperator, w, z, OperatorIndex(5));
  EXPECT_TRUE(hand.put_all().check().ok());
}

// An input, and a part of a buffer that the application brings.
TEST(VerifyViews, AcceptsPartsInABufferFromOutside) {
  HandPlan hand;
  const TensorIndex x = hand.builder.add_input("x", 64);
  const TensorIndex b = hand.builder.add_tensor("b", 64);
  const TensorIndex y = hand.builder.add_external("y", 128);
  hand.builder.add_operator("0").input(x).output(b);
  hand.builder.add_operator("1").input(x, view_of(y, 0)).input(b, view_of(y, 64)).output(y);
  EXPECT_TRUE(hand.put_all().check().ok()) << text_of(hand.check().reason());
  EXPECT_TRUE(hand.placement(x).is_none());
  EXPECT_TRUE(hand.placement(b).is_none());
}

}  // namespace
}  // namespace tenure
