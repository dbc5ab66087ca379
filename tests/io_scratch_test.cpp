// SPDX-License-Identifier: Apache-2.0

// Scratch lists: their CSV, and what the reader of models makes of them.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/tflite_models.h"
#include "support/tflite_writer.h"
#include "tenure/io/scratch.h"
#include "tenure/io/tflite.h"

namespace tenure::test {
namespace {

namespace tflite = io::tflite;

io::Result<io::ScratchList> parse(const std::string& text) {
  return io::parse_scratch_csv(text, "scratch.csv");
}

void expect_refused(const std::string& text, const std::string& message,
                    StatusCode code = StatusCode::kInvalidInput) {
  const auto list = parse(text);
  ASSERT_FALSE(list.ok()) << text;
  EXPECT_EQ(list.error().message, "scratch.csv: " + message);
  EXPECT_EQ(list.error().code, code);
}

TEST(ScratchCsv, KeepsRowsAndTheirLines) {
  const auto list = parse("operator,bytes,alignment\nRELU,64,16\n\n7,0,\r\nRELU,9,1");
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_EQ(list->name, "scratch.csv");
  ASSERT_EQ(list->rows.size(), 3U);
  EXPECT_EQ(list->rows[0].op, "RELU");
  EXPECT_EQ(list->rows[0].size_bytes, 64U);
  EXPECT_EQ(list->rows[0].alignment_bytes, 16U);
  EXPECT_EQ(list->rows[1].op, "7");
  EXPECT_EQ(list->rows[1].size_bytes, 0U);
  EXPECT_EQ(list->rows[1].alignment_bytes, 0U);
  EXPECT_EQ(list->rows[1].line_number, 4U);
  EXPECT_EQ(list->rows[2].alignment_bytes, 1U);
}

TEST(ScratchCsv, MayLackTheColumnOfAlignments) {
  const auto list = parse("kernel,bytes,operator\nim2col,64,3\n");
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_EQ(list->rows[0].op, "3");
  EXPECT_EQ(list->rows[0].size_bytes, 64U);
  EXPECT_EQ(list->rows[0].alignment_bytes, 0U);
}

TEST(ScratchCsv, ReadsTheLargestNumbersThatFit) {
  const auto list = parse("operator,bytes,alignment\n0,18446744073709551615,9223372036854775808\n");
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_EQ(list->rows[0].size_bytes, UINT64_MAX);
  EXPECT_EQ(list->rows[0].alignment_bytes, std::uint64_t{1} << 63);
}

TEST(ScratchCsv, NamesLineAndColumnOfWhatIsWrong) {
  const std::string header = "operator,bytes,alignment\n";
  expect_refused("", "the file is empty");
  expect_refused("3,64,16\n", "line 1: there is no header with the columns operator,bytes");
  expect_refused("operator,alignment\n", "line 1: the column 'bytes' is missing");
  expect_refused(header + "\n3,64\n", "line 3: the header has 3 columns, this line 2");
  expect_refused(header + "3,64,16,\n", "line 2: the header has 3 columns, this line 4");
  expect_refused(header + "3,,16\n", "line 2: column 2 (bytes): '' is not a number");
  expect_refused(header + "3,-64,16\n", "line 2: column 2 (bytes): '-64' is negative");
  expect_refused(header + "3,18446744073709551616,16\n",
                 "line 2: column 2 (bytes): '18446744073709551616' does not fit in 64 bits",
                 StatusCode::kOverflow);
  expect_refused(header + "3,64,x\n", "line 2: column 3 (alignment): 'x' is not a number");
  for (const std::string alignment : {"0", "48", "18446744073709551615"}) {
    expect_refused(header + "3,64,1\n3,64," + alignment + "\n",
                   "line 3: column 3 (alignment): '" + alignment + "' is not a power of two");
  }
  expect_refused(header + "3,64,18446744073709551616\n",
                 "line 2: column 3 (alignment): '18446744073709551616' does not fit in 64 bits",
                 StatusCode::kOverflow);
}

TEST(ScratchCsv, TellsAFileThatCannotBeRead) {
  const auto list = io::read_scratch_csv(::testing::TempDir() + "/no such folder/scratch.csv");
  ASSERT_FALSE(list.ok());
  EXPECT_TRUE(list.error().is_file_access);
}

// x -> RELU -> a -> TANH -> b -> RELU -> y -> Mine -> z, and a second subgraph with one ABS.
std::vector<std::uint8_t> model_bytes() {
  TfliteWriter writer;
  const std::uint32_t relu = writer.add_code(tflite::BuiltinOperator_RELU);
  const std::uint32_t tanh = writer.add_code(tflite::BuiltinOperator_TANH);
  const std::uint32_t mine = writer.add_code(tflite::BuiltinOperator_CUSTOM, "Mine");
  const std::uint32_t abs = writer.add_code(tflite::BuiltinOperator_ABS);
  writer.subgraphs = {{"main",
                       {{"x", {{4}}}, {"a", {{4}}}, {"b", {{4}}}, {"y", {{4}}}, {"z", {{4}}}},
                       {0},
                       {4},
                       {{relu, {0}, {1}}, {tanh, {1}, {2}}, {relu, {2}, {3}}, {mine, {3}, {4}}}},
                      {"other", {{"x", {{4}}}, {"y", {{4}}}}, {0}, {1}, {{abs, {0}, {1}}}}};
  return writer.bytes();
}

io::Result<io::TfliteModel> read_with(const std::string& rows, std::uint32_t subgraph = 0) {
  const auto list = parse("operator,bytes,alignment\n" + rows);
  EXPECT_TRUE(list.ok()) << list.error().message;
  const std::vector<std::uint8_t> bytes = model_bytes();
  return io::parse_tflite({bytes, "test.tflite"}, io::TfliteOptions().set_scratch(*list, subgraph));
}

TEST(TfliteScratch, LivesAtItsOperatorsStepOnly) {
  const auto model = read_with("Mine,100,\n1,64,128\n3,7,\n");
  ASSERT_TRUE(model.ok()) << model.error().message;
  const io::TfliteSubgraph& subgraph = model->subgraphs[0];
  const TensorGraph& graph = subgraph.graph;
  ASSERT_EQ(graph.tensor_count(), 8U);  // 5 of the file and 3 of scratch
  ASSERT_EQ(graph.scratch(OperatorIndex(1)).size(), 1U);
  const TensorIndex of_tanh = graph.scratch(OperatorIndex(1))[0];
  EXPECT_EQ(graph.tensor(of_tanh).size_bytes, 64U);
  EXPECT_EQ(graph.tensor(of_tanh).alignment_bytes, 128U);
  EXPECT_STREQ(graph.tensor_name(of_tanh), "scratch of operator 1 'TANH'");
  EXPECT_TRUE(subgraph.file_tensors[of_tanh.value].is_none());
  const Span<const TensorIndex> of_mine = graph.scratch(OperatorIndex(3));
  ASSERT_EQ(of_mine.size(), 2U);  // in the order of the list
  EXPECT_EQ(graph.tensor(of_mine[0]).size_bytes, 100U);
  EXPECT_EQ(graph.tensor(of_mine[0]).alignment_bytes, 0U);
  EXPECT_EQ(graph.tensor(of_mine[1]).size_bytes, 7U);
  EXPECT_TRUE(graph.scratch(OperatorIndex(0)).empty());
  const Result<Lifetimes> lifetimes = LifetimeAnalyzer().analyze(graph);
  ASSERT_TRUE(lifetimes.ok());
  EXPECT_EQ(lifetimes->live_range(of_tanh), (LiveRange{Step(1), Step(1)}));
  EXPECT_EQ(lifetimes->live_range(of_mine[1]), (LiveRange{Step(3), Step(3)}));
  expect_safe_plan(subgraph);
}

TEST(TfliteScratch, GoesToTheSubgraphThatWasNamed) {
  const auto model = read_with("ABS,100,\n0,100,\n", 1);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->subgraphs[0].graph.tensor_count(), 5U);
  EXPECT_EQ(model->subgraphs[1].graph.scratch(OperatorIndex(0)).size(), 2U);
  const auto none = read_with("0,100,\n", 2);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message,
            "test.tflite: there is no subgraph 2 for scratch.csv; the model has 2, counted from 0");
}

