// SPDX-License-Identifier: Apache-2.0
#pragma once

// The rows of a CSV whose header names its columns, cell by cell; every error names the line, and
// the column where there is one.
//
//   CsvTable table(text, {{"id", "size", "offset"}, 2});
//   if (MaybeError error = table.read_header()) return *error;
//   for (;;) {
//     const Result<bool> row = table.next_row();
//     if (!row.ok()) return row.error();
//     if (!*row) break;
//     if (MaybeError error = table.read_number(1, &size)) return *error;
//   }
//
// The form of lines and cells is described in tenure/io/csv.h.

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "io/boundary.h"
#include "tenure/io/result.h"

namespace tenure::io {

struct CsvColumns {
  std::vector<std::string_view> names;  // a column is known by its place here
  std::size_t required_count = 0;       // the first ones
};

class CsvTable {
 public:
  // The text must outlive the table.
  CsvTable(std::string_view text, CsvColumns columns);

  // First of all, and once.
  [[nodiscard]] MaybeError read_header();
  // False when there is none.
  [[nodiscard]] Result<bool> next_row();

  // The rest is about the last row.
  [[nodiscard]] std::size_t line_number() const noexcept { return line_number_; }
  // Empty for an optional column that the header lacks.
  [[nodiscard]] std::string_view cell(std::size_t column) const {
    return places_[column] ? cells_[*places_[column]] : std::string_view();
  }
  // Of a column that the header has.
  template <class Number>
  [[nodiscard]] MaybeError read_number(std::size_t column, Number* number) const;
  [[nodiscard]] Error cell_error(std::size_t column, std::string_view what,
                                 StatusCode code = StatusCode::kInvalidInput) const;

  [[nodiscard]] static bool is_negative(std::string_view cell);

 private:
  [[nodiscard]] bool next_line(std::string_view* line);
  [[nodiscard]] MaybeError find_columns();
  [[nodiscard]] Error error(std::string_view what) const;
  [[nodiscard]] Error number_error(std::size_t column, std::errc code, std::size_t bits) const;

  std::string_view text_;  // what is not read yet
  CsvColumns columns_;
  std::size_t line_number_ = 0;
  std::size_t header_count_ = 0;
  std::vector<std::optional<std::size_t>> places_;  // by column: its place in the header
  std::vector<std::string_view> cells_;
};

template <class Number>
MaybeError CsvTable::read_number(std::size_t column, Number* number) const {
  const std::string_view text = cell(column);
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, *number);
  if (code == std::errc() && stop == end) return std::nullopt;
  return number_error(column, stop == end ? code : std::errc::invalid_argument, 8 * sizeof(Number));
}

}  // namespace tenure::io
