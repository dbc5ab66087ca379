// SPDX-License-Identifier: Apache-2.0

// How the parts of a model become a graph: kinds, names, operands, sharing.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/tflite_models.h"
#include "support/tflite_writer.h"
#include "tenure/io/tflite.h"

namespace tenure::test {
namespace {

namespace tflite = io::tflite;

TEST(TfliteReader, GivesTensorsTheirIndicesNamesAndKinds) {
  TfliteWriter writer;
  writer.add_code(tflite::BuiltinOperator_FULLY_CONNECTED);
  const std::uint32_t weights = writer.add_buffer({1, 2, 3, 4, 5, 6, 7, 8});
  writer.subgraphs = {{"main",
                       {{"x", {{1, 2}}},
                        {"w", {{2, 2}}, tflite::TensorType_FLOAT16, weights},
                        {"h", {{1, 2}}},
                        {"y", {{1, 3}}}},
                       {0},
                       {3},
                       {{0, {0, 1}, {2}}, {0, {2, 1}, {3}}}}};
  const auto model = parse_model(writer.bytes());
  ASSERT_TRUE(model.ok()) << model.error().message;
  ASSERT_EQ(model->subgraphs.size(), 1U);
  const io::TfliteSubgraph& subgraph = model->subgraphs[0];
  const TensorGraph& graph = subgraph.graph;
  EXPECT_EQ(subgraph.name, "main");
  EXPECT_TRUE(subgraph.notes.empty());
  ASSERT_EQ(graph.tensor_count(), 4U);
  ASSERT_EQ(graph.operator_count(), 2U);
  const TensorKind kinds[] = {TensorKind::kInput, TensorKind::kConstant, TensorKind::kIntermediate,
                              TensorKind::kOutput};
  const std::uint64_t sizes[] = {8, 8, 8, 12};
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(graph.tensor(TensorIndex(i)).kind, kinds[i]) << i;
    EXPECT_EQ(graph.tensor(TensorIndex(i)).size_bytes, sizes[i]) << i;
    EXPECT_EQ(subgraph.file_tensors[i], TensorIndex(i));
  }
  EXPECT_STREQ(graph.tensor_name(TensorIndex(2)), "h");
  EXPECT_STREQ(graph.operator_name(OperatorIndex(1)), "FULLY_CONNECTED");
}

TEST(TfliteReader, ReadsBytesAtAnyAddress) {
  const std::vector<std::uint8_t> bytes = model_of({"x", {{4}}});
  for (std::size_t shift = 0; shift < 8; ++shift) {
    std::vector<std::uint8_t> moved(shift);
    moved.insert(moved.end(), bytes.begin(), bytes.end());
    const auto model = io::parse_tflite({{moved.data() + shift, bytes.size()}, "test.tflite"});
    EXPECT_TRUE(model.ok()) << shift;
  }
}

TEST(TfliteReader, TakesAnOperandThatIsAbsent) {
  const auto model = parse_model(model_with(tflite::BuiltinOperator_FULLY_CONNECTED,
                                            {{"x", {{4}}}, {"y", {{4}}}}, {{0, {0, -1}, {1}}}));
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto operands = model->subgraphs[0].graph.inputs(OperatorIndex(0));
  ASSERT_EQ(operands.size(), 2U);
  EXPECT_TRUE(operands[1].is_none());
  expect_safe_plan(model->subgraphs[0]);
}

TEST(TfliteReader, TakesOutputsThatAreListedTwiceInputsOrConstants) {
  TfliteWriter writer;
  writer.add_code(tflite::BuiltinOperator_RELU);
  const std::uint32_t data = writer.add_buffer(std::vector<std::uint8_t>(16));
  writer.subgraphs = {{"main",
                       {{"x", {{4}}}, {"y", {{4}}}, {"c", {{4}}, tflite::TensorType_FLOAT32, data}},
                       {0},
                       {1, 1, 0, 2},
                       {{0, {0}, {1}}}}};
  const auto model = parse_model(writer.bytes());
  ASSERT_TRUE(model.ok()) << model.error().message;
  const TensorGraph& graph = model->subgraphs[0].graph;
  EXPECT_EQ(graph.tensor(TensorIndex(0)).kind, TensorKind::kInput);
  EXPECT_TRUE(graph.tensor(TensorIndex(0)).is_output);
  EXPECT_EQ(graph.tensor(TensorIndex(1)).kind, TensorKind::kOutput);
  EXPECT_EQ(graph.tensor(TensorIndex(2)).kind, TensorKind::kConstant);
  expect_safe_plan(model->subgraphs[0]);
}

TEST(TfliteReader, NamesOperatorsByCustomNameAndByNumber) {
  TfliteWriter writer;
  writer.add_code(tflite::BuiltinOperator_CUSTOM, "MyOperator");
  writer.add_code(static_cast<tflite::BuiltinOperator>(4000));
  writer.subgraphs = {{"main",
                       {{"x", {{4}}}, {"h", {{4}}}, {"y", {{4}}}},
                       {0},
                       {2},
                       {{0, {0}, {1}}, {1, {1}, {2}}}}};
  const auto model = parse_model(writer.bytes());
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_STREQ(model->subgraphs[0].graph.operator_name(OperatorIndex(0)), "MyOperator");
  EXPECT_STREQ(model->subgraphs[0].graph.operator_name(OperatorIndex(1)), "BUILTIN_4000");
}

TEST(TfliteReader, GivesIntermediatesWithBytesToTheirOperatorAsScratch) {
  const auto model = parse_model(model_with(
      tflite::BuiltinOperator_LSTM, {{"x", {{4}}}, {"empty", {{0}}}, {"gate", {{6}}}, {"y", {{4}}}},
      {{0, {0}, {3}, {1, 2}}}));
  ASSERT_TRUE(model.ok()) << model.error().message;
  const io::TfliteSubgraph& subgraph = model->subgraphs[0];
  const auto scratch = subgraph.graph.scratch(OperatorIndex(0));
  ASSERT_EQ(scratch.size(), 1U);
  EXPECT_EQ(subgraph.graph.tensor(scratch[0]).size_bytes, 24U);
  EXPECT_EQ(subgraph.file_tensors[scratch[0].value], TensorIndex(2));
  expect_safe_plan(subgraph);
}

TEST(TfliteReader, ListsCallsOfOtherSubgraphs) {
  TfliteWriter writer;
  writer.add_code(tflite::BuiltinOperator_WHILE);
  writer.subgraphs = {
      {"main", {{"x", {{4}}}, {"y", {{4}}}}, {0}, {1}, {{0, {0}, {1}, {}, while_options(1, 2)}}},
      {"condition", {{"x", {{4}}}}, {0}, {0}, {}},
      {"body", {{"x", {{4}}}}, {0}, {0}, {}}};
  const auto model = parse_model(writer.bytes());
  ASSERT_TRUE(model.ok()) << model.error().message;
  ASSERT_EQ(model->subgraphs.size(), 3U);
  ASSERT_EQ(model->subgraphs[0].notes.size(), 1U);
  EXPECT_EQ(model->subgraphs[0].notes[0].find("operator 0 'WHILE' calls subgraph 1, 2;"), 0U);
  EXPECT_TRUE(model->subgraphs[1].notes.empty());
  EXPECT_EQ(model->subgraphs[2].name, "body");
}

TEST(TfliteProfiles, ShareAsTheTableSays) {
  using Kinds = std::vector<RelationKind>;
  const Kinds alias = {RelationKind::kAlias};
  const Kinds in_place = {RelationKind::kInPlace};
  const Kinds either = {RelationKind::kInPlace, RelationKind::kInPlace};
  const std::pair<tflite::BuiltinOperator, Kinds> table[] = {
      {tflite::BuiltinOperator_RESHAPE, alias},
      {tflite::BuiltinOperator_SQUEEZE, alias},
      {tflite::BuiltinOperator_EXPAND_DIMS, alias},
      {tflite::BuiltinOperator_BITCAST, alias},
      {tflite::BuiltinOperator_ADD, either},
      {tflite::BuiltinOperator_SUB, either},
      {tflite::BuiltinOperator_MUL, either},
      {tflite::BuiltinOperator_DIV, either},
      {tflite::BuiltinOperator_SOFTMAX, in_place},
      {tflite::BuiltinOperator_DYNAMIC_UPDATE_SLICE, in_place},
      {tflite::BuiltinOperator_RELU, {}},
      {tflite::BuiltinOperator_LOGISTIC, {}},
      {tflite::BuiltinOperator_TANH, {}},
      {tflite::BuiltinOperator_CONCATENATION, {}}};
  for (const auto& [code, kinds] : table) {
    const auto bytes = model_with(code, {{"a", {{4}}}, {"b", {{4}}}, {"c", {{4}}}, {"d", {{4}}}},
                                  {{0, {0, 0}, {1}}, {0, {0, 0}, {2}}, {0, {1, 2}, {3}}});
    Kinds all;
    for (int i = 0; i < 3; ++i) all.insert(all.end(), kinds.begin(), kinds.end());
    const char* const name = tflite::EnumNameBuiltinOperator(code);
    EXPECT_EQ(relation_kinds(bytes, io::TfliteProfile::kLitert), all) << name;
    EXPECT_TRUE(relation_kinds(bytes, io::TfliteProfile::kStrict).empty()) << name;
    EXPECT_TRUE(relation_kinds(bytes, io::TfliteProfile::kTflm).empty()) << name;
  }
}

TEST(TfliteProfiles, MakeNoAliasOfConstantsVariablesAndOtherSizes) {
  const auto relations_of = [](const WrittenTensor& operand, std::uint32_t elements) {
    TfliteWriter writer;
    writer.add_code(tflite::BuiltinOperator_RESHAPE);
    writer.add_buffer(std::vector<std::uint8_t>(16));
    const auto count = static_cast<std::int32_t>(elements);
    writer.subgraphs = {{"main", {operand, {"y", {{count}}}}, {0}, {1}, {{0, {0}, {1}}}}};
    return relation_kinds(writer.bytes(), io::TfliteProfile::kLitert);
  };
  WrittenTensor variable{"variable", {{2, 2}}};
  variable.is_variable = true;
  EXPECT_EQ(relations_of({"plain", {{2, 2}}}, 4).size(), 1U);
  EXPECT_TRUE(relations_of({"plain", {{2, 2}}}, 5).empty());
  EXPECT_TRUE(relations_of({"constant", {{2, 2}}, tflite::TensorType_FLOAT32, 1}, 4).empty());
  EXPECT_TRUE(relations_of(variable, 4).empty());
}

}  // namespace
}  // namespace tenure::test
