// SPDX-License-Identifier: Apache-2.0

// An arena that lives on while plans change: what moves, what is kept, what a refusal leaves.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "support/upstreams.h"
#include "tenure/arena.h"
#include "tenure/graph_builder.h"
#include "tenure/planner.h"
#include "tenure/verify.h"

namespace tenure {
namespace {

RegionLayout reusable(std::uint64_t size_bytes) { return {size_bytes, 64, false}; }
RegionLayout persistent(std::uint64_t size_bytes) { return {size_bytes, 64, true}; }

void fill_region(const SimpleMemoryArena& arena, RegionIndex region, int pattern) {
  const Span<std::byte> bytes = arena.region(region);
  std::memset(bytes.data(), pattern, bytes.size());
}

// How many of a region's first bytes have that value.
std::size_t leading(const SimpleMemoryArena& arena, RegionIndex region, int pattern) {
  std::size_t count = 0;
  for (const std::byte byte : arena.region(region)) {
    if (byte != static_cast<std::byte>(pattern)) break;
    ++count;
  }
  return count;
}

TEST(ArenaGrowth, ASmallerLayoutKeepsTheBufferAndTrimGivesTheRestBack) {
  test::TestUpstream upstream;
  SimpleMemoryArena arena(upstream.get());
  const RegionLayout large[] = {reusable(4096), persistent(512)};
  const RegionLayout small[] = {reusable(1024), persistent(512)};
  ASSERT_TRUE(arena.commit(large).ok());
  EXPECT_FALSE(arena.moved());
  fill_region(arena, kPersistentRegion, 7);
  const void* before = arena.address({kReusableRegion, 0});
  const std::uint64_t calls = upstream.calls();
  ASSERT_TRUE(arena.commit(small).ok());
  EXPECT_FALSE(arena.moved());
  EXPECT_EQ(arena.address({kReusableRegion, 0}), before);
  EXPECT_EQ(arena.region(kReusableRegion).size(), 1024U);
  EXPECT_EQ(upstream.calls(), calls);
  ASSERT_TRUE(arena.trim().ok());
  EXPECT_EQ(upstream.calls(), calls + 1);  // the persistent region fits exactly
  EXPECT_EQ(upstream.live_bytes(), 1024U + 512U);
  EXPECT_EQ(leading(arena, kPersistentRegion, 7), 512U);
  ASSERT_TRUE(arena.trim().ok());
  EXPECT_FALSE(arena.moved());
  EXPECT_EQ(upstream.calls(), calls + 1);
}

TEST(ArenaGrowth, KeepsPersistentBytesAndSaysThatAddressesMoved) {
  test::TestUpstream upstream;
  SimpleMemoryArena arena(upstream.get());
  const RegionLayout before[] = {reusable(640), persistent(128)};
  const RegionLayout after[] = {reusable(6400), persistent(256)};
  ASSERT_TRUE(arena.commit(before).ok());
  fill_region(arena, kPersistentRegion, 9);
  ASSERT_TRUE(arena.commit(after, Fill::with(0xEE)).ok());
  EXPECT_TRUE(arena.moved());
  EXPECT_EQ(leading(arena, kPersistentRegion, 9), 128U);
  EXPECT_EQ(arena.region(kPersistentRegion)[128], std::byte{0xEE});  // new bytes are filled
  EXPECT_EQ(leading(arena, kReusableRegion, 0xEE), 6400U);
}

TEST(ArenaGrowth, ARefusedGrowthChangesNothing) {
  const RegionLayout before[] = {reusable(640), persistent(128)};
  const RegionLayout after[] = {reusable(6400), persistent(256)};
  for (const std::uint64_t refused : {2U, 3U}) {
    test::TestUpstream upstream;
    SimpleMemoryArena arena(upstream.get());
    ASSERT_TRUE(arena.commit(before).ok());
    fill_region(arena, kReusableRegion, 3);
    fill_region(arena, kPersistentRegion, 4);
    const void* address = arena.address({kReusableRegion, 0});
    upstream.refuse_call(refused);
    const Status status = arena.commit(after);
    EXPECT_EQ(status.reason(), Reason::kUpstreamRefused);
    EXPECT_EQ(arena.address({kReusableRegion, 0}), address);
    EXPECT_EQ(leading(arena, kReusableRegion, 3), 640U);
    EXPECT_EQ(leading(arena, kPersistentRegion, 4), 128U);
    EXPECT_EQ(upstream.live_bytes(), 640U + 128U);
  }
}

// 6400 beside 640 do not fit into 6,800 bytes; after the old ones are released they do.
TEST(ArenaGrowth, ReleaseFirstFitsWhereOldAndNewTogetherDoNot) {
  test::TestUpstream upstream;
  upstream.limit_to(6800);
  SimpleMemoryArena arena(upstream.get());
  const RegionLayout before[] = {reusable(640), persistent(128)};
  const RegionLayout after[] = {reusable(6400), persistent(128)};
  const RegionLayout too_much[] = {reusable(7000), persistent(128)};
  ASSERT_TRUE(arena.commit(before).ok());
  fill_region(arena, kPersistentRegion, 5);
  EXPECT_EQ(arena.commit(after).reason(), Reason::kUpstreamRefused);
  EXPECT_NE(arena.address({kReusableRegion, 0}), nullptr);
  ASSERT_TRUE(arena.commit(after, Fill::none(), Growth::kReleaseFirst).ok());
  EXPECT_EQ(leading(arena, kPersistentRegion, 5), 128U);

  // Refused all the same: the reusable region is released, the persistent one as it was.
  EXPECT_EQ(arena.commit(too_much, Fill::none(), Growth::kReleaseFirst).reason(),
            Reason::kUpstreamRefused);
  EXPECT_EQ(arena.address({kReusableRegion, 0}), nullptr);
  EXPECT_EQ(leading(arena, kPersistentRegion, 5), 128U);
  ASSERT_TRUE(arena.reacquire().ok());
  EXPECT_EQ(arena.region(kReusableRegion).size(), 6400U);
  EXPECT_NE(arena.address({kReusableRegion, 0}), nullptr);
}

TEST(ArenaGrowth, ReleasesTheReusableRegionBetweenRunsAndTakesItAgain) {
  test::TestUpstream upstream;
  SimpleMemoryArena arena(upstream.get());
  const RegionLayout layouts[] = {reusable(640), persistent(128)};
  ASSERT_TRUE(arena.commit(layouts).ok());
  fill_region(arena, kPersistentRegion, 6);
  arena.release_reusable();
  EXPECT_EQ(upstream.live_bytes(), 128U);
  EXPECT_EQ(arena.address({kReusableRegion, 64}), nullptr);
  EXPECT_EQ(leading(arena, kPersistentRegion, 6), 128U);
  upstream.refuse_call(upstream.calls());
  EXPECT_EQ(arena.reacquire().reason(), Reason::kUpstreamRefused);
  EXPECT_EQ(arena.address({kReusableRegion, 64}), nullptr);
  ASSERT_TRUE(arena.reacquire(Fill::with(1)).ok());
  EXPECT_TRUE(arena.moved());
  EXPECT_EQ(leading(arena, kReusableRegion, 1), 640U);
  EXPECT_EQ(leading(arena, kPersistentRegion, 6), 128U);
}

// The persistent region lies behind the reusable one, so it moves up inside one buffer, over
// itself.
TEST(ArenaGrowth, KeepsPersistentBytesInsideOneLentBuffer) {
  alignas(64) static std::byte buffer[4096];
  for (const std::uint64_t grown : {0U, 64U, 128U, 512U, 3000U}) {
    SimpleMemoryArena arena;
    const RegionLayout before[] = {reusable(256), persistent(300)};
    const RegionLayout after[] = {reusable(grown), persistent(300)};
    ASSERT_TRUE(arena.commit_lent(buffer, before).ok());
    Span<std::byte> state = arena.region(kPersistentRegion);
    for (std::size_t i = 0; i < state.size(); ++i) state[i] = static_cast<std::byte>(i * 7);
    ASSERT_TRUE(arena.commit_lent(buffer, after, Fill::with(0xAA)).ok());
    state = arena.region(kPersistentRegion);
    for (std::size_t i = 0; i < state.size(); ++i) {
      ASSERT_EQ(state[i], static_cast<std::byte>(i * 7)) << "grown " << grown << " byte " << i;
    }
    EXPECT_EQ(arena.moved(), grown != 256);
  }
}

TEST(ArenaGrowth, CarriesPersistentBytesFromLentToOwnedMemoryAndBack) {
  std::vector<std::byte> buffer(4096);
  test::TestUpstream upstream;
  SimpleMemoryArena arena(upstream.get());
  const RegionLayout layouts[] = {reusable(256), persistent(256)};
  ASSERT_TRUE(arena.commit_lent(buffer, layouts).ok());
  fill_region(arena, kPersistentRegion, 11);
  ASSERT_TRUE(arena.commit(layouts).ok());
  EXPECT_EQ(upstream.live_bytes(), 512U);
  std::memset(buffer.data(), 0, buffer.size());
  EXPECT_EQ(leading(arena, kPersistentRegion, 11), 256U);
  ASSERT_TRUE(arena.commit_lent(buffer, layouts).ok());
  EXPECT_EQ(upstream.live_bytes(), 0U);
  EXPECT_EQ(leading(arena, kPersistentRegion, 11), 256U);
}

TEST(ArenaGrowth, FillsReusableRegionsForARunAndLeavesStateAlone) {
  SimpleMemoryArena arena;
  const RegionLayout layouts[] = {reusable(256), persistent(64)};
  ASSERT_TRUE(arena.commit(layouts).ok());
  fill_region(arena, kPersistentRegion, 8);
  arena.fill_reusable(Fill::with(0xCD));
  EXPECT_EQ(leading(arena, kReusableRegion, 0xCD), 256U);
  EXPECT_EQ(leading(arena, kPersistentRegion, 8), 64U);
  arena.fill_reusable(Fill::none());
  EXPECT_EQ(leading(arena, kReusableRegion, 0xCD), 256U);
}

TensorGraph graph_with_state(std::uint64_t input_bytes) {
  TensorGraphBuilder builder;
  const TensorIndex state = builder.add_persistent("state", 64);
  const TensorIndex more = builder.add_persistent("more", 100);
  const TensorIndex input = builder.add_input("input", input_bytes);
  const TensorIndex output = builder.add_tensor("output", input_bytes);
  builder.add_operator("step").input(input).input(state).input(more).output(output);
  builder.mark_output(output);
  Result<TensorGraph> graph = builder.build();
  EXPECT_TRUE(graph.ok());
  return static_cast<TensorGraph&&>(graph.value());
}

// ExecuTorch 12182, tflite-micro 3298: the input is resized tenfold and the arena planned anew.
TEST(ArenaGrowth, StateKeepsItsOffsetAndBytesWhenAnInputIsResized) {
  const TensorGraph small = graph_with_state(1000);
  const TensorGraph large = graph_with_state(10'000);
  const Result<MemoryPlan> small_plan = ArenaPlanner().plan(small);
  const Result<MemoryPlan> large_plan = ArenaPlanner().plan(large);
  ASSERT_TRUE(small_plan.ok() && large_plan.ok());
  SimpleMemoryArena arena;
  ASSERT_TRUE(arena.commit(small_plan->layouts()).ok());
  const TensorIndex states[] = {TensorIndex(0), TensorIndex(1)};
  for (const TensorIndex state : states) {
    EXPECT_EQ(small_plan->tensor_placement(state), large_plan->tensor_placement(state));
    std::memset(arena.address(small_plan->tensor_placement(state)),
                40 + static_cast<int>(state.value),
                static_cast<std::size_t>(small.tensor(state).size_bytes));
  }
  ASSERT_TRUE(arena.commit(large_plan->layouts(), Fill::with(0xFF)).ok());
  for (const TensorIndex state : states) {
    const auto* bytes =
        static_cast<const unsigned char*>(arena.address(large_plan->tensor_placement(state)));
    for (std::size_t i = 0; i < large.tensor(state).size_bytes; ++i) {
      ASSERT_EQ(bytes[i], 40U + state.value);
    }
  }
}

}  // namespace
}  // namespace tenure
