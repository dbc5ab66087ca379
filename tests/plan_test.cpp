// SPDX-License-Identifier: Apache-2.0

#include "tenure/plan.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "support/upstreams.h"

namespace tenure {
namespace {

struct Lists {
  std::vector<RegionPlan> regions;
  std::vector<RegionLayout> layouts;
  std::vector<Placement> placements;
  std::vector<Placement> tensor_placements;

  [[nodiscard]] Result<MemoryPlan> make(Upstream upstream = heap_upstream()) const {
    return MemoryPlan::create({regions, layouts, placements, tensor_placements}, upstream);
  }
  [[nodiscard]] std::uint64_t hash() const {
    const Result<MemoryPlan> plan = make();
    EXPECT_TRUE(plan.ok());
    return plan.ok() ? plan->hash() : 0;
  }
};

Lists small_plan() {
  Lists lists;
  RegionPlan region;
  region.arena_bytes = 180;
  region.lower_bound_bytes = 160;
  region.unit_bytes = 4;
  region.peak_step = Step(1);
  lists.regions = {region};
  lists.layouts = {{196, 64}};
  lists.placements = {{kReusableRegion, 0}, {kReusableRegion, 100}};
  lists.tensor_placements = {Placement::none()};
  return lists;
}

TEST(MemoryPlan, KeepsItsOwnCopiesOfTheLists) {
  Lists lists = small_plan();
  const Result<MemoryPlan> plan = lists.make();
  ASSERT_TRUE(plan.ok());
  lists.regions[0].arena_bytes = 7;
  lists.layouts.clear();
  lists.placements[1].offset_bytes = 8;
  lists.tensor_placements.clear();

  ASSERT_EQ(plan->regions().size(), 1U);
  EXPECT_EQ(plan->region(kReusableRegion).arena_bytes, 180U);
  EXPECT_EQ(plan->region(kReusableRegion).unit_bytes, 4U);
  EXPECT_EQ(plan->region(kReusableRegion).peak_step, Step(1));
  EXPECT_EQ(plan->layouts()[0].size_bytes, 196U);
  EXPECT_EQ(plan->layouts()[0].alignment_bytes, 64U);
  ASSERT_EQ(plan->placements().size(), 2U);
  EXPECT_EQ(plan->placement(BlockIndex(1)).offset_bytes, 100U);
  ASSERT_EQ(plan->tensor_placements().size(), 1U);
  EXPECT_TRUE(plan->tensor_placement(TensorIndex(0)).is_none());
}

TEST(MemoryPlan, AnswersZeroForRegionsThatItDoesNotHave) {
  const Result<MemoryPlan> plan = small_plan().make();
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->arena_bytes(), 180U);
  EXPECT_EQ(plan->lower_bound_bytes(), 160U);
  for (const RegionIndex region : {kPersistentRegion, RegionIndex(7), RegionIndex::none()}) {
    EXPECT_EQ(plan->arena_bytes(region), 0U);
    EXPECT_EQ(plan->lower_bound_bytes(region), 0U);
  }
  EXPECT_EQ(MemoryPlan().arena_bytes(), 0U);
}

TEST(MemoryPlan, IsOptimalWhereArenaAndBoundAreEqual) {
  RegionPlan region;
  EXPECT_TRUE(region.is_optimal());
  region.arena_bytes = 8;
  EXPECT_FALSE(region.is_optimal());
  region.lower_bound_bytes = 7;
  EXPECT_FALSE(region.is_optimal());
  region.lower_bound_bytes = 8;
  EXPECT_TRUE(region.is_optimal());
}

TEST(MemoryPlan, HasOneLayoutForEachRegion) {
  Lists lists = small_plan();
  lists.layouts.emplace_back();
  EXPECT_EQ(lists.make().status().reason(), Reason::kPlanMismatch);
  lists.layouts.clear();
  EXPECT_EQ(lists.make().status().reason(), Reason::kPlanMismatch);
  EXPECT_TRUE(Lists().make().ok());
}

TEST(MemoryPlan, Moves) {
  test::TestUpstream upstream;
  Result<MemoryPlan> made = small_plan().make(upstream.get());
  ASSERT_TRUE(made.ok());
  const std::uint64_t hash = made->hash();
  MemoryPlan plan = std::move(made.value());
  EXPECT_EQ(plan.hash(), hash);
  EXPECT_EQ(made->placements().size(), 0U);
  MemoryPlan other = MemoryPlan();
  other = std::move(plan);
  EXPECT_EQ(other.hash(), hash);
  EXPECT_EQ(upstream.live_blocks(), 4U);
}

TEST(MemoryPlan, SaysWhichCallWasRefusedAndLeaksNothing) {
  test::TestUpstream upstream;
  for (std::uint64_t call = 0; call < 4; ++call) {
    upstream.start_counting();
    upstream.refuse_call(call);
    EXPECT_EQ(small_plan().make(upstream.get()).status().reason(), Reason::kUpstreamRefused);
    EXPECT_EQ(upstream.live_blocks(), 0U);
  }
  upstream.start_counting();
  upstream.refuse_call(4);
  EXPECT_TRUE(small_plan().make(upstream.get()).ok());
}

// FNV-1a of 180, 160, 196, 64, 2, (0, 0), (0, 100), 1, (2^32 - 1, 0) as little-endian numbers of 64
// bits, computed by another program.
TEST(MemoryPlan, HashIsTheSameOnEveryMachine) {
  EXPECT_EQ(small_plan().hash(), 0x15CFDD8188A95C4EU);
  EXPECT_EQ(MemoryPlan().hash(), 0x88201FB960FF6465U);
}

TEST(MemoryPlan, HashTellsPlansApartByEveryNumberThatTheyCarryOut) {
  const std::uint64_t hash = small_plan().hash();
  const auto expect_another = [&](void (*change)(Lists*)) {
    Lists lists = small_plan();
    change(&lists);
    EXPECT_NE(lists.hash(), hash);
  };
  EXPECT_EQ(small_plan().hash(), hash);
  expect_another([](Lists* lists) { ++lists->regions[0].arena_bytes; });
  expect_another([](Lists* lists) { ++lists->regions[0].lower_bound_bytes; });
  expect_another([](Lists* lists) { lists->regions[0].arena_bytes += std::uint64_t{1} << 56; });
  expect_another([](Lists* lists) { ++lists->layouts[0].size_bytes; });
  expect_another([](Lists* lists) { lists->layouts[0].alignment_bytes = 128; });
  expect_another([](Lists* lists) { lists->placements[0].offset_bytes = 1; });
  expect_another([](Lists* lists) { lists->placements[1].region = kPersistentRegion; });
  expect_another([](Lists* lists) { std::swap(lists->placements[0], lists->placements[1]); });
  expect_another([](Lists* lists) { lists->tensor_placements[0] = {kReusableRegion, 0}; });
  expect_another([](Lists* lists) { lists->placements.pop_back(); });
  expect_another([](Lists* lists) { lists->tensor_placements.clear(); });
  expect_another([](Lists* lists) { std::swap(lists->placements, lists->tensor_placements); });
}

}  // namespace
}  // namespace tenure
