// SPDX-License-Identifier: Apache-2.0

// Alignments and sizes up to where they stop to fit.

#include <gtest/gtest.h>

#include <cstdint>

#include "support/statuses.h"
#include "tenure/graph_builder.h"
#include "tenure/lifetime.h"
#include "tenure/planner.h"

namespace tenure {
namespace {

using test::kNoTensor;

constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;

std::uint64_t alignment_of(const TensorGraph& graph, TensorIndex tensor,
                           std::uint64_t default_alignment_bytes = 64) {
  const Result<Lifetimes> lifetimes = LifetimeAnalyzer(default_alignment_bytes).analyze(graph);
  EXPECT_TRUE(lifetimes.ok()) << test::text_of(lifetimes.status(), graph.names());
  if (!lifetimes.ok()) return 0;
  return lifetimes->problem().blocks[lifetimes->place(tensor).block.value].alignment_bytes;
}

TEST(LifetimeAnalyzer, TakesEveryPowerOfTwoAsDefaultAlignment) {
  TensorGraphBuilder builder;
  const TensorIndex input = builder.add_input("input", 1);
  const TensorGraph graph = test::build(builder);
  for (int shift = 0; shift < 64; ++shift) {
    const std::uint64_t alignment = std::uint64_t{1} << shift;
    EXPECT_EQ(alignment_of(graph, input, alignment), alignment);
  }
  for (const std::uint64_t alignment : {UINT64_C(0), UINT64_C(3), UINT64_C(96), UINT64_MAX}) {
    const Result<Lifetimes> lifetimes = LifetimeAnalyzer(alignment).analyze(graph);
    ASSERT_FALSE(lifetimes.ok());
    test::expect_failure(lifetimes.status(), Reason::kNotPowerOfTwo, {});
    EXPECT_EQ(lifetimes.status().needed_bytes, alignment);
  }
}

// A base of 256 bytes that asks for one alignment, and a view at 128 that asks for another; 0 asks
// for none.
std::uint64_t class_alignment(std::uint64_t of_base, std::uint64_t of_view) {
  TensorGraphBuilder builder;
  const TensorIndex base = builder.add_input("base", 256);
  const TensorIndex view = builder.add_tensor("view", 64);
  if (of_base != 0) builder.set_alignment(base, of_base);
  if (of_view != 0) builder.set_alignment(view, of_view);
  builder.add_operator("split").input(base).output(view, view_of(base, 128));
  return alignment_of(test::build(builder), view);
}

TEST(LifetimeAnalyzer, AlignsAClassAsItsBaseAsksAndItsViewsInsist) {
  EXPECT_EQ(class_alignment(0, 0), 64U);
  EXPECT_EQ(class_alignment(4, 0), 4U);  // the default does not apply to a view
  EXPECT_EQ(class_alignment(256, 0), 256U);
  EXPECT_EQ(class_alignment(0, 4), 64U);
  EXPECT_EQ(class_alignment(0, 128), 128U);  // an explicit one constrains the base
  EXPECT_EQ(class_alignment(4, 8), 8U);
  EXPECT_EQ(class_alignment(1, 1), 1U);
}

TEST(LifetimeAnalyzer, AlignsAliasesThatNameEachOtherByDefault) {
  TensorGraphBuilder builder;
  const TensorIndex a = builder.add_input("a", 8);
  const TensorIndex b = builder.add_tensor("b", 8);
  builder.add_operator("n0").input(a).output(b, alias_of(a));
  builder.add_operator("n1").input(b).input(a, alias_of(b));
  EXPECT_EQ(alignment_of(test::build(builder), a), 64U);
}

TEST(LifetimeAnalyzer, LeavesPartsOfAConcatenationUnaligned) {
  TensorGraphBuilder builder;
  const TensorIndex a = builder.add_input("a", 10);
  const TensorIndex b = builder.add_input("b", 10);
  const TensorIndex whole = builder.add_tensor("whole", 20);
  builder.add_operator("concat")
      .input(a, view_of(whole, 0))
      .input(b, view_of(whole, 10))
      .output(whole);
  const TensorGraph graph = test::build(builder);
  const Result<Lifetimes> lifetimes = LifetimeAnalyzer().analyze(graph);
  ASSERT_TRUE(lifetimes.ok());
  EXPECT_EQ(lifetimes->place(b).offset_bytes, 10U);
}

// What lies in two tensors puts the second of them where the first one says.
TEST(LifetimeAnalyzer, RefusesATensorThatCannotHaveTheDefaultAlignment) {
  TensorGraphBuilder builder;
  const TensorIndex first = builder.add_input("first", 256);
  const TensorIndex part = builder.add_tensor("part", 100);
  const TensorIndex second = builder.add_tensor("second", 200);
  builder.add_operator("split").input(first).output(part, view_of(first, 100));
  builder.add_operator("concat").input(part, view_of(second, 0)).output(second);
  const TensorGraph graph = test::build(builder);
  const Result<Lifetimes> lifetimes = LifetimeAnalyzer(8).analyze(graph);
  ASSERT_FALSE(lifetimes.ok());  // 100 is a multiple of 4 and not of 8
  test::expect_failure(lifetimes.status(), Reason::kViewMisaligned, {second, kNoTensor, {}});
  EXPECT_EQ(lifetimes.status().needed_bytes, 8U);
  const Result<Lifetimes> finer = LifetimeAnalyzer(4).analyze(graph);
  ASSERT_TRUE(finer.ok());
  EXPECT_EQ(finer->place(second).offset_bytes, 100U);
  EXPECT_EQ(finer->problem().blocks[0].size_bytes, 300U);  // 100 + 200, beyond first's 256
}

// Two inputs that live together, at alignment 1.
Status analyze_two(std::uint64_t first_bytes, std::uint64_t second_bytes) {
  TensorGraphBuilder builder;
  builder.add_input("first", first_bytes);
  builder.add_input("second", second_bytes);
  const TensorGraph graph = test::build(builder);
  const Result<Lifetimes> lifetimes = LifetimeAnalyzer(1).analyze(graph);
  if (lifetimes.ok()) {
    EXPECT_EQ(lifetimes->lower_bound_bytes(), first_bytes + second_bytes);
  }
  return lifetimes.status();
}

// tflite-micro 3552, TensorFlow 111458.
TEST(LifetimeAnalyzer, RefusesLiveSizesThatOverflow) {
  EXPECT_TRUE(analyze_two(UINT64_MAX, 0).ok());
  EXPECT_TRUE(analyze_two(UINT64_MAX - 1, 1).ok());
  EXPECT_TRUE(analyze_two(kHalf, kHalf - 1).ok());
  for (const std::uint64_t first : {UINT64_MAX, UINT64_MAX - 1, kHalf}) {
    const std::uint64_t second = UINT64_MAX - first + 1;
    const Status status = analyze_two(first, second);
    test::expect_failure(status, Reason::kSizeOverflow, {TensorIndex(1), kNoTensor, {}});
    EXPECT_EQ(status.needed_bytes, second);
  }
}

TEST(LifetimeAnalyzer, NamesTheTensorThatDoesNotFitAnyMore) {
  for (const bool ends_together : {true, false}) {
    TensorGraphBuilder builder;
    const TensorIndex first = builder.add_tensor("first", kHalf);
    const TensorIndex empty = builder.add_tensor("empty", 0);
    const TensorIndex second = builder.add_tensor("second", kHalf);
    builder.add_operator("n0").output(first);
    builder.add_operator("n1").input(first).output(empty).output(second);
    builder.add_operator("n2").input(ends_together ? first : empty).input(second);
    const TensorGraph graph = test::build(builder);
    const Result<Lifetimes> lifetimes = LifetimeAnalyzer(1).analyze(graph);
    ASSERT_FALSE(lifetimes.ok());
    test::expect_failure(lifetimes.status(), Reason::kSizeOverflow, {second, kNoTensor, {}});
  }
}

TEST(LifetimeAnalyzer, LetsHugeTensorsTakeTurns) {
  TensorGraphBuilder builder;
  builder.add_operator("n0").output(builder.add_tensor("first", kHalf));
  builder.add_operator("n1").output(builder.add_tensor("second", UINT64_MAX));
  builder.add_operator("n2").output(builder.add_tensor("third", kHalf + 1));
  const TensorGraph graph = test::build(builder);
  const Result<Lifetimes> lifetimes = LifetimeAnalyzer(1).analyze(graph);
  ASSERT_TRUE(lifetimes.ok());
  EXPECT_EQ(lifetimes->lower_bound_bytes(), UINT64_MAX);
  EXPECT_EQ(lifetimes->peak_step(), Step(1));
  // No size is cut off on the way.
  EXPECT_EQ(lifetimes->problem().blocks[0].size_bytes, kHalf);
  EXPECT_EQ(lifetimes->problem().blocks[1].size_bytes, UINT64_MAX);
  EXPECT_EQ(lifetimes->problem().blocks[2].size_bytes, kHalf + 1);
}

TEST(LifetimeAnalyzer, RefusesSizesThatCannotBeRoundedUp) {
  const std::uint64_t largest = UINT64_MAX - 63;  // a multiple of 64
  for (const std::uint64_t size : {largest, largest + 1, UINT64_MAX}) {
    TensorGraphBuilder builder;
    const TensorIndex input = builder.add_input("input", size);
    const TensorGraph graph = test::build(builder);
    const Result<Lifetimes> lifetimes = LifetimeAnalyzer().analyze(graph);
    EXPECT_EQ(lifetimes.ok(), size == largest);
    if (lifetimes.ok()) continue;
    test::expect_failure(lifetimes.status(), Reason::kSizeOverflow, {input, kNoTensor, {}});
  }
}

// Sizes in relations end at 2^62; beyond, what is permitted is refused and nothing else happens.
TEST(LifetimeAnalyzer, RefusesToShareWhatItCannotCount) {
  for (const std::uint64_t size : {kHalf / 2, kHalf / 2 + 1}) {
    TensorGraphBuilder builder;
    const TensorIndex a = builder.add_tensor("a", size);
    const TensorIndex b = builder.add_tensor("b", size);
    builder.add_operator("n0").output(a);
    builder.add_operator("n1").input(a).output(b, in_place_of(a));
    const TensorGraph graph = test::build(builder);
    const Result<Lifetimes> lifetimes = LifetimeAnalyzer(1).analyze(graph);
    ASSERT_TRUE(lifetimes.ok());
    EXPECT_EQ(lifetimes->refused().empty(), size == kHalf / 2);
    EXPECT_EQ(lifetimes->lower_bound_bytes(), size == kHalf / 2 ? size : 2 * size);
  }
}

TEST(ArenaPlanner, NamesTheTensorOfAGraphThatOverflows) {
  TensorGraphBuilder builder;
  const TensorIndex first = builder.add_persistent("first", kHalf);
  const TensorIndex second = builder.add_persistent("second", kHalf);
  builder.add_operator("n0").input(first).input(second);
  const TensorGraph graph = test::build(builder);
  const PlannerOptions options = PlannerOptions().set_default_alignment_bytes(1);
  const Result<MemoryPlan> plan = ArenaPlanner(options).plan(graph);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().reason(), Reason::kSizeOverflow);
  EXPECT_TRUE(plan.status().tensor == first || plan.status().tensor == second);
}

}  // namespace
}  // namespace tenure
