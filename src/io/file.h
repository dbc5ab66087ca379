// SPDX-License-Identifier: Apache-2.0
#pragma once

// Files as a whole: read at once, written at once.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/boundary.h"
#include "tenure/io/result.h"

namespace tenure::io {

struct FileBytes {
  std::vector<std::uint8_t> bytes;    // the beginning, up to the limit that was asked for
  std::uint64_t file_size_bytes = 0;  // of the whole file; of a pipe, at least this much
};

// What FlatBuffers can address; constants beyond it are not needed to plan.
inline constexpr std::uint64_t kModelBytesLimit = 0x7FFFFFFE;

// Files, and whatever else can be read to its end. Errors carry the path.
[[nodiscard]] Result<FileBytes> read_file(const std::string& path, std::uint64_t limit_bytes);

// Replaces a regular file in one step or leaves it as it was; anything else (a terminal, a pipe) is
// written to directly. Errors carry the path.
[[nodiscard]] MaybeError write_file(const std::string& path, std::string_view text);

}  // namespace tenure::io
