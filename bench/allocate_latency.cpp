// SPDX-License-Identifier: Apache-2.0

// What does one call of an allocator cost, through the interface that a runtime gets? Prints
// seconds per call as `s_per_call` (2.5n is 2.5 ns), allocations and frees averaged. `recorded` are
// the requests of every network in TENURE_DATA_DIR/traces, each network with an allocator of its
// own: all, and apart from those of the language model, which are four fifths of them; `pairs` a
// request and its free at once; `replaced` 64 live blocks of many sizes, of which the oldest goes
// for each that comes. The baselines are the C heap, a cache as ncnn's pools are, and jemalloc,
// mimalloc and ncnn's own pools where they were there to link. Two more rows say what no allocator
// goes below: EmptyCall does nothing, compare_exchange what a pool that threads share has to do.
//
//   allocate_latency --benchmark_repetitions=9 --benchmark_enable_random_interleaving=true
//                    --benchmark_report_aggregates_only=true
//
// What is refused ends a benchmark with an error. No memory is touched.

#include <benchmark/benchmark.h>
#ifdef TENURE_HAS_MIMALLOC
#include <mimalloc.h>
#endif
#ifdef TENURE_HAS_NCNN
#include <allocator.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "first_fit_cache.h"
#include "tenure/free_list_allocator.h"
#include "tenure/heap_allocator.h"
#include "tenure/locked_allocator.h"
#include "tenure/pool_allocator.h"
#include "traces.h"

// jemalloc takes the place of the program's malloc; these are the C library's all the same.
extern "C" void* __libc_malloc(std::size_t size_bytes);
extern "C" void __libc_free(void* memory);

namespace tenure::bench {
namespace {

constexpr std::size_t kBlocks = 1024;
constexpr std::size_t kSyntheticBytes = std::size_t{4} << 20;

// A pair of C functions behind the same interface.
template <void* (*kAllocate)(std::size_t), void (*kFree)(void*)>
class CHeap final : public Allocator {
 public:
  void* fastMalloc(std::size_t size_bytes) noexcept override { return kAllocate(size_bytes); }
  void* allocate(std::size_t size_bytes, std::size_t) noexcept override {
    return kAllocate(size_bytes);
  }
  void fastFree(void* memory) noexcept override { kFree(memory); }
  AllocatorStatistics statistics() const noexcept override { return {}; }
  std::size_t alignment_bytes() const noexcept override { return alignof(std::max_align_t); }
  const char* tag() const noexcept override { return "C heap"; }
};

class Nothing final : public Allocator {
 public:
  void* fastMalloc(std::size_t) noexcept override { return this; }
  void* allocate(std::size_t, std::size_t) noexcept override { return this; }
  void fastFree(void*) noexcept override {}
  AllocatorStatistics statistics() const noexcept override { return {}; }
  std::size_t alignment_bytes() const noexcept override { return 1; }
  const char* tag() const noexcept override { return "nothing"; }
};

#ifdef TENURE_HAS_NCNN
template <class Pool>
class OfNcnn final : public Allocator {
 public:
  void* fastMalloc(std::size_t size_bytes) noexcept override {
    return pool_.fastMalloc(size_bytes);
  }
  void* allocate(std::size_t size_bytes, std::size_t) noexcept override {
    return pool_.fastMalloc(size_bytes);
  }
  void fastFree(void* memory) noexcept override { pool_.fastFree(memory); }
  AllocatorStatistics statistics() const noexcept override { return {}; }
  std::size_t alignment_bytes() const noexcept override { return alignof(std::max_align_t); }
  const char* tag() const noexcept override { return "ncnn's"; }

