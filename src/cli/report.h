// SPDX-License-Identifier: Apache-2.0
#pragma once

// A plan for people: where everything lies, how large the arenas are and how far from the lower
// bound, who holds the peak, and what was not done in place.

#include <cstdint>
#include <string>
#include <vector>

#include "tenure/index.h"
#include "tenure/layout.h"
#include "tenure/plan.h"

namespace tenure::cli {

// A tensor of a model, or a block of a CSV.
struct ReportRow {
  std::string id;
  std::string name;  // empty in a CSV
  std::uint64_t size_bytes = 0;
  LiveRange live_range;
  BlockIndex block;  // rows with one block share its bytes
  Placement placement;
};

// A result that could have been written over an operand, and was not.
struct ReportRefusal {
  std::string op;
  std::string result;
  std::string operand;
  std::string reason;
};

// A block, or a gap, of the chain that makes an arena as high as it is.
struct ReportLink {
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;
  std::string id;
  Step step;  // at which it and the next block below are both live; or none
  std::string name;
};

struct Report {
  std::string title;
  std::string row_word;  // "tensor" or "block"
  std::vector<ReportRow> rows;
  std::vector<RegionPlan> regions;
  std::string peak_operator;      // empty when the steps have no operators
  std::vector<ReportLink> chain;  // of the reusable region, from the top; empty: not to be printed
  std::vector<LiveRange> peaks;   // where live bytes are as many as its lower bound
  std::vector<ReportRefusal> refused;
  std::vector<std::string> notes;
};

[[nodiscard]] std::string text_of(const Report& report);

}  // namespace tenure::cli
