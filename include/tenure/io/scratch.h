// SPDX-License-Identifier: Apache-2.0
#pragma once

// Scratch from outside. How much working memory a kernel needs is not in a model file; a runtime
// that knows it can write it down as CSV, `operator,bytes,alignment`, for an importer to add:
//
//   operator,bytes,alignment
//   3,4096,64
//   FULLY_CONNECTED,512,
//
//   io::Result<io::ScratchList> list = io::read_scratch_csv("scratch.csv");
//   io::read_tflite("model.tflite", io::TfliteOptions().set_scratch(*list));
//
// Each row is one scratch tensor that lives at its operator's step; an operator may have several.
// Lines, cells and columns are as in io/csv.h: no quotes, any order, other columns are skipped. The
// column `alignment` may be left out, and so may its cells.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/io/result.h"

namespace tenure::io {

struct ScratchRow {
  // Decimal digits alone: an index in the subgraph, from 0. Else an operator's name as reports
  // print it ("CONV_2D", a custom operator's own), which only one operator may have.
  std::string op;
  std::uint64_t size_bytes = 0;
  std::uint64_t alignment_bytes = 0;  // 0: the analyzer's default; else a power of two
  std::size_t line_number = 0;        // for messages; from 1
};

struct ScratchList {
  std::string name;  // stands for the file in messages
  std::vector<ScratchRow> rows;
};

// Fails with line and column of the first thing that is wrong: a header that is missing or
// incomplete, too few or too many cells, a cell that is no number or does not fit in 64 bits, an
// alignment that is no power of two. Whether the operators exist is for the importer to say.
// O(bytes).
[[nodiscard]] Result<ScratchList> read_scratch_csv(const std::string& path);
// The same for text that is already in memory.
[[nodiscard]] Result<ScratchList> parse_scratch_csv(std::string_view text, std::string_view name);

}  // namespace tenure::io
