// SPDX-License-Identifier: Apache-2.0

#include "tenure/model_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "support/live_blocks.h"
#include "support/random.h"
#include "support/statuses.h"
#include "support/texts.h"
#include "support/upstreams.h"
#include "tenure/arena.h"
#include "tenure/model_area.h"

namespace tenure {
namespace {

using test::kMegabyte;

ModelNeeds needs(std::size_t load_bytes, std::size_t run_bytes) {
  ModelNeeds result;
  result.load_bytes = load_bytes;
  result.run_bytes = run_bytes;
  return result;
}

// A pool without a page behind it until it is touched.
ModelPoolOptions options(ModelUse use) {
  return ModelPoolOptions().set_use(use).set_upstream(page_upstream()).set_poison(false);
}

void expect_whole_space_free(ModelPool& pool) {
  EXPECT_EQ(pool.used_bytes(), 0U);
  ModelArea all(pool, "all");
  ASSERT_TRUE(all.enter(needs(pool.total_bytes() / 64 * 64, 0)).ok());
  void* block = all.fastMalloc(pool.total_bytes() / 64 * 64);
  EXPECT_NE(block, nullptr);
  all.fastFree(block);
  EXPECT_TRUE(all.leave().ok());
}

// A4 (ncnn 3620, TensorFlow 44908).
TEST(ModelPool, IsSizedByPeakForModelsInTurnAndBySumForModelsAtOnce) {
  const ModelNeeds models[] = {needs(3 * kMegabyte, 50 * kMegabyte),
                               needs(2 * kMegabyte, 190 * kMegabyte),
                               needs(kMegabyte, 190 * kMegabyte)};
  EXPECT_EQ(*bytes_by_peak(models, ModelPoolOptions()), 196 * kMegabyte);  // 3 + 2 + 1 + 190
  EXPECT_EQ(*bytes_by_sum(models, ModelPoolOptions()), 436 * kMegabyte);   // 6 + 50 + 190 + 190
  EXPECT_EQ(*bytes_by_peak({}, ModelPoolOptions()), 0U);
}

TEST(ModelPool, RoundsPartsUpWithTheirTails) {
  const ModelNeeds models[] = {needs(1, 65), needs(0, 64)};
  const ModelPoolOptions plain;
  EXPECT_EQ(*bytes_by_sum(models, plain), 256U);   // 64, 128 and 64
  EXPECT_EQ(*bytes_by_peak(models, plain), 192U);  // 64 and 128
  const ModelPoolOptions with_tail = ModelPoolOptions().set_tail_bytes(64);
  EXPECT_EQ(*bytes_by_sum(models, with_tail), 448U);  // 128, 192 and 128
}

TEST(ModelPool, DiscardsWhatLiesBetweenModelsAndNothingElse) {
  for (const ModelUse use : {ModelUse::kAtOnce, ModelUse::kInTurn}) {
    test::TestUpstream upstream;
    ModelPool pool(options(use).set_upstream(upstream.get_discarding()));
    EXPECT_FALSE(pool.discard_unused());  // no memory
    ASSERT_TRUE(pool.reserve(100000).ok());
    ModelArea first(pool, "first");
    ModelArea second(pool, "second");
    ModelArea third(pool, "third");
    for (ModelArea* area : {&first, &second, &third}) {
      ASSERT_TRUE(area->enter(needs(5000, 10000)).ok());
    }
    ASSERT_TRUE(second.leave().ok());
    test::LiveBlocks live;
    std::vector<std::pair<ModelArea*, void*>> blocks;
    for (ModelArea* area : {&first, &third}) {
      blocks.emplace_back(area, area->fastMalloc(5000));
      live.add(blocks.back().second, 5000, 64);
    }
    ASSERT_TRUE(third.begin_run().ok());
    void* scratch = third.fastMalloc(10000);
    live.add(scratch, 10000, 64);
    EXPECT_TRUE(pool.discard_unused());
    live.expect_all_intact();
    EXPECT_EQ(upstream.discarded_bytes(), 100000 / 64 * 64 - pool.used_bytes());
    third.fastFree(scratch);
    for (const auto& [area, block] : blocks) area->fastFree(block);
    EXPECT_TRUE(third.end_run().ok());
  }
}

TEST(ModelPool, RefusesSizesBeyondTheAddressSpace) {
  const ModelNeeds half[] = {needs(SIZE_MAX / 2 - 64, 0)};
  EXPECT_TRUE(bytes_by_sum(half, ModelPoolOptions()).ok());
  const ModelNeeds twice[] = {half[0], half[0]};
  EXPECT_EQ(bytes_by_sum(twice, ModelPoolOptions()).status().reason(), Reason::kAddressSpace);
  const ModelNeeds both[] = {needs(SIZE_MAX / 2 - 64, SIZE_MAX / 2 - 64)};
  EXPECT_EQ(bytes_by_peak(both, ModelPoolOptions()).status().reason(), Reason::kAddressSpace);
  for (const std::size_t bytes : {SIZE_MAX / 2 + 1, SIZE_MAX - 63, std::size_t{SIZE_MAX}}) {
    for (const ModelNeeds& model : {needs(bytes, 0), needs(0, bytes)}) {
      EXPECT_EQ(bytes_by_peak({&model, 1}, ModelPoolOptions()).status().reason(),
                Reason::kAddressSpace);
      ModelPool pool;
      ASSERT_TRUE(pool.reserve(1024).ok());
      ModelArea area(pool, "large");
      EXPECT_EQ(area.enter(model).reason(), Reason::kAddressSpace);
    }
  }
  EXPECT_EQ(bytes_by_sum({}, ModelPoolOptions().set_alignment_bytes(3)).status().reason(),
            Reason::kNotPowerOfTwo);
}

TEST(ModelPool, TakesNeedsFromThePlansOfItsModels) {
  const RegionLayout layouts[] = {{1000, 64, false}, {100, 16, true}, {10, 256, false}};
  const Result<ModelNeeds> model = needs_of(layouts);
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->run_bytes, 1226U);  // 1000 + 24 padding + 10, and 256 - 64 of the place
  EXPECT_EQ(model->load_bytes, 100U);
  const ModelPoolOptions aligned = ModelPoolOptions().set_alignment_bytes(256);
  EXPECT_EQ(needs_of(layouts, aligned)->run_bytes, 1034U);
  const RegionLayout widest[] = {{SIZE_MAX / 2 - 256, 256, true}};
  EXPECT_EQ(needs_of(widest, aligned)->load_bytes, SIZE_MAX / 2 - 256);
  const RegionLayout bad[] = {{8, 8, true}, {8, 7, true}};
  EXPECT_EQ(needs_of(bad).status().reason(), Reason::kNotPowerOfTwo);
  EXPECT_EQ(needs_of(bad).status().region, RegionIndex(1));
  const RegionLayout large[] = {{UINT64_MAX, 1, true}};
  EXPECT_EQ(needs_of(large).status().reason(), Reason::kAddressSpace);
}

TEST(ModelPool, ThreeModelsAtOnceFitByTheirSum) {
  ModelPool pool(options(ModelUse::kAtOnce));
  ASSERT_TRUE(pool.reserve(200 * kMegabyte).ok());
  {
    ModelArea first(pool, "first");
    ModelArea second(pool, "second");
    ModelArea third(pool, "third");
    ASSERT_TRUE(first.enter(needs(5 * kMegabyte, 50 * kMegabyte)).ok());
    ASSERT_TRUE(second.enter(needs(30 * kMegabyte, 0)).ok());
    ASSERT_TRUE(third.enter(needs(0, 70 * kMegabyte)).ok());
    EXPECT_EQ(pool.used_bytes(), 155 * kMegabyte);
    test::LiveBlocks live;
    for (ModelArea* area : {&first, &second, &third}) ASSERT_TRUE(area->begin_run().ok());
    void* one = first.fastMalloc(1000);
    void* three = third.fastMalloc(1000);
    live.add(one, 1000, 64);
    live.add(three, 1000, 64);
    EXPECT_EQ(second.fastMalloc(1), nullptr);  // it needs nothing for a run
    live.remove(one);
    first.fastFree(one);
    ASSERT_TRUE(first.end_run().ok());  // others stay live
    live.expect_all_intact();
    third.fastFree(three);
    ASSERT_TRUE(third.end_run().ok());
    ASSERT_TRUE(second.end_run().ok());
  }
  expect_whole_space_free(pool);
}

// 60 and 40 in 150 leave 50. Whichever of the two goes, its room and the gap are one piece: no
// model is refused although there would be room for it.
TEST(ModelPool, OneOfTwoModelsIsSwappedForAThird) {
  for (const bool first_goes : {true, false}) {
    ModelPool pool(options(ModelUse::kAtOnce));
    ASSERT_TRUE(pool.reserve(150 * kMegabyte).ok());
    ModelArea first(pool, "first");
    ModelArea second(pool, "second");
    ModelArea third(pool, "third");
    ASSERT_TRUE(first.enter(needs(60 * kMegabyte, 0)).ok());
    ASSERT_TRUE(second.enter(needs(40 * kMegabyte, 0)).ok());
    const Status status = third.enter(needs(80 * kMegabyte, 0));
    EXPECT_EQ(status.reason(), Reason::kPoolExhausted);
    EXPECT_EQ(status.needed_bytes, 80 * kMegabyte);
    EXPECT_EQ(status.available_bytes, 50 * kMegabyte);
    ModelArea& stays = first_goes ? second : first;
    auto* kept = static_cast<unsigned char*>(stays.fastMalloc(1000));
    std::memset(kept, 0x42, 1000);
    ASSERT_TRUE((first_goes ? first : second).leave().ok());
    ASSERT_TRUE(third.enter(needs(80 * kMegabyte, 0)).ok());
    std::memset(third.fastMalloc(1000), 0, 1000);
    EXPECT_EQ(kept[999], 0x42);
    stays.fastFree(kept);
    EXPECT_EQ(third.leave().live_blocks, 1U);
  }
}

// A4: running two at once is refused.
TEST(ModelPool, ModelsInTurnShareTheMemoryOfTheirRuns) {
  const ModelNeeds models[] = {needs(1000, 5000), needs(2000, 19000), needs(500, 19000)};
  ModelPool pool(options(ModelUse::kInTurn));
  const Result<std::size_t> bytes = bytes_by_peak(models, pool.options());
  ASSERT_TRUE(bytes.ok());
  ASSERT_TRUE(pool.reserve(*bytes).ok());
  {
    std::optional<ModelArea> areas[3];
    test::LiveBlocks loaded;
    for (std::size_t i = 0; i < 3; ++i) {
      areas[i].emplace(pool, "model");
      ASSERT_TRUE(areas[i]->enter(models[i]).ok());
      loaded.add(areas[i]->fastMalloc(models[i].load_bytes), models[i].load_bytes, 64);
    }
    EXPECT_EQ(pool.used_bytes(), *bytes);
    for (int round = 0; round < 2; ++round) {
      for (std::size_t i = 0; i < 3; ++i) {
        ASSERT_TRUE(areas[i]->begin_run().ok());
        EXPECT_EQ(areas[(i + 1) % 3]->begin_run().reason(), Reason::kRunInProgress);
        EXPECT_EQ(areas[i]->begin_run().reason(), Reason::kRunInProgress);
        void* scratch = areas[i]->fastMalloc(models[i].run_bytes);
        ASSERT_NE(scratch, nullptr);
        std::memset(scratch, 0xEE, models[i].run_bytes);
        loaded.expect_all_intact();
        areas[i]->fastFree(scratch);
        ASSERT_TRUE(areas[i]->end_run().ok());
      }
    }
    EXPECT_EQ(areas[0]->recorded_needs().load_bytes, 1024U);  // 1000 + 24 rounding
    for (auto& area : areas) area->force_end_run();
  }
  expect_whole_space_free(pool);
}

TEST(ModelPool, ARunStaysWhereItIsWhileOtherModelsComeAndGo) {
  ModelPool pool(options(ModelUse::kInTurn));
  ASSERT_TRUE(pool.reserve(10240).ok());
  ModelArea small(pool, "small");
  ModelArea large(pool, "large");
  ModelArea late(pool, "late");
  ASSERT_TRUE(small.enter(needs(1024, 1024)).ok());
  ASSERT_TRUE(large.enter(needs(1024, 8192)).ok());
  ASSERT_TRUE(small.begin_run().ok());
  auto* block = static_cast<unsigned char*>(small.fastMalloc(1024));
  std::memset(block, 0x42, 1024);
  EXPECT_EQ(late.enter(needs(64, 0)).reason(), Reason::kPoolExhausted);
  ASSERT_TRUE(large.leave().ok());
  ASSERT_TRUE(late.enter(needs(8192, 0)).ok());  // 10240 - 1024 - 1024
  std::memset(late.fastMalloc(8192), 0, 8192);
  EXPECT_EQ(block[0], 0x42);
  EXPECT_EQ(small.run_memory().data(), reinterpret_cast<std::byte*>(block));
  const Status status = large.enter(needs(0, 2048));  // would lie on what is loaded
  EXPECT_EQ(status.reason(), Reason::kPoolExhausted);
  EXPECT_EQ(status.needed_bytes, 2048U);
  EXPECT_EQ(status.available_bytes, 1024U);
  small.fastFree(block);
  EXPECT_TRUE(small.end_run().ok());
}

// The trap: what ncnn packs while it loads comes from the blob allocator, and must survive.
TEST(ModelArea, WhatLoadingTakesSurvivesEveryRun) {
  ModelPool pool;
  ASSERT_TRUE(pool.reserve(1 << 16).ok());
  ModelArea area(pool, "mobilenet");
  ASSERT_TRUE(area.enter(needs(8192, 16384)).ok());
  test::LiveBlocks loaded;
  std::vector<void*> weights;
  for (int i = 0; i < 8; ++i) {
    weights.push_back(area.fastMalloc(900));
    loaded.add(weights.back(), 900, 64);
  }
  void* first_scratch = nullptr;
  for (int run = 0; run < 3; ++run) {
    ASSERT_TRUE(area.begin_run().ok());
    void* scratch = area.fastMalloc(16000);
    ASSERT_NE(scratch, nullptr);
    if (run == 0) first_scratch = scratch;
    EXPECT_EQ(scratch, first_scratch);  // addresses repeat
    std::memset(scratch, 0xEE, 16000);
    EXPECT_EQ(area.end_run().live_blocks, 1U);
    EXPECT_TRUE(area.is_running());
    if (run == 1) {
      area.force_end_run();
      area.fastFree(scratch);  // too late, and harmless
    } else {
      area.fastFree(scratch);
      ASSERT_TRUE(area.end_run().ok());
    }
    loaded.expect_all_intact();
  }
  EXPECT_EQ(area.recorded_needs().run_bytes, 16000U);  // 250 x 64
  EXPECT_EQ(area.recorded_needs().load_bytes, 7680U);  // 8 x (900 + 60 rounding)
  ASSERT_TRUE(area.begin_run().ok());
  area.fastFree(weights[0]);  // of the load part, though a run is on
  EXPECT_EQ(area.statistics().live_blocks, 7U);
  EXPECT_EQ(area.leave().reason(), Reason::kRunInProgress);
  ASSERT_TRUE(area.end_run().ok());
  EXPECT_EQ(area.leave().live_blocks, 7U);
  for (std::size_t i = 1; i < weights.size(); ++i) area.fastFree(weights[i]);
  EXPECT_EQ(area.statistics().stray_frees, 1U);
  ASSERT_TRUE(area.leave().ok());
  EXPECT_EQ(area.recorded_needs().load_bytes, 7680U);
  EXPECT_TRUE(area.leave().ok());
  EXPECT_EQ(area.fastMalloc(1), nullptr);
  expect_whole_space_free(pool);
}

// M3: or one that comes into the same place again would forget that it waits.
TEST(ModelArea, StaysWhileLateFreesOfARunMayCome) {
  ModelPool pool;
  ASSERT_TRUE(pool.reserve(4096).ok());
  ModelArea area(pool, "again");
  ASSERT_TRUE(area.enter(needs(1024, 1024)).ok());
  ASSERT_TRUE(area.begin_run().ok());
  void* late = area.fastMalloc(64);
  area.force_end_run();
  EXPECT_EQ(area.leave().live_blocks, 1U);
  EXPECT_EQ(area.enter(needs(1024, 1024)).reason(), Reason::kHasPlace);
  area.fastFree(late);
  ASSERT_TRUE(area.leave().ok());
  EXPECT_EQ(area.recorded_needs().run_bytes, 64U);
  ASSERT_TRUE(area.enter(needs(1024, 1024)).ok());
  ASSERT_TRUE(area.begin_run().ok());
  area.fastFree(area.fastMalloc(64));
  EXPECT_EQ(area.statistics().stray_frees, 1U);
  EXPECT_TRUE(area.end_run().ok());
}

TEST(ModelArea, NeverTakesMoreThanItsPlace) {
  ModelPool pool;
  ASSERT_TRUE(pool.reserve(4096).ok());
  ModelArea area(pool, "small");
  ASSERT_TRUE(area.enter(needs(100, 200)).ok());
  EXPECT_EQ(area.enter(needs(1, 1)).reason(), Reason::kHasPlace);
  EXPECT_EQ(area.fastMalloc(129), nullptr);
  void* load = area.fastMalloc(128);
  EXPECT_NE(load, nullptr);
  EXPECT_EQ(area.fastMalloc(1), nullptr);
  ASSERT_TRUE(area.begin_run().ok());
  EXPECT_EQ(area.fastMalloc(257), nullptr);
  void* run = area.allocate(200, 64);
  EXPECT_NE(run, nullptr);
  EXPECT_EQ(area.statistics().refusals, 3U);
  EXPECT_EQ(area.statistics().held_bytes, 384U);  // 128 + 256
  area.fastFree(run);
  area.fastFree(load);
  area.fastFree(nullptr);
  EXPECT_EQ(area.statistics().stray_frees, 0U);
  EXPECT_TRUE(area.end_run().ok());
  EXPECT_EQ(pool.reserve(8192).reason(), Reason::kBlocksLive);  // there is a model
  EXPECT_TRUE(area.leave().ok());
  EXPECT_TRUE(pool.reserve(8192).ok());
}

TEST(ModelArea, TailsStayReadableInEveryPart) {
  ModelPool pool(ModelPoolOptions().set_tail_bytes(64).set_fill(Fill::with(1)));
  ASSERT_TRUE(pool.reserve(4096).ok());
  ModelArea area(pool, "tails");
  ASSERT_TRUE(area.enter(needs(128, 256)).ok());
  const auto* load = static_cast<volatile const unsigned char*>(area.fastMalloc(128));
  ASSERT_NE(load, nullptr);
  ASSERT_TRUE(area.begin_run().ok());
  const auto* run = static_cast<volatile const unsigned char*>(area.fastMalloc(256));
  ASSERT_NE(run, nullptr);
  unsigned sum = 0;
  for (std::size_t i = 0; i < 192; ++i) sum += load[i];
  for (std::size_t i = 0; i < 320; ++i) sum += run[i];
  EXPECT_GE(sum, 384U);
  area.force_end_run();
}

TEST(ModelArea, LendsTheMemoryOfARunToAPlannedArena) {
  const RegionLayout layouts[] = {{1000, 64, false}};
  const Result<ModelNeeds> model = needs_of(layouts);
  ModelPool pool;
  ASSERT_TRUE(pool.reserve(4096).ok());
  ModelArea area(pool, "planned");
  ASSERT_TRUE(area.enter(*model).ok());
  SimpleMemoryArena arena;
  ASSERT_TRUE(arena.commit_lent(area.run_memory(), layouts).ok());
  EXPECT_EQ(arena.region(RegionIndex(0)).data(), area.run_memory().data());
  std::memset(arena.region(RegionIndex(0)).data(), 1, 1000);
}

TEST(ModelArea, RunsNowhereBeforeItHasAPlace) {
  ModelPool pool(options(ModelUse::kInTurn));
  ASSERT_TRUE(pool.reserve(4096).ok());
  ModelArea outside(pool, "outside");
  ModelArea inside(pool, "inside");
  ASSERT_TRUE(inside.enter(needs(64, 64)).ok());
  EXPECT_EQ(outside.begin_run().reason(), Reason::kHasNoPlace);
  EXPECT_FALSE(outside.is_running());
  ASSERT_TRUE(inside.begin_run().ok());
  EXPECT_EQ(outside.begin_run().reason(), Reason::kHasNoPlace);
  EXPECT_TRUE(inside.end_run().ok());
}

TEST(ModelArea, LeavesByForceWhateverIsLive) {
  ModelPool pool(options(ModelUse::kInTurn));
  ASSERT_TRUE(pool.reserve(4096).ok());
  ModelArea area(pool, "never frees");
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(area.enter(needs(1024, 1024)).ok());
    EXPECT_NE(area.fastMalloc(1000), nullptr);
    ASSERT_TRUE(area.begin_run().ok());
    EXPECT_NE(area.fastMalloc(100), nullptr);
    area.force_leave();
    EXPECT_FALSE(area.is_running());
    EXPECT_EQ(area.statistics().live_blocks, 0U);
    EXPECT_EQ(area.recorded_needs().load_bytes, 1024U);  // 1000 + 24 rounding
    area.force_leave();
  }
  expect_whole_space_free(pool);
}

