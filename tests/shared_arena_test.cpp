// SPDX-License-Identifier: Apache-2.0

// Several models in one arena, one at a time.

#include "tenure/shared_arena.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "support/upstreams.h"

namespace tenure {
namespace {

using test::TestUpstream;

constexpr std::uint64_t kMb = 1'000'000;
constexpr Placement kRun{kReusableRegion, 0};
constexpr Placement kState{kPersistentRegion, 0};

struct Layouts {
  RegionLayout of[2];
  Layouts(std::uint64_t reusable, std::uint64_t persistent)
      : of{{reusable, 64, false}, {persistent, 64, true}} {}
  operator Span<const RegionLayout>() const { return of; }
};

// ncnn 3620, TensorFlow 44908: 50, 190 and 190 MB one after another, with 1, 2 and 3 of state.
TEST(SharedArena, IsAsLargeAsTheLargestModelWithEverybodysOwnMemory) {
  const Layouts a(50 * kMb, kMb);
  const Layouts b(190 * kMb, 2 * kMb);
  const Layouts c(190 * kMb, 3 * kMb);
  const Span<const RegionLayout> models[] = {a, b, c};
  const Result<LentSize> size = SharedArena::lent_size(models);
  ASSERT_TRUE(size.ok());
  EXPECT_EQ(size->aligned_bytes, 196 * kMb);  // 190 + 1 + 2 + 3, each a multiple of 64
  EXPECT_EQ(size->any_base_bytes, 196 * kMb + 63);

  TestUpstream upstream;
  SharedArena shared(upstream.get());
  ModelArena first(&shared);
  ModelArena second(&shared);
  ModelArena third(&shared);
  ASSERT_TRUE(shared.reserve(models).ok());
  ASSERT_TRUE(first.commit(a).ok());
  ASSERT_TRUE(second.commit(b).ok());
  ASSERT_TRUE(third.commit(c).ok());
  EXPECT_EQ(shared.shared_bytes(), 190 * kMb);
  EXPECT_EQ(upstream.live_bytes(), 196 * kMb);
  EXPECT_EQ(upstream.peak_bytes(), 196 * kMb);
  EXPECT_EQ(first.address(kRun), second.address(kRun));
  EXPECT_NE(first.address(kState), second.address(kState));
}

TEST(SharedArena, RefusesTwoModelsAtOnce) {
  SharedArena shared;
  ModelArena first(&shared);
  ModelArena second(&shared);
  ASSERT_TRUE(first.commit(Layouts(100, 0)).ok());
  ASSERT_TRUE(second.commit(Layouts(200, 0)).ok());
  ASSERT_TRUE(first.begin().ok());
  EXPECT_TRUE(shared.is_in_use());
  EXPECT_EQ(second.begin().reason(), Reason::kRunInProgress);
  EXPECT_EQ(first.begin().reason(), Reason::kRunInProgress);
  // What would move memory under the model that runs is refused too.
  EXPECT_EQ(second.commit(Layouts(10, 0)).reason(), Reason::kRunInProgress);
  EXPECT_EQ(shared.trim().reason(), Reason::kRunInProgress);
  EXPECT_EQ(shared.reserve({}).reason(), Reason::kRunInProgress);
  first.end();
  EXPECT_FALSE(shared.is_in_use());
  ASSERT_TRUE(second.begin().ok());
  second.end();
}

TEST(SharedArena, KeepsEachModelsStateWhileOthersRunAndGrow) {
  SharedArena shared;
  ModelArena first(&shared);
  ModelArena second(&shared);
  ASSERT_TRUE(first.commit(Layouts(64, 64)).ok());
  std::memset(first.address(kState), 11, 64);
  ASSERT_TRUE(second.commit(Layouts(1 << 20, 64)).ok());
  std::memset(second.address(kState), 22, 64);
  ASSERT_TRUE(second.begin(Fill::with(0xEE)).ok());
  EXPECT_TRUE(
      std::memcmp(second.address(kRun), std::vector<char>(1 << 20, '\xEE').data(), 1 << 20) == 0);
  second.end();
  ASSERT_TRUE(first.begin().ok());
  EXPECT_TRUE(first.moved());  // the second had the shared memory grow
  EXPECT_EQ(static_cast<const char*>(first.address(kState))[63], 11);
  EXPECT_EQ(static_cast<const char*>(second.address(kState))[63], 22);
  first.end();
  ASSERT_TRUE(first.begin().ok());
  EXPECT_FALSE(first.moved());
  first.end();
}

TEST(SharedArena, FillsOnlyWhatTheModelUses) {
  SharedArena shared;
  ModelArena large(&shared);
  ModelArena small(&shared);
  ASSERT_TRUE(large.commit(Layouts(128, 0)).ok());
  ASSERT_TRUE(small.commit(Layouts(64, 0)).ok());
  ASSERT_TRUE(large.begin(Fill::with(1)).ok());
  large.end();
  ASSERT_TRUE(small.begin(Fill::with(2)).ok());
  const auto* bytes = static_cast<const char*>(small.address(kRun));
  EXPECT_EQ(bytes[63], 2);
  EXPECT_EQ(bytes[64], 1);
  small.end();
}

TEST(SharedArena, TrimGivesBackWhatOnlyAGoneModelNeeded) {
  TestUpstream upstream;
  SharedArena shared(upstream.get());
  ModelArena stays(&shared);
  ASSERT_TRUE(stays.commit(Layouts(1000, 64)).ok());
  {
    ModelArena goes(&shared);
    ASSERT_TRUE(goes.commit(Layouts(9000, 64)).ok());
    ASSERT_TRUE(shared.trim().ok());
    EXPECT_EQ(shared.shared_bytes(), 9000U);
  }
  EXPECT_EQ(upstream.live_bytes(), 9000U + 64U);
  ASSERT_TRUE(stays.begin().ok());  // has seen all moves so far
  stays.end();
  ASSERT_TRUE(shared.trim().ok());
  EXPECT_EQ(shared.shared_bytes(), 1000U);
  EXPECT_EQ(upstream.live_bytes(), 1000U + 64U);
  ASSERT_TRUE(stays.begin().ok());
  EXPECT_TRUE(stays.moved());
  stays.end();
}

TEST(SharedArena, ARefusedCommitLeavesEveryModelAsItWas) {
  std::uint64_t k_max = 0;
  for (std::uint64_t call = 0;; ++call) {
    TestUpstream upstream;
    SharedArena shared(upstream.get());
    ModelArena first(&shared);
    ModelArena second(&shared);
    ASSERT_TRUE(first.commit(Layouts(100, 50)).ok());
    std::memset(first.address(kState), 11, 50);
    const std::uint64_t live_before = upstream.live_bytes();
    upstream.start_counting();
    upstream.refuse_call(call);
    const Status status = second.commit(Layouts(300, 70));
    upstream.refuse_call(TestUpstream::kNever);
    if (status.ok()) break;
    ++k_max;
    EXPECT_EQ(status.reason(), Reason::kUpstreamRefused);
    EXPECT_EQ(shared.shared_bytes(), 100U);
    ASSERT_TRUE(first.begin().ok());
    EXPECT_EQ(static_cast<const char*>(first.address(kState))[49], 11);
    std::memset(first.address(kRun), 1, 100);
    first.end();
    ASSERT_TRUE(shared.trim().ok());
    EXPECT_EQ(upstream.live_bytes(), live_before);
    ASSERT_TRUE(second.commit(Layouts(300, 70)).ok());
  }
  EXPECT_EQ(k_max, 2U);  // the shared region and the model's own
}

TEST(SharedArena, RefusesLayoutsThatNoArenaCanHave) {
  SharedArena shared;
  ModelArena model(&shared);
  const RegionLayout odd[] = {{64, 3, false}};
  EXPECT_EQ(model.commit(odd).reason(), Reason::kNotPowerOfTwo);
  const RegionLayout many[kMaxRegions + 1] = {};
  EXPECT_EQ(model.commit(many).reason(), Reason::kTooMany);
  const Span<const RegionLayout> models[] = {many};
  EXPECT_EQ(shared.reserve(models).reason(), Reason::kTooMany);
  EXPECT_EQ(SharedArena::lent_size(models).status().reason(), Reason::kTooMany);
  const Layouts half(SIZE_MAX / 2 - 100, 0);
  const Layouts state(0, 200);
  const Span<const RegionLayout> huge[] = {half, state};
  EXPECT_EQ(SharedArena::lent_size(huge).status().reason(), Reason::kAddressSpace);
  EXPECT_EQ(shared.shared_bytes(), 0U);
  EXPECT_TRUE(model.commit(Layouts(64, 64)).ok());
}

// Each thread runs a model of its own; whoever begins has the shared bytes to itself.
TEST(SharedArena, HasOneUserAtATimeUnderThreads) {
  constexpr int kThreads = 4;
  constexpr int kRuns = 2000;
  SharedArena shared;
  std::vector<ModelArena*> models;
  for (int i = 0; i < kThreads; ++i) {
    models.push_back(new ModelArena(&shared));
    ASSERT_TRUE(models.back()->commit(Layouts(64, 0)).ok());
  }
  std::atomic<int> done{0};
  std::atomic<int> clashes{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int run = 0; run < kRuns;) {
        if (!models[static_cast<std::size_t>(i)]->begin().ok()) {
          std::this_thread::yield();
          continue;
        }
        auto* owner = static_cast<int*>(models[static_cast<std::size_t>(i)]->address(kRun));
        *owner = i;
        if (*owner != i) ++clashes;
        models[static_cast<std::size_t>(i)]->end();
        ++run;
        ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, kThreads * kRuns);
  EXPECT_EQ(clashes, 0);
  for (const ModelArena* model : models) delete model;
}

}  // namespace
}  // namespace tenure
