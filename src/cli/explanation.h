// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the program says about memory that is short: which blocks an arena above its lower bound is
// made of, and which cannot lie within a limit.

#include <functional>
#include <string>

#include "cli/planned_file.h"
#include "cli/report.h"
#include "tenure/plan.h"
#include "tenure/problem.h"
#include "tenure/status.h"

namespace tenure::cli {

// What a file calls a block.
struct BlockName {
  std::string id;
  std::string name;  // empty in a CSV
};
using NameOf = std::function<BlockName(BlockIndex)>;
using LabelOf = std::function<std::string(BlockIndex)>;

// Fills the report's chain and peaks when the reusable region's arena is above its lower bound.
// Fails when memory is refused.
[[nodiscard]] Status explain_excess(const PlanningProblem& problem, const MemoryPlan& plan,
                                    const NameOf& name_of, Report* report);

// To go behind a kCapacityExceeded: who needs the bytes that the limit does not grant, and what may
// help.
[[nodiscard]] std::string limit_text(const PlanningProblem& problem, const Status& status,
                                     const PlanOptions& options, const LabelOf& label_of);

}  // namespace tenure::cli
