// SPDX-License-Identifier: Apache-2.0

#include "cli/planned_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "cli/explanation.h"
#include "cli/table.h"
#include "tenure/lifetime.h"
#include "tenure/planner.h"
#include "tenure/verify.h"

namespace tenure::cli {
namespace {

PlacementOrder order_of(std::string_view name) {
  if (name == "length") return PlacementOrder::kLength;
  if (name == "area") return PlacementOrder::kArea;
  if (name == "first-use") return PlacementOrder::kFirstUse;
  if (name == "breadth") return PlacementOrder::kBreadth;
  return name == "section" ? PlacementOrder::kSection : PlacementOrder::kSize;
}

Effort effort_of(std::string_view name) {
  if (name == "balanced") return Effort::kBalanced;
  return name == "best" ? Effort::kBest : Effort::kFast;
}

using Regions = std::array<Region, 2>;

Regions regions_of(const PlanOptions& options) {
  return {Region{options.limit_bytes, 1, true}, Region{kNoCapacity, 1, false}};
}

// The regions must outlive the planner.
ArenaPlanner planner_of(const PlanOptions& options, const Regions& regions) {
  return ArenaPlanner(PlannerOptions()
                          .set_regions(regions)
                          .set_order(order_of(options.order))
                          .set_fit(options.fit == "best" ? Fit::kBest : Fit::kFirst)
                          .set_effort(effort_of(options.effort))
                          .set_search_steps(options.search_steps)
                          .set_progress(options.progress)
                          .set_default_alignment_bytes(options.alignment_bytes)
                          .set_reuse(!options.no_reuse));
}

std::string settings_text(const PlanOptions& options) {
  std::string text = fmt::format("alignment {} bytes, ", options.alignment_bytes);
  if (options.no_reuse) return text + "without reuse";
  text += fmt::format("order {}, fit {}", options.order, options.fit);
  return options.effort == "fast" ? text : text + ", effort " + options.effort;
}

// A Status names blocks by number; `label_of` says what a file calls them.
io::Error error_with_blocks(const Status& status, NameSource names, const PlanningProblem& problem,
                            const PlanOptions& options, const LabelOf& label_of) {
  io::Error error = io::error_of(status, names);
  if (status.reason() == Reason::kCapacityExceeded && status.region == kReusableRegion) {
    error.message += limit_text(problem, status, options, label_of);
  }
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

// Scratch from outside is called after its operator, s3.
std::string tensor_id(const io::TfliteSubgraph& subgraph, TensorIndex index) {
  const TensorIndex in_file = subgraph.file_tensors[index.value];
  if (!in_file.is_none()) return fmt::to_string(in_file.value);
  const Tensor& tensor = subgraph.graph.tensor(index);
  return tensor.kind == TensorKind::kScratch ? fmt::format("s{}", tensor.producer.value) : "-";
}

Report report_of(const io::TfliteSubgraph& subgraph, const Lifetimes& lifetimes,
                 const MemoryPlan& plan, const PlanOptions& options) {
  const TensorGraph& graph = subgraph.graph;
  Report report;
  report.title = fmt::format("{}: subgraph {} '{}', {} operators, profile {}, {}{}", options.file,
                             options.subgraph, printable(subgraph.name), graph.operator_count(),
                             options.profile, options.fold ? "constants folded, " : "",
                             settings_text(options));
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
  const Regions regions = regions_of(options);
  PlanningProblem problem = lifetimes->problem();
  problem.regions = regions;
  const auto name_of = [&](BlockIndex block) {
    const TensorIndex tensor = lifetimes->first_tensor(block);
    return BlockName{tensor_id(subgraph, tensor), graph.tensor_name(tensor)};
  };
  const auto error_of = [&](const Status& status) {
    return error_with_blocks(status, graph.names(), problem, options, [&](BlockIndex block) {
      const BlockName name = name_of(block);
      return fmt::format("tensor {} '{}'", name.id, name.name);
    });
  };
  const Result<MemoryPlan> plan = planner_of(options, regions).plan(*lifetimes);
  if (!plan.ok()) return error_of(plan.status());
  for (const Status& status : {verify(problem, *plan), verify(graph, *plan)}) {
    if (!status.ok()) return failed_proof(error_of(status));
  }

  PlannedFile planned;
  planned.report = report_of(subgraph, *lifetimes, *plan, options);
  if (options.explain) {
    const Status status = explain_excess(problem, *plan, name_of, &planned.report);
    if (!status.ok()) return error_of(status);
  }
  std::unordered_map<std::string, std::uint32_t> uses;
  for (std::uint32_t i = 0; i < problem.blocks.size(); ++i) {
    const BlockIndex index(i);
    const Block& block = problem.blocks[i];
    if (block.region != kReusableRegion) continue;
    std::string id = tensor_id(subgraph, lifetimes->first_tensor(index));
    // A tensor that several operators use as scratch has a block for each.
    if (const std::uint32_t before = uses[id]++; before != 0) id += fmt::format(".{}", before);
    planned.rows.push_back(
        {id, block.live_range, block.size_bytes, plan->placement(index).offset_bytes});
  }
  return planned;
}

io::Result<PlannedFile> plan_csv(const io::CsvProblem& csv, const PlanOptions& options) {
  PlanningProblem problem = csv.problem();
  const Regions regions = regions_of(options);
  problem.regions = regions;
  const auto error_of = [&](const Status& status) {
    return error_with_blocks(status, NameSource(), problem, options, [&](BlockIndex block) {
      return fmt::format("'{}'", csv.ids[block.value]);
    });
  };
  const Result<MemoryPlan> plan = planner_of(options, regions).plan(problem);
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
  if (options.explain) {
    const auto name_of = [&](BlockIndex block) { return BlockName{csv.ids[block.value], ""}; };
    const Status status = explain_excess(problem, *plan, name_of, &report);
    if (!status.ok()) return error_of(status);
  }
  return planned;
}

}  // namespace tenure::cli
