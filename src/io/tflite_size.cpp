// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>

#include "io/tflite_model.h"
#include "tenure/align.h"

namespace tenure::io {
namespace {

// 0 for types whose bytes do not follow from the shape, none for types that are not known.
std::optional<std::uint32_t> bits_of(tflite::TensorType type) noexcept {
  switch (type) {
    case tflite::TensorType_COMPLEX128:
      return 128;
    case tflite::TensorType_INT64:
    case tflite::TensorType_UINT64:
    case tflite::TensorType_FLOAT64:
    case tflite::TensorType_COMPLEX64:
      return 64;
    case tflite::TensorType_FLOAT32:
    case tflite::TensorType_INT32:
    case tflite::TensorType_UINT32:
      return 32;
    case tflite::TensorType_FLOAT16:
    case tflite::TensorType_BFLOAT16:
    case tflite::TensorType_INT16:
    case tflite::TensorType_UINT16:
      return 16;
    case tflite::TensorType_INT8:
    case tflite::TensorType_UINT8:
    case tflite::TensorType_BOOL:
    case tflite::TensorType_FLOAT8_E4M3FN:
    case tflite::TensorType_FLOAT8_E5M2:
      return 8;
    case tflite::TensorType_INT4:
    case tflite::TensorType_UINT4:
      return 4;
    case tflite::TensorType_INT2:
      return 2;
    case tflite::TensorType_STRING:
    case tflite::TensorType_RESOURCE:
    case tflite::TensorType_VARIANT:
      return 0;
  }
  return std::nullopt;
}

Result<std::uint64_t> element_count(const flatbuffers::Vector<std::int32_t>* shape) {
  std::uint64_t count = 1;
  if (shape == nullptr) return count;
  const bool is_empty = std::find(shape->begin(), shape->end(), 0) != shape->end();
  for (std::uint32_t i = 0; i < shape->size(); ++i) {
    const std::int32_t dimension = shape->Get(i);
    if (dimension < 0) {
      return Error{StatusCode::kInvalidInput,
                   fmt::format("dimension {} of its shape is {}, so that its size is not known", i,
                               dimension)};
    }
    const auto factor = is_empty ? 0 : static_cast<std::uint64_t>(dimension);
    if (!checked_multiply(count, factor, &count)) {
      return Error{StatusCode::kOverflow, "its size does not fit in 64 bits"};
    }
  }
  return count;
}

}  // namespace

Result<std::uint64_t> size_of_shape(const tflite::Tensor& tensor) {
  const std::optional<std::uint32_t> bits = bits_of(tensor.type());
  if (!bits) {
    return Error{StatusCode::kInvalidInput,
                 fmt::format("its type, number {}, is not known", static_cast<int>(tensor.type()))};
  }
  Result<std::uint64_t> count = element_count(tensor.shape());
  if (!count.ok() || *bits == 0) return count.ok() ? Result<std::uint64_t>(0) : count;
  if (*bits < 8) {
    const std::uint64_t per_byte = 8 / *bits;
    return *count / per_byte + (*count % per_byte != 0 ? 1 : 0);
  }
  std::uint64_t size_bytes = 0;
  if (!checked_multiply(*count, *bits / 8, &size_bytes)) {
    return Error{StatusCode::kOverflow, "its size does not fit in 64 bits"};
  }
  return size_bytes;
}

bool has_run_time_size(const tflite::Tensor& tensor) noexcept {
  return tensor.type() == tflite::TensorType_STRING || tensor.type() == tflite::TensorType_VARIANT;
}

}  // namespace tenure::io