 private:
  Pool pool_;
};
#endif

// So that the compiler does not know which class it is.
Allocator& hidden(Allocator& allocator) {
  Allocator* pointer = &allocator;
  benchmark::DoNotOptimize(pointer);
  return *pointer;
}

void count_calls(benchmark::State& state, std::size_t calls_per_iteration) {
  state.counters["s_per_call"] = benchmark::Counter(
      static_cast<double>(calls_per_iteration),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// ---- what is measured: an allocator, made for so many bytes, and what a run's end asks of it

template <class Inner>
struct AsItIs {
  explicit AsItIs(std::size_t /*sum_bytes*/) {}
  [[nodiscard]] bool is_ready() const { return true; }
  void end_run() {}
  Inner allocator;
};
template <class Pool>
struct Pooled {
  explicit Pooled(std::size_t sum_bytes) { ready = allocator.reserve(sum_bytes).ok(); }
  [[nodiscard]] bool is_ready() const { return ready; }
  void end_run() { allocator.force_reset(LateFrees::kNeverCome); }
  Pool allocator{PoolOptions().set_upstream(page_upstream())};
  bool ready = false;
};
struct LockedFreeList {
  explicit LockedFreeList(std::size_t /*sum_bytes*/) {}
  [[nodiscard]] bool is_ready() const { return true; }
  void end_run() {}
  FreeListAllocator list;
  LockedAllocator<std::mutex, FreeListAllocator> allocator{list};
};

// ---- synthetic requests

// Sizes from 64 bytes to 20 KB, the same each time.
std::vector<std::size_t> random_sizes(std::size_t count) {
  std::vector<std::size_t> sizes(count);
  std::uint32_t number = 1;
  for (std::size_t& size : sizes) {
    number = number * 1664525U + 1013904223U;
    size = 64 + (number >> 16) % 20000;
  }
  return sizes;
}

template <class Measured>
void requests_until_reset(benchmark::State& state) {
  Measured measured(kSyntheticBytes);
  if (!measured.is_ready()) return state.SkipWithError("no memory");
  Allocator& allocator = hidden(measured.allocator);
  for (auto _ : state) {
    for (std::size_t i = 0; i < kBlocks; ++i) {
      benchmark::DoNotOptimize(allocator.fastMalloc(1000));
    }
    measured.end_run();
  }
  count_calls(state, kBlocks);
}

// Blocks here and there, as there are in what has been in use.
class Traffic {
 public:
  explicit Traffic(Allocator& allocator) : allocator_(allocator) {
    for (std::size_t i = 0; i < 100; ++i) kept_.push_back(allocator.fastMalloc(64 + i % 7 * 1000));
    for (std::size_t i = 0; i < kept_.size(); i += 2) allocator_.fastFree(kept_[i]);
  }
  ~Traffic() {
    for (std::size_t i = 1; i < kept_.size(); i += 2) allocator_.fastFree(kept_[i]);
  }

 private:
  Allocator& allocator_;
  std::vector<void*> kept_;
};

void compare_exchange(benchmark::State& state) {
  std::atomic<std::uint64_t> position{0};
  for (auto _ : state) {
    for (std::size_t i = 0; i < kBlocks; ++i) {
      std::uint64_t expected = position.load(std::memory_order_relaxed);
      benchmark::DoNotOptimize(position.compare_exchange_weak(expected, expected + 64));
    }
  }
  count_calls(state, kBlocks);
}

template <class Measured>
void pairs(benchmark::State& state) {
  Measured measured(kSyntheticBytes);
  if (!measured.is_ready()) return state.SkipWithError("no memory");
  Allocator& allocator = hidden(measured.allocator);
  const Traffic traffic(allocator);
  for (auto _ : state) {
    for (std::size_t i = 0; i < kBlocks; ++i) {
      void* block = allocator.fastMalloc(1000);
      benchmark::DoNotOptimize(block);
      allocator.fastFree(block);
    }
  }
  count_calls(state, 2 * kBlocks);
}

template <class Measured>
void replaced(benchmark::State& state) {
  Measured measured(kSyntheticBytes);
  Allocator& allocator = hidden(measured.allocator);
  const Traffic traffic(allocator);
  const std::vector<std::size_t> sizes = random_sizes(kBlocks);
  std::vector<void*> live(64);
  for (auto _ : state) {
    for (std::size_t i = 0; i < kBlocks; ++i) {
      void*& block = live[i % live.size()];
      allocator.fastFree(block);
      block = allocator.fastMalloc(sizes[i]);
      benchmark::DoNotOptimize(block);
    }
  }
  for (void* block : live) allocator.fastFree(block);
  count_calls(state, 2 * kBlocks);
}

// ---- recorded requests

enum class Recorded { kAll, kNetworks, kLanguageModel };

std::vector<Trace> recorded_traces(const std::string& kind, Recorded which) {
  std::vector<Trace> traces;
  for (Trace& trace : read_traces(kind)) {
    const bool is_language_model = trace.name.compare(0, 4, "llm_") == 0;
    if (which == Recorded::kAll || is_language_model == (which == Recorded::kLanguageModel)) {
      traces.push_back(std::move(trace));
    }
  }
  return traces;
}

std::size_t calls_of(const std::vector<Trace>& traces) {
  std::size_t calls = 0;
  for (const Trace& trace : traces) calls += trace.events.size();
  return calls;
}

std::size_t most_blocks(const std::vector<Trace>& traces) {
  std::size_t most = 0;
  for (const Trace& trace : traces) most = std::max(most, trace.blocks.size());
  return most;
}

template <class Measured, Recorded kWhich>
void recorded(benchmark::State& state) {
  const std::vector<Trace> traces = recorded_traces("both", kWhich);
  if (traces.empty()) return state.SkipWithError("set TENURE_DATA_DIR");
  std::vector<std::unique_ptr<Measured>> measured;
  for (const Trace& trace : traces) {
    measured.push_back(std::make_unique<Measured>(sum_bytes_of(trace)));
    if (!measured.back()->is_ready()) return state.SkipWithError("no memory");
  }
  std::vector<void*> live(most_blocks(traces));
  for (auto _ : state) {
    for (std::size_t i = 0; i < traces.size(); ++i) {
      if (!replay(traces[i].events, hidden(measured[i]->allocator), live.data())) {
        state.SkipWithError("refused");
      }
      measured[i]->end_run();
    }
  }
  count_calls(state, calls_of(traces));
}

// ---- several threads, one allocator. Nobody may reset a pool while others are in it, so it is as
// large as all the runs of all threads together, and sizes are a 256th.

constexpr std::int64_t kThreadIterations = 100;
constexpr int kMostThreads = 4;

template <class Measured>
void recorded_by_threads(benchmark::State& state) {
  static std::vector<Trace> traces;
  static std::unique_ptr<Measured> shared;
  if (state.thread_index() == 0) {
    traces = recorded_traces("workspace", Recorded::kNetworks);
    std::size_t sum_bytes = 0;
    for (Trace& trace : traces) {
      for (Block& block : trace.blocks) block.size_bytes = block.size_bytes / 256 + 1;
      trace.events = events_of(trace.blocks);
      sum_bytes += sum_bytes_of(trace);
    }
    shared = std::make_unique<Measured>(sum_bytes * kThreadIterations * kMostThreads);
  }
  std::vector<void*> live;
  for (auto _ : state) {
    if (traces.empty() || !shared->is_ready()) {
      state.SkipWithError("no traces, or no memory");
      break;
    }
    live.resize(most_blocks(traces));
    for (const Trace& trace : traces) {
      if (!replay(trace.events, shared->allocator, live.data())) state.SkipWithError("refused");
    }
  }
  count_calls(state, calls_of(traces));
  if (state.thread_index() == 0) {
    shared->end_run();
    shared.reset();
  }
}

using SingleOwnerBump = Pooled<SingleOwnerPool>;
using SharedBump = Pooled<PoolAllocator>;
using FreeList = AsItIs<FreeListAllocator>;
using Heap = AsItIs<HeapAllocator>;
using Malloc = AsItIs<CHeap<__libc_malloc, __libc_free>>;
using Cache = AsItIs<FirstFitCache<NoLock>>;
using LockedCache = AsItIs<FirstFitCache<std::mutex>>;
using CacheThatMovesNodes = AsItIs<FirstFitCache<NoLock, Nodes::kMoved>>;
using EmptyCall = AsItIs<Nothing>;

BENCHMARK(compare_exchange);
BENCHMARK(requests_until_reset<SingleOwnerBump>);
BENCHMARK(requests_until_reset<SharedBump>);

#define TENURE_BENCHMARK_ALL(Measured)                  \
  BENCHMARK(pairs<Measured>);                           \
  BENCHMARK((recorded<Measured, Recorded::kAll>));      \
  BENCHMARK((recorded<Measured, Recorded::kNetworks>)); \
  BENCHMARK((recorded<Measured, Recorded::kLanguageModel>))
#define TENURE_BENCHMARK_THREADS(Measured) \
  BENCHMARK(recorded_by_threads<Measured>) \
      ->Iterations(kThreadIterations)      \
      ->Threads(1)                         \
      ->Threads(2)                         \
      ->Threads(kMostThreads)              \
      ->UseRealTime()

TENURE_BENCHMARK_ALL(EmptyCall);
TENURE_BENCHMARK_ALL(SingleOwnerBump);
TENURE_BENCHMARK_ALL(SharedBump);
TENURE_BENCHMARK_ALL(FreeList);
TENURE_BENCHMARK_ALL(LockedFreeList);
TENURE_BENCHMARK_ALL(Heap);
TENURE_BENCHMARK_ALL(Malloc);
TENURE_BENCHMARK_ALL(Cache);
TENURE_BENCHMARK_ALL(LockedCache);
TENURE_BENCHMARK_ALL(CacheThatMovesNodes);
BENCHMARK(replaced<FreeList>);
BENCHMARK(replaced<LockedFreeList>);
BENCHMARK(replaced<Malloc>);
BENCHMARK(replaced<Cache>);
TENURE_BENCHMARK_THREADS(SharedBump);
TENURE_BENCHMARK_THREADS(LockedFreeList);
TENURE_BENCHMARK_THREADS(Malloc);
TENURE_BENCHMARK_THREADS(LockedCache);

#ifdef TENURE_HAS_NCNN
using UnlockedPoolOfNcnn = AsItIs<OfNcnn<ncnn::UnlockedPoolAllocator>>;
using PoolOfNcnn = AsItIs<OfNcnn<ncnn::PoolAllocator>>;
TENURE_BENCHMARK_ALL(UnlockedPoolOfNcnn);
TENURE_BENCHMARK_ALL(PoolOfNcnn);
TENURE_BENCHMARK_THREADS(PoolOfNcnn);
#endif
#ifdef TENURE_HAS_JEMALLOC
using Jemalloc = AsItIs<CHeap<std::malloc, std::free>>;
TENURE_BENCHMARK_ALL(Jemalloc);
BENCHMARK(replaced<Jemalloc>);
TENURE_BENCHMARK_THREADS(Jemalloc);
#endif
#ifdef TENURE_HAS_MIMALLOC
using Mimalloc = AsItIs<CHeap<mi_malloc, mi_free>>;
TENURE_BENCHMARK_ALL(Mimalloc);
BENCHMARK(replaced<Mimalloc>);
TENURE_BENCHMARK_THREADS(Mimalloc);
#endif

}  // namespace
}  // namespace tenure::bench

BENCHMARK_MAIN();
