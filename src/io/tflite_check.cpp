// SPDX-License-Identifier: Apache-2.0

#include "io/tflite_check.h"

#include <fmt/format.h>

#include <utility>

#include "io/tflite_model.h"

namespace tenure::io {
namespace {

Error invalid(std::string message) { return {StatusCode::kInvalidInput, std::move(message)}; }

// The first entry that is no tensor of a subgraph with that many.
std::optional<std::int32_t> first_bad_index(const flatbuffers::Vector<std::int32_t>* indices,
                                            std::uint32_t tensor_count) {
  if (indices == nullptr) return std::nullopt;
  for (const std::int32_t index : *indices) {
    if (index == kAbsentTensor) continue;
    if (index < 0 || static_cast<std::uint32_t>(index) >= tensor_count) return index;
  }
  return std::nullopt;
}

class Checker {
 public:
  Checker(const tflite::Model& model, const ModelSizes& sizes)
      : model_(model), view_(model), sizes_(sizes) {}

  [[nodiscard]] MaybeError check() {
    if (model_.version() != 3) {
      return invalid(fmt::format("the format's version is {}; 3 can be read", model_.version()));
    }
    if (view_.subgraph_count() == 0) return invalid("the model has no subgraph");
    for (std::uint32_t i = 0; i < view_.subgraph_count(); ++i) {
      if (MaybeError error = check_subgraph(i)) return error;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] MaybeError check_subgraph(std::uint32_t index) {
    const tflite::SubGraph& subgraph = view_.subgraph(index);
    const std::uint32_t tensor_count = count_of(subgraph.tensors());
    for (std::uint32_t i = 0; i < tensor_count; ++i) {
      if (MaybeError error = check_tensor(index, i)) return error;
    }
    for (const auto* list : {subgraph.inputs(), subgraph.outputs()}) {
      if (MaybeError error = check_length(count_of(list))) return error;
      if (const auto bad = first_bad_index(list, tensor_count)) {
        return invalid(fmt::format("subgraph {}: its {} name tensor {}, but it has {} tensors",
                                   index, list == subgraph.inputs() ? "inputs" : "outputs", *bad,
                                   tensor_count));
      }
    }
    for (std::uint32_t i = 0; i < count_of(subgraph.operators()); ++i) {
      if (MaybeError error = check_operator(index, i)) return error;
    }
    return std::nullopt;
  }

  [[nodiscard]] MaybeError check_tensor(std::uint32_t subgraph, std::uint32_t index) {
    const tflite::Tensor& tensor = *view_.subgraph(subgraph).tensors()->Get(index);
    if (MaybeError error = check_length(count_of(tensor.shape()))) return error;
    if (MaybeError error = check_name(tensor.name())) return error;
    if (tensor.buffer() == 0) return std::nullopt;
    const std::uint32_t buffer_count = count_of(model_.buffers());
    if (tensor.buffer() >= buffer_count) {
      return invalid(fmt::format("{}: its data is in buffer {}, but the model has {} buffers",
                                 view_.tensor_label(subgraph, index), tensor.buffer(),
                                 buffer_count));
    }
    const tflite::Buffer& data = *model_.buffers()->Get(tensor.buffer());
    if (count_of(data.data()) != 0 || data.offset() <= 1) return std::nullopt;
    if (data.offset() <= sizes_.file_bytes && data.size() <= sizes_.file_bytes - data.offset()) {
      return std::nullopt;
    }
    return invalid(fmt::format("{}: its data is {} bytes at {}, beyond the file's end at {}",
                               view_.tensor_label(subgraph, index), data.size(), data.offset(),
                               sizes_.file_bytes));
  }

  [[nodiscard]] MaybeError check_operator(std::uint32_t subgraph, std::uint32_t index) {
    const tflite::SubGraph& parent = view_.subgraph(subgraph);
    const tflite::Operator& op = *parent.operators()->Get(index);
    const std::uint32_t code_count = count_of(model_.operator_codes());
    if (op.opcode_index() >= code_count) {
      return invalid(
          fmt::format("subgraph {}, operator {}: its code is entry {}, but the model has {}",
                      subgraph, index, op.opcode_index(), code_count));
    }
    const auto& code = *model_.operator_codes()->Get(op.opcode_index());
    if (MaybeError error = check_name(code.custom_code())) return error;
    const std::uint32_t tensor_count = count_of(parent.tensors());
    for (const auto* list : {op.inputs(), op.outputs(), op.intermediates()}) {
      if (MaybeError error = check_length(count_of(list))) return error;
      if (const auto bad = first_bad_index(list, tensor_count)) {
        return invalid(fmt::format("{}: it names tensor {}, but the subgraph has {} tensors",
                                   view_.operator_label(subgraph, index), *bad, tensor_count));
      }
    }
    for (const std::int64_t called : ModelView::called_subgraphs(op)) {
      if (MaybeError error = check_length(1)) return error;
      if (called >= 0 && called < std::int64_t{view_.subgraph_count()}) continue;
      return invalid(fmt::format("{}: it calls subgraph {}, but the model has {} subgraphs",
                                 view_.operator_label(subgraph, index), called,
                                 view_.subgraph_count()));
    }
    return std::nullopt;
  }

  // Entries have 4 bytes. Lists that lie in one place are counted each, and so bounded by the file:
  // a small file must not ask for a large graph.
  [[nodiscard]] MaybeError check_length(std::uint32_t count) {
    entry_count_ += count;
    if (entry_count_ <= sizes_.flatbuffer_bytes) return std::nullopt;
    return invalid("its lists have more entries than the file has bytes");
  }

  // Names are copied for each tensor and operator, and many may lie in one place too. Real models repeat
  // the name of a custom operator, so that some sharing has to be granted.
  [[nodiscard]] MaybeError check_name(const flatbuffers::String* name) {
    constexpr std::uint64_t kGrantedBytes = std::uint64_t{16} << 20;
    name_bytes_ += name == nullptr ? 0 : name->size();
    if (name_bytes_ <= sizes_.flatbuffer_bytes + kGrantedBytes) return std::nullopt;
    return invalid("its names together are longer than the file");
  }

  const tflite::Model& model_;
  ModelView view_;
  ModelSizes sizes_;
  std::uint64_t entry_count_ = 0;
  std::uint64_t name_bytes_ = 0;
};

}  // namespace

MaybeError check_model(const tflite::Model& model, const ModelSizes& sizes) {
  return Checker(model, sizes).check();
}

}  // namespace tenure::io
