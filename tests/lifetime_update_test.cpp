// SPDX-License-Identifier: Apache-2.0

// Permitted relations where sizes, alignments or storage that outlives the run decide.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/lifetimes.h"
#include "tenure/graph_builder.h"
#include "tenure/lifetime.h"
#include "tenure/planner.h"

namespace tenure {
namespace {

using test::AnalyzedGraph;
using Sums = std::vector<std::uint64_t>;

// "step" reads the state and makes its next value; tests add what is around.
struct Stepped {
  TensorGraphBuilder builder;
  TensorIndex state;
  TensorIndex next;

  explicit Stepped(TensorKind kind)
      : state(builder.add_tensor("state", 100, kind)), next(builder.add_tensor("next", 100)) {}
  OperatorBuilder step(RelationKind kind = RelationKind::kUpdate) {
    OperatorBuilder op = builder.add_operator("step");
    op.input(state).output(next, Sharing{kind, state, 0});
    return op;
  }
};

TEST(Update, WritesOverPersistentTensors) {
  Stepped stepped(TensorKind::kPersistent);
  stepped.step();
  stepped.builder.add_operator("read").input(stepped.next);
  stepped.builder.mark_output(stepped.next);
  const AnalyzedGraph analyzed(stepped.builder);
  analyzed.expect_taken(stepped.next, stepped.state);
  ASSERT_EQ(analyzed.lifetimes().problem().blocks.size(), 1U);
  EXPECT_EQ(analyzed.lifetimes().problem().blocks[0].region, kPersistentRegion);
  EXPECT_EQ(analyzed.live_bytes(), (Sums{0, 0}));  // nothing is left in the reusable region
}

TEST(Update, WritesIntoExternalBuffers) {
  Stepped stepped(TensorKind::kExternal);
  stepped.step();
  stepped.builder.add_operator("read").input(stepped.next);
  const AnalyzedGraph analyzed(stepped.builder);
  EXPECT_TRUE(analyzed.lifetimes().refused().empty());
  EXPECT_FALSE(analyzed.is_placed(stepped.next));
  EXPECT_EQ(analyzed.live_bytes(), (Sums{0, 0}));
}

TEST(Update, IsWhatStateNeedsToBeWrittenOver) {
  {
    Stepped stepped(TensorKind::kPersistent);
    stepped.step(RelationKind::kInPlace);
    AnalyzedGraph(stepped.builder)
        .expect_refused(stepped.next, stepped.state, Refusal::kPersistent);
  }
  Stepped stepped(TensorKind::kExternal);
  stepped.step(RelationKind::kInPlace);
  AnalyzedGraph(stepped.builder).expect_refused(stepped.next, stepped.state, Refusal::kReadOnly);
}

TEST(Update, OfTheStateItselfIsMeant) {
  Stepped stepped(TensorKind::kPersistent);
  const TensorIndex name = stepped.builder.add_tensor("name", 100);
  const TensorIndex result = stepped.builder.add_tensor("result", 100);
  stepped.builder.add_operator("reshape")
      .input(stepped.state)
      .output(name, alias_of(stepped.state));
  stepped.builder.add_operator("work").input(name).output(result, update_of(name));
  AnalyzedGraph(stepped.builder).expect_refused(result, name, Refusal::kPersistent);
}

TEST(Update, OfWhatIsNoStateCountsAsInPlace) {
  Stepped stepped(TensorKind::kIntermediate);
  stepped.builder.add_operator("make").output(stepped.state);
  stepped.step();
  AnalyzedGraph(stepped.builder).expect_taken(stepped.next, stepped.state);
}

TEST(Update, LeavesStateThatIsReadOrWrittenLater) {
  for (const TensorKind kind : {TensorKind::kPersistent, TensorKind::kExternal}) {
    for (const bool is_written : {false, true}) {
      Stepped stepped(kind);
      stepped.step();
      OperatorBuilder later = stepped.builder.add_operator("later");
      if (is_written) {
        later.output(stepped.state);
      } else {
        later.input(stepped.state);
      }
      AnalyzedGraph(stepped.builder)
          .expect_refused(stepped.next, stepped.state, Refusal::kReadLater);
    }
  }
}

TEST(Update, LeavesStateThatTheOperatorWritesToo) {
  Stepped stepped(TensorKind::kPersistent);
  stepped.step().output(stepped.state);
  AnalyzedGraph(stepped.builder)
      .expect_refused(stepped.next, stepped.state, Refusal::kAnotherResult);
}

TEST(Update, TakesTheLastOfSeveral) {
  Stepped stepped(TensorKind::kPersistent);
  const TensorIndex last = stepped.builder.add_tensor("last", 100);
  stepped.step();
  stepped.builder.add_operator("step").input(stepped.state).output(last, update_of(stepped.state));
  const AnalyzedGraph analyzed(stepped.builder);
  EXPECT_TRUE(analyzed.shares(last, stepped.state));
  analyzed.expect_refused(stepped.next, stepped.state, Refusal::kReadLater);
}

TEST(Update, LeavesResultsThatHaveStorageOfTheirOwn) {
  {
    Stepped stepped(TensorKind::kPersistent);
    const TensorIndex other = stepped.builder.add_persistent("other", 100);
    stepped.builder.add_operator("step")
        .input(stepped.state)
        .output(other, update_of(stepped.state));
    AnalyzedGraph(stepped.builder).expect_refused(other, stepped.state, Refusal::kPersistent);
  }
  Stepped stepped(TensorKind::kPersistent);
  const TensorIndex other = stepped.builder.add_external("other", 100);
  stepped.builder.add_operator("step").input(stepped.state).output(other, update_of(stepped.state));
  AnalyzedGraph(stepped.builder).expect_refused(other, stepped.state, Refusal::kReadOnly);
}

// The next value is a part of a whole. An external buffer cannot grow, and persistent bytes, which
// are never shared, would.
TEST(Update, DoesNotMakeStateGrow) {
  for (const TensorKind kind : {TensorKind::kPersistent, TensorKind::kExternal}) {
    for (const std::uint64_t size : {100U, 101U}) {
      Stepped stepped(kind);
      const TensorIndex whole = stepped.builder.add_tensor("whole", size);
      stepped.step();
      stepped.builder.add_operator("concat").input(stepped.next, view_of(whole, 0)).output(whole);
      const AnalyzedGraph analyzed(stepped.builder);
      if (size == 100) {
        EXPECT_TRUE(analyzed.lifetimes().refused().empty());
        EXPECT_EQ(analyzed.is_placed(whole), kind == TensorKind::kPersistent);
      } else {
        analyzed.expect_refused(stepped.next, stepped.state, Refusal::kRaisesLowerBound);
        EXPECT_TRUE(analyzed.is_placed(whole));
      }
    }
  }
}

// What an update takes off the reusable region is not left for others to fill.
//
//   n0: next 100, in state's storage | n1: whole 150 | n2: whole 150 + result 50 | n3: result +
//   late
TEST(Update, LowersTheBoundThatSharingMustNotRaise) {
  for (const std::uint64_t late_bytes : {50U, 51U}) {
    Stepped stepped(TensorKind::kPersistent);
    TensorGraphBuilder& builder = stepped.builder;
    const TensorIndex whole = builder.add_tensor("whole", 150);
    const TensorIndex part = builder.add_tensor("part", 50);
    const TensorIndex result = builder.add_tensor("result", 50);
    const TensorIndex late = builder.add_tensor("late", late_bytes);
    stepped.step().scratch("scratch", 180);  // with next 280, without 180
    builder.add_operator("n1").output(whole).output(part, view_of(whole, 0));
    builder.add_operator("n2").input(part).output(result, in_place_of(part));
    builder.add_operator("n3").input(result).output(late);
    const AnalyzedGraph analyzed(builder);
    // The bound is 200 of n2, and with sharing n3 has 150 + late.
    if (late_bytes == 50) {
      EXPECT_TRUE(analyzed.shares(result, part));
      EXPECT_EQ(analyzed.live_bytes(), (Sums{180, 150, 150, 200}));
    } else {
      analyzed.expect_refused(result, part, Refusal::kRaisesLowerBound);
      EXPECT_EQ(analyzed.live_bytes(), (Sums{180, 150, 200, 101}));
    }
  }
}

// The operand is a view of `whole`; its class would live as long as the result. Sizes at alignment
// 1; `late` is live at the last step beside the result.
//
//   n0: whole 1000 | n1: whole 1000 | n2: whole 1000 + result 100 | n3: result 100 + late
struct ViewedOperand {
  TensorGraphBuilder builder;
  TensorIndex whole = builder.add_tensor("whole", 1000);
  TensorIndex part = builder.add_tensor("part", 100);
  TensorIndex result = builder.add_tensor("result", 100);

