// SPDX-License-Identifier: Apache-2.0

#include "tenure/io/csv.h"

#include <fmt/format.h>

#include <iterator>
#include <unordered_map>

#include "io/boundary.h"
#include "io/csv_table.h"
#include "io/file.h"

namespace tenure::io {
namespace {

enum Column : std::size_t { kId, kLower, kUpper, kSize, kOffset };
constexpr std::size_t kRequiredCount = kOffset;

class Parser {
 public:
  Parser(std::string_view text, const CsvOptions& options)
      : table_(text, {{"id", "lower", "upper", "size", "offset"}, kRequiredCount}),
        options_(options) {}

  [[nodiscard]] Result<CsvProblem> parse() {
    if (MaybeError error = table_.read_header()) return *error;
    for (;;) {
      const Result<bool> row = table_.next_row();
      if (!row.ok()) return row.error();
      if (!*row) return std::move(problem_);
      if (MaybeError error = read_row()) return *error;
    }
  }

 private:
  [[nodiscard]] MaybeError read_offset(Block* block) const {
    const std::string_view cell = table_.cell(kOffset);
    if (cell.empty()) return std::nullopt;
    if (CsvTable::is_negative(cell)) {
      return table_.cell_error(
          kOffset, fmt::format("is refused: {}", text_of(Reason::kFixedOffsetNegative)));
    }
    if (MaybeError error = table_.read_number(kOffset, &block->fixed_offset_bytes)) return error;
    // The upper half stands for negative numbers in a Block, and its last for none.
    if (block->fixed_offset_bytes <= UINT64_MAX / 2) return std::nullopt;
    return table_.cell_error(kOffset, "does not fit in 63 bits", StatusCode::kOverflow);
  }

  [[nodiscard]] MaybeError read_row() {
    const std::string_view id = table_.cell(kId);
    const auto [entry, is_new] = lines_.emplace(id, table_.line_number());
    if (!is_new) {
      return table_.cell_error(kId, fmt::format("is the id of line {} too", entry->second));
    }
    Block block;
    std::uint32_t lower = 0;
    std::uint32_t upper = 0;
    if (MaybeError error = table_.read_number(kLower, &lower)) return error;
    if (MaybeError error = table_.read_number(kUpper, &upper)) return error;
    if (MaybeError error = table_.read_number(kSize, &block.size_bytes)) return error;
    if (MaybeError error = read_offset(&block)) return error;
    if (upper <= lower) {
      return table_.cell_error(kUpper, fmt::format("is not above lower, which is {}", lower));
    }
    block.live_range = {Step(lower), Step(upper - 1)};
    block.alignment_bytes = options_.alignment_bytes;
    problem_.ids.emplace_back(id);
    problem_.blocks.push_back(block);
    return std::nullopt;
  }

  CsvTable table_;
  CsvOptions options_;
  std::unordered_map<std::string_view, std::size_t> lines_;
  CsvProblem problem_;
};

}  // namespace

Result<CsvProblem> parse_csv(std::string_view text, std::string_view name,
                             const CsvOptions& options) {
  return at_boundary(name, [&] { return Parser(text, options).parse(); });
}

Result<CsvProblem> read_csv(const std::string& path, const CsvOptions& options) {
  const Result<FileBytes> file = read_file(path, UINT64_MAX);
  if (!file.ok()) return file.error();
  const std::vector<std::uint8_t>& bytes = file->bytes;
  return parse_csv({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path, options);
}

std::string csv_text(const std::vector<CsvRow>& rows) {
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "id,lower,upper,size,offset\n");
  for (const CsvRow& row : rows) {
    const std::uint64_t upper = std::uint64_t{row.live_range.last_use.value} + 1;
    fmt::format_to(out, "{},{},{},{},{}\n", row.id, row.live_range.first_use.value, upper,
                   row.size_bytes, row.offset_bytes);
  }
  return fmt::to_string(text);
}

}  // namespace tenure::io
