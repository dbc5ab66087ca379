// SPDX-License-Identifier: Apache-2.0

#include "tenure/plan_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "support/graphs.h"
#include "support/plan_bytes.h"
#include "support/plans.h"
#include "support/problems.h"
#include "support/upstreams.h"
#include "tenure/arena.h"
#include "tenure/planner.h"
#include "tenure/verify.h"

namespace tenure {
namespace {

// A plan of one region of that size, with blocks at those offsets.
test::PlanCopy plan_with(std::uint64_t arena_bytes, const std::vector<std::uint64_t>& offsets) {
  test::PlanCopy plan((MemoryPlan()));
  RegionPlan region;
  region.arena_bytes = arena_bytes;
  plan.regions = {region};
  plan.layouts = {{arena_bytes, 1}};
  for (const std::uint64_t offset : offsets) plan.placements.push_back({kReusableRegion, offset});
  return plan;
}

std::size_t encoded_bytes(const test::PlanCopy& plan) {
  test::expect_round_trip(plan.make(), 1);
  return test::encoded(plan.make(), 1).size();
}

// An image (tensor 0) and the scores made of it (tensor 2), on a region of 64 bytes and an empty
// one; tensor 1 is a constant.
test::PlanCopy tiny_plan() {
  test::PlanCopy plan = plan_with(192, {0, 64});
  plan.regions[0].lower_bound_bytes = 128;
  plan.regions[0].unit_bytes = 64;
  plan.regions[0].peak_step = Step(3);
  plan.regions.emplace_back();
  plan.layouts = {{208, 64}, {0, 1, true}};
  plan.tensor_placements = {{kReusableRegion, 0}, Placement::none(), {kReusableRegion, 64}};
  return plan;
}

constexpr std::uint64_t kTinyFingerprint = 0x0123456789ABCDEF;
constexpr std::uint8_t kTinyBytes[] = {
    0x54, 0x4E, 0x52, 0x50, 0x01, 0x02, 0x01, 0x06,  // "TNRP", version, R 2, W 1, S 6
    0xEF, 0xCD, 0xAB, 0x89, 0x67, 0x45, 0x23, 0x01,  // fingerprint
    0x02, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00,  // B 2, T 3
    0xD0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // reusable region: size 192 + 16 padding
    0xC0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // arena 192
    0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // lower bound 128
    0x03, 0x00, 0x00, 0x00, 0x06, 0x06,              // peak step 3, alignment 2^6, unit 2^6
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // persistent region: empty
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  //
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  //
    0xFF, 0xFF, 0xFF, 0xFF, 0x80, 0x00,              // no peak step, kept, alignment 1, unit 1
    0x00, 0x00, 0x00, 0x01,                          // blocks at 0 and 1 x 2^6
    0x00, 0x00, 0xFF, 0x00, 0x00, 0x01,              // tensors at 0, nowhere, 1 x 2^6
    0x95, 0xD5, 0xEA, 0x88,                          // CRC-32, computed by zlib
};

Span<const std::byte> tiny_bytes() {
  return {reinterpret_cast<const std::byte*>(kTinyBytes), sizeof(kTinyBytes)};
}

TEST(PlanBytes, AreTheSameOnEveryMachine) {
  const std::vector<std::byte> bytes = test::encoded(tiny_plan().make(), kTinyFingerprint);
  EXPECT_EQ(bytes, test::copy_of(tiny_bytes()));
}

TEST(PlanBytes, AreReadAsTheyWereWritten) {
  const Result<PlanBytes> opened = PlanBytes::open(tiny_bytes(), kTinyFingerprint);
  ASSERT_TRUE(opened.ok()) << text_of(opened.status().reason());
  EXPECT_EQ(opened->fingerprint(), kTinyFingerprint);
  test::expect_same(*opened, tiny_plan().make());
  EXPECT_EQ(opened->region(kReusableRegion).peak_step, Step(3));
  EXPECT_EQ(opened->region(kReusableRegion).unit_bytes, 64U);
  EXPECT_TRUE(opened->region(kPersistentRegion).peak_step.is_none());
}

TEST(PlanBytes, TellWhichRegionIsProvenOptimal) {
  test::PlanCopy plan = tiny_plan();
  plan.regions[0].is_proven = true;
  const std::vector<std::byte> bytes = test::encoded(plan.make(), kTinyFingerprint);
  const Result<PlanBytes> opened = PlanBytes::open(bytes, kTinyFingerprint);
  ASSERT_TRUE(opened.ok());
  test::expect_same(*opened, plan.make());
  EXPECT_TRUE(opened->region(kReusableRegion).is_optimal());
  EXPECT_EQ(opened->region(kReusableRegion).unit_bytes, 64U);
  EXPECT_FALSE(opened->region(kPersistentRegion).is_proven);
}

// What a device does: the plan in flash, the arena in a static buffer, nothing from the heap. The
// function's lines are the example of plan_bytes.h.
constexpr std::uint64_t kModel = kTinyFingerprint;
alignas(64) std::byte device_memory[256];

void* address_of_image(Span<const std::byte> bytes, Span<std::byte> memory,
                       SimpleMemoryArena* arena) {
  const Result<PlanBytes> plan = PlanBytes::open(bytes, kModel);
  RegionLayout layouts[kMaxRegions];
  if (!plan.ok() || !plan->copy_layouts(layouts).ok()) return nullptr;
  const Span<const RegionLayout> regions(layouts, plan->region_count());
  if (!arena->commit_lent(memory, regions).ok()) return nullptr;
  return arena->address(plan->tensor_placement(TensorIndex(0)));
}

TEST(PlanBytes, AreCommittedWithoutAHeap) {
  test::TestUpstream upstream;
  upstream.limit_to(0);
  SimpleMemoryArena arena(upstream.get());
  EXPECT_EQ(address_of_image(tiny_bytes(), device_memory, &arena), device_memory);
  const Result<PlanBytes> plan = PlanBytes::open(tiny_bytes(), kModel);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(arena.address(plan->tensor_placement(TensorIndex(1))), nullptr);
  EXPECT_EQ(arena.address(plan->tensor_placement(TensorIndex(2))), device_memory + 64);
  EXPECT_EQ(upstream.calls(), 0U);
}

TEST(PlanBytes, AreReadFromAnyAddress) {
  alignas(16) std::byte buffer[sizeof(kTinyBytes) + 16];
  const MemoryPlan plan = tiny_plan().make();
  for (std::size_t offset = 0; offset < 16; ++offset) {
    std::memcpy(buffer + offset, kTinyBytes, sizeof(kTinyBytes));
    const Result<PlanBytes> opened =
        PlanBytes::open({buffer + offset, sizeof(kTinyBytes)}, kTinyFingerprint);
    ASSERT_TRUE(opened.ok()) << offset;
    test::expect_same(*opened, plan);
  }
}

TEST(PlanBytes, CopyLayoutsWhereThereIsRoomForAll) {
  const Result<PlanBytes> plan = PlanBytes::open(tiny_bytes(), kTinyFingerprint);
  ASSERT_TRUE(plan.ok());
  RegionLayout layouts[3] = {{7, 8}, {7, 8}, {7, 8}};
  const Status status = plan->copy_layouts({layouts, 1});
  EXPECT_EQ(status.reason(), Reason::kBufferTooSmall);
  EXPECT_EQ(status.needed_bytes, 2 * sizeof(RegionLayout));
  EXPECT_EQ(status.available_bytes, sizeof(RegionLayout));
  EXPECT_EQ(layouts[0].size_bytes, 7U);
  ASSERT_TRUE(plan->copy_layouts(layouts).ok());
  EXPECT_EQ(layouts[0].size_bytes, 208U);
  EXPECT_EQ(layouts[1].alignment_bytes, 1U);
  EXPECT_EQ(layouts[2].size_bytes, 7U);
  EXPECT_TRUE(plan->copy_layouts({layouts, 2}).ok());
}

TEST(PlanBytes, AnswerZeroForRegionsThatTheyDoNotHave) {
  const Result<PlanBytes> plan = PlanBytes::open(tiny_bytes(), kTinyFingerprint);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->arena_bytes(), 192U);
  for (const RegionIndex region : {RegionIndex(2), RegionIndex(255), RegionIndex::none()}) {
    EXPECT_EQ(plan->arena_bytes(region), 0U);
    EXPECT_EQ(plan->lower_bound_bytes(region), 0U);
  }
  EXPECT_EQ(PlanBytes().arena_bytes(), 0U);
  EXPECT_EQ(PlanBytes().fingerprint(), 0U);
  EXPECT_TRUE(PlanBytes().copy_layouts({}).ok());
}

TEST(PlanBytes, HoldAPlanOfNothing) {
  test::expect_round_trip(MemoryPlan(), 0);
  EXPECT_EQ(test::encoded(MemoryPlan(), 0).size(), 28U);  // header 24 + checksum 4
  const Result<MemoryPlan> plan = decode(PlanBytes());
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->hash(), MemoryPlan().hash());
}

