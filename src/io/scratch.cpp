// SPDX-License-Identifier: Apache-2.0

#include "tenure/io/scratch.h"

#include "io/boundary.h"
#include "io/csv_table.h"
#include "io/file.h"
#include "tenure/align.h"

namespace tenure::io {
namespace {

enum ScratchColumn : std::size_t { kScratchOperator, kScratchBytes, kScratchAlignment };
constexpr std::size_t kScratchRequiredCount = kScratchAlignment;

Result<ScratchRow> read_scratch_row(const CsvTable& table) {
  ScratchRow row;
  row.op = table.cell(kScratchOperator);
  row.line_number = table.line_number();
  if (MaybeError error = table.read_number(kScratchBytes, &row.size_bytes)) return *error;
  if (table.cell(kScratchAlignment).empty()) return row;
  if (MaybeError error = table.read_number(kScratchAlignment, &row.alignment_bytes)) return *error;
  if (is_power_of_two(row.alignment_bytes)) return row;
  return table.cell_error(kScratchAlignment, "is not a power of two");
}

}  // namespace

Result<ScratchList> parse_scratch_csv(std::string_view text, std::string_view name) {
  return at_boundary(name, [&]() -> Result<ScratchList> {
    CsvTable table(text, {{"operator", "bytes", "alignment"}, kScratchRequiredCount});
    ScratchList list;
    list.name = name;
    if (MaybeError error = table.read_header()) return *error;
    for (;;) {
      const Result<bool> has_row = table.next_row();
      if (!has_row.ok()) return has_row.error();
      if (!*has_row) return list;
      Result<ScratchRow> row = read_scratch_row(table);
      if (!row.ok()) return row.error();
      list.rows.push_back(std::move(*row));
    }
  });
}

Result<ScratchList> read_scratch_csv(const std::string& path) {
  const Result<FileBytes> file = read_file(path, UINT64_MAX);
  if (!file.ok()) return file.error();
  const std::vector<std::uint8_t>& bytes = file->bytes;
  return parse_scratch_csv({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

}  // namespace tenure::io
