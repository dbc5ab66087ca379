// SPDX-License-Identifier: Apache-2.0

// How do CPU time and memory of each effort grow with the blocks? Prints for the workload of
// plan_time CPU seconds, the most bytes that planning held at a time, per block, and the arena
// against the lower bound.
//
//   build/release/bench/plan_growth [LARGEST]        (100,000 blocks unless given)

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "tenure/planner.h"
#include "tenure/upstream.h"
#include "tenure/verify.h"
#include "workload.h"

namespace tenure::bench {
namespace {

// The heap, and how much of it was out at a time.
struct Meter {
  Upstream heap = heap_upstream();
  std::size_t held_bytes = 0;
  std::size_t peak_bytes = 0;
};

void* allocate(void* user, std::size_t size_bytes, std::size_t alignment_bytes) noexcept {
  auto& meter = *static_cast<Meter*>(user);
  meter.held_bytes += size_bytes;
  meter.peak_bytes = std::max(meter.peak_bytes, meter.held_bytes);
  return meter.heap.allocate(meter.heap.user, size_bytes, alignment_bytes);
}

void deallocate(void* user, void* memory, std::size_t size_bytes,
                std::size_t alignment_bytes) noexcept {
  auto& meter = *static_cast<Meter*>(user);
  meter.held_bytes -= size_bytes;
  meter.heap.deallocate(meter.heap.user, memory, size_bytes, alignment_bytes);
}

bool measure(const char* ranges, const std::vector<Block>& blocks, const char* name,
             Effort effort) {
  PlanningProblem problem;
  problem.blocks = blocks;
  Meter meter;
  const Upstream upstream{allocate, deallocate, &meter};
  const ArenaPlanner planner(PlannerOptions().set_effort(effort).set_upstream(upstream));
  const std::clock_t begin = std::clock();
  const Result<MemoryPlan> plan = planner.plan(problem);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  if (!plan.ok() || !verify(problem, *plan).ok()) {
    std::fprintf(stderr, "plan_growth: no safe plan of %zu blocks\n", blocks.size());
    return false;
  }
  const auto count = static_cast<double>(blocks.size());
  std::printf(
      "%-6s %8zu %-9s %10.4f %12.0f %8.4f\n", ranges, blocks.size(), name, seconds,
      static_cast<double>(meter.peak_bytes) / count,
      static_cast<double>(plan->arena_bytes()) / static_cast<double>(plan->lower_bound_bytes()));
  return true;
}

bool run(std::uint32_t largest) {
  std::printf("%-6s %8s %-9s %10s %12s %8s\n", "ranges", "blocks", "effort", "seconds",
              "bytes/block", "ratio");
  bool ok = true;
  for (const bool is_long : {false, true}) {
    for (std::uint32_t count = 1'000; count <= largest; count *= 10) {
      const std::vector<Block> blocks = is_long ? long_blocks(count) : short_blocks(count);
      const char* ranges = is_long ? "long" : "short";
      ok = measure(ranges, blocks, "fast", Effort::kFast) &&
           measure(ranges, blocks, "balanced", Effort::kBalanced) &&
           measure(ranges, blocks, "best", Effort::kBest) && ok;
    }
  }
  return ok;
}

}  // namespace
}  // namespace tenure::bench

int main(int argc, char** argv) {
  const unsigned long largest = argc == 2 ? std::strtoul(argv[1], nullptr, 10) : 100'000;
  if (argc > 2 || largest < 1'000 || largest > 10'000'000) {
    std::fprintf(stderr, "usage: plan_growth [LARGEST]   (1,000 to 10,000,000)\n");
    return 2;
  }
  return tenure::bench::run(static_cast<std::uint32_t>(largest)) ? 0 : 1;
}
