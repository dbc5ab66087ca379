// SPDX-License-Identifier: Apache-2.0

// How large tensors are and where their bytes live: shapes, constants, variables.

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "support/tflite_models.h"
#include "support/tflite_writer.h"
#include "tenure/io/tflite.h"

namespace tenure::test {
namespace {

namespace tflite = io::tflite;

TEST(TfliteReader, NamesTensorWhoseSizeOverflows) {
  const std::string message = "subgraph 0, tensor 0 'x': its size does not fit in 64 bits";
  // 2^64 elements.
  expect_error(model_of({"x", {{65536, 65536, 65536, 65536}}}), message, StatusCode::kOverflow);
  // 2^62 elements of 4 bytes.
  expect_error(model_of({"x", {{65536, 65536, 65536, 16384}}}), message, StatusCode::kOverflow);
  // 2^62 elements of 1 byte, and 2^63 of half a byte.
  expect_size({"x", {{65536, 65536, 65536, 16384}}, tflite::TensorType_INT8},
              std::uint64_t{1} << 62);
  expect_size({"x", {{65536, 65536, 65536, 32768}}, tflite::TensorType_INT4},
              std::uint64_t{1} << 62);
}

TEST(TfliteReader, TakesAnEmptyOrAbsentShapeAsOneElement) {
  expect_size({"x", {std::vector<std::int32_t>{}}, tflite::TensorType_INT64}, 8);
  expect_size({"x", std::nullopt, tflite::TensorType_INT64}, 8);
}

TEST(TfliteReader, TakesADimensionOfZeroAsNoBytes) {
  expect_size({"x", {{4, 0}}}, 0);
  expect_size({"x", {{65536, 65536, 65536, 65536, 65536, 0}}}, 0);
}

TEST(TfliteReader, RoundsPackedTypesUpToBytes) {
  expect_size({"x", {{4}}, tflite::TensorType_INT4}, 2);
  expect_size({"x", {{5}}, tflite::TensorType_INT4}, 3);
  expect_size({"x", {{5}}, tflite::TensorType_UINT4}, 3);
  expect_size({"x", {{4}}, tflite::TensorType_INT2}, 1);
  expect_size({"x", {{5}}, tflite::TensorType_INT2}, 2);
}

TEST(TfliteReader, KnowsTheWidthOfEveryType) {
  const std::pair<tflite::TensorType, std::uint64_t> widths[] = {
      {tflite::TensorType_FLOAT32, 4},       {tflite::TensorType_FLOAT16, 2},
      {tflite::TensorType_INT32, 4},         {tflite::TensorType_UINT8, 1},
      {tflite::TensorType_INT64, 8},         {tflite::TensorType_STRING, 0},
      {tflite::TensorType_BOOL, 1},          {tflite::TensorType_INT16, 2},
      {tflite::TensorType_COMPLEX64, 8},     {tflite::TensorType_INT8, 1},
      {tflite::TensorType_FLOAT64, 8},       {tflite::TensorType_COMPLEX128, 16},
      {tflite::TensorType_UINT64, 8},        {tflite::TensorType_RESOURCE, 0},
      {tflite::TensorType_VARIANT, 0},       {tflite::TensorType_UINT32, 4},
      {tflite::TensorType_UINT16, 2},        {tflite::TensorType_BFLOAT16, 2},
      {tflite::TensorType_FLOAT8_E4M3FN, 1}, {tflite::TensorType_FLOAT8_E5M2, 1}};
  for (const auto& [type, width] : widths) expect_size({"x", {{3}}, type}, 3 * width);
}

TEST(TfliteReader, SaysThatASizeIsOnlyKnownAtRunTime) {
  const auto model = parse_model(model_of({"text", {{4}}, tflite::TensorType_STRING}));
  ASSERT_TRUE(model.ok()) << model.error().message;
  ASSERT_EQ(model->subgraphs[0].notes.size(), 1U);
  EXPECT_EQ(
      model->subgraphs[0].notes[0],
      "tensor 0 'text' is of type STRING, whose size is only known at run time; it is planned "
      "with 0 bytes");
}

TEST(TfliteReader, TakesDataOutsideTheFlatBufferAsConstant) {
  const auto model_at = [](std::uint64_t offset, std::uint64_t size) {
    TfliteWriter writer;
    writer.add_code(tflite::BuiltinOperator_ADD);
    const std::uint32_t buffer = writer.add_buffer_outside(offset, size);
    writer.subgraphs = {
        {"main",
         {{"x", {{4}}}, {"w", {{4}}, tflite::TensorType_FLOAT32, buffer}, {"y", {{4}}}},
         {0},
         {2},
         {{0, {0, 1}, {2}}}}};
    return writer.bytes();
  };
  const auto parse_in_file = [](const std::vector<std::uint8_t>& bytes, std::uint64_t file_size) {
    return io::parse_tflite({bytes, "test.tflite", file_size});
  };
  // The last bytes of a file of 4 GB and a bit, which is more than FlatBuffers can address.
  constexpr std::uint64_t kFileSize = (std::uint64_t{1} << 32) + 16;
  const auto model = parse_in_file(model_at(kFileSize - 16, 16), kFileSize);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const Tensor& weights = model->subgraphs[0].graph.tensor(TensorIndex(1));
  EXPECT_EQ(weights.kind, TensorKind::kConstant);
  EXPECT_EQ(weights.size_bytes, 16U);

  const auto beyond = parse_in_file(model_at(kFileSize - 16, 17), kFileSize);
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.error().message,
            "test.tflite: subgraph 0, tensor 1 'w': its data is 17 bytes at 4294967296, beyond the "
            "file's end at 4294967312");
  EXPECT_FALSE(parse_in_file(model_at(kFileSize + 1, 0), kFileSize).ok());
  // offset + size is 16 after it has wrapped.
  EXPECT_FALSE(parse_in_file(model_at(32, UINT64_MAX - 15), kFileSize).ok());
  EXPECT_FALSE(parse_model(model_at(UINT64_MAX, 1)).ok());
}

TEST(TfliteReader, TakesDataInAnotherFileAndEmptyDataAsConstant) {
  WrittenTensor elsewhere{"w", {{4}}};
  elsewhere.external_buffer = 1;
  const auto external = parse_model(model_of(elsewhere));
  ASSERT_TRUE(external.ok()) << external.error().message;
  EXPECT_EQ(external->subgraphs[0].graph.tensor(TensorIndex(0)).kind, TensorKind::kConstant);

  TfliteWriter writer;
  writer.add_code(tflite::BuiltinOperator_RESHAPE);
  const std::uint32_t buffer = writer.add_buffer({});
  writer.subgraphs = {{"main",
                       {{"x", {{1}}},
                        {"no_dimensions", {{0}}, tflite::TensorType_INT32, buffer},
                        {"y", {std::vector<std::int32_t>{}}}},
                       {0},
                       {2},
                       {{0, {0, 1}, {2}}}}};
  const auto empty = parse_model(writer.bytes());
  ASSERT_TRUE(empty.ok()) << empty.error().message;
  EXPECT_EQ(empty->subgraphs[0].graph.tensor(TensorIndex(1)).kind, TensorKind::kConstant);
}

TEST(TfliteReader, TakesBuffersWithoutBytesAsNoData) {
  TfliteWriter writer;
  writer.add_code(tflite::BuiltinOperator_RELU);
  const std::uint32_t buffer = writer.add_buffer({});
  writer.subgraphs = {{"main",
                       {{"x", {{4}}, tflite::TensorType_FLOAT32, buffer}, {"y", {{4}}}},
                       {0},
                       {1},
                       {{0, {0}, {1}}}}};
  const auto model = parse_model(writer.bytes());
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->subgraphs[0].graph.tensor(TensorIndex(0)).kind, TensorKind::kInput);
}

