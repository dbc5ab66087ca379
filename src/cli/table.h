// SPDX-License-Identifier: Apache-2.0
#pragma once

// Text in columns. Numbers stand at the right, text at the left; the last column is not padded.
//
//   Table table({{"bytes", Align::kRight}, {"name", Align::kLeft}});
//   table.add({"64", "x"});
//   text += table.text();

#include <string>
#include <vector>

namespace tenure::cli {

enum class Align { kLeft, kRight };

struct TableColumn {
  std::string header;
  Align align = Align::kRight;
};

class Table {
 public:
  explicit Table(std::vector<TableColumn> columns);

  // One cell for each column.
  void add(std::vector<std::string> cells);
  // Every line ends in a line break.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<TableColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Names come from files: whatever would break a line or steer a terminal becomes '?'.
[[nodiscard]] std::string printable(std::string text);

}  // namespace tenure::cli