TEST(ModelArea, LendsTheMemoryOfEachRunToAPlannedArena) {
  const RegionLayout layouts[] = {{1000, 64, false}};
  const Result<ModelNeeds> model = needs_of(layouts);
  for (const ModelUse use : {ModelUse::kAtOnce, ModelUse::kInTurn}) {
    ModelPool pool(ModelPoolOptions().set_use(use));
    ASSERT_TRUE(pool.reserve(4096).ok());
    ModelArea planned(pool, "planned");
    ModelArea other(pool, "other");
    ASSERT_TRUE(planned.enter(*model).ok());
    ASSERT_TRUE(other.enter(needs(0, 1024)).ok());
    for (int run = 0; run < 3; ++run) {
      ASSERT_TRUE(planned.begin_run().ok());
      SimpleMemoryArena arena;
      ASSERT_TRUE(arena.commit_lent(planned.run_memory(), layouts).ok());
      std::memset(arena.region(RegionIndex(0)).data(), run, 1000);
      ASSERT_TRUE(planned.end_run().ok());
      ASSERT_TRUE(other.begin_run().ok());
      void* block = other.fastMalloc(1000);
      std::memset(block, run, 1000);
      other.fastFree(block);
      ASSERT_TRUE(other.end_run().ok());
    }
  }
}