TEST(TfliteReader, MakesVariableTensorsPersistent) {
  WrittenTensor state{"state", {{8}}};
  state.is_variable = true;
  const auto model = parse_model(model_with(
      tflite::BuiltinOperator_SVDF, {{"x", {{4}}}, state, {"y", {{4}}}}, {{0, {0, 1}, {2}}}));
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->subgraphs[0].graph.tensor(TensorIndex(1)).kind, TensorKind::kPersistent);
  expect_safe_plan(model->subgraphs[0]);
}

// Subgraph 0 calls 1 once, which assigns 5 elements; subgraph 0 reads 5 and assigns 7.
TEST(TfliteReader, MakesOnePersistentTensorOfHandlesWithOneName) {
  TfliteWriter writer;
  const std::uint32_t handle = writer.add_code(tflite::BuiltinOperator_VAR_HANDLE);
  const std::uint32_t read = writer.add_code(tflite::BuiltinOperator_READ_VARIABLE);
  const std::uint32_t assign = writer.add_code(tflite::BuiltinOperator_ASSIGN_VARIABLE);
  const std::uint32_t call_once = writer.add_code(tflite::BuiltinOperator_CALL_ONCE);
  const std::uint32_t zeros = writer.add_buffer(std::vector<std::uint8_t>(20));
  const auto resource = tflite::TensorType_RESOURCE;
  const std::vector<std::int32_t> scalar;
  writer.subgraphs = {
      {"main",
       {{"x", {{7}}},
        {"handle", {scalar}, resource},
        {"old", {{5}}},
        {"again", {scalar}, resource}},
       {0},
       {2},
       {{call_once, {}, {}, {}, call_once_options(1)},
        {handle, {}, {1}, {}, variable_options(nullptr, "state")},
        {read, {1}, {2}},
        {handle, {}, {3}, {}, variable_options("", "state")},
        {assign, {3, 0}, {}}}},
      {"init",
       {{"handle", {scalar}, resource}, {"zeros", {{5}}, tflite::TensorType_FLOAT32, zeros}},
       {},
       {},
       {{handle, {}, {0}, {}, variable_options(nullptr, "state")}, {assign, {0, 1}, {}}}}};
  const auto model = parse_model(writer.bytes());
  ASSERT_TRUE(model.ok()) << model.error().message;
  const TensorGraph& graph = model->subgraphs[0].graph;
  ASSERT_EQ(graph.tensor_count(), 5U);
  const TensorIndex state(4);
  EXPECT_EQ(graph.tensor(state).kind, TensorKind::kPersistent);
  EXPECT_EQ(graph.tensor(state).size_bytes, 28U);  // 7 elements of 4 bytes, the larger value
  EXPECT_STREQ(graph.tensor_name(state), "state");
  EXPECT_TRUE(model->subgraphs[0].file_tensors[4].is_none());
  EXPECT_EQ(graph.inputs(OperatorIndex(2))[1], state);
  EXPECT_EQ(graph.outputs(OperatorIndex(4))[0], state);
  EXPECT_TRUE(graph.relations().empty());
  ASSERT_EQ(model->subgraphs[0].notes.size(), 2U);
  EXPECT_EQ(
      model->subgraphs[0].notes[0],
      "the variable 'state' takes values of several sizes; it is planned with the largest, 28 "
      "bytes");
  ASSERT_EQ(model->subgraphs[1].graph.tensor_count(), 3U);
  EXPECT_EQ(model->subgraphs[1].graph.tensor(TensorIndex(2)).size_bytes, 28U);
  for (const io::TfliteSubgraph& subgraph : model->subgraphs) expect_safe_plan(subgraph);
}

