// SPDX-License-Identifier: Apache-2.0
#pragma once

// `tenure plan FILE`: reads a .tflite or .csv file, plans it, prints the report, writes the CSV.

#include <iosfwd>

#include "cli/exit_code.h"
#include "cli/planned_file.h"

namespace tenure::cli {

// Options that only a model understands, as far as they were given.
struct ModelOptionsGiven {
  bool profile = false;
  bool subgraph = false;
  bool fold = false;
};

// The report goes to `out`, messages to `err`. A file that cannot be planned leaves `out` empty and
// the CSV as it was.
[[nodiscard]] ExitCode run_plan(const PlanOptions& options, ModelOptionsGiven given,
                                std::ostream& out, std::ostream& err);

}  // namespace tenure::cli