void expect_unknown(const std::string& rows, const std::string& message) {
  const auto model = read_with(rows);
  ASSERT_FALSE(model.ok()) << rows;
  EXPECT_EQ(model.error().message, "test.tflite: scratch.csv: " + message);
  EXPECT_EQ(model.error().code, StatusCode::kInvalidInput);
}

TEST(TfliteScratch, NamesTheLineWhoseOperatorDoesNotExist) {
  EXPECT_TRUE(read_with("3,1,\n").ok());
  for (const std::string op :
       {"4", "4294967296", "99999999999999999999", "-1", "relu", "ABS", ""}) {
    expect_unknown(
        "0,1,\n" + op + ",1,\n",
        "line 3: '" + op + "' is no operator of subgraph 0, which has 4, counted from 0");
  }
}

TEST(TfliteScratch, NamesTheLineWhoseOperatorIsAmbiguous) {
  expect_unknown("TANH,1,\nRELU,1,\n",
                 "line 3: 'RELU' is the name of 2 operators of subgraph 0, 0 and 2 among them; an "
                 "index says which is meant");
}

TEST(TfliteScratch, OfAFoldedOperatorStaysAtItsStep) {
  TfliteWriter writer;
  const std::uint32_t dequantize = writer.add_code(tflite::BuiltinOperator_DEQUANTIZE);
  const std::uint32_t data = writer.add_buffer(std::vector<std::uint8_t>(8));
  writer.subgraphs = {{"main",
                       {{"w", {{4}}, tflite::TensorType_FLOAT16, data}, {"table", {{4}}}},
                       {},
                       {},
                       {{dequantize, {0}, {1}}}}};
  const std::vector<std::uint8_t> bytes = writer.bytes();
  const auto list = parse("operator,bytes\n0,96\n");
  ASSERT_TRUE(list.ok()) << list.error().message;
  const auto model = io::parse_tflite({bytes, "test.tflite"},
                                      io::TfliteOptions().set_fold(true).set_scratch(*list));
  ASSERT_TRUE(model.ok()) << model.error().message;
  const io::TfliteSubgraph& subgraph = model->subgraphs[0];
  EXPECT_EQ(subgraph.run_once.size(), 1U);
  EXPECT_EQ(subgraph.graph.scratch(OperatorIndex(0)).size(), 1U);
  expect_safe_plan(subgraph);
}

}  // namespace
}  // namespace tenure::test
