// SPDX-License-Identifier: Apache-2.0

#include "tenure/io/csv.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <system_error>
#include <unordered_map>

#include "io/boundary.h"
#include "io/file.h"

namespace tenure::io {
namespace {

enum Column : std::size_t { kId, kLower, kUpper, kSize, kOffset, kColumnCount };
constexpr std::array<std::string_view, kColumnCount> kColumnNames = {"id", "lower", "upper", "size",
                                                                     "offset"};
constexpr std::size_t kRequiredCount = kOffset;

void split(std::string_view line, std::vector<std::string_view>* cells) {
  cells->clear();
  for (;;) {
    const std::size_t comma = line.find(',');
    cells->push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return;
    line.remove_prefix(comma + 1);
  }
}

class Parser {
 public:
  Parser(std::string_view text, const CsvOptions& options) : text_(text), options_(options) {}

  [[nodiscard]] Result<CsvProblem> parse() {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text_.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
      text_.remove_prefix(kByteOrderMark.size());
    }
    std::string_view line;
    if (!next_line(&line)) return Error{StatusCode::kInvalidInput, "the file is empty"};
    if (MaybeError error = read_header(line)) return *error;
    while (next_line(&line)) {
      if (MaybeError error = read_row(line)) return *error;
    }
    return std::move(problem_);
  }

 private:
  // Skips empty lines.
  [[nodiscard]] bool next_line(std::string_view* line) {
    while (!text_.empty()) {
      const std::size_t end = text_.find('\n');
      *line = text_.substr(0, end);
      text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
      ++line_number_;
      if (!line->empty() && line->back() == '\r') line->remove_suffix(1);
      if (!line->empty()) return true;
    }
    return false;
  }

  [[nodiscard]] Error error(const std::string& what,
                            StatusCode code = StatusCode::kInvalidInput) const {
    return {code, fmt::format("line {}: {}", line_number_, what)};
  }
  [[nodiscard]] Error cell_error(Column column, std::string_view what,
                                 StatusCode code = StatusCode::kInvalidInput) const {
    const std::size_t place = *places_[column];
    return error(fmt::format("column {} ({}): '{}' {}", place + 1, kColumnNames[column],
                             cells_[place], what),
                 code);
  }

  [[nodiscard]] MaybeError read_header(std::string_view line) {
    split(line, &cells_);
    header_count_ = cells_.size();
    for (std::size_t column = 0; column < kColumnCount; ++column) {
      for (std::size_t place = 0; place < cells_.size(); ++place) {
        if (cells_[place] != kColumnNames[column]) continue;
        if (places_[column]) {
          return error(fmt::format("the column '{}' occurs twice", kColumnNames[column]));
        }
        places_[column] = place;
      }
    }
    std::size_t missing = kRequiredCount;
    std::size_t found_count = 0;
    for (std::size_t column = kRequiredCount; column-- > 0;) {
      if (places_[column]) {
        ++found_count;
      } else {
        missing = column;
      }
    }
    if (found_count == 0) return error("there is no header with the columns id,lower,upper,size");
    if (missing == kRequiredCount) return std::nullopt;
    return error(fmt::format("the column '{}' is missing", kColumnNames[missing]));
  }

  template <class Number>
  [[nodiscard]] MaybeError read_number(Column column, Number* number) const {
    const std::string_view cell = cells_[*places_[column]];
    const char* const end = cell.data() + cell.size();
    const auto [stop, code] = std::from_chars(cell.data(), end, *number);
    if (code == std::errc() && stop == end) return std::nullopt;
    if (code == std::errc::result_out_of_range && stop == end) {
      return cell_error(column, fmt::format("does not fit in {} bits", 8 * sizeof(Number)),
                        StatusCode::kOverflow);
    }
    if (is_negative(cell)) return cell_error(column, "is negative");
    return cell_error(column, "is not a number");
  }

  [[nodiscard]] static bool is_negative(std::string_view cell) {
    return cell.size() > 1 && cell.front() == '-' &&
           cell.find_first_not_of("0123456789", 1) == std::string_view::npos;
  }

  [[nodiscard]] MaybeError read_offset(Block* block) const {
    if (!places_[kOffset]) return std::nullopt;
    const std::string_view cell = cells_[*places_[kOffset]];
    if (cell.empty()) return std::nullopt;
    if (is_negative(cell)) {
      return cell_error(kOffset,
                        fmt::format("is refused: {}", text_of(Reason::kFixedOffsetNegative)));
    }
    if (MaybeError error = read_number(kOffset, &block->fixed_offset_bytes)) return error;
    // The upper half stands for negative numbers in a Block, and its last for none.
    if (block->fixed_offset_bytes <= UINT64_MAX / 2) return std::nullopt;
    return cell_error(kOffset, "does not fit in 63 bits", StatusCode::kOverflow);
  }

  [[nodiscard]] MaybeError read_row(std::string_view line) {
    split(line, &cells_);
    if (cells_.size() != header_count_) {
      return error(
          fmt::format("the header has {} columns, this line {}", header_count_, cells_.size()));
    }
    const std::string_view id = cells_[*places_[kId]];
    const auto [entry, is_new] = lines_.emplace(id, line_number_);
    if (!is_new) return cell_error(kId, fmt::format("is the id of line {} too", entry->second));

    Block block;
    std::uint32_t lower = 0;
    std::uint32_t upper = 0;
    if (MaybeError error = read_number(kLower, &lower)) return error;
    if (MaybeError error = read_number(kUpper, &upper)) return error;
    if (MaybeError error = read_number(kSize, &block.size_bytes)) return error;
    if (MaybeError error = read_offset(&block)) return error;
    if (upper <= lower) {
      return cell_error(kUpper, fmt::format("is not above lower, which is {}", lower));
    }
    block.live_range = {Step(lower), Step(upper - 1)};
    block.alignment_bytes = options_.alignment_bytes;
    problem_.ids.emplace_back(id);
    problem_.blocks.push_back(block);
    return std::nullopt;
  }

  std::string_view text_;  // what is not read yet
  CsvOptions options_;
  std::size_t line_number_ = 0;
  std::size_t header_count_ = 0;
  std::array<std::optional<std::size_t>, kColumnCount> places_;
  std::vector<std::string_view> cells_;
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
