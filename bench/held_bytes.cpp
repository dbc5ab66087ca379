// SPDX-License-Identifier: Apache-2.0

// What does each way to allocate hold for a network's blobs and workspaces? Replays every recorded
// network with what each policy has, from nothing, once and ten times, and prints the sums over all
// networks in MB (1e6 bytes). No memory is touched.
//
//   build/release/bench/held_bytes [--csv FILE]
//
// A pool of its own for blobs and another for workspaces where a policy says "two", as ncnn has them.

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "first_fit_cache.h"
#include "tenure/free_list_allocator.h"
#include "tenure/heap_allocator.h"
#include "tenure/planner.h"
#include "tenure/pool_allocator.h"
#include "tenure/verify.h"
#include "traces.h"

namespace tenure::bench {
namespace {

constexpr std::size_t kTailBytes = 64;  // that ncnn's kernels may read behind a block

struct Network {
  const Trace* both;
  const Trace* blobs;
  const Trace* workspaces;
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "held_bytes: %s\n", what);
  std::exit(1);
}

void run(const Trace& trace, Allocator& allocator, int runs) {
  std::vector<void*> live(trace.blocks.size());
  for (int i = 0; i < runs; ++i) {
    if (!replay(trace.events, allocator, live.data())) fail("a request was refused");
  }
}

// ---- policies: bytes that are held after so many runs

std::uint64_t bound_of(const Trace& trace) {
  PlanningProblem problem;
  problem.blocks = trace.blocks;
  const auto bound = lower_bound(problem, kReusableRegion);
  if (!bound.ok()) fail("a lower bound");
  return bound->lower_bound_bytes;
}

std::uint64_t planned_bytes(const Trace& trace, Effort effort) {
  PlanningProblem problem;
  problem.blocks = trace.blocks;
  const auto plan = ArenaPlanner(PlannerOptions().set_effort(effort)).plan(problem);
  if (!plan.ok() || !verify(problem, *plan).ok()) fail("a plan");
  return plan->arena_bytes() + kTailBytes;
}

std::uint64_t lower_bounds(const Network& network, int) { return bound_of(*network.both); }
std::uint64_t one_plan(const Network& network, int) {
  return planned_bytes(*network.both, Effort::kBalanced);
}
std::uint64_t two_plans(const Network& network, int) {
  return planned_bytes(*network.blobs, Effort::kBalanced) +
         planned_bytes(*network.workspaces, Effort::kBalanced);
}

std::uint64_t one_free_list(const Network& network, int runs) {
  FreeListAllocator list(FreeListOptions().set_tail_bytes(kTailBytes));
  run(*network.both, list, runs);
  return list.statistics().held_bytes;
}
// One piece of the smallest size that no run finds too small, in steps of a hundredth.
std::uint64_t reserved_free_list(const Network& network, int runs) {
  std::uint64_t size_bytes = (bound_of(*network.both) + 63) / 64 * 64;
  std::vector<void*> live(network.both->blocks.size());
  for (;; size_bytes += size_bytes / 6400 * 64 + 64) {
    FreeListAllocator list(FreeListOptions()
                               .set_tail_bytes(kTailBytes)
                               .set_budget_bytes(static_cast<std::size_t>(size_bytes) + kTailBytes)
                               .set_upstream(page_upstream()));
    if (!list.reserve(static_cast<std::size_t>(size_bytes)).ok()) fail("a reservation");
    bool is_enough = true;
    for (int i = 0; i < runs; ++i) {
      is_enough = replay(network.both->events, list, live.data()) && is_enough;
    }
    if (is_enough) return list.statistics().held_bytes;
  }
}

std::uint64_t bump_pool(const Network& network, int) {
  SingleOwnerPool pool(PoolOptions().set_tail_bytes(kTailBytes).set_upstream(page_upstream()));
  if (!pool.reserve(sum_bytes_of(*network.both)).ok()) fail("a pool");
  run(*network.both, pool, 1);
  return pool.statistics().peak_bytes + kTailBytes;
}

std::uint64_t two_caches(const Network& network, int runs) {
  FirstFitCache<NoLock> blobs;
  FirstFitCache<std::mutex> workspaces;
  run(*network.blobs, blobs, runs);
  run(*network.workspaces, workspaces, runs);
  return blobs.statistics().held_bytes + workspaces.statistics().held_bytes;
}

// What the C heap keeps when everything has been freed, in a process that has done nothing else:
// prints it for one network. The program calls itself for that.
int report_c_heap(const char* network, const char* runs) {
  for (const Trace& trace : read_traces("both")) {
    if (trace.name != network) continue;
    HeapAllocator heap(HeapOptions().set_tail_bytes(kTailBytes));
    malloc_trim(0);
    const std::size_t free_before = mallinfo2().fordblks;
    run(trace, heap, std::atoi(runs));
    const struct mallinfo2 after = mallinfo2();
    const std::size_t held = after.fordblks + after.hblkhd;
    std::printf("%zu\n", held > free_before ? held - free_before : 0);
    return 0;
  }
  return 1;
}

std::uint64_t c_heap(const Network& network, int runs) {
  int ends[2] = {};
  if (pipe(ends) != 0) fail("a pipe");
  const pid_t child = fork();
  if (child < 0) fail("a process");
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execl("/proc/self/exe", "held_bytes", "--c-heap", network.both->name.c_str(),
          std::to_string(runs).c_str(), nullptr);
    _exit(1);
  }
  close(ends[1]);
  std::FILE* answer = fdopen(ends[0], "r");
  unsigned long long held = 0;
  const bool is_read = answer != nullptr && std::fscanf(answer, "%llu", &held) == 1;
  if (answer != nullptr) std::fclose(answer);
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0 || !is_read) fail("the heap's process");
  return held;
}

