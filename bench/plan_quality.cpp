// SPDX-License-Identifier: Apache-2.0

// How large are the arenas of each strategy and effort, against the lower bound? Deterministic; every plan is
// verified.
//
//   build/release/bench/plan_quality [--check] [--csv FILE] [--seeds FIRST]
//
// Prints for each set of problems and each strategy how many plans are optimal for sure, the mean
// and the largest ratio of arena to bound, and the CPU seconds of planning. --csv writes a row for
// each problem and strategy. --check leaves the large and the generated sets out and fails when the
// default strategy or an effort is worse than what it has reached before. --seeds generates 16
// problems a set from that seed on instead of from 1, which are the ones that one looks at.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "lifetime_files.h"
#include "packings.h"
#include "tenure/planner.h"
#include "tenure/verify.h"
#include "workload.h"

namespace tenure::bench {
namespace {

struct Strategy {
  const char* name;
  PlacementOrder order;
  Fit fit;
  Effort effort = Effort::kFast;
};
constexpr Strategy kStrategies[] = {
    {"size first", PlacementOrder::kSize, Fit::kFirst},
    {"size best", PlacementOrder::kSize, Fit::kBest},
    {"length first", PlacementOrder::kLength, Fit::kFirst},
    {"length best", PlacementOrder::kLength, Fit::kBest},
    {"area first", PlacementOrder::kArea, Fit::kFirst},
    {"area best", PlacementOrder::kArea, Fit::kBest},
    {"first-use first", PlacementOrder::kFirstUse, Fit::kFirst},
    {"first-use best", PlacementOrder::kFirstUse, Fit::kBest},
    {"breadth first", PlacementOrder::kBreadth, Fit::kFirst},
    {"breadth best", PlacementOrder::kBreadth, Fit::kBest},
    {"section first", PlacementOrder::kSection, Fit::kFirst},
    {"section best", PlacementOrder::kSection, Fit::kBest},
    {"balanced", PlacementOrder::kSize, Fit::kFirst, Effort::kBalanced},
    {"best", PlacementOrder::kSize, Fit::kFirst, Effort::kBest},
};
constexpr std::size_t kEfforts = 3;
constexpr std::size_t kEffortStrategies[kEfforts] = {0, 12, 13};  // fast, balanced, best

struct Problem {
  std::string name;
  std::vector<Block> blocks;
};

// What an effort has reached, and must keep reaching.
struct Threshold {
  std::size_t min_optimal;
  double max_ratio;
};

struct ProblemSet {
  std::string name;
  std::vector<Problem> problems;
  Threshold thresholds[kEfforts];
};

std::vector<Problem> bundled_problems() {
  return {{"short 100", short_blocks(100)},
          {"short 1000", short_blocks(1'000)},
          {"short 10000", short_blocks(10'000)},
          {"long 1000", long_blocks(1'000)},
          {"long 10000", long_blocks(10'000)}};
}

std::vector<Problem> file_problems(const std::string& set, std::uint64_t alignment_bytes) {
  std::vector<Problem> problems;
  for (LifetimeFile& file : read_lifetimes("lifetimes/" + set, alignment_bytes)) {
    problems.push_back({file.name, std::move(file.csv.blocks)});
  }
  return problems;
}

constexpr std::uint64_t kSeeds = 16;

std::vector<Problem> cut_problems(std::uint64_t first_seed, std::uint32_t pieces,
                                  double slack_percent) {
  std::vector<Problem> problems;
  for (std::uint64_t seed = first_seed; seed < first_seed + kSeeds; ++seed) {
    CutShape shape;
    shape.pieces = pieces;
    shape.slack_percent = slack_percent;
    problems.push_back({"seed " + std::to_string(seed), RectangleCutter(seed).cut(shape)});
  }
  return problems;
}

std::vector<Problem> network_problems(std::uint64_t first_seed, std::uint32_t pieces) {
  std::vector<Problem> problems;
  for (std::uint64_t seed = first_seed; seed < first_seed + kSeeds; ++seed) {
    problems.push_back({"seed " + std::to_string(seed), fill_like_network(seed, pieces)});
  }
  return problems;
}

std::vector<ProblemSet> problem_sets(bool check, std::uint64_t first_seed) {
  std::vector<ProblemSet> sets;
  sets.push_back({"bundled", bundled_problems(), {{0, 1.06}, {3, 1.011}, {3, 1.011}}});
  sets.push_back({"models", file_problems("models", 64), {{138, 1.5}, {145, 1.0}, {145, 1.0}}});
  sets.push_back({"packing", file_problems("packing", 1), {{0, 1.42}, {9, 1.026}, {11, 1.0}}});
  if (check) return sets;
  sets.push_back({"large", file_problems("large", 1), {{0, 1.03}, {4, 1.0011}, {4, 1.0011}}});
  for (const std::uint32_t pieces : {40U, 100U, 200U, 400U}) {
    for (const double slack : {0.0, 3.0}) {
      const std::string name = (slack == 0.0 ? "cut " : "slack ") + std::to_string(pieces);
      sets.push_back(
          {name, cut_problems(first_seed, pieces, slack), {{0, 2.0}, {0, 2.0}, {0, 2.0}}});
    }
    const std::string name = "network " + std::to_string(pieces);
    sets.push_back({name, network_problems(first_seed, pieces), {{0, 2.0}, {0, 2.0}, {0, 2.0}}});
  }
  return sets;
}

struct Outcome {
  bool is_safe = false;
  std::uint64_t arena_bytes = 0;
  std::uint64_t lower_bound_bytes = 0;
  bool is_optimal = false;
  double seconds = 0.0;
  [[nodiscard]] double ratio() const {
    return lower_bound_bytes == 0
               ? 1.0
               : static_cast<double>(arena_bytes) / static_cast<double>(lower_bound_bytes);
  }
};

Outcome plan(const std::vector<Block>& blocks, const Strategy& strategy) {
  PlanningProblem problem;
  problem.blocks = blocks;
  const PlannerOptions options =
      PlannerOptions().set_order(strategy.order).set_fit(strategy.fit).set_effort(strategy.effort);
  const std::clock_t begin = std::clock();
  const Result<MemoryPlan> plan = ArenaPlanner(options).plan(problem);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  if (!plan.ok() || !verify(problem, *plan).ok()) return {};
  return {true, plan->arena_bytes(), plan->lower_bound_bytes(),
          plan->region(kReusableRegion).is_optimal(), seconds};
}

struct Summary {
  std::size_t optimal = 0;
  double seconds = 0.0;
  double sum_of_ratios = 0.0;
  double max_ratio = 1.0;

  void add(const Outcome& outcome) {
    if (outcome.is_optimal) ++optimal;
    seconds += outcome.seconds;
    sum_of_ratios += outcome.ratio();
    max_ratio = std::max(max_ratio, outcome.ratio());
  }
};

// False when a plan is unsafe, which no threshold excuses.
bool run(const ProblemSet& set, const Strategy& strategy, std::FILE* csv, Summary* summary) {
  for (const Problem& problem : set.problems) {
    const Outcome outcome = plan(problem.blocks, strategy);
    if (!outcome.is_safe) {
      std::fprintf(stderr, "%s/%s: no safe plan by %s\n", set.name.c_str(), problem.name.c_str(),
                   strategy.name);
      return false;
    }
    summary->add(outcome);
    if (csv == nullptr) continue;
    std::fprintf(csv, "%s,%s,%s,%zu,%llu,%llu,%.4f,%.4f\n", set.name.c_str(), problem.name.c_str(),
                 strategy.name, problem.blocks.size(),
                 static_cast<unsigned long long>(outcome.arena_bytes),
                 static_cast<unsigned long long>(outcome.lower_bound_bytes), outcome.ratio(),
                 outcome.seconds);
  }
  return true;
}

bool keeps(const Threshold& threshold, const Summary& summary, const ProblemSet& set) {
  if (summary.optimal >= threshold.min_optimal && summary.max_ratio <= threshold.max_ratio) {
    return true;
  }
  std::fprintf(stderr, "%s: %zu optimal (at least %zu expected), largest ratio %.4f (%.4f)\n",
               set.name.c_str(), summary.optimal, threshold.min_optimal, summary.max_ratio,
               threshold.max_ratio);
  return false;
}

bool run_all(bool check, std::uint64_t first_seed, std::FILE* csv) {
  bool ok = true;
  if (csv != nullptr)
    std::fprintf(csv, "set,problem,strategy,blocks,arena,lower_bound,ratio,seconds\n");
  std::printf("%-12s %-16s %9s %9s %11s %10s %9s\n", "set", "strategy", "problems", "optimal",
              "mean ratio", "max ratio", "seconds");
  for (const ProblemSet& set : problem_sets(check, first_seed)) {
    if (set.problems.empty()) {
      std::printf("%-12s skipped: TENURE_DATA_DIR does not have it\n", set.name.c_str());
      continue;
    }
    for (const Strategy& strategy : kStrategies) {
      Summary summary;
      if (!run(set, strategy, csv, &summary)) return false;
      std::printf("%-12s %-16s %9zu %9zu %11.4f %10.4f %9.3f\n", set.name.c_str(), strategy.name,
                  set.problems.size(), summary.optimal,
                  summary.sum_of_ratios / static_cast<double>(set.problems.size()),
                  summary.max_ratio, summary.seconds);
      for (std::size_t effort = 0; effort < kEfforts; ++effort) {
        if (&strategy != &kStrategies[kEffortStrategies[effort]]) continue;
        ok = keeps(set.thresholds[effort], summary, set) && ok;
      }
    }
  }
  return ok || !check;
}

}  // namespace
}  // namespace tenure::bench

int main(int argc, char** argv) {
  bool check = false;
  std::uint64_t first_seed = 1;
  std::FILE* csv = nullptr;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--check") == 0) {
      check = true;
    } else if (std::strcmp(argv[i], "--csv") == 0 && i + 1 < argc && csv == nullptr) {
      csv = std::fopen(argv[++i], "w");
      if (csv == nullptr) {
        std::fprintf(stderr, "plan_quality: cannot write %s\n", argv[i]);
        return 5;
      }
    } else if (std::strcmp(argv[i], "--seeds") == 0 && i + 1 < argc) {
      char* end = nullptr;
      first_seed = std::strtoull(argv[++i], &end, 10);
      if (end == argv[i] || *end != '\0') {
        std::fprintf(stderr, "plan_quality: --seeds takes a number, not '%s'\n", argv[i]);
        return 2;
      }
    } else {
      std::fprintf(stderr, "usage: plan_quality [--check] [--csv FILE] [--seeds FIRST]\n");
      return 2;
    }
  }
  const bool ok = tenure::bench::run_all(check, first_seed, csv);
  const bool is_written = csv == nullptr || std::fclose(csv) == 0;
  return ok && is_written ? 0 : 1;
}