// 24 header + 30 region + 4 checksum = 58, and a placement is 1 + W.
TEST(PlanBytes, TakeTheFewestBytesThatHoldEveryOffset) {
  const std::uint64_t two_32 = std::uint64_t{1} << 32;
  EXPECT_EQ(encoded_bytes(plan_with(0, {})), 58U);
  EXPECT_EQ(encoded_bytes(plan_with(0, {0})), 58U + 2);
  EXPECT_EQ(encoded_bytes(plan_with(255 * 64, {64, 255 * 64})), 58U + 2 * 2);  // 1 and 255, x 2^6
  EXPECT_EQ(encoded_bytes(plan_with(256 * 64, {64, 256 * 64})), 58U + 2 * 3);  // 256 is wider
  EXPECT_EQ(encoded_bytes(plan_with(256 * 64, {256 * 64})), 58U + 2);          // 1 x 2^14
  EXPECT_EQ(encoded_bytes(plan_with(255 * 64, {64, 255 * 64, 1})), 58U + 3 * 3);  // 2^14 - 64, x 1
  EXPECT_EQ(encoded_bytes(plan_with(two_32, {1, two_32 - 1})), 58U + 2 * 5);
  EXPECT_EQ(encoded_bytes(plan_with(two_32, {1, two_32})), 58U + 2 * 6);
  EXPECT_EQ(encoded_bytes(plan_with(two_32 * 64, {64, two_32 * 64})), 58U + 2 * 6);
}

