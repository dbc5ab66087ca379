// SPDX-License-Identifier: Apache-2.0

// verify(graph, plan) where tensors share nothing on purpose: every way to lie wrongly is found, by
// the names of both tensors and the operator. Grids: operators to the right, offsets upwards.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/graphs.h"
#include "support/hand_plan.h"
#include "support/plans.h"
#include "tenure/lifetime.h"
#include "tenure/planner.h"
#include "tenure/verify.h"

namespace tenure {
namespace {

using test::expect_found;
using test::HandPlan;
using test::kAtTheEnd;

// x -> a -> b -> y, where the last operator reads a too; scratch at the second.
//
//  192 |       y
//  128 |     b b
//   64 |   a a a
//    0 | x x s
//      +-0-1-2-
class VerifyChain : public ::testing::Test {
 protected:
  VerifyChain() {
    hand_.builder.add_operator("0").input(x_).output(a_);
    hand_.builder.add_operator("1").input(a_).output(b_).scratch("s", 64);
    hand_.builder.add_operator("2").input(b_).input(a_).output(y_);
    hand_.builder.mark_output(y_);
    hand_.put(x_, 0).put(a_, 64).put(b_, 128).put(y_, 192).put(s_, 0);
  }
  HandPlan hand_;
  TensorIndex x_ = hand_.builder.add_input("x", 64);
  TensorIndex a_ = hand_.builder.add_tensor("a", 64);
  TensorIndex b_ = hand_.builder.add_tensor("b", 64);
  TensorIndex y_ = hand_.builder.add_tensor("y", 64);
  TensorIndex s_{4};
};

TEST_F(VerifyChain, AcceptsReuseOfBytesThatAreNoLongerRead) {
  EXPECT_TRUE(hand_.check().ok()) << text_of(hand_.check().reason());
  hand_.put(b_, 0).put(s_, 128);  // b where x was
  EXPECT_TRUE(hand_.check().ok());
  hand_.put(y_, 128);  // y where the scratch was
  EXPECT_TRUE(hand_.check().ok());
}

TEST_F(VerifyChain, FindsAResultOnABusyTensorByASingleByte) {
  hand_.put(b_, 1000);
  for (const std::uint64_t offset : {937U, 1000U, 1063U}) {  // the first or last byte, or all
    hand_.put(a_, offset);
    expect_found(hand_.check(), Reason::kSharedWithinOperator, a_, b_, OperatorIndex(1));
  }
  for (const std::uint64_t offset : {936U, 1064U}) {
    hand_.put(a_, offset);
    EXPECT_TRUE(hand_.check().ok()) << offset;
  }
}

TEST_F(VerifyChain, FindsAResultOverItsOperandWithoutARelation) {
  hand_.put(a_, 0).put(s_, 512);
  expect_found(hand_.check(), Reason::kSharedWithinOperator, x_, a_, OperatorIndex(0));
}

// L5 (tflite-micro 913): operand, result and scratch of one operator are three places.
TEST_F(VerifyChain, FindsScratchOverOperandsAndResults) {
  hand_.put(s_, 127);
  expect_found(hand_.check(), Reason::kSharedWithinOperator, s_, b_, OperatorIndex(1));
  hand_.put(s_, 64);
  expect_found(hand_.check(), Reason::kSharedWithinOperator, a_, s_, OperatorIndex(1));
}

// s on nobody's operand or result, but on what the next operator reads.
TEST_F(VerifyChain, FindsScratchOverATensorThatIsReadLater) {
  HandPlan hand;
  const TensorIndex x = hand.builder.add_input("x", 64);
  const TensorIndex y = hand.builder.add_input("y", 64);
  hand.builder.add_operator("0").input(x).scratch("s", 64);
  hand.builder.add_operator("1").input(y);
  const TensorIndex s(2);
  hand.put(x, 0).put(y, 64).put(s, 128);
  EXPECT_TRUE(hand.check().ok());
  hand.put(s, 65);
  expect_found(hand.check(), Reason::kOverwritten, y, s, OperatorIndex(1));
}

TEST_F(VerifyChain, FindsATensorThatIsOverwrittenBeforeItsLastRead) {
  HandPlan hand;
  const TensorIndex x = hand.builder.add_input("x", 64);
  const TensorIndex a = hand.builder.add_tensor("a", 64);
  const TensorIndex b = hand.builder.add_tensor("b", 64);
  const TensorIndex c = hand.builder.add_tensor("c", 64);
  hand.builder.add_operator("0").input(x).output(a);
  hand.builder.add_operator("1").input(x).output(b);
  hand.builder.add_operator("2").input(b).output(c);
  hand.builder.add_operator("3").input(a).input(c);
  hand.put(x, 0).put(a, 64).put(b, 128).put(c, 192);
  EXPECT_TRUE(hand.check().ok());
  hand.put(b, 64);
  expect_found(hand.check(), Reason::kOverwritten, a, b, OperatorIndex(3));
  hand.put(b, 128).put(c, 64);
  expect_found(hand.check(), Reason::kOverwritten, a, c, OperatorIndex(3));
  hand.put(c, 192).put(a, 0);
  expect_found(hand.check(), Reason::kSharedWithinOperator, x, a, OperatorIndex(0));
}

TEST_F(VerifyChain, FindsAnInputThatAnotherInputOverwrites) {
  HandPlan hand;
  const TensorIndex x = hand.builder.add_input("x", 64);
  const TensorIndex y = hand.builder.add_input("y", 64);
  hand.builder.add_operator("0").input(x);
  hand.put(x, 0).put(y, 63);
  expect_found(hand.check(), Reason::kOverwritten, x, y, OperatorIndex(0));
  hand.put(y, 64);
  EXPECT_TRUE(hand.check().ok());
}

// y is complete after operator 0 and wanted after operator 1.
TEST(VerifyGraph, FindsAnOutputOrKeptTensorThatIsLostByTheEnd) {
  for (const bool keep : {false, true}) {
    HandPlan hand;
    const TensorIndex x = hand.builder.add_input("x", 64);
    const TensorIndex y = hand.builder.add_tensor("y", 64);
    const TensorIndex z = hand.builder.add_tensor("z", 8);
    hand.builder.add_operator("0").input(x).output(y);
    hand.builder.add_operator("1").input(x).output(z);
    if (keep) hand.builder.mark_keep(y);
    if (!keep) hand.builder.mark_output(y);
    hand.put(x, 0).put(y, 64).put(z, 120);
    expect_found(hand.check(), Reason::kOverwritten, y, z, kAtTheEnd);
    hand.put(z, 128);
    EXPECT_TRUE(hand.check().ok());
  }
}

TEST(VerifyGraph, ATensorThatIsNeitherReadNorWantedMayBeLost) {
  HandPlan hand;
  const TensorIndex x = hand.builder.add_input("x", 64);
  const TensorIndex y = hand.builder.add_tensor("y", 64);
  const TensorIndex z = hand.builder.add_tensor("z", 64);
  hand.builder.add_operator("0").input(x).output(y);
  hand.builder.add_operator("1").input(x).output(z);
  EXPECT_TRUE(hand.put(x, 0).put(y, 64).put(z, 64).check().ok());
}

TEST(VerifyGraph, AnInputThatIsAnOutputIsHeldToTheEnd) {
  HandPlan hand;
  const TensorIndex x = hand.builder.add_input("x", 64);
  const TensorIndex y = hand.builder.add_tensor("y", 64);
  const TensorIndex z = hand.builder.add_tensor("z", 64);
  hand.builder.add_operator("0").input(x).output(y);
  hand.builder.add_operator("1").input(y).output(z);
  hand.builder.mark_output(x);
  expect_found(hand.put(x, 0).put(y, 64).put(z, 0).check(), Reason::kOverwritten, x, z, kAtTheEnd);
  EXPECT_TRUE(hand.put(z, 128).check().ok());
}

// L3 (ONNX Runtime 21019): Q is read by nobody, and apart from all that its operator touches.
TEST(VerifyGraph, AResultThatNobodyReadsIsApartAtItsOwnStep) {
  HandPlan hand;
  const TensorIndex a = hand.builder.add_input("a", 64);
  const TensorIndex p = hand.builder.add_tensor("p", 100);
  const TensorIndex q = hand.builder.add_tensor("q", 200);
  hand.builder.add_operator("1").input(a).output(p).output(q).scratch("s", 64);
  hand.builder.mark_output(p);
  const TensorIndex s(3);
  hand.put(a, 0).put(p, 64).put(q, 164).put(s, 364);
  EXPECT_TRUE(hand.check().ok());
  expect_found(hand.put(q, 163).check(), Reason::kSharedWithinOperator, p, q, OperatorIndex(0));
  hand.put(p, 400).put(s, 600);
  expect_found(hand.put(q, 63).check(), Reason::kSharedWithinOperator, a, q, OperatorIndex(0));
  expect_found(hand.put(q, 401).put(p, 100).check(), Reason::kSharedWithinOperator, s, q,
               OperatorIndex(0));
}

TEST(VerifyGraph, FindsTwoScratchTensorsThatShare) {
  HandPlan hand;
  hand.builder.add_operator("0").scratch("s", 64).scratch("t", 64);
  hand.put(TensorIndex(0), 0).put(TensorIndex(1), 63);
  expect_found(hand.check(), Reason::kSharedWithinOperator, TensorIndex(0), TensorIndex(1),
               OperatorIndex(0));
  EXPECT_TRUE(hand.put(TensorIndex(1), 64).check().ok());
}

TEST_F(VerifyChain, NamesWhatIsNotPlaced) {
  for (const TensorIndex tensor : {x_, a_, b_, y_, s_}) {
    const Placement before = hand_.placement(tensor);
    const Status status = hand_.take_away(tensor).check();
    EXPECT_EQ(status.reason(), Reason::kNotPlaced) << tensor.value;
    EXPECT_EQ(status.tensor, tensor);
    EXPECT_FALSE(status.op.is_none());
    hand_.put(tensor, before.offset_bytes);
  }
}

TEST(VerifyGraph, NamesInputsThatAreOutputsAndAreNotPlaced) {
  HandPlan hand;
  const TensorIndex x = hand.builder.add_input("x", 64);
  hand.builder.mark_output(x);
  EXPECT_EQ(hand.check().reason(), Reason::kNotPlaced);
  EXPECT_EQ(hand.check().tensor, x);
  EXPECT_TRUE(hand.put(x, 0).check().ok());
}

TEST_F(VerifyChain, NamesWhatLiesOutsideItsRegion) {
  for (const std::uint64_t offset : {std::uint64_t{4033}, std::uint64_t{4096}, std::uint64_t{5000},
                                     UINT64_MAX - 63, UINT64_MAX}) {
    const Status status = hand_.put(b_, offset).check();
    EXPECT_EQ(status.reason(), Reason::kOutsideRegion) << offset;
    EXPECT_EQ(status.tensor, b_);
    EXPECT_EQ(status.region, kReusableRegion);
  }
  EXPECT_TRUE(hand_.put(b_, 4032).check().ok());  // 4032 + 64 = 4096
  for (const std::uint32_t region : {2U, 1000U}) {
    const Status status = hand_.put(b_, 0, RegionIndex(region)).check();
    EXPECT_EQ(status.reason(), Reason::kPlanMismatch);
    EXPECT_EQ(status.tensor, b_);
    EXPECT_EQ(status.region, RegionIndex(region));
  }
}

TEST_F(VerifyChain, EqualOffsetsInTwoRegionsAreNotTheSameBytes) {
  EXPECT_TRUE(hand_.put(b_, 64, kPersistentRegion).check().ok());
}

TEST(VerifyGraph, NamesATensorThatIsNotAlignedAsItAsked) {
  HandPlan hand;
  const TensorIndex x = hand.builder.add_input("x", 64);
  hand.builder.set_alignment(x, 32);
  hand.builder.add_operator("0").input(x);
  for (const std::uint64_t offset : {1U, 16U, 33U}) {
    const Status status = hand.put(x, offset).check();
    EXPECT_EQ(status.reason(), Reason::kMisplacedAlignment);
    EXPECT_EQ(status.tensor, x);
    EXPECT_EQ(status.needed_bytes, 32U);
  }
  EXPECT_TRUE(hand.put(x, 96).check().ok());
  hand.layouts[0].alignment_bytes = 16;  // of the arena's base
  EXPECT_EQ(hand.check().reason(), Reason::kMisplacedAlignment);
}

// P8: takes no bytes, may lie anywhere, cannot lose anything.
TEST(VerifyGraph, EmptyTensorsNeedNoPlace) {
  HandPlan hand;
  const TensorIndex x = hand.builder.add_input("x", 0);
  const TensorIndex y = hand.builder.add_tensor("y", 0);
  const TensorIndex z = hand.builder.add_tensor("z", 64);
  hand.builder.add_operator("0").input(x).input(TensorIndex::none()).output(y).output(z);
  hand.builder.mark_output(y);
  EXPECT_TRUE(hand.put(z, 0).check().ok());
  EXPECT_TRUE(hand.put(x, 30).put(y, 10).check().ok());
  EXPECT_EQ(hand.put(y, 4097).check().reason(), Reason::kOutsideRegion);
}

TEST(VerifyGraph, ConstantsAndExternalTensorsAreNotPlaced) {
  HandPlan hand;
  const TensorIndex weights = hand.builder.add_constant("weights", 64);
  const TensorIndex buffer = hand.builder.add_external("buffer", 64);
  const TensorIndex y = hand.builder.add_tensor("y", 64);
  hand.builder.add_operator("0").input(weights).input(buffer).output(y);
  hand.builder.mark_output(y);
  EXPECT_TRUE(hand.put(y, 0).check().ok());
  for (const TensorIndex outside : {weights, buffer}) {
    const Status status = hand.put(outside, 512).check();
    EXPECT_EQ(status.reason(), Reason::kPlanMismatch);
    EXPECT_EQ(status.tensor, outside);
    hand.take_away(outside);
  }
}

TEST_F(VerifyChain, RefusesAPlanOfAnotherGraph) {
  const Result<MemoryPlan> plan = ArenaPlanner().plan(hand_.graph());
  ASSERT_TRUE(plan.ok());
  HandPlan other;
  other.builder.add_input("x", 64);
  EXPECT_EQ(verify(other.graph(), *plan).reason(), Reason::kPlanMismatch);
  EXPECT_EQ(verify(hand_.graph(), MemoryPlan()).reason(), Reason::kPlanMismatch);
  const Block block = test::block(8, 0, 0);
  const Result<MemoryPlan> of_blocks =
      ArenaPlanner().plan(PlanningProblem{Span<const Block>(&block, 1)});
  ASSERT_TRUE(of_blocks.ok());
  EXPECT_EQ(verify(hand_.graph(), *of_blocks).reason(), Reason::kPlanMismatch);
}

TEST(VerifyGraph, AcceptsAnEmptyGraph) {
  HandPlan hand;
  EXPECT_TRUE(hand.check().ok());
  EXPECT_TRUE(verify(TensorGraph(), MemoryPlan()).ok());
}

// Placements by block become placements by tensor.
std::vector<Placement> by_tensor(const Lifetimes& lifetimes, const MemoryPlan& plan) {
  std::vector<Placement> placements;
  for (const StoragePlace& place : lifetimes.places()) {
    placements.push_back(Placement::none());
    if (place.block.is_none()) continue;
    placements.back() = plan.placement(place.block);
    placements.back().offset_bytes += place.offset_bytes;
  }
  return placements;
}

// An error in lifetimes shows, because verify(graph, plan) does not use them: a's range ends one
// step early, so that c may come to lie on it.
TEST(VerifyGraph, FindsALiveRangeThatIsTooShort) {
  HandPlan hand;
  const TensorIndex x = hand.builder.add_input("x", 32);
  const TensorIndex a = hand.builder.add_tensor("a", 64);
  const TensorIndex b = hand.builder.add_tensor("b", 32);
  const TensorIndex c = hand.builder.add_tensor("c", 64);
  hand.builder.add_operator("0").input(x).output(a);
  hand.builder.add_operator("1").input(a).output(b);
  hand.builder.add_operator("2").input(b).output(c);
  hand.builder.add_operator("3").input(a).input(c);
  const Result<Lifetimes> lifetimes = LifetimeAnalyzer(1).analyze(hand.graph());
  ASSERT_TRUE(lifetimes.ok());
  std::vector<Block> blocks = test::copy_of(lifetimes->problem().blocks);
  for (const std::uint32_t last_use : {3U, 2U, 1U}) {
    blocks[lifetimes->place(a).block.value].live_range.last_use = Step(last_use);
    const Result<MemoryPlan> plan = ArenaPlanner().plan(PlanningProblem{blocks});
    ASSERT_TRUE(plan.ok());
    hand.placements = by_tensor(*lifetimes, *plan);
    if (last_use == 1) {
      expect_found(hand.check(), Reason::kOverwritten, a, c, OperatorIndex(3));
    } else {
      EXPECT_TRUE(hand.check().ok());  // 2: c begins where a ends
    }
  }
}

// On random graphs a range that is cut short is either found, or nothing has come to lie in the
// gap: then the plan is also safe with the true live ranges.
TEST(VerifyGraph, FindsShortenedLiveRangesInRandomGraphs) {
  std::uint32_t found = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    test::RandomGraphOptions options;
    options.permitted_relations = false;
    const TensorGraph graph = test::random_graph(seed, options);
    const Result<Lifetimes> lifetimes = LifetimeAnalyzer().analyze(graph);
    ASSERT_TRUE(lifetimes.ok());
    const std::vector<Block> truth = test::copy_of(lifetimes->problem().blocks);
    for (std::size_t i = 0; i < truth.size(); ++i) {
      if (truth[i].live_range.last_use == truth[i].live_range.first_use) continue;
      std::vector<Block> blocks = truth;
      blocks[i].live_range.last_use = blocks[i].live_range.first_use;
      const Result<MemoryPlan> plan = ArenaPlanner().plan(PlanningProblem{blocks});
      ASSERT_TRUE(plan.ok());
      HandPlan hand;
      const std::vector<Placement> placements = by_tensor(*lifetimes, *plan);
      const Result<MemoryPlan> mapped =
          MemoryPlan::create({plan->regions(), plan->layouts(), plan->placements(), placements});
      ASSERT_TRUE(mapped.ok());
      const Status status = verify(graph, *mapped);
      const bool is_safe = verify(lifetimes->problem(), *plan).reason() != Reason::kBlocksOverlap;
      if (is_safe) {
        ASSERT_TRUE(status.ok()) << text_of(status.reason());
      }
      if (!status.ok()) {
        ++found;
        ASSERT_EQ(status.code(), StatusCode::kUnsafePlan);
        ASSERT_FALSE(status.tensor.is_none());
        ASSERT_FALSE(status.other_tensor.is_none());
      }
    }
  }
  EXPECT_GT(found, 100U);
}

}  // namespace
}  // namespace tenure
