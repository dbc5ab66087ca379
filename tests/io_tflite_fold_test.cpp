// SPDX-License-Identifier: Apache-2.0

// Which operators of a model are folded.

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "support/tflite_models.h"
#include "support/tflite_writer.h"
#include "tenure/io/tflite.h"

namespace tenure::test {
namespace {

namespace tflite = io::tflite;

io::TfliteSubgraph fold(TfliteWriter& writer,
                        io::TfliteProfile profile = io::TfliteProfile::kLitert) {
  const std::vector<std::uint8_t> bytes = writer.bytes();
  auto model = io::parse_tflite({bytes, "test.tflite"},
                                io::TfliteOptions().set_profile(profile).set_fold(true));
  EXPECT_TRUE(model.ok()) << model.error().message;
  if (!model.ok()) return {};
  expect_safe_plan(model->subgraphs[0]);
  return static_cast<io::TfliteSubgraph&&>(model->subgraphs[0]);
}

// What makes of the constant w the table that is added to x:
//
//   0 w -> OPERATOR -> table    1 table, x -> ADD -> y
struct TableMaker {
  tflite::BuiltinOperator code = tflite::BuiltinOperator_DEQUANTIZE;
  WrittenTensor table{"table", {{4}}};
  WrittenOptions options = {};
  const char* custom_name = nullptr;
};

TfliteWriter model_with_table(const TableMaker& maker) {
  TfliteWriter writer;
  const std::uint32_t code = writer.add_code(maker.code, maker.custom_name);
  const std::uint32_t add = writer.add_code(tflite::BuiltinOperator_ADD);
  const std::uint32_t data = writer.add_buffer(std::vector<std::uint8_t>(8));
  writer.subgraphs = {
      {"main",
       {{"w", {{4}}, tflite::TensorType_FLOAT16, data}, maker.table, {"x", {{4}}}, {"y", {{4}}}},
       {2},
       {3},
       {{code, {0}, {1}, {}, maker.options}, {add, {1, 2}, {3}}}},
      {"called", {{"z", {{4}}}}, {0}, {0}, {}}};
  return writer;
}

bool folds(const TableMaker& maker) {
  TfliteWriter writer = model_with_table(maker);
  const io::TfliteSubgraph subgraph = fold(writer);
  const bool is_folded = subgraph.graph.tensor(TensorIndex(1)).kind == TensorKind::kPersistent;
  EXPECT_EQ(subgraph.run_once.size(), is_folded ? 1U : 0U);
  EXPECT_NE(subgraph.graph.has_state(OperatorIndex(0)), is_folded);
  return is_folded;
}

TEST(TfliteFolding, FoldsAllBuiltinOperatorsButThoseWithState) {
  std::set<std::string> left;
  for (std::int32_t code = tflite::BuiltinOperator_MIN; code <= tflite::BuiltinOperator_MAX;
       ++code) {
    const auto builtin = static_cast<tflite::BuiltinOperator>(code);
    if (!folds({builtin})) left.insert(tflite::EnumNameBuiltinOperator(builtin));
  }
  EXPECT_EQ(left, (std::set<std::string>{"ASSIGN_VARIABLE",
                                         "BIDIRECTIONAL_SEQUENCE_LSTM",
                                         "BIDIRECTIONAL_SEQUENCE_RNN",
                                         "CALL",
                                         "CALL_ONCE",
                                         "CUSTOM",
                                         "DELEGATE",
                                         "HASHTABLE",
                                         "HASHTABLE_FIND",
                                         "HASHTABLE_IMPORT",
                                         "HASHTABLE_SIZE",
                                         "IF",
                                         "LSTM",
                                         "MULTINOMIAL",
                                         "PLACEHOLDER_FOR_GREATER_OP_CODES",
                                         "RANDOM_STANDARD_NORMAL",
                                         "RANDOM_UNIFORM",
                                         "READ_VARIABLE",
                                         "RNN",
                                         "STABLEHLO_CASE",
                                         "STABLEHLO_COMPOSITE",
                                         "STABLEHLO_CUSTOM_CALL",
                                         "STABLEHLO_RNG_BIT_GENERATOR",
                                         "STABLEHLO_WHILE",
                                         "SVDF",
                                         "UNIDIRECTIONAL_SEQUENCE_LSTM",
                                         "UNIDIRECTIONAL_SEQUENCE_RNN",
                                         "VAR_HANDLE",
                                         "WHILE"}));
}

TEST(TfliteFolding, LeavesOperatorsOfWhichNothingIsKnown) {
  TableMaker custom;
  custom.code = tflite::BuiltinOperator_CUSTOM;
  custom.custom_name = "FlexErf";
  EXPECT_FALSE(folds(custom));
  EXPECT_FALSE(folds({static_cast<tflite::BuiltinOperator>(tflite::BuiltinOperator_MAX + 1)}));
}

TEST(TfliteFolding, LeavesOperatorsThatCallASubgraph) {
  TableMaker caller;
  caller.options = while_options(1, 1);
  EXPECT_FALSE(folds(caller));
}

TEST(TfliteFolding, LeavesOperatorsThatMakeOrReadHandles) {
  for (const auto type : {tflite::TensorType_RESOURCE, tflite::TensorType_VARIANT}) {
    TableMaker maker;
    maker.table.type = type;
    EXPECT_FALSE(folds(maker));

    TfliteWriter writer = model_with_table({});
    writer.subgraphs[0].tensors[0].type = type;
    EXPECT_TRUE(fold(writer).run_once.empty());
  }
}

// 0 w -> RESHAPE -> flat    1 flat -> RESHAPE -> row    2 row, x -> ADD -> y
TEST(TfliteFolding, FoldsReshapesIntoOneTensorWhereTheyAreAliases) {
  TfliteWriter writer;
  const std::uint32_t reshape = writer.add_code(tflite::BuiltinOperator_RESHAPE);
  const std::uint32_t add = writer.add_code(tflite::BuiltinOperator_ADD);
  const std::uint32_t data = writer.add_buffer(std::vector<std::uint8_t>(16));
  writer.subgraphs = {{"main",
                       {{"w", {{2, 2}}, tflite::TensorType_FLOAT32, data},
                        {"flat", {{4}}},
                        {"row", {{1, 4}}},
                        {"x", {{1, 4}}},
                        {"y", {{1, 4}}}},
                       {3},
                       {4},
                       {{reshape, {0}, {1}}, {reshape, {1}, {2}}, {add, {2, 3}, {4}}}}};
  const io::TfliteSubgraph subgraph = fold(writer);
  EXPECT_EQ(subgraph.graph.tensor(TensorIndex(1)).kind, TensorKind::kPersistent);
  EXPECT_EQ(subgraph.graph.tensor(TensorIndex(2)).kind, TensorKind::kIntermediate);
  EXPECT_EQ(subgraph.run_once, (std::vector<OperatorIndex>{OperatorIndex(0), OperatorIndex(1)}));
  ASSERT_EQ(subgraph.notes.size(), 1U);
  EXPECT_EQ(subgraph.notes[0],
            "folded: tensors computed from constants alone and kept across runs: 1, of 16 "
            "bytes; operators that need to run only once: 2");
}

TEST(TfliteFolding, IsLeftOutUnlessAskedFor) {
  TfliteWriter writer = model_with_table({});
  const auto model = parse_model(writer.bytes());
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->subgraphs[0].graph.tensor(TensorIndex(1)).kind, TensorKind::kIntermediate);
  EXPECT_TRUE(model->subgraphs[0].run_once.empty());
  EXPECT_TRUE(model->subgraphs[0].notes.empty());
}

}  // namespace
}  // namespace tenure::test
