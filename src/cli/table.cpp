// SPDX-License-Identifier: Apache-2.0

#include "cli/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "tenure/span.h"

namespace tenure::cli {

Table::Table(std::vector<TableColumn> columns) : columns_(std::move(columns)) {
  std::vector<std::string> headers;
  headers.reserve(columns_.size());
  for (const TableColumn& column : columns_) headers.push_back(column.header);
  add(std::move(headers));
}

void Table::add(std::vector<std::string> cells) {
  TENURE_ASSERT(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths(columns_.size());
  for (const std::vector<std::string>& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      const bool is_last = i + 1 == row.size();
      if (columns_[i].align == Align::kRight) {
        line += fmt::format("{:>{}}", row[i], widths[i]);
      } else {
        line += is_last ? row[i] : fmt::format("{:<{}}", row[i], widths[i]);
      }
    }
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::format_to(out, "{}\n", line);
  }
  return fmt::to_string(text);
}

std::string printable(std::string text) {
  const auto steers = [](char character) {
    const auto code = static_cast<unsigned char>(character);
    return code < 0x20 || code == 0x7F;
  };
  std::replace_if(text.begin(), text.end(), steers, '?');
  return text;
}

}  // namespace tenure::cli