// Under ThreadSanitizer what both write shows two that run at once, too.
TEST(ModelPool, ModelsInTurnRunOneAtATimeOnAnyThreads) {
  ModelPool pool(ModelPoolOptions().set_use(ModelUse::kInTurn));
  ASSERT_TRUE(pool.reserve(1 << 16).ok());
  ModelArea areas[] = {{pool, "first"}, {pool, "second"}};
  std::atomic<int> running{0};
  std::atomic<int> collisions{0};
  std::vector<std::thread> threads;
  for (ModelArea& area : areas) {
    ASSERT_TRUE(area.enter(needs(64, 4096)).ok());
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        if (!area.begin_run().ok()) continue;
        if (running.fetch_add(1) != 0) ++collisions;
        void* block = area.fastMalloc(64);
        std::memset(block, 1, 64);
        area.fastFree(block);
        running.fetch_sub(1);
        EXPECT_TRUE(area.end_run().ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(collisions.load(), 0);
}

// A place begins where the pool is aligned, a region where it wants to.
TEST(ModelArea, APlannedArenaWithALargerAlignmentFitsInAnyPlace) {
  const RegionLayout layouts[] = {{1000, 256, false}, {100, 512, true}};
  const ModelNeeds models[] = {needs(64, 0), *needs_of(layouts)};
  ModelPool pool;
  ASSERT_TRUE(pool.reserve(*bytes_by_sum(models, pool.options())).ok());
  ModelArea before(pool, "before");
  ModelArea area(pool, "planned");
  ASSERT_TRUE(before.enter(models[0]).ok());
  ASSERT_TRUE(area.enter(models[1]).ok());
  SimpleMemoryArena run;
  SimpleMemoryArena load;
  EXPECT_TRUE(run.commit_lent(area.run_memory(), {layouts, 1}).ok());
  ASSERT_TRUE(load.commit_lent(area.load_memory(), {layouts + 1, 1}).ok());
  std::memset(load.region(RegionIndex(0)).data(), 1, 100);
}

TEST(ModelArea, EndingWithLiveBlocksIsReportedAndFreesItsPlace) {
  test::CollectedText text;
  ModelPool pool(ModelPoolOptions().set_sink(text.sink()));
  ASSERT_TRUE(pool.reserve(4096).ok());
  {
    ModelArea area(pool, "segmenter");
    ASSERT_TRUE(area.enter(needs(1024, 1024)).ok());
    EXPECT_NE(area.fastMalloc(100), nullptr);
    ASSERT_TRUE(area.begin_run().ok());
    EXPECT_NE(area.fastMalloc(100), nullptr);
  }
  EXPECT_EQ(text.text(), "segmenter: destroyed with 2 blocks live, 256 bytes\n");
  expect_whole_space_free(pool);
}

TEST(ModelArea, ServesSeveralThreadsInARun) {
  ModelPool pool;
  ASSERT_TRUE(pool.reserve(1 << 20).ok());
  ModelArea first(pool, "first");
  ModelArea second(pool, "second");
  ASSERT_TRUE(first.enter(needs(1024, 1 << 18)).ok());
  ASSERT_TRUE(second.enter(needs(1024, 1 << 18)).ok());
  std::vector<std::thread> threads;
  for (ModelArea* area : {&first, &second}) {
    ASSERT_TRUE(area->begin_run().ok());
    for (int thread = 0; thread < 3; ++thread) {
      threads.emplace_back([area, thread] {
        for (int i = 0; i < 300; ++i) {
          auto* block = static_cast<unsigned char*>(area->fastMalloc(200));
          if (block == nullptr) continue;
          std::memset(block, thread, 200);
          EXPECT_EQ(block[199], thread);
          area->fastFree(block);
        }
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  for (ModelArea* area : {&first, &second}) {
    EXPECT_TRUE(area->end_run().ok());
    EXPECT_EQ(area->statistics().stray_frees, 0U);
    EXPECT_TRUE(area->leave().ok());
  }
  expect_whole_space_free(pool);
}

TEST(ModelPool, KeepsPlacesApartWhateverComesAndGoes) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    test::Random random(seed);
    const ModelUse use = random.chance(50) ? ModelUse::kAtOnce : ModelUse::kInTurn;
    ModelPool pool(ModelPoolOptions().set_use(use));
    ASSERT_TRUE(pool.reserve(random.size_between(20000, 60000)).ok());
    {
      std::optional<ModelArea> areas[6];
      void* blocks[6] = {};
      std::size_t sizes[6] = {};
      test::LiveBlocks live;
      for (int step = 0; step < 200; ++step) {
        const std::size_t i = random.size_below(6);
        if (blocks[i] != nullptr) {
          ASSERT_NO_FATAL_FAILURE(live.remove(blocks[i]));
          areas[i]->fastFree(blocks[i]);
          blocks[i] = nullptr;
          ASSERT_TRUE(areas[i]->leave().ok());
          continue;
        }
        areas[i].emplace(pool, "any");
        sizes[i] = random.size_between(1, 15000);
        const ModelNeeds wanted = needs(sizes[i], random.size_below(9000));
        if (!areas[i]->enter(wanted).ok()) continue;
        blocks[i] = areas[i]->fastMalloc(sizes[i]);
        ASSERT_NO_FATAL_FAILURE(live.add(blocks[i], sizes[i], 64));
        ASSERT_TRUE(areas[i]->begin_run().ok());
        const std::size_t run_bytes = wanted.run_bytes;
        void* scratch = run_bytes == 0 ? nullptr : areas[i]->fastMalloc(run_bytes);
        if (run_bytes != 0) {
          ASSERT_NE(scratch, nullptr);
          std::memset(scratch, 0, run_bytes);
        }
        areas[i]->fastFree(scratch);
        ASSERT_TRUE(areas[i]->end_run().ok());
        ASSERT_LE(pool.used_bytes(), pool.total_bytes());
        live.expect_all_intact();
      }
      for (std::size_t i = 0; i < 6; ++i) {
        if (blocks[i] != nullptr) areas[i]->fastFree(blocks[i]);
      }
    }
    expect_whole_space_free(pool);
  }
}

}  // namespace
}  // namespace tenure
