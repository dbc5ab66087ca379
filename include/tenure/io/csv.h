// SPDX-License-Identifier: Apache-2.0
#pragma once

// Planning problems and plans in the field's CSV: `id,lower,upper,size` and, with a plan, `offset`.
// A block is live in the half-open [lower, upper), which is converted to inclusive steps here and
// nowhere else.
//
//   io::Result<io::CsvProblem> csv = io::read_csv("blocks.csv");
//   Result<MemoryPlan> plan = ArenaPlanner().plan(csv->problem());
//
// Cells are separated by commas and taken as they are, without quotes or spaces around them. Lines
// end in LF or CRLF; empty lines are skipped, and so are columns with other names. The order of the
// columns is free. This is the format of google/minimalloc, with every number checked.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/align.h"
#include "tenure/index.h"
#include "tenure/io/result.h"
#include "tenure/problem.h"

namespace tenure::io {

struct CsvOptions {
  std::uint64_t alignment_bytes = kDefaultAlignmentBytes;  // of every block; a power of two

  CsvOptions& set_alignment_bytes(std::uint64_t value) noexcept {
    return alignment_bytes = value, *this;
  }
};

// Rows in the order of the file: ids[i] is the id of blocks[i].
struct CsvProblem {
  std::vector<std::string> ids;
  std::vector<Block> blocks;

  // Borrows the blocks.
  [[nodiscard]] PlanningProblem problem() const noexcept {
    PlanningProblem problem;
    problem.blocks = blocks;
    return problem;
  }
};

// Fails with line and column of the first thing that is wrong: a header that is missing or
// incomplete, a cell that is no number or out of range, upper <= lower, an id that occurs twice, a
// negative fixed offset. An empty cell of the column `offset` is a block without a fixed offset.
// O(bytes).
[[nodiscard]] Result<CsvProblem> read_csv(const std::string& path,
                                          const CsvOptions& options = CsvOptions());
// The same for text that is already in memory; `name` stands for the file in messages.
[[nodiscard]] Result<CsvProblem> parse_csv(std::string_view text, std::string_view name,
                                           const CsvOptions& options = CsvOptions());

struct CsvRow {
  std::string id;
  LiveRange live_range;
  std::uint64_t size_bytes = 0;
  std::uint64_t offset_bytes = 0;
};

// Header and rows `id,lower,upper,size,offset`, which parse_csv reads back as fixed offsets.
[[nodiscard]] std::string csv_text(const std::vector<CsvRow>& rows);

}  // namespace tenure::io
