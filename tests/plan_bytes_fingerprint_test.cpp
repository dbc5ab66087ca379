// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <utility>

#include "support/graphs.h"
#include "support/problems.h"
#include "support/statuses.h"
#include "tenure/graph_builder.h"
#include "tenure/plan_bytes.h"
#include "tenure/problem.h"

namespace tenure {
namespace {

// What can be said of a small graph, to be changed one by one.
struct Description {
  const char* name = "";
  std::uint64_t image_bytes = 256;
  std::uint64_t features_alignment = 0;
  TensorKind weights = TensorKind::kConstant;
  std::uint64_t scratch_bytes = 32;
  bool are_operands_swapped = false;
  bool has_absent_operand = false;
  bool has_state = false;
  bool is_disposable = false;
  bool keeps_features = false;
  bool is_features_output = false;
  Sharing (*sharing)(TensorIndex) = &in_place_of;
  std::uint64_t view_offset = 0;
};

TensorGraph graph_of(const Description& is) {
  TensorGraphBuilder builder;
  const TensorIndex image = builder.add_input(is.name, is.image_bytes);
  const TensorIndex weights = builder.add_tensor(is.name, 64, is.weights);
  const TensorIndex features = builder.add_tensor(is.name, 128);
  const TensorIndex active = builder.add_tensor(is.name, 128);
  const TensorIndex part = builder.add_tensor(is.name, 16);
  if (is.features_alignment != 0) builder.set_alignment(features, is.features_alignment);
  OperatorBuilder conv = builder.add_operator(is.name);
  conv.input(is.are_operands_swapped ? weights : image);
  conv.input(is.are_operands_swapped ? image : weights);
  if (is.has_absent_operand) conv.input(TensorIndex::none());
  if (is.has_state) conv.stateful();
  conv.output(features).scratch(is.name, is.scratch_bytes);
  builder.add_operator(is.name).input(features).output(active, is.sharing(features));
  builder.add_operator(is.name).input(active).output(part, view_of(active, is.view_offset));
  builder.mark_output(part);
  if (is.is_disposable) builder.mark_disposable(image);
  if (is.keeps_features) builder.mark_keep(features);
  if (is.is_features_output) builder.mark_output(features);
  return test::build(builder);
}

std::uint64_t changed(void (*change)(Description*)) {
  Description description;
  change(&description);
  return fingerprint(graph_of(description));
}

// The numbers were computed by another program from the rule in src/fingerprint.cpp.
TEST(Fingerprint, IsTheSameOnEveryMachine) {
  EXPECT_EQ(fingerprint(TensorGraph()), 0x5B2A969B42D238A4U);
  EXPECT_EQ(fingerprint(PlanningProblem{{}, {}, {}, {}}), 0x7E0EAFA1D69B9187U);
  const Block blocks[] = {test::block(100, 0, 1, 64)};
  EXPECT_EQ(fingerprint(PlanningProblem{blocks}), 0x2C30CE6B493506C8U);
  EXPECT_EQ(fingerprint(graph_of({})), 0x4286A645A593978EU);
}

TEST(Fingerprint, IsThatOfTheModelWhateverItsPartsAreCalled) {
  EXPECT_EQ(fingerprint(graph_of({})), fingerprint(graph_of({})));
  EXPECT_EQ(changed([](Description* is) { is->name = "another"; }), fingerprint(graph_of({})));
}

TEST(Fingerprint, DoesNotAskWhetherAnOperatorHasState) {
  EXPECT_EQ(changed([](Description* is) { is->has_state = true; }), fingerprint(graph_of({})));
}

TEST(Fingerprint, TellsGraphsApartByEverythingThatMovesBytes) {
  std::set<std::uint64_t> seen = {fingerprint(graph_of({}))};
  const auto expect_new = [&](void (*change)(Description*)) {
    EXPECT_TRUE(seen.insert(changed(change)).second) << seen.size();
  };
  expect_new([](Description* is) { is->image_bytes = 257; });
  expect_new([](Description* is) { is->image_bytes += std::uint64_t{1} << 60; });
  expect_new([](Description* is) { is->features_alignment = 64; });
  expect_new([](Description* is) { is->weights = TensorKind::kInput; });
  expect_new([](Description* is) { is->weights = TensorKind::kExternal; });
  expect_new([](Description* is) { is->weights = TensorKind::kPersistent; });
  expect_new([](Description* is) { is->scratch_bytes = 33; });
  expect_new([](Description* is) { is->are_operands_swapped = true; });
  expect_new([](Description* is) { is->has_absent_operand = true; });
  expect_new([](Description* is) { is->is_disposable = true; });
  expect_new([](Description* is) { is->keeps_features = true; });
  expect_new([](Description* is) { is->is_features_output = true; });
  expect_new([](Description* is) { is->sharing = &alias_of; });
  expect_new([](Description* is) { is->sharing = &update_of; });
  expect_new([](Description* is) { is->view_offset = 16; });
}

TEST(Fingerprint, TellsProblemsApartByEverythingThatMovesBytes) {
  test::OwnedProblem problem;
  problem.blocks = {test::block(64, 0, 1, 64), test::block(32, 1, 2, 64)};
  std::set<std::uint64_t> seen = {fingerprint(problem.view())};
  const auto expect_new = [&](void (*change)(test::OwnedProblem*)) {
    test::OwnedProblem copy = problem;
    change(&copy);
    EXPECT_TRUE(seen.insert(fingerprint(copy.view())).second) << seen.size();
  };
  expect_new([](test::OwnedProblem* is) { ++is->blocks[0].size_bytes; });
  expect_new([](test::OwnedProblem* is) { ++is->blocks[0].live_range.last_use.value; });
  expect_new([](test::OwnedProblem* is) { --is->blocks[1].live_range.first_use.value; });
  expect_new([](test::OwnedProblem* is) { is->blocks[1].alignment_bytes = 128; });
  expect_new([](test::OwnedProblem* is) { is->blocks[1].region = kPersistentRegion; });
  expect_new([](test::OwnedProblem* is) { is->blocks[1].fixed_offset_bytes = 0; });
  expect_new([](test::OwnedProblem* is) { std::swap(is->blocks[0], is->blocks[1]); });
  expect_new([](test::OwnedProblem* is) { is->blocks.pop_back(); });
  expect_new([](test::OwnedProblem* is) { is->regions[0].capacity_bytes = 64; });
  expect_new([](test::OwnedProblem* is) { is->regions[0].alignment_bytes = 64; });
  expect_new([](test::OwnedProblem* is) { is->regions[0].reuse = false; });
  expect_new([](test::OwnedProblem* is) { is->regions.pop_back(); });
  expect_new([](test::OwnedProblem* is) { is->conflicts = {test::pair(0, 1)}; });
  expect_new([](test::OwnedProblem* is) { is->conflicts = {test::pair(1, 0)}; });
  expect_new([](test::OwnedProblem* is) { is->may_overlap = {test::pair(0, 1)}; });
}

// Only large ones: small ones may be drawn equal.
TEST(Fingerprint, IsAnotherForEachRandomGraph) {
  std::set<std::uint64_t> seen;
  std::uint32_t graphs = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const TensorGraph graph = test::random_graph(seed);
    if (graph.operator_count() < 3) continue;
    ++graphs;
    EXPECT_TRUE(seen.insert(fingerprint(graph)).second) << seed;
  }
  EXPECT_GT(graphs, 200U);
}

}  // namespace
}  // namespace tenure
