// SPDX-License-Identifier: Apache-2.0

// An upstream that refuses call k, for every k, over the whole way from a graph to a committed
// arena: a Status, nothing leaked, and the arena of before as it was.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "support/problems.h"
#include "support/upstreams.h"
#include "tenure/arena.h"
#include "tenure/graph_builder.h"
#include "tenure/lifetime.h"
#include "tenure/planner.h"
#include "tenure/verify.h"

namespace tenure {
namespace {

using test::TestUpstream;

// Every kind of tensor and relation, so that every list is used:
//   0 image -> features, scratch    1 features -> active in place    2 active -> left, right views
//   3 left -> deep    4 concat(deep, right) -> whole    5 whole, state -> next, an update of state
Result<TensorGraph> build_graph(std::uint64_t scale, Upstream upstream) {
  TensorGraphBuilder builder(upstream);
  const TensorIndex image = builder.add_input("image", 64 * scale);
  const TensorIndex weights = builder.add_constant("weights", 300);
  const TensorIndex state = builder.add_persistent("state", 64 * scale);
  const TensorIndex features = builder.add_tensor("features", 128 * scale);
  const TensorIndex active = builder.add_tensor("active", 128 * scale);
  const TensorIndex left = builder.add_tensor("left", 64 * scale);
  const TensorIndex right = builder.add_tensor("right", 64 * scale);
  const TensorIndex deep = builder.add_tensor("deep", 64 * scale);
  const TensorIndex dense = builder.add_tensor("dense", 64 * scale);
  const TensorIndex whole = builder.add_tensor("whole", 128 * scale);
  const TensorIndex next = builder.add_tensor("next", 64 * scale);
  builder.add_operator("conv").input(image).input(weights).output(features).scratch("s", 512);
  builder.add_operator("relu").input(features).output(active, in_place_of(features));
  builder.add_operator("split")
      .input(active)
      .output(left, view_of(active, 0))
      .output(right, view_of(active, 64 * scale));
  builder.add_operator("conv").input(left).output(deep);
  builder.add_operator("add").input(right).input(left).output(dense, in_place_of(right));
  builder.add_operator("concat")
      .input(deep, view_of(whole, 0))
      .input(dense, view_of(whole, 64 * scale))
      .output(whole);
  builder.add_operator("cell").input(whole).input(state).output(next, update_of(state));
  builder.mark_output(whole);
  return builder.build();
}

struct Outcome {
  Status status;
  const char* stage = "";
};

// From the graph on, all from one upstream.
Outcome run_all(std::uint64_t scale, Upstream upstream, SimpleMemoryArena* arena) {
  const Result<TensorGraph> graph = build_graph(scale, upstream);
  if (!graph.ok()) return {graph.status(), "build"};
  const Result<Lifetimes> lifetimes = LifetimeAnalyzer(64, upstream).analyze(*graph);
  if (!lifetimes.ok()) return {lifetimes.status(), "analyze"};
  const ArenaPlanner planner(PlannerOptions().set_upstream(upstream));
  const Result<MemoryPlan> plan = planner.plan(*lifetimes);
  if (!plan.ok()) return {plan.status(), "plan"};
  if (Status status = verify(lifetimes->problem(), *plan, upstream); !status.ok()) {
    return {status, "verify problem"};
  }
  if (Status status = verify(*graph, *plan, upstream); !status.ok()) {
    return {status, "verify graph"};
  }
  return {arena->commit(plan->layouts()), "commit"};
}

// What was committed before must not be touched by what fails.
class CommittedBefore {
 public:
  explicit CommittedBefore(TestUpstream* upstream) : arena(upstream->get()) {
    EXPECT_TRUE(run_all(1, upstream->get(), &arena).status.ok());
    region_ = arena.region(kReusableRegion);
    EXPECT_FALSE(region_.empty());
    std::memset(region_.data(), 0x5A, region_.size());
  }
  void expect_intact() const {
    const Span<std::byte> now = arena.region(kReusableRegion);
    ASSERT_EQ(now.data(), region_.data());
    ASSERT_EQ(now.size(), region_.size());
    for (const std::byte byte : now) ASSERT_EQ(byte, std::byte{0x5A});
  }
  SimpleMemoryArena arena;