TEST(PlanBytes, HoldOffsetsUpToTheLargestArena) {
  for (const std::uint64_t arena : {kMaxArenaBytes, kMaxArenaBytes + 1, UINT64_MAX}) {
    EXPECT_EQ(encoded_bytes(plan_with(arena, {0, arena})), arena % 2 != 0 ? 58U + 18 : 58U + 4);
    EXPECT_EQ(encoded_bytes(plan_with(arena, {arena - 1, arena / 2, 1})), 58U + 27);
  }
  test::PlanCopy plan = plan_with(kMaxArenaBytes, {kMaxArenaBytes});
  plan.layouts[0].alignment_bytes = std::uint64_t{1} << 63;
  plan.regions[0].unit_bytes = std::uint64_t{1} << 63;
  plan.regions[0].lower_bound_bytes = UINT64_MAX;
  EXPECT_EQ(encoded_bytes(plan), 58U + 9);
}

TEST(PlanBytes, HoldUpTo255Regions) {
  test::PlanCopy plan = plan_with(8, {});
  plan.regions.resize(255, plan.regions[0]);
  plan.layouts.resize(255, plan.layouts[0]);
  plan.placements = {{RegionIndex(254), 8}, Placement::none()};
  EXPECT_EQ(encoded_bytes(plan), 24U + 30 * 255 + 2 * 2 + 4);
  plan.regions.push_back(plan.regions[0]);
  plan.layouts.push_back(plan.layouts[0]);
  EXPECT_EQ(encode(plan.make(), 1).status().reason(), Reason::kTooMany);
}

TEST(PlanBytes, AreNotMadeOfPlansThatTheyCouldNotSay) {
  const auto refusal = [](void (*change)(test::PlanCopy*)) {
    test::PlanCopy plan = tiny_plan();
    change(&plan);
    const Result<Array<std::byte>> bytes = encode(plan.make(), 1);
    EXPECT_FALSE(bytes.ok());
    return bytes.status();
  };
  Status status = refusal([](test::PlanCopy* plan) { plan->layouts[1].alignment_bytes = 3; });
  EXPECT_EQ(status.reason(), Reason::kNotPowerOfTwo);
  EXPECT_EQ(status.region, kPersistentRegion);
  status = refusal([](test::PlanCopy* plan) { plan->regions[0].unit_bytes = 0; });
  EXPECT_EQ(status.reason(), Reason::kNotPowerOfTwo);
  status = refusal([](test::PlanCopy* plan) { plan->layouts[0].size_bytes = 191; });
  EXPECT_EQ(status.reason(), Reason::kOutsideRegion);
  EXPECT_EQ(status.region, kReusableRegion);
  status = refusal([](test::PlanCopy* plan) { plan->placements[1].offset_bytes = 193; });
  EXPECT_EQ(status.reason(), Reason::kOutsideRegion);
  EXPECT_EQ(status.block, BlockIndex(1));
  status = refusal([](test::PlanCopy* plan) { plan->tensor_placements[2].region.value = 2; });
  EXPECT_EQ(status.reason(), Reason::kOutsideRegion);
  EXPECT_EQ(status.tensor, TensorIndex(2));
  status = refusal([](test::PlanCopy* plan) { plan->tensor_placements[1].offset_bytes = 1; });
  EXPECT_EQ(status.reason(), Reason::kOutsideRegion);
  EXPECT_EQ(status.tensor, TensorIndex(1));
}

