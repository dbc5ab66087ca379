// SPDX-License-Identifier: Apache-2.0

#include "cli/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tenure/explain.h"

namespace tenure::cli {
namespace {

const char* text_of(GapReason reason) {
  switch (reason) {
    case GapReason::kNone:
      return "none";
    case GapReason::kAlignment:
      return "alignment";
    case GapReason::kFixedOffset:
      return "the offset above is fixed";
    case GapReason::kLeftOpen:
      return "what is above could lie lower";
  }
  return "";
}

std::string list_text(const PlanningProblem& problem, Span<const BlockIndex> blocks,
                      const LabelOf& label_of) {
  constexpr std::size_t kMostShown = 12;
  std::string text;
  for (std::size_t i = 0; i < blocks.size() && i < kMostShown; ++i) {
    text += fmt::format("{}{} ({} bytes)", i == 0 ? "" : ", ", label_of(blocks[i]),
                        problem.blocks[blocks[i].value].size_bytes);
  }
  if (blocks.size() > kMostShown) text += fmt::format(" and {} more", blocks.size() - kMostShown);
  return text;
}

// The blocks live at the step, the largest first.
std::vector<BlockIndex> blocks_live_at(const PlanningProblem& problem, Step step) {
  std::vector<BlockIndex> live;
  for (std::uint32_t i = 0; i < problem.blocks.size(); ++i) {
    const Block& block = problem.blocks[i];
    const bool is_live = block.region == kReusableRegion && block.live_range.overlaps({step, step});
    if (is_live && block.size_bytes != 0) live.emplace_back(i);
  }
  std::stable_sort(live.begin(), live.end(), [&](BlockIndex a, BlockIndex b) {
    return problem.blocks[a.value].size_bytes > problem.blocks[b.value].size_bytes;
  });
  return live;
}

std::string set_text(const PlanningProblem& problem, const LimitExplanation& explanation,
                     const LabelOf& label_of) {
  std::string text = "; too large by itself: ";
  if (explanation.blocks.size() > 1) {
    text = explanation.step.is_none()
               ? std::string("; these do not fit together, though never all live at once: ")
               : fmt::format("; these do not fit together, all live at step {}: ",
                             explanation.step.value);
  }
  text += list_text(problem, explanation.blocks, label_of);
  return explanation.is_irreducible ? text : text + "; fewer may be too large already";
}

// Of a limit that the lower bound would meet.
std::string hint_text(const LimitExplanation& explanation, const PlanOptions& options) {
  const std::string text =
      fmt::format("; the lower bound is {} bytes: ", explanation.lower_bound_bytes);
  if (options.no_reuse) return text + "without --no-reuse a plan may lie within the limit";
  const char* means = options.effort == "best" ? "a larger --budget" : "--effort best";
  return explanation.fitting == Fitting::kFits
             ? text + fmt::format("there is a plan within the limit, which {} may find", means)
             : text + fmt::format("{} may find a plan within the limit", means);
}

}  // namespace

Status explain_excess(const PlanningProblem& problem, const MemoryPlan& plan, const NameOf& name_of,
                      Report* report) {
  const Result<ArenaExplanation> explanation = explain_arena(problem, plan, kReusableRegion);
  if (!explanation.ok()) return explanation.status();
  if (explanation->excess_bytes() == 0) return Status();
  report->peaks.assign(explanation->peaks.begin(), explanation->peaks.end());
  std::uint64_t end = explanation->arena_bytes;
  const auto add_gap = [&](std::uint64_t bytes, const char* why) {
    if (bytes == 0) return;
    end -= bytes;
    report->chain.push_back({end, bytes, "-", Step::none(), fmt::format("gap: {}", why)});
  };
  add_gap(explanation->top_gap_bytes, "the arena is rounded up");
  for (const ChainLink& link : explanation->chain) {
    const BlockName name = name_of(link.block);
    end = link.offset_bytes;
    report->chain.push_back({end, link.size_bytes, name.id, link.step, name.name});
    add_gap(link.gap_bytes, text_of(link.gap_reason));
  }
  return Status();
}

std::string limit_text(const PlanningProblem& problem, const Status& status,
                       const PlanOptions& options, const LabelOf& label_of) {
  // Who did not ask for a long search does not wait for one.
  const std::uint64_t steps = options.search_steps / (options.effort == "best" ? 1 : 4);
  const Result<LimitExplanation> explanation =
      explain_limit(problem, options.limit_bytes, LimitOptions().set_search_steps(steps));
  const bool is_explained = explanation.ok();
  if (is_explained && explanation->fitting == Fitting::kDoesNotFit) {
    return set_text(problem, *explanation, label_of);
  }
  std::string text;
  if (!status.step.is_none()) {
    text = fmt::format("; live at step {}: ", status.step.value) +
           list_text(problem, blocks_live_at(problem, status.step), label_of);
  }
  return is_explained ? text + hint_text(*explanation, options) : text;
}

}  // namespace tenure::cli
