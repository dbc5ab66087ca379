// SPDX-License-Identifier: Apache-2.0

#include "cli/planned_file.h"

#include <fmt/format.h>

#include <utility>

#include "cli/table.h"
#include "tenure/lifetime.h"
#include "tenure/verify.h"

namespace tenure::cli {
namespace {

ArenaPlanner planner_of(const PlanOptions& options) {
  return ArenaPlanner(PlannerOptions()
                          .set_order(options.order)
                          .set_fit(options.fit)
                          .set_default_alignment_bytes(options.alignment_bytes)
                          .set_reuse(options.reuse));
}

std::string settings_text(const PlanOptions& options) {
  return fmt::format("alignment {} bytes{}", options.alignment_bytes,
                     options.reuse ? "" : ", without reuse");
}

// A Status names blocks by number; `label_of` says what a file calls them.
template <class LabelOf>
io::Error error_with_blocks(const Status& status, NameSource names, const LabelOf& label_of) {
  io::Error error = io::error_of(status, names);
  for (const BlockIndex block : {status.block, status.other_block}) {
    if (block.is_none()) continue;
    error.message += fmt::format("; block {} is {}", block.value, label_of(block));
  }
  return error;
}

io::Error failed_proof(io::Error error) {
  error.message = "the plan failed its proof: " + error.message;
  return error;
}

void copy_regions(const MemoryPlan& plan, Report* report) {
  report->regions.assign(plan.regions().begin(), plan.regions().end());
}

std::string tensor_id(const io::TfliteSubgraph& subgraph, TensorIndex tensor) {
  const TensorIndex in_file = subgraph.file_tensors[tensor.value];
  return in_file.is_none() ? "-" : fmt::to_string(in_file.value);
}

Report report_of(const io::TfliteSubgraph& subgraph, const Lifetimes& lifetimes,
                 const MemoryPlan& plan, const PlanOptions& options) {
  const TensorGraph& graph = subgraph.graph;
  Report report;
  report.title = fmt::format("{}: subgraph {} '{}', {} operators, profile {}, {}", options.file,
                             options.subgraph, printable(subgraph.name), graph.operator_count(),
                             options.profile, settings_text(options));
  report.row_word = "tensor";
  for (std::uint32_t i = 0; i < graph.tensor_count(); ++i) {
    const TensorIndex tensor(i);
    const Placement placement = plan.tensor_placement(tensor);
    if (placement.is_none()) continue;
    report.rows.push_back({tensor_id(subgraph, tensor), printable(graph.tensor_name(tensor)),
                           graph.tensor(tensor).size_bytes, lifetimes.live_range(tensor),
                           lifetimes.place(tensor).block, placement});
  }
  copy_regions(plan, &report);
  const OperatorIndex peak = graph.operator_at(plan.region(kReusableRegion).peak_step);
  if (!peak.is_none()) {
    report.peak_operator =
        fmt::format("operator {} '{}'", peak.value, printable(graph.operator_name(peak)));
  }
  for (const RefusedRelation& refused : lifetimes.refused()) {
    const Relation& relation = refused.relation;
    report.refused.push_back(
        {fmt::format("{} '{}'", relation.op.value, printable(graph.operator_name(relation.op))),
         tensor_id(subgraph, relation.tensor), tensor_id(subgraph, relation.base),
         text_of(refused.refusal)});
  }
  for (const std::string& note : subgraph.notes) report.notes.push_back(printable(note));
  return report;
}

}  // namespace

io::Result<PlannedFile> plan_subgraph(const io::TfliteSubgraph& subgraph,
                                      const PlanOptions& options) {
  const TensorGraph& graph = subgraph.graph;
  const Result<Lifetimes> lifetimes = LifetimeAnalyzer(options.alignment_bytes).analyze(graph);
  if (!lifetimes.ok()) return io::error_of(lifetimes.status(), graph.names());
  const auto error_of = [&](const Status& status) {
    return error_with_blocks(status, graph.names(), [&](BlockIndex block) {
      const TensorIndex tensor = lifetimes->first_tensor(block);
      return fmt::format("tensor {} '{}'", tensor_id(subgraph, tensor), graph.tensor_name(tensor));
    });
  };
  const Result<MemoryPlan> plan = planner_of(options).plan(*lifetimes);
  if (!plan.ok()) return error_of(plan.status());
  const PlanningProblem problem = lifetimes->problem();
  for (const Status& status : {verify(problem, *plan), verify(graph, *plan)}) {
    if (!status.ok()) return failed_proof(error_of(status));
  }

  PlannedFile planned;
  planned.report = report_of(subgraph, *lifetimes, *plan, options);
  for (std::uint32_t i = 0; i < problem.blocks.size(); ++i) {
    const BlockIndex index(i);
    const Block& block = problem.blocks[i];
    if (block.region != kReusableRegion) continue;
    planned.rows.push_back({tensor_id(subgraph, lifetimes->first_tensor(index)), block.live_range,
                            block.size_bytes, plan->placement(index).offset_bytes});
  }
  return planned;
}

io::Result<PlannedFile> plan_csv(const io::CsvProblem& csv, const PlanOptions& options) {
  const auto error_of = [&](const Status& status) {
    return error_with_blocks(status, NameSource(), [&](BlockIndex block) {
      return fmt::format("'{}'", csv.ids[block.value]);
    });
  };
  const PlanningProblem problem = csv.problem();
  const Result<MemoryPlan> plan = planner_of(options).plan(problem);
  if (!plan.ok()) return error_of(plan.status());
  if (const Status status = verify(problem, *plan); !status.ok()) {
    return failed_proof(error_of(status));
  }

  PlannedFile planned;
  Report& report = planned.report;
  report.title =
      fmt::format("{}: {} blocks, {}", options.file, csv.blocks.size(), settings_text(options));
  report.row_word = "block";
  copy_regions(*plan, &report);
  for (std::uint32_t i = 0; i < csv.blocks.size(); ++i) {
    const Block& block = csv.blocks[i];
    const Placement placement = plan->placement(BlockIndex(i));
    report.rows.push_back(
        {printable(csv.ids[i]), "", block.size_bytes, block.live_range, BlockIndex(i), placement});
    planned.rows.push_back(
        {csv.ids[i], block.live_range, block.size_bytes, placement.offset_bytes});
  }
  return planned;
}

}  // namespace tenure::cli