TEST(TfliteReader, KeepsVariablesOfOtherContainersApart) {
  TfliteWriter writer;
  const std::uint32_t handle = writer.add_code(tflite::BuiltinOperator_VAR_HANDLE);
  const std::uint32_t assign = writer.add_code(tflite::BuiltinOperator_ASSIGN_VARIABLE);
  const auto resource = tflite::TensorType_RESOURCE;
  writer.subgraphs = {{"main",
                       {{"x", {{1}}}, {"a", {{1}}, resource}, {"b", {{1}}, resource}},
                       {0},
                       {},
                       {{handle, {}, {1}, {}, variable_options("a", "state")},
                        {handle, {}, {2}, {}, variable_options("b", "state")},
                        {assign, {1, 0}, {}},
                        {assign, {2, 0}, {}}}}};
  const auto model = parse_model(writer.bytes());
  ASSERT_TRUE(model.ok()) << model.error().message;
  const TensorGraph& graph = model->subgraphs[0].graph;
  ASSERT_EQ(graph.tensor_count(), 5U);
  EXPECT_STREQ(graph.tensor_name(TensorIndex(3)), "a/state");
  EXPECT_STREQ(graph.tensor_name(TensorIndex(4)), "b/state");
}

TEST(TfliteReader, SaysThatAHandleFromOutsideIsNotPlanned) {
  const auto model = parse_model(model_with(
      tflite::BuiltinOperator_READ_VARIABLE,
      {{"handle", {{1}}, tflite::TensorType_RESOURCE}, {"value", {{4}}}}, {{0, {0}, {1}}}));
  ASSERT_TRUE(model.ok()) << model.error().message;
  ASSERT_EQ(model->subgraphs[0].notes.size(), 1U);
  EXPECT_EQ(model->subgraphs[0].notes[0],
            "operator 0 'READ_VARIABLE' uses a variable that no VAR_HANDLE of this subgraph names; "
            "the plan has no bytes for it");
}

}  // namespace
}  // namespace tenure::test
