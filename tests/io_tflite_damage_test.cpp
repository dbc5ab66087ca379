// SPDX-License-Identifier: Apache-2.0

// Models that are wrong: every one is refused with its culprit, or read.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/random.h"
#include "support/tflite_models.h"
#include "support/tflite_writer.h"
#include "tenure/io/tflite.h"
#include "tenure/planner.h"
#include "tenure/verify.h"

namespace tenure::test {
namespace {

namespace tflite = io::tflite;

TEST(TfliteReader, NamesTensorWithUnknownDimension) {
  expect_error(model_of({"x", {{1, -1, 4}}}),
               "subgraph 0, tensor 0 'x': dimension 1 of its shape is -1, so that its size is not "
               "known");
}

TEST(TfliteReader, NamesTensorOfUnknownType) {
  expect_error(model_of({"x", {{4}}, static_cast<tflite::TensorType>(77)}),
               "subgraph 0, tensor 0 'x': its type, number 77, is not known");
}

TEST(TfliteReader, NamesIndicesThatNameNothing) {
  const std::vector<WrittenTensor> tensors = {{"x", {{4}}}, {"y", {{4}}}};
  const auto relu = tflite::BuiltinOperator_RELU;
  expect_error(model_with(relu, tensors, {{0, {2}, {1}}}),
               "subgraph 0, operator 0 'RELU': it names tensor 2, but the subgraph has 2 tensors");
  expect_error(model_with(relu, tensors, {{0, {0}, {-2}}}),
               "subgraph 0, operator 0 'RELU': it names tensor -2, but the subgraph has 2 tensors");
  expect_error(model_with(relu, tensors, {{0, {0}, {1}, {9}}}),
               "subgraph 0, operator 0 'RELU': it names tensor 9, but the subgraph has 2 tensors");
  expect_error(model_with(relu, tensors, {{1, {0}, {1}}}),
               "subgraph 0, operator 0: its code is entry 1, but the model has 1");
  expect_error(model_of({"x", {{4}}, tflite::TensorType_INT8, 1}),
               "subgraph 0, tensor 0 'x': its data is in buffer 1, but the model has 1 buffers");
  expect_error(
      model_with(tflite::BuiltinOperator_WHILE, tensors, {{0, {0}, {1}, {}, while_options(0, 1)}}),
      "subgraph 0, operator 0 'WHILE': it calls subgraph 1, but the model has 1 subgraphs");
  expect_error(model_with(tflite::BuiltinOperator_CALL_ONCE, tensors,
                          {{0, {}, {}, {}, call_once_options(-1)}}),
               "subgraph 0, operator 0 'CALL_ONCE': it calls subgraph -1, but the model has 1 "
               "subgraphs");
}

TEST(TfliteReader, NamesInputsAndOutputsThatDoNotExist) {
  TfliteWriter inputs;
  inputs.subgraphs = {{"main", {{"x", {{4}}}}, {1}, {0}, {}}};
  expect_error(inputs.bytes(), "subgraph 0: its inputs name tensor 1, but it has 1 tensors");
  TfliteWriter outputs;
  outputs.subgraphs = {{"main", {{"x", {{4}}}}, {0}, {-7}, {}}};
  expect_error(outputs.bytes(), "subgraph 0: its outputs name tensor -7, but it has 1 tensors");
}

TEST(TfliteReader, NamesTensorThatNothingProduces) {
  expect_error(model_with(tflite::BuiltinOperator_ADD,
                          {{"x", {{4}}}, {"lost", {{4}}}, {"y", {{4}}}}, {{0, {0, 1}, {2}}}),
               "subgraph 0: a tensor is read or is an output, but nothing produces it: operator 0 "
               "'ADD', tensor 1 'lost'");
}

TEST(TfliteReader, RefusesOtherVersionsAndModelsWithoutSubgraphs) {
  TfliteWriter empty;
  expect_error(empty.bytes(), "the model has no subgraph");
  TfliteWriter old;
  old.version = 2;
  expect_error(old.bytes(), "the format's version is 2; 3 can be read");
}

TEST(TfliteReader, RefusesBytesThatAreNoModel) {
  const std::string message =
      "this is no TensorFlow Lite model: it does not begin with the mark TFL3";
  expect_error({}, message);
  expect_error(std::vector<std::uint8_t>(7), message);
  expect_error(std::vector<std::uint8_t>(100, 0xFF), message);
  expect_error({4, 0, 0, 0, 'T', 'F', 'L', '3'}, "the model is damaged or cut off");
}

TEST(TfliteReader, RefusesEveryModelThatIsCutOff) {
  std::vector<std::uint8_t> bytes = model_of({"x", {{4}}});
  const std::size_t whole_size = bytes.size();
  while (bytes.size() > 8) {
    bytes.pop_back();
    // FlatBuffers pads the end, so that the last bytes may be no part of anything.
    const auto model = parse_model(bytes);
    EXPECT_TRUE(!model.ok() || bytes.size() + 8 > whole_size) << bytes.size();
  }
}

// A model with most of what the reader looks at.
std::vector<std::uint8_t> rich_model() {
  TfliteWriter writer;
  const std::uint32_t reshape = writer.add_code(tflite::BuiltinOperator_RESHAPE);
  const std::uint32_t add = writer.add_code(tflite::BuiltinOperator_ADD);
  const std::uint32_t loop = writer.add_code(tflite::BuiltinOperator_WHILE);
  const std::uint32_t handle = writer.add_code(tflite::BuiltinOperator_VAR_HANDLE);
  const std::uint32_t read = writer.add_code(tflite::BuiltinOperator_READ_VARIABLE);
  const std::uint32_t custom = writer.add_code(tflite::BuiltinOperator_CUSTOM, "Custom");
  const std::uint32_t data = writer.add_buffer(std::vector<std::uint8_t>(16, 1));
  const std::uint32_t outside = writer.add_buffer_outside(16, 16);
  const auto float32 = tflite::TensorType_FLOAT32;
  writer.subgraphs = {{"main",
                       {{"x", {{4}}},
                        {"w", {{4}}, float32, data},
                        {"v", {{4}}, float32, outside},
                        {"flat", {{2, 2}}},
                        {"sum", {{4}}},
                        {"looped", {{4}}},
                        {"handle", {{1}}, tflite::TensorType_RESOURCE},
                        {"value", {{4}}},
                        {"gate", {{4}}},
                        {"y", {{4}}, tflite::TensorType_INT4}},
                       {0},
                       {9},
                       {{reshape, {0}, {3}},
                        {add, {3, 1}, {4}},
                        {loop, {4}, {5}, {}, while_options(1, 1)},
                        {handle, {}, {6}, {}, variable_options("c", "s")},
                        {read, {6}, {7}},
                        {custom, {5, 7, 2, -1}, {9}, {8}}}},
                      {"body", {{"x", {{4}}}}, {0}, {0}, {}}};
  return writer.bytes();
}

TEST(TfliteReader, SurvivesEveryKindOfDamage) {
  const std::vector<std::uint8_t> intact = rich_model();
  ASSERT_TRUE(parse_model(intact).ok()) << parse_model(intact).error().message;
  constexpr std::uint32_t kSeed = 20240229;
  SCOPED_TRACE(kSeed);
  Random random(kSeed);
  constexpr std::uint8_t kTelling[] = {0, 1, 2, 4, 127, 128, 254, 255};
  int refused_count = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::uint8_t> bytes = intact;
    for (std::uint64_t i = random.between(1, 4); i > 0; --i) {
      const std::uint8_t any = static_cast<std::uint8_t>(random.below(256));
      const std::uint8_t telling = kTelling[random.index(sizeof(kTelling))];
      bytes[random.index(bytes.size())] = random.below(2) == 0 ? telling : any;
    }
    if (random.below(8) == 0) bytes.resize(random.index(bytes.size()));
    const auto model = parse_model(bytes);
    if (!model.ok()) {
      ++refused_count;
      EXPECT_EQ(model.error().message.find("test.tflite: "), 0U);
      continue;
    }
    for (const io::TfliteSubgraph& subgraph : model->subgraphs) {
      ASSERT_EQ(subgraph.file_tensors.size(), subgraph.graph.tensor_count());
      const Result<MemoryPlan> plan = ArenaPlanner().plan(subgraph.graph);
      EXPECT_TRUE(!plan.ok() || verify(subgraph.graph, *plan).ok()) << round;
    }
  }
  EXPECT_GT(refused_count, 1000);
  EXPECT_LT(refused_count, 20000);
}

// 2,000 operators whose operands are one list of 20,000 entries: 80 KB that ask for 40 million
// edges.
TEST(TfliteReader, RefusesListsThatLieInOnePlace) {
  flatbuffers::FlatBufferBuilder builder;
  const auto code = tflite::CreateOperatorCode(builder, 0, 0, 1, tflite::BuiltinOperator_RELU);
  const auto codes = builder.CreateVector(&code, 1);
  const auto tensor = tflite::CreateTensorDirect(builder, nullptr);
  const auto tensors = builder.CreateVector(&tensor, 1);
  const auto operands = builder.CreateVector(std::vector<std::int32_t>(20000));
  std::vector<flatbuffers::Offset<tflite::Operator>> operators;
  for (int i = 0; i < 2000; ++i) operators.push_back(tflite::CreateOperator(builder, 0, operands));
  const auto operator_list = builder.CreateVector(operators);
  const auto subgraph = tflite::CreateSubGraph(builder, tensors, 0, 0, operator_list);
  const auto subgraphs = builder.CreateVector(&subgraph, 1);
  tflite::FinishModelBuffer(builder, tflite::CreateModel(builder, 3, codes, subgraphs));
  expect_error({builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()},
               "its lists have more entries than the file has bytes");
}

}  // namespace
}  // namespace tenure::test
