// SPDX-License-Identifier: Apache-2.0

#include "io/csv_table.h"

#include <fmt/format.h>

#include <utility>

namespace tenure::io {
namespace {

void split(std::string_view line, std::vector<std::string_view>* cells) {
  cells->clear();
  for (;;) {
    const std::size_t comma = line.find(',');
    cells->push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return;
    line.remove_prefix(comma + 1);
  }
}

}  // namespace

CsvTable::CsvTable(std::string_view text, CsvColumns columns)
    : text_(text), columns_(std::move(columns)), places_(columns_.names.size()) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text_.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    text_.remove_prefix(kByteOrderMark.size());
  }
}

// Skips empty lines.
bool CsvTable::next_line(std::string_view* line) {
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

Error CsvTable::error(std::string_view what) const {
  return {StatusCode::kInvalidInput, fmt::format("line {}: {}", line_number_, what)};
}

Error CsvTable::cell_error(std::size_t column, std::string_view what, StatusCode code) const {
  const std::size_t place = *places_[column];
  return {code, fmt::format("line {}: column {} ({}): '{}' {}", line_number_, place + 1,
                            columns_.names[column], cells_[place], what)};
}

Error CsvTable::number_error(std::size_t column, std::errc code, std::size_t bits) const {
  if (code == std::errc::result_out_of_range) {
    return cell_error(column, fmt::format("does not fit in {} bits", bits), StatusCode::kOverflow);
  }
  return cell_error(column, is_negative(cell(column)) ? "is negative" : "is not a number");
}

bool CsvTable::is_negative(std::string_view cell) {
  return cell.size() > 1 && cell.front() == '-' &&
         cell.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

MaybeError CsvTable::read_header() {
  std::string_view line;
  if (!next_line(&line)) return Error{StatusCode::kInvalidInput, "the file is empty"};
  split(line, &cells_);
  header_count_ = cells_.size();
  if (MaybeError error = find_columns()) return error;
  const std::vector<std::string_view> required(
      columns_.names.begin(),
      columns_.names.begin() + static_cast<std::ptrdiff_t>(columns_.required_count));
  std::size_t missing = columns_.required_count;
  std::size_t found_count = 0;
  for (std::size_t column = columns_.required_count; column-- > 0;) {
    if (places_[column]) {
      ++found_count;
    } else {
      missing = column;
    }
  }
  if (found_count == 0) {
    return error(fmt::format("there is no header with the columns {}", fmt::join(required, ",")));
  }
  if (missing == columns_.required_count) return std::nullopt;
  return error(fmt::format("the column '{}' is missing", columns_.names[missing]));
}

MaybeError CsvTable::find_columns() {
  for (std::size_t column = 0; column < places_.size(); ++column) {
    for (std::size_t place = 0; place < cells_.size(); ++place) {
      if (cells_[place] != columns_.names[column]) continue;
      if (places_[column]) {
        return error(fmt::format("the column '{}' occurs twice", columns_.names[column]));
      }
      places_[column] = place;
    }
  }
  return std::nullopt;
}

Result<bool> CsvTable::next_row() {
  std::string_view line;
  if (!next_line(&line)) return false;
  split(line, &cells_);
  if (cells_.size() == header_count_) return true;
  return error(
      fmt::format("the header has {} columns, this line {}", header_count_, cells_.size()));
}

}  // namespace tenure::io
