// SPDX-License-Identifier: Apache-2.0

// How long does planning take? Placement alone, then everything a user waits for (validation, lower
// bound, placement, plan) and the proof, on synthetic problems and, with TENURE_DATA_DIR, on real
// ones.
//
//   build/release/bench/plan_time --benchmark_repetitions=5 --benchmark_report_aggregates_only=true

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "internal/placement.h"
#include "lifetime_files.h"
#include "tenure/io/tflite.h"
#include "tenure/online_layout.h"
#include "tenure/planner.h"
#include "tenure/verify.h"
#include "workload.h"

namespace tenure::bench {
namespace {

PlanningProblem problem_of(const std::vector<Block>& blocks) {
  PlanningProblem problem;
  problem.blocks = blocks;
  return problem;
}

void place(benchmark::State& state, const std::vector<Block>& blocks) {
  const PlanningProblem problem = problem_of(blocks);
  const Upstream upstream = heap_upstream();
  std::vector<std::uint64_t> offsets(blocks.size());
  for (auto _ : state) {
    Array<std::uint32_t> order(upstream);
    Status status =
        internal::order_blocks(problem, kReusableRegion, PlacementOrder::kSize, upstream, &order);
    if (status.ok()) {
      status =
          internal::place_in_gaps(problem, kReusableRegion, order, Fit::kFirst, upstream, offsets);
    }
    if (!status.ok()) state.SkipWithError(text_of(status.reason()));
    benchmark::DoNotOptimize(offsets.data());
  }
  state.counters["blocks"] = static_cast<double>(blocks.size());
}

void plan_and_verify(benchmark::State& state, const std::vector<Block>& blocks) {
  const PlanningProblem problem = problem_of(blocks);
  for (auto _ : state) {
    const Result<MemoryPlan> plan = ArenaPlanner().plan(problem);
    const Status status = plan.ok() ? verify(problem, *plan) : plan.status();
    if (!status.ok()) state.SkipWithError(text_of(status.reason()));
  }
  state.counters["blocks"] = static_cast<double>(blocks.size());
}

// From the graph on: live ranges, placement, a place for each tensor.
void plan_graph(benchmark::State& state, const TensorGraph& graph) {
  for (auto _ : state) {
    const Result<MemoryPlan> plan = ArenaPlanner().plan(graph);
    if (!plan.ok()) state.SkipWithError(text_of(plan.status().reason()));
  }
  state.counters["tensors"] = static_cast<double>(graph.tensor_count());
}

void add_both(const std::string& name, const std::vector<Block>& blocks) {
  for (const bool alone : {true, false}) {
    const std::string full = name + (alone ? "/place" : "/plan_and_verify");
    auto* added =
        benchmark::RegisterBenchmark(full.c_str(), [blocks, alone](benchmark::State& state) {
          alone ? place(state, blocks) : plan_and_verify(state, blocks);
        });
    added->Unit(benchmark::kMillisecond);
  }
}

// One block given back and another one asked for, while so many are live: without a plan.
void allocate_online(benchmark::State& state, std::uint32_t live_count) {
  const std::vector<Block> blocks = short_blocks(live_count * 2);
  OnlineLayout layout;
  std::vector<OnlineBlock> live(live_count);
  std::size_t next = 0;
  const auto allocate = [&] {
    next = (next + 1) % blocks.size();
    return layout.allocate(blocks[next].size_bytes);
  };
  for (OnlineBlock& block : live) block = *allocate();
  std::size_t victim = 0;
  for (auto _ : state) {
    victim = (victim + 7919) % live.size();
    static_cast<void>(layout.deallocate(live[victim]));
    const Result<OnlineBlock> block = allocate();
    if (!block.ok()) state.SkipWithError(text_of(block.status().reason()));
    live[victim] = *block;
  }
  state.counters["high_water_mark"] = static_cast<double>(layout.high_water_mark_bytes());
}

void add_models() {
  const char* data = std::getenv("TENURE_DATA_DIR");
  if (data == nullptr) return;
  for (const char* name : {"vww_96_int8", "mobilenet_v2_1.0_224_quant", "pose_landmark_lite",
                           "face_landmark_with_attention"}) {
    const std::string path = std::string(data) + "/models/" + name + ".tflite";
    auto model = io::read_tflite(path);
    if (!model.ok()) continue;
    // Benchmarks run until the program ends, so the graph may as well.
    const auto* kept = new io::TfliteModel(std::move(model.value()));
    benchmark::RegisterBenchmark((std::string("graph/") + name).c_str(), [kept](auto& state) {
      plan_graph(state, kept->subgraphs[0].graph);
    })->Unit(benchmark::kMillisecond);
  }
}

void add_all() {
  for (const std::uint32_t count : {30U, 100U, 300U, 1'000U, 10'000U, 100'000U}) {
    add_both("short/" + std::to_string(count), short_blocks(count));
  }
  for (const std::uint32_t count : {1'000U, 10'000U, 100'000U}) {
    add_both("long/" + std::to_string(count), long_blocks(count));
  }
  // Every block lives to the end, as caches that only grow do.
  for (const std::uint32_t count : {1'000U, 10'000U}) {
    std::vector<Block> blocks = short_blocks(count);
    for (Block& block : blocks) block.live_range.last_use = Step(count);
    add_both("ending_together/" + std::to_string(count), blocks);
  }
  for (const std::uint32_t count : {100U, 1'000U, 10'000U}) {
    benchmark::RegisterBenchmark(("online/" + std::to_string(count)).c_str(),
                                 [count](auto& state) { allocate_online(state, count); });
  }
  for (const LifetimeFile& file : read_lifetimes("lifetimes/large", 1)) {
    add_both("large/" + file.name, file.csv.blocks);
  }
  add_models();
}

}  // namespace
}  // namespace tenure::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  tenure::bench::add_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
