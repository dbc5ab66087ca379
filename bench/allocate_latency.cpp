// SPDX-License-Identifier: Apache-2.0

// What does one call of an allocator cost, through the interface that a runtime gets? Prints
// seconds per call as `s_per_call` (2.5n is 2.5 ns), with malloc and free as the baseline.
//
//   allocate_latency --benchmark_repetitions=9 --benchmark_report_aggregates_only=true

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "tenure/free_list_allocator.h"
#include "tenure/heap_allocator.h"
#include "tenure/locked_allocator.h"
#include "tenure/pool_allocator.h"

namespace {

using tenure::Allocator;

constexpr std::size_t kBlocks = 1024;
constexpr std::size_t kPoolBytes = std::size_t{4} << 20;

// The baseline behind the same interface.
class Malloc final : public Allocator {
 public:
  void* fastMalloc(std::size_t size_bytes) noexcept override { return std::malloc(size_bytes); }
  void* allocate(std::size_t size_bytes, std::size_t) noexcept override {
    return std::malloc(size_bytes);
  }
  void fastFree(void* memory) noexcept override { std::free(memory); }
  tenure::AllocatorStatistics statistics() const noexcept override { return {}; }
  std::size_t alignment_bytes() const noexcept override { return alignof(std::max_align_t); }
  const char* tag() const noexcept override { return "malloc"; }
};

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

// Requests only, until a reset gives everything back.
template <class Pool>
void requests_until_reset(benchmark::State& state) {
  Pool pool;
  if (!pool.reserve(kPoolBytes).ok()) return state.SkipWithError("no memory");
  Allocator& allocator = hidden(pool);
  for (auto _ : state) {
    for (std::size_t i = 0; i < kBlocks; ++i) {
      benchmark::DoNotOptimize(allocator.fastMalloc(1000));
    }
    pool.force_reset(tenure::LateFrees::kNeverCome);
  }
  count_calls(state, kBlocks);
}

// A request and its free, one after the other.
void pairs(benchmark::State& state, Allocator& allocator) {
  for (auto _ : state) {
    for (std::size_t i = 0; i < kBlocks; ++i) {
      void* block = allocator.fastMalloc(1000);
      benchmark::DoNotOptimize(block);
      allocator.fastFree(block);
    }
  }
  count_calls(state, 2 * kBlocks);
}

// 64 live blocks of many sizes, of which the oldest goes for each that comes.
void replaced_blocks(benchmark::State& state, Allocator& allocator) {
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

template <class Pool>
void pool_pairs(benchmark::State& state) {
  Pool pool;
  if (!pool.reserve(kPoolBytes).ok()) return state.SkipWithError("no memory");
  pairs(state, hidden(pool));
}

template <class Run>
void with_free_list(benchmark::State& state, const Run& run) {
  tenure::FreeListAllocator list;
  if (!list.reserve(kPoolBytes).ok() || !list.reserve_blocks(4 * kBlocks).ok()) {
    return state.SkipWithError("no memory");
  }
  // Blocks here and there, as there are in a pool that has been in use.
  std::vector<void*> kept;
  for (std::size_t i = 0; i < 100; ++i) kept.push_back(list.fastMalloc(64 + i % 7 * 1000));
  for (std::size_t i = 0; i < kept.size(); i += 2) list.fastFree(kept[i]);
  run(state, hidden(list));
  for (std::size_t i = 1; i < kept.size(); i += 2) list.fastFree(kept[i]);
}

void free_list_pairs(benchmark::State& state) { with_free_list(state, pairs); }
void free_list_replaced(benchmark::State& state) { with_free_list(state, replaced_blocks); }
void locked_free_list_replaced(benchmark::State& state) {
  with_free_list(state, [](benchmark::State& inner_state, Allocator& list) {
    tenure::LockedAllocator<std::mutex> locked(list);
    replaced_blocks(inner_state, hidden(locked));
  });
}
void heap_replaced(benchmark::State& state) {
  tenure::HeapAllocator heap;
  replaced_blocks(state, hidden(heap));
}
void malloc_pairs(benchmark::State& state) {
  Malloc baseline;
  pairs(state, hidden(baseline));
}
void malloc_replaced(benchmark::State& state) {
  Malloc baseline;
  replaced_blocks(state, hidden(baseline));
}

BENCHMARK(requests_until_reset<tenure::SingleOwnerPool>);
BENCHMARK(requests_until_reset<tenure::PoolAllocator>);
BENCHMARK(pool_pairs<tenure::SingleOwnerPool>);
BENCHMARK(pool_pairs<tenure::PoolAllocator>);
BENCHMARK(free_list_pairs);
BENCHMARK(free_list_replaced);
BENCHMARK(locked_free_list_replaced);
BENCHMARK(heap_replaced);
BENCHMARK(malloc_pairs);
BENCHMARK(malloc_replaced);

}  // namespace

BENCHMARK_MAIN();