  explicit ViewedOperand(std::uint64_t late_bytes) {
    const TensorIndex late = builder.add_tensor("late", late_bytes);
    builder.add_operator("n0").output(whole);
    builder.add_operator("n1").input(whole).output(part, view_of(whole, 300));
    builder.add_operator("n2").input(part).output(result, in_place_of(part));
    builder.add_operator("n3").input(result).output(late);
  }
};

TEST(InPlace, KeepsALargeClassAliveWhereThatCostsNothing) {
  ViewedOperand viewed(100);  // n3 with sharing: 1000 + 100 = 1100, as n2 without
  const AnalyzedGraph analyzed(viewed.builder);
  analyzed.expect_taken(viewed.result, viewed.part);
  EXPECT_EQ(analyzed.live_bytes(), (Sums{1000, 1000, 1000, 1100}));
}

TEST(InPlace, LetsALargeClassEndWhereItWouldRaiseTheBound) {
  ViewedOperand viewed(101);  // n3 with sharing: 1000 + 101 = 1101 > 1100
  const AnalyzedGraph analyzed(viewed.builder);
  analyzed.expect_refused(viewed.result, viewed.part, Refusal::kRaisesLowerBound);
  EXPECT_EQ(analyzed.live_bytes(), (Sums{1000, 1000, 1100, 201}));
}

TEST(InPlace, WritesAPartOfAWholeOverAnOperandWhereThatCostsNothing) {
  for (const std::uint64_t early_bytes : {101U, 200U}) {
    TensorGraphBuilder builder;
    const TensorIndex operand = builder.add_tensor("operand", 100);
    const TensorIndex result = builder.add_tensor("result", 100);
    const TensorIndex whole = builder.add_tensor("whole", 300);
    const TensorIndex early = builder.add_tensor("early", early_bytes);
    builder.add_operator("n0").output(operand).output(early);
    builder.add_operator("n1").input(operand).output(result, in_place_of(operand));
    builder.add_operator("n2").input(result, view_of(whole, 200)).output(whole);
    // Apart: 100 + early, 100 + 300, 300, so 400. Together the whole's 300 bytes live from n0 on:
    // 300 + early is 401 or 500 there.
    const AnalyzedGraph analyzed(builder);
    analyzed.expect_refused(result, operand, Refusal::kRaisesLowerBound);
    EXPECT_EQ(analyzed.live_bytes(), (Sums{100 + early_bytes, 400, 300}));
  }
  TensorGraphBuilder builder;
  const TensorIndex operand = builder.add_tensor("operand", 100);
  const TensorIndex result = builder.add_tensor("result", 100);
  const TensorIndex whole = builder.add_tensor("whole", 300);
  builder.add_operator("n0").output(operand).output(builder.add_tensor("early", 100));
  builder.add_operator("n1").input(operand).output(result, in_place_of(operand));
  builder.add_operator("n2").input(result, view_of(whole, 200)).output(whole);
  const AnalyzedGraph analyzed(builder);  // 300 + 100 = 400, as at n1 without
  analyzed.expect_taken(result, operand);
  EXPECT_EQ(analyzed.live_bytes(), (Sums{400, 300, 300}));
  EXPECT_EQ(analyzed.lifetimes().place(operand).offset_bytes, 200U);
}

TEST(InPlace, LeavesAPlaceThatDoesNotSuitTheResult) {
  for (const std::uint64_t offset : {UINT64_C(16), UINT64_C(32), UINT64_C(64)}) {
    TensorGraphBuilder builder;
    const TensorIndex whole = builder.add_tensor("whole", 256);
    const TensorIndex part = builder.add_tensor("part", 64);
    const TensorIndex result = builder.add_tensor("result", 64);
    builder.set_alignment(result, 32);
    builder.add_operator("n0").output(whole);
    builder.add_operator("n1").input(whole).output(part, view_of(whole, offset));
    builder.add_operator("n2").input(part).output(result, in_place_of(part));
    const AnalyzedGraph analyzed(builder, 64);
    if (offset == 16) {
      analyzed.expect_refused(result, part, Refusal::kMisaligned);
    } else {
      analyzed.expect_taken(result, part);
    }
  }
}

TEST(InPlace, GivesAClassTheLargerAlignmentOfTheTwo) {
  for (const bool result_asks : {false, true}) {
    TensorGraphBuilder builder;
    const TensorIndex operand = builder.add_tensor("operand", 100);
    const TensorIndex result = builder.add_tensor("result", 100);
    builder.set_alignment(result_asks ? result : operand, 256);
    builder.set_alignment(result_asks ? operand : result, 4);
    builder.add_operator("n0").output(operand).scratch("keeps the unit at 4", 4, 4);
    builder.add_operator("n1").input(operand).output(result, in_place_of(operand));
    const AnalyzedGraph analyzed(builder, 64);
    analyzed.expect_taken(result, operand);
    EXPECT_EQ(analyzed.lifetimes().problem().blocks[0].alignment_bytes, 256U);
  }
}

TEST(InPlace, CarriesAChainInOneBlock) {
  TensorGraphBuilder builder;
  TensorIndex before = builder.add_input("input", 64);
  builder.mark_disposable(before);
  for (int i = 0; i < 20; ++i) {
    const TensorIndex next = builder.add_tensor("next", 64);
    builder.add_operator("relu").input(before).output(next, in_place_of(before));
    before = next;
  }
  builder.mark_output(before);
  const AnalyzedGraph analyzed(builder, 64);
  EXPECT_TRUE(analyzed.lifetimes().refused().empty());
  ASSERT_EQ(analyzed.lifetimes().problem().blocks.size(), 1U);
  EXPECT_EQ(analyzed.lifetimes().problem().blocks[0].live_range, (LiveRange{Step(0), Step(19)}));
  EXPECT_EQ(analyzed.lifetimes().lower_bound_bytes(), 64U);
}

}  // namespace
}  // namespace tenure
