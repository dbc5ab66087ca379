// SPDX-License-Identifier: Apache-2.0

// verify(graph, plan) where tensors share bytes on purpose: what a relation allows is accepted, and
// nothing beyond that.

#include <gtest/gtest.h>

#include <cstdint>

#include "support/hand_plan.h"

namespace tenure {
namespace {

using test::expect_found;
using test::HandPlan;
using test::kAtTheEnd;

// x -> a -> b in place -> c
struct InPlace : HandPlan {
  TensorIndex x = builder.add_input("x", 64);
  TensorIndex a = builder.add_tensor("a", 64);
  TensorIndex b = builder.add_tensor("b", 64);
  TensorIndex c = builder.add_tensor("c", 64);
  InPlace() {
    builder.add_operator("0").input(x).output(a);
    builder.add_operator("1").input(a).output(b, in_place_of(a));
  }
  void add_reader(TensorIndex read) { builder.add_operator("2").input(read).output(c); }
};

TEST(VerifyInPlace, AcceptsAResultOverItsDyingOperand) {
  InPlace hand;
  hand.add_reader(hand.b);
  EXPECT_TRUE(hand.put_all().check().ok());
  ASSERT_EQ(hand.placement(hand.a), hand.placement(hand.b));
  EXPECT_TRUE(hand.put(hand.b, 1024).check().ok());  // nor is it a duty
}

TEST(VerifyInPlace, AcceptsADyingIntermediateThatBecomesAnOutput) {
  InPlace hand;
  hand.builder.mark_output(hand.b);
  EXPECT_TRUE(hand.put_all().check().ok());
  ASSERT_EQ(hand.placement(hand.a), hand.placement(hand.b));
}

TEST(VerifyInPlace, FindsAnOperandThatIsReadLater) {
  InPlace hand;
  hand.add_reader(hand.a);
  EXPECT_TRUE(hand.put_all().check().ok());
  hand.put(hand.b, hand.placement(hand.a).offset_bytes);
  expect_found(hand.check(), Reason::kOverwritten, hand.a, hand.b, OperatorIndex(2));
}

TEST(VerifyInPlace, FindsAnOperandThatIsAnOutputOrKept) {
  for (const bool keep : {false, true}) {
    InPlace hand;
    if (keep) hand.builder.mark_keep(hand.a);
    if (!keep) hand.builder.mark_output(hand.a);
    EXPECT_TRUE(hand.put_all().check().ok());
    hand.put(hand.b, hand.placement(hand.a).offset_bytes);
    expect_found(hand.check(), Reason::kOverwritten, hand.a, hand.b, kAtTheEnd);
  }
}

TEST(VerifyInPlace, FindsAResultThatIsShiftedOverItsOperand) {
  InPlace hand;
  hand.put(hand.x, 1024).put(hand.a, 64).put(hand.b, 64).put(hand.c, 512);
  EXPECT_TRUE(hand.check().ok());
  for (const std::uint64_t offset : {1U, 63U, 65U, 127U}) {
    expect_found(hand.put(hand.b, offset).check(), Reason::kSharedWithinOperator, hand.a, hand.b,
                 OperatorIndex(1));
  }
}

TEST(VerifyInPlace, FindsAResultOfAnotherSize) {
  for (const std::uint64_t size : {32U, 128U}) {
    HandPlan hand;
    const TensorIndex a = hand.builder.add_tensor("a", 64);
    const TensorIndex b = hand.builder.add_tensor("b", size);
    hand.builder.add_operator("0").output(a);
    hand.builder.add_operator("1").input(a).output(b, in_place_of(a));
    expect_found(hand.put(a, 0).put(b, 0).check(), Reason::kSharedWithinOperator, a, b,
                 OperatorIndex(1));
  }
}

// add(x, x): the operand would be read at two paces.
TEST(VerifyInPlace, FindsAnOperandThatIsTwiceAnOperand) {
  HandPlan hand;
  const TensorIndex a = hand.builder.add_tensor("a", 64);
  const TensorIndex b = hand.builder.add_tensor("b", 64);
  hand.builder.add_operator("0").output(a);
  hand.builder.add_operator("add").input(a).input(a).output(b, in_place_of(a));
  EXPECT_TRUE(hand.put_all().check().ok());
  expect_found(hand.put(a, 0).put(b, 0).check(), Reason::kSharedWithinOperator, a, b,
               OperatorIndex(1));
}

// add(x, y) over x, where y is the same bytes under another name.
TEST(VerifyInPlace, FindsAnAliasOfTheOperandAmongTheOtherOperands) {
  HandPlan hand;
  const TensorIndex a = hand.builder.add_tensor("a", 64);
  const TensorIndex alias = hand.builder.add_tensor("alias", 64);
  const TensorIndex b = hand.builder.add_tensor("b", 64);
  hand.builder.add_operator("0").output(a);
  hand.builder.add_operator("1").input(a).output(alias, alias_of(a));
  hand.builder.add_operator("add").input(a).input(alias).output(b, in_place_of(a));
  EXPECT_TRUE(hand.put_all().check().ok());
  hand.put(b, hand.placement(a).offset_bytes);
  expect_found(hand.check(), Reason::kSharedWithinOperator, alias, b, OperatorIndex(2));
}

TEST(VerifyInPlace, FindsTwoResultsOverOneOperand) {
  HandPlan hand;
  const TensorIndex a = hand.builder.add_tensor("a", 64);
  const TensorIndex b = hand.builder.add_tensor("b", 64);
  const TensorIndex c = hand.builder.add_tensor("c", 64);
  hand.builder.add_operator("0").output(a);
  hand.builder.add_operator("1").input(a).output(b, in_place_of(a)).output(c, in_place_of(a));
  EXPECT_TRUE(hand.put_all().check().ok());
  expect_found(hand.put(a, 0).put(b, 0).put(c, 0).check(), Reason::kSharedWithinOperator, b, c,
               OperatorIndex(1));
}

TEST(VerifyInPlace, AcceptsTheOtherOfTwoAllowedOperands) {
  HandPlan hand;
  const TensorIndex a = hand.builder.add_tensor("a", 64);
  const TensorIndex b = hand.builder.add_tensor("b", 64);
  const TensorIndex c = hand.builder.add_tensor("c", 64);
  hand.builder.add_operator("0").output(a).output(b);
  hand.builder.add_operator("1").input(a).input(b).output(c, {in_place_of(a), in_place_of(b)});
  EXPECT_TRUE(hand.put(a, 0).put(b, 64).put(c, 64).check().ok());
  EXPECT_TRUE(hand.put(c, 0).check().ok());
  expect_found(hand.put(c, 32).check(), Reason::kSharedWithinOperator, a, c, OperatorIndex(1));
}

TEST(VerifyInPlace, OnlyDisposableInputsMayBeOverwritten) {
  for (const bool is_disposable : {false, true}) {
    HandPlan hand;
    const TensorIndex x = hand.builder.add_input("x", 64);
    const TensorIndex y = hand.builder.add_tensor("y", 64);
    hand.builder.add_operator("0").input(x).output(y, in_place_of(x));
    if (is_disposable) hand.builder.mark_disposable(x);
    EXPECT_TRUE(hand.put_all().check().ok());
    EXPECT_EQ(hand.placement(x) == hand.placement(y), is_disposable);
    const Status status = hand.put(x, 0).put(y, 0).check();
    if (is_disposable) {
      EXPECT_TRUE(status.ok());
    } else {
      expect_found(status, Reason::kSharedWithinOperator, x, y, OperatorIndex(0));
    }
  }
}

// An input by another name is still that input.
TEST(VerifyInPlace, FindsAnInputThatIsOverwrittenUnderAnAliasName) {
  HandPlan hand;
  const TensorIndex x = hand.builder.add_input("x", 64);
  const TensorIndex r = hand.builder.add_tensor("r", 64);
  const TensorIndex y = hand.builder.add_tensor("y", 64);
  hand.builder.add_operator("0").input(x).output(r, alias_of(x));
  hand.builder.add_operator("1").input(r).output(y, in_place_of(r));
  EXPECT_TRUE(hand.put_all().check().ok());
  expect_found(hand.put(y, hand.placement(r).offset_bytes).check(), Reason::kSharedWithinOperator,
               r, y, OperatorIndex(1));
}

TEST(VerifyInPlace, ConstantsAreNeverOverwritten) {
  HandPlan hand;
  const TensorIndex weights = hand.builder.add_constant("weights", 64);
  const TensorIndex y = hand.builder.add_tensor("y", 64);
  hand.builder.add_operator("0").input(weights).output(y, in_place_of(weights));
  EXPECT_TRUE(hand.put_all().check().ok());
  const Status status = hand.take_away(y).check();  // as if it lay in the constant's buffer
  EXPECT_EQ(status.reason(), Reason::kNotPlaced);
  EXPECT_EQ(status.tensor, y);
}

TEST(VerifyInPlace, UpdatesOfConstantsAreNoneEither) {
  HandPlan hand;
  const TensorIndex weights = hand.builder.add_constant("weights", 64);
  const TensorIndex y = hand.builder.add_tensor("y", 64);
  hand.builder.add_operator("0").input(weights).output(y, update_of(weights));
  EXPECT_TRUE(hand.put_all().check().ok());
  EXPECT_FALSE(hand.take_away(y).check().ok());
}

TEST(VerifyPersistent, AcceptsAnUpdateInPlaceOrApart) {
  HandPlan hand;
  const TensorIndex state = hand.builder.add_persistent("state", 64);
  const TensorIndex next = hand.builder.add_tensor("next", 64);
  hand.builder.add_operator("0").input(state).output(next, update_of(state));
  EXPECT_TRUE(hand.put_all().check().ok());
  EXPECT_EQ(hand.placement(next), hand.placement(state));
  EXPECT_TRUE(hand.put(next, 0).check().ok());
}

TEST(VerifyPersistent, FindsAResultInPlaceThatIsNoUpdate) {
  HandPlan hand;
  const TensorIndex state = hand.builder.add_persistent("state", 64);
  const TensorIndex next = hand.builder.add_tensor("next", 64);
  hand.builder.add_operator("0").input(state).output(next, in_place_of(state));
  EXPECT_TRUE(hand.put_all().check().ok());
  hand.put(next, hand.placement(state).offset_bytes, kPersistentRegion);
  expect_found(hand.check(), Reason::kSharedWithinOperator, state, next, OperatorIndex(0));
}

TEST(VerifyPersistent, FindsStateThatIsOverwrittenWithoutBeingRead) {
  HandPlan hand;
  const TensorIndex state = hand.builder.add_persistent("state", 64);
  const TensorIndex y = hand.builder.add_tensor("y", 64);
  hand.builder.add_operator("0").output(y);
  hand.put(state, 0, kPersistentRegion).put(y, 63, kPersistentRegion);
  expect_found(hand.check(), Reason::kOverwritten, state, y, kAtTheEnd);
  EXPECT_TRUE(hand.put(y, 64, kPersistentRegion).check().ok());
}

TEST(VerifyPersistent, FindsAnUpdateThatIsOverwrittenItself) {
  HandPlan hand;
  const TensorIndex state = hand.builder.add_persistent("state", 64);
  const TensorIndex next = hand.builder.add_tensor("next", 64);
  const TensorIndex after = hand.builder.add_tensor("after", 64);
  hand.builder.add_operator("0").input(state).output(next, update_of(state));
  hand.builder.add_operator("1").input(next).output(after, in_place_of(next));
  EXPECT_TRUE(hand.put_all().check().ok());
  hand.put(after, hand.placement(state).offset_bytes, kPersistentRegion);
  expect_found(hand.check(), Reason::kOverwritten, state, after, kAtTheEnd);
}

// The update is all of a larger value by then.
TEST(VerifyPersistent, AcceptsAnUpdateThatHasBecomePartOfAnotherTensor) {
  HandPlan hand;
  const TensorIndex state = hand.builder.add_persistent("state", 64);
  const TensorIndex next = hand.builder.add_tensor("next", 64);
  const TensorIndex whole = hand.builder.add_tensor("whole", 64);
  hand.builder.add_operator("0").input(state).output(next, update_of(state));
  hand.builder.add_operator("1").input(next, alias_of(whole)).output(whole);
  EXPECT_TRUE(hand.put_all().check().ok()) << text_of(hand.check().reason());
  EXPECT_EQ(hand.placement(state), hand.placement(whole));
}

TEST(VerifyPersistent, FindsAnUpdateThatALaterOperatorReadsPast) {
  HandPlan hand;
  const TensorIndex state = hand.builder.add_persistent("state", 64);
  const TensorIndex next = hand.builder.add_tensor("next", 64);
  hand.builder.add_operator("0").input(state).output(next, update_of(state));
  hand.builder.add_operator("1").input(state);
  EXPECT_TRUE(hand.put_all().check().ok());
  hand.put(next, hand.placement(state).offset_bytes, kPersistentRegion);
  expect_found(hand.check(), Reason::kOverwritten, state, next, OperatorIndex(1));
}

TEST(VerifyPersistent, AStateThatOperatorsWriteDirectlyHoldsTheLastOne) {
  HandPlan hand;
  const TensorIndex state = hand.builder.add_persistent("state", 64);
  const TensorIndex y = hand.builder.add_tensor("y", 64);
  hand.builder.add_operator("0").input(state).output(state);
  hand.builder.add_operator("1").input(state).output(y).output(state);
  hand.builder.mark_output(y);
  EXPECT_TRUE(hand.put_all().check().ok());
  hand.put(y, hand.placement(state).offset_bytes + 63, kPersistentRegion);
  EXPECT_EQ(hand.check().reason(), Reason::kSharedWithinOperator);
}

TEST(VerifyExternal, AcceptsAnUpdateInItsBuffer) {
  HandPlan hand;
  const TensorIndex buffer = hand.builder.add_external("buffer", 64);
  const TensorIndex next = hand.builder.add_tensor("next", 64);
  hand.builder.add_operator("0").input(buffer).output(next, update_of(buffer));
  EXPECT_TRUE(hand.put_all().check().ok());
  EXPECT_TRUE(hand.placement(next).is_none());
  EXPECT_TRUE(hand.put(next, 0).check().ok());
}

TEST(VerifyExternal, FindsABufferThatIsReadAfterItsUpdate) {
  HandPlan hand;
  const TensorIndex buffer = hand.builder.add_external("buffer", 64);
  const TensorIndex next = hand.builder.add_tensor("next", 64);
  hand.builder.add_operator("0").input(buffer).output(next, update_of(buffer));
  hand.builder.add_operator("1").input(buffer);
  EXPECT_TRUE(hand.put_all().check().ok());
  expect_found(hand.take_away(next).check(), Reason::kOverwritten, buffer, next, OperatorIndex(1));
}

// The update's bytes become a part of what is larger than the buffer: they cannot lie there.
TEST(VerifyExternal, FindsAnUpdateWhoseStorageDoesNotFitTheBuffer) {
  HandPlan hand;
  const TensorIndex buffer = hand.builder.add_external("buffer", 64);
  const TensorIndex next = hand.builder.add_tensor("next", 64);
  const TensorIndex whole = hand.builder.add_tensor("whole", 128);
  hand.builder.add_operator("0").input(buffer).output(next, update_of(buffer));
  hand.builder.add_operator("1").input(next, view_of(whole, 64)).output(whole);
  EXPECT_TRUE(hand.put_all().check().ok());
  EXPECT_FALSE(hand.placement(next).is_none());
  EXPECT_EQ(hand.take_away(next).take_away(whole).check().reason(), Reason::kNotPlaced);
}

// Then it is the other buffer's, whatever it updates besides.
TEST(VerifyExternal, AcceptsAnUpdateThatLiesInAnotherBuffer) {
  for (const bool is_constant : {false, true}) {
    HandPlan hand;
    const TensorIndex old_value =
        is_constant ? hand.builder.add_constant("old", 64) : hand.builder.add_external("old", 64);
    const TensorIndex next = hand.builder.add_tensor("next", 64);
    const TensorIndex whole = hand.builder.add_external("whole", 128);
    hand.builder.add_operator("0").input(old_value).output(next, update_of(old_value));
    hand.builder.add_operator("1").input(old_value).input(next, view_of(whole, 0)).output(whole);
    EXPECT_TRUE(hand.put_all().check().ok()) << text_of(hand.check().reason());
    EXPECT_TRUE(hand.placement(next).is_none());
  }
}

TEST(VerifyExternal, AResultInPlaceThatIsNoUpdateHasNoPlaceThere) {
  HandPlan hand;
  const TensorIndex buffer = hand.builder.add_external("buffer", 64);
  const TensorIndex next = hand.builder.add_tensor("next", 64);
  hand.builder.add_operator("0").input(buffer).output(next, in_place_of(buffer));
  EXPECT_TRUE(hand.put_all().check().ok());
  EXPECT_EQ(hand.take_away(next).check().reason(), Reason::kNotPlaced);
}

}  // namespace
}  // namespace tenure