TEST(PlanBytes, SayWhenMemoryIsRefused) {
  test::TestUpstream upstream;
  const MemoryPlan plan = tiny_plan().make();
  upstream.refuse_call(0);
  EXPECT_EQ(encode(plan, 1, upstream.get()).status().reason(), Reason::kUpstreamRefused);
  const Result<PlanBytes> bytes = PlanBytes::open(tiny_bytes(), kTinyFingerprint);
  ASSERT_TRUE(bytes.ok());
  std::uint64_t refused = 0;
  for (;; ++refused) {
    upstream.start_counting();
    upstream.refuse_call(refused);
    const Result<MemoryPlan> decoded = decode(*bytes, upstream.get());
    if (decoded.ok()) break;
    EXPECT_EQ(decoded.status().reason(), Reason::kUpstreamRefused);
    EXPECT_EQ(upstream.live_blocks(), 0U);
  }
  EXPECT_EQ(refused, 8U);  // four lists to read into, four of the plan
}

TEST(PlanBytes, GiveBackEveryPlanOfAGraph) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const TensorGraph graph = test::random_graph(seed);
    const auto options = PlannerOptions()
                             .set_default_alignment_bytes(std::uint64_t{1} << seed % 8)
                             .set_tail_padding_bytes(seed % 3 * 16)
                             .set_reuse(seed % 5 != 0);
    const Result<MemoryPlan> plan = ArenaPlanner(options).plan(graph);
    ASSERT_TRUE(plan.ok());
    test::expect_round_trip(*plan, fingerprint(graph));
    const std::vector<std::byte> bytes = test::encoded(*plan, fingerprint(graph));
    const Result<PlanBytes> opened = PlanBytes::open(bytes, fingerprint(graph));
    ASSERT_TRUE(opened.ok());
    const Result<MemoryPlan> decoded = decode(*opened);
    ASSERT_TRUE(decoded.ok());
    EXPECT_TRUE(verify(graph, *decoded).ok());
  }
}

// Several regions, blocks of no bytes, fixed offsets. A block of no bytes that is fixed behind its
// arena is what cannot be written, and nothing else.
TEST(PlanBytes, GiveBackEveryPlanOfAProblem) {
  std::uint32_t refusals = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    test::ProblemShape shape;
    shape.region_count = static_cast<std::uint32_t>(1 + seed % 4);
    shape.no_reuse_chance = 30;
    const test::OwnedProblem random = test::random_problem(seed, shape);
    const Result<MemoryPlan> plan = ArenaPlanner().plan(random.view());
    ASSERT_TRUE(plan.ok());
    const auto lies_behind = [&](Placement placement) {
      return placement.offset_bytes > plan->arena_bytes(placement.region);
    };
    const Span<const Placement> placements = plan->placements();
    const auto* const culprit = std::find_if(placements.begin(), placements.end(), lies_behind);
    if (culprit == placements.end()) {
      test::expect_round_trip(*plan, fingerprint(random.view()));
      continue;
    }
    ++refusals;
    const Status status = encode(*plan, 0).status();
    EXPECT_EQ(status.reason(), Reason::kOutsideRegion);
    EXPECT_EQ(random.blocks[status.block.value].size_bytes, 0U);
    EXPECT_EQ(status.block.value, culprit - placements.begin());
  }
  EXPECT_GT(refusals, 0U);
  EXPECT_LT(refusals, 60U);
}

}  // namespace
}  // namespace tenure
