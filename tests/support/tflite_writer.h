// SPDX-License-Identifier: Apache-2.0
#pragma once

// Writes small .tflite models, right and wrong ones, for tests of the reader.
//
//   TfliteWriter writer;
//   writer.add_code(tflite::BuiltinOperator_RELU);
//   writer.subgraphs = {{"main", {{"x", {4}}, {"y", {4}}}, {0}, {1}, {{0, {0}, {1}}}}};
//   auto model = io::parse_tflite({writer.bytes(), "test.tflite"});

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tflite_generated.h"

namespace tenure::test {

namespace tflite = io::tflite;

struct WrittenTensor {
  std::string name;
  std::optional<std::vector<std::int32_t>> shape;  // none: the field is absent
  tflite::TensorType type = tflite::TensorType_FLOAT32;
  std::uint32_t buffer = 0;
  bool is_variable = false;
  std::uint32_t external_buffer = 0;
};

struct WrittenOptions {
  tflite::BuiltinOptions type = tflite::BuiltinOptions_NONE;
  std::function<flatbuffers::Offset<void>(flatbuffers::FlatBufferBuilder*)> write;
};

struct WrittenOperator {
  std::uint32_t code = 0;
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> outputs;
  std::vector<std::int32_t> intermediates = {};
  WrittenOptions options = {};
};

struct WrittenSubgraph {
  std::string name;
  std::vector<WrittenTensor> tensors;
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> outputs;
  std::vector<WrittenOperator> operators;
};

inline WrittenOptions while_options(std::int32_t condition, std::int32_t body) {
  return {tflite::BuiltinOptions_WhileOptions, [=](flatbuffers::FlatBufferBuilder* builder) {
            return tflite::CreateWhileOptions(*builder, condition, body).Union();
          }};
}

inline WrittenOptions call_once_options(std::int32_t subgraph) {
  return {tflite::BuiltinOptions_CallOnceOptions, [=](flatbuffers::FlatBufferBuilder* builder) {
            return tflite::CreateCallOnceOptions(*builder, subgraph).Union();
          }};
}

// A null name leaves the field out.
inline WrittenOptions variable_options(const char* container, const char* shared_name) {
  return {tflite::BuiltinOptions_VarHandleOptions, [=](flatbuffers::FlatBufferBuilder* builder) {
            return tflite::CreateVarHandleOptionsDirect(*builder, container, shared_name).Union();
          }};
}

class TfliteWriter {
 public:
  std::uint32_t version = 3;
  std::vector<WrittenSubgraph> subgraphs;

  std::uint32_t add_code(tflite::BuiltinOperator code, const char* custom_name = nullptr) {
    constexpr std::int32_t kLastOldCode = 127;
    const auto old_code = static_cast<std::int8_t>(code > kLastOldCode ? kLastOldCode : code);
    codes_.push_back(tflite::CreateOperatorCodeDirect(builder_, old_code, custom_name, 1, code));
    return static_cast<std::uint32_t>(codes_.size() - 1);
  }

  // Buffer 0, which never has data, is there from the start.
  std::uint32_t add_buffer(const std::vector<std::uint8_t>& data) {
    buffers_.push_back(tflite::CreateBufferDirect(builder_, &data));
    return static_cast<std::uint32_t>(buffers_.size() - 1);
  }
  std::uint32_t add_buffer_outside(std::uint64_t offset, std::uint64_t size) {
    buffers_.push_back(tflite::CreateBuffer(builder_, 0, offset, size));
    return static_cast<std::uint32_t>(buffers_.size() - 1);
  }

  // Once.
  std::vector<std::uint8_t> bytes() {
    std::vector<flatbuffers::Offset<tflite::SubGraph>> written;
    for (const WrittenSubgraph& subgraph : subgraphs) written.push_back(write(subgraph));
    const auto model =
        tflite::CreateModelDirect(builder_, version, &codes_, &written, nullptr, &buffers_);
    tflite::FinishModelBuffer(builder_, model);
    return {builder_.GetBufferPointer(), builder_.GetBufferPointer() + builder_.GetSize()};
  }

 private:
  flatbuffers::Offset<tflite::Tensor> write(const WrittenTensor& tensor) {
    return tflite::CreateTensorDirect(
        builder_, tensor.shape ? &*tensor.shape : nullptr, tensor.type, tensor.buffer,
        tensor.name.c_str(), tensor.is_variable, 0, nullptr, false, tensor.external_buffer);
  }

  flatbuffers::Offset<tflite::Operator> write(const WrittenOperator& op) {
    const flatbuffers::Offset<void> options =
        op.options.write ? op.options.write(&builder_) : flatbuffers::Offset<void>();
    return tflite::CreateOperatorDirect(builder_, op.code, &op.inputs, &op.outputs, op.options.type,
                                        options, nullptr, &op.intermediates);
  }

  flatbuffers::Offset<tflite::SubGraph> write(const WrittenSubgraph& subgraph) {
    std::vector<flatbuffers::Offset<tflite::Tensor>> tensors;
    for (const WrittenTensor& tensor : subgraph.tensors) tensors.push_back(write(tensor));
    std::vector<flatbuffers::Offset<tflite::Operator>> operators;
    for (const WrittenOperator& op : subgraph.operators) operators.push_back(write(op));
    return tflite::CreateSubGraphDirect(builder_, &tensors, &subgraph.inputs, &subgraph.outputs,
                                        &operators, subgraph.name.c_str());
  }

  flatbuffers::FlatBufferBuilder builder_;
  std::vector<flatbuffers::Offset<tflite::OperatorCode>> codes_;
  std::vector<flatbuffers::Offset<tflite::Buffer>> buffers_ = {tflite::CreateBuffer(builder_)};
};

}  // namespace tenure::test
