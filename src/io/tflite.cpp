// SPDX-License-Identifier: Apache-2.0

#include "tenure/io/tflite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "io/boundary.h"
#include "io/file.h"
#include "io/tflite_check.h"
#include "io/tflite_model.h"
#include "io/tflite_subgraph.h"
#include "io/tflite_variables.h"

namespace tenure::io {
namespace {

// A table has at least 4 bytes of its own: a file with more tables than that repeats some.
bool is_intact(const std::uint8_t* data, std::size_t size) {
  flatbuffers::Verifier::Options options;
  options.max_tables = static_cast<flatbuffers::uoffset_t>(std::max<std::size_t>(size / 4, 1));
  flatbuffers::Verifier verifier(data, size, options);
  return tflite::VerifyModelBuffer(verifier);
}

Result<TfliteModel> parse(const std::uint8_t* data, std::size_t size, std::uint64_t file_size_bytes,
                          const TfliteOptions& options) {
  if (!is_intact(data, size)) {
    return Error{StatusCode::kInvalidInput, "the model is damaged or cut off"};
  }
  const tflite::Model& root = *tflite::GetModel(data);
  if (MaybeError error = check_model(root, {size, file_size_bytes})) return *error;
  const ModelView view(root);
  const Result<ResourceVariables> variables = ResourceVariables::find(view);
  if (!variables.ok()) return variables.error();
  if (options.scratch != nullptr && options.scratch_subgraph >= view.subgraph_count()) {
    return Error{
        StatusCode::kInvalidInput,
        fmt::format("there is no subgraph {} for {}; the model has {}, counted from 0",
                    options.scratch_subgraph, options.scratch->name, view.subgraph_count())};
  }
  TfliteModel model;
  for (std::uint32_t i = 0; i < view.subgraph_count(); ++i) {
    Result<TfliteSubgraph> subgraph = read_subgraph(view, *variables, i, options);
    if (!subgraph.ok()) return subgraph.error();
    model.subgraphs.push_back(std::move(*subgraph));
  }
  return model;
}

}  // namespace

bool is_tflite(Span<const std::uint8_t> bytes) noexcept {
  return bytes.size() >= 8 && std::memcmp(bytes.data() + 4, "TFL3", 4) == 0;
}

Result<TfliteModel> parse_tflite(const TfliteSource& source, const TfliteOptions& options) {
  return at_boundary(source.name, [&]() -> Result<TfliteModel> {
    if (!is_tflite(source.bytes)) {
      return Error{StatusCode::kInvalidInput,
                   "this is no TensorFlow Lite model: it does not begin with the mark TFL3"};
    }
    const auto size =
        static_cast<std::size_t>(std::min<std::uint64_t>(source.bytes.size(), kModelBytesLimit));
    const std::uint64_t file_size_bytes =
        std::max<std::uint64_t>(source.file_size_bytes, source.bytes.size());
    // Fields are read where they are, which needs the alignment that they were written for.
    constexpr std::uintptr_t kAlignment = 8;
    if (reinterpret_cast<std::uintptr_t>(source.bytes.data()) % kAlignment == 0) {
      return parse(source.bytes.data(), size, file_size_bytes, options);
    }
    const std::vector<std::uint8_t> aligned(source.bytes.begin(), source.bytes.begin() + size);
    return parse(aligned.data(), size, file_size_bytes, options);
  });
}

Result<TfliteModel> read_tflite(const std::string& path, const TfliteOptions& options) {
  const Result<FileBytes> file = read_file(path, kModelBytesLimit);
  if (!file.ok()) return file.error();
  return parse_tflite({file->bytes, path, file->file_size_bytes}, options);
}

}  // namespace tenure::io