 private:
  Span<std::byte> region_;
};

TEST(Refusal, OfEveryCallIsAStatusThatLeaksNothingAndLeavesTheArena) {
  TestUpstream upstream;
  {
    CommittedBefore before(&upstream);
    const std::size_t blocks_before = upstream.live_blocks();
    std::uint64_t call = 0;
    for (;; ++call) {
      SCOPED_TRACE(call);
      ASSERT_LT(call, 10000U);
      upstream.start_counting();
      upstream.refuse_call(call);
      const Outcome outcome = run_all(10, upstream.get(), &before.arena);
      if (upstream.refusals() == 0) {
        EXPECT_TRUE(outcome.status.ok()) << outcome.stage;
        break;
      }
      ASSERT_EQ(outcome.status.reason(), Reason::kUpstreamRefused) << outcome.stage;
      ASSERT_EQ(outcome.status.code(), StatusCode::kOutOfMemory);
      ASSERT_EQ(upstream.live_blocks(), blocks_before) << outcome.stage;
      before.expect_intact();
    }
    EXPECT_GT(before.arena.region(kReusableRegion).size(), 1000U);  // the larger plan is in force
    RecordProperty("k_max", static_cast<int>(call));
    std::printf("             no call was refused from k = %d on\n", static_cast<int>(call));
    EXPECT_GT(call, 50U);
  }
  EXPECT_EQ(upstream.live_blocks(), 0U);
}

// Problems with pairs and fixed blocks ask for lists that graphs do not.
TEST(Refusal, OfEveryCallForAProblemWithPairsAndFixedBlocksIsAStatus) {
  test::ProblemShape shape;
  shape.region_count = 3;
  shape.no_reuse_chance = 40;
  shape.max_blocks = 40;
  shape.max_conflicts = shape.max_overlaps = 20;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    const test::OwnedProblem random = test::random_problem(seed, shape);
    TestUpstream upstream;
    for (std::uint64_t call = 0;; ++call) {
      SCOPED_TRACE(call);
      ASSERT_LT(call, 10000U);
      upstream.start_counting();
      upstream.refuse_call(call);
      const ArenaPlanner planner(PlannerOptions().set_upstream(upstream.get()));
      Status status;
      {
        const Result<MemoryPlan> plan = planner.plan(random.view());
        status = plan.ok() ? verify(random.view(), *plan, upstream.get()) : plan.status();
      }
      ASSERT_EQ(upstream.live_blocks(), 0U);
      if (upstream.refusals() == 0) {
        EXPECT_TRUE(status.ok()) << text_of(status.reason());
        break;
      }
      ASSERT_EQ(status.reason(), Reason::kUpstreamRefused) << text_of(status.reason());
    }
  }
}

// Not one call but all from some point on: memory really is short.
TEST(Refusal, OfAllMemoryBeyondACapacityIsAStatusToo) {
  std::uint64_t refused = 0;
  for (std::uint64_t capacity = 0; capacity < 40000; capacity += 97) {
    SCOPED_TRACE(capacity);
    TestUpstream upstream;
    SimpleMemoryArena arena(upstream.get());
    upstream.limit_to(capacity);
    const Outcome outcome = run_all(10, upstream.get(), &arena);
    if (outcome.status.ok()) {
      EXPECT_EQ(upstream.refusals(), 0U);
      continue;
    }
    ++refused;
    ASSERT_EQ(outcome.status.reason(), Reason::kUpstreamRefused) << outcome.stage;
    ASSERT_EQ(upstream.live_blocks(), 0U) << outcome.stage;
  }
  EXPECT_GT(refused, 20U);
}

}  // namespace
}  // namespace tenure
