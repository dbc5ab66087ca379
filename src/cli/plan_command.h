// SPDX-License-Identifier: Apache-2.0
#pragma once

// `tenure plan FILE`: reads a .tflite or .csv file, plans it, prints the report, writes the CSV.

#include <iosfwd>
#include <string>

#include "cli/exit_code.h"
#include "cli/planned_file.h"

namespace tenure::cli {

// The report goes to `out`, messages to `err`. A file that cannot be planned leaves `out` empty and
// the CSV as it was. `model_option` is one that was given although only a model understands it, or
// empty: a CSV is refused with it.
[[nodiscard]] ExitCode run_plan(const PlanOptions& options, const std::string& model_option,
                                std::ostream& out, std::ostream& err);

}  // namespace tenure::cli