struct Policy {
  const char* name;
  std::uint64_t (*held_bytes)(const Network& network, int runs);
};
constexpr Policy kPolicies[] = {
    {"lower bound", lower_bounds},
    {"planned, one arena", one_plan},
    {"planned, two arenas", two_plans},
    {"free list, one piece that suffices", reserved_free_list},
    {"free list, growing", one_free_list},
    {"first fit caches, two", two_caches},
    {"C heap", c_heap},
    {"bump pool, reset each run", bump_pool},
};
constexpr int kRuns[] = {1, 10};

int report(const char* csv_path) {
  const std::vector<Trace> both = read_traces("both");
  const std::vector<Trace> blobs = read_traces("blob");
  const std::vector<Trace> workspaces = read_traces("workspace");
  if (both.empty()) {
    std::printf("skipped: no recorded requests; set TENURE_DATA_DIR\n");
    return 0;
  }
  if (blobs.size() != both.size() || workspaces.size() != both.size()) fail("a file is missing");
  std::FILE* csv = csv_path == nullptr ? nullptr : std::fopen(csv_path, "w");
  if (csv_path != nullptr && csv == nullptr) fail("the CSV cannot be written");
  if (csv != nullptr) std::fprintf(csv, "network,policy,runs,held_bytes\n");
  std::printf("MB held for %zu networks%*s%8d %7d runs\n", both.size(), 16, "", kRuns[0], kRuns[1]);
  for (const Policy& policy : kPolicies) {
    std::printf("%-38s", policy.name);
    for (const int runs : kRuns) {
      std::uint64_t sum_bytes = 0;
      for (std::size_t i = 0; i < both.size(); ++i) {
        const std::uint64_t held = policy.held_bytes({&both[i], &blobs[i], &workspaces[i]}, runs);
        sum_bytes += held;
        if (csv == nullptr) continue;
        std::fprintf(csv, "%s,\"%s\",%d,%llu\n", both[i].name.c_str(), policy.name, runs,
                     static_cast<unsigned long long>(held));
      }
      std::printf(" %7.1f", static_cast<double>(sum_bytes) / 1e6);
    }
    std::printf("\n");
  }
  return csv == nullptr || std::fclose(csv) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tenure::bench

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--csv") == 0) return tenure::bench::report(argv[2]);
  if (argc == 4 && std::strcmp(argv[1], "--c-heap") == 0) {
    return tenure::bench::report_c_heap(argv[2], argv[3]);
  }
  if (argc == 1) return tenure::bench::report(nullptr);
  std::fprintf(stderr, "usage: held_bytes [--csv FILE]\n");
  return 2;
}
