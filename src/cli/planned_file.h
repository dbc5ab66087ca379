// SPDX-License-Identifier: Apache-2.0
#pragma once

// From a file's contents to a plan that has been proven: its report, and its rows as CSV.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/report.h"
#include "tenure/align.h"
#include "tenure/io/csv.h"
#include "tenure/io/result.h"
#include "tenure/io/tflite.h"
#include "tenure/planner.h"
#include "tenure/problem.h"

namespace tenure::cli {

struct PlanOptions {
  std::string file;
  std::uint64_t alignment_bytes = kDefaultAlignmentBytes;
  std::string profile = "litert";
  std::string order = "size";
  std::string fit = "first";
  std::string effort = "fast";
  std::uint64_t search_steps = kDefaultSearchSteps;
  bool shows_progress = false;  // while a search goes on
  SearchProgress progress;
  bool no_reuse = false;
  bool explain = false;                     // an arena above its lower bound
  std::uint64_t limit_bytes = kNoCapacity;  // of the reusable region
  std::uint32_t subgraph = 0;
  bool fold = false;
  std::string scratch;  // a list of operators' scratch, for the subgraph; empty: none
  std::string csv;      // empty: none; "-": standard output, instead of the report
};

struct PlannedFile {
  Report report;
  std::vector<io::CsvRow> rows;  // of the reusable region, in the order of its blocks
};

// Both run every proof that there is; a plan that fails one is an error with kUnsafePlan.
[[nodiscard]] io::Result<PlannedFile> plan_subgraph(const io::TfliteSubgraph& subgraph,
                                                    const PlanOptions& options);
[[nodiscard]] io::Result<PlannedFile> plan_csv(const io::CsvProblem& csv,
                                               const PlanOptions& options);

}  // namespace tenure::cli
