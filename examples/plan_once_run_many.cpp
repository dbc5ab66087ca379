// SPDX-License-Identifier: Apache-2.0

// Plan once, commit once, run many times: an inference takes nothing from the heap. What is
// counted, and how, stands in common/counting_heap.h.

#include <cinttypes>
#include <cstdio>
#include <vector>

#include "common/counting_heap.h"
#include "common/inference.h"
#include "common/print.h"
#include "common/small_network.h"
#include "tenure/planner.h"

namespace {

constexpr std::size_t kRunCount = 100;

using example::Addresses;
using example::Network;

std::uint64_t infer(const Network& network, const Addresses& addresses, std::uint64_t image) {
  write_image(network, addresses, image);
  run(network, addresses);
  return output_hash(network, addresses);
}

// True when no run took from the heap, images gave different outputs, and the last run, again with
// the first image, was not disturbed by those in between.
bool run_many(const Network& network, const Addresses& addresses) {
  std::vector<std::uint64_t> hashes(kRunCount);  // before counting begins
  const std::size_t calls_before = example::heap_call_count();
  for (std::size_t i = 0; i < kRunCount; ++i) {
    hashes[i] = infer(network, addresses, i == kRunCount - 1 ? 0 : i);
  }
  const std::size_t calls = example::heap_call_count() - calls_before;

  std::printf("%zu runs:                  %zu heap calls\n", kRunCount, calls);
  std::printf("output of the first run    %016" PRIx64 "\n", hashes.front());
  std::printf("output of the second run   %016" PRIx64 "\n", hashes[1]);
  std::printf("the first image again      %016" PRIx64 "\n", hashes.back());
  example::Expectations expectations;
  expectations.expect(calls == 0, "no run takes anything from the heap");
  expectations.expect(hashes[0] != hashes[1], "another image, another output");
  expectations.expect(hashes.front() == hashes.back(), "the same image, the same output");
  return expectations.all_hold();
}

}  // namespace

int main() {
  const auto small = example::make_small_network();
  if (!small.ok()) return 1;
  const Network& network = small->network;
  std::vector<float> weights = example::make_weights(network);

  const std::size_t calls_before = example::heap_call_count();
  const auto upstream = example::counting_upstream();
  const auto plan =
      tenure::ArenaPlanner(tenure::PlannerOptions().set_upstream(upstream)).plan(network.graph);
  tenure::SimpleMemoryArena arena(upstream);
  if (!plan.ok() || !arena.commit(plan->layouts()).ok()) return 1;
  const Addresses addresses = addresses_in(arena, *plan, network, &weights);
  const std::size_t calls = example::heap_call_count() - calls_before;

  std::printf("arena:                     %s bytes\n",
              example::grouped(plan->arena_bytes()).c_str());
  std::printf("planning and committing:   %zu heap calls\n", calls);
  example::Expectations expectations;
  expectations.expect(calls > 0, "the counter counts");
  return run_many(network, addresses) && expectations.all_hold() ? 0 : 1;
}
