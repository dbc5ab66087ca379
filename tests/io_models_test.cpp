// SPDX-License-Identifier: Apache-2.0

// Real models: every plan is proven, and lower bounds agree with live ranges that another program
// took from the same files.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support/data_dir.h"
#include "tenure/io/csv.h"
#include "tenure/io/tflite.h"
#include "tenure/lifetime.h"
#include "tenure/planner.h"
#include "tenure/problem.h"
#include "tenure/verify.h"

namespace tenure {
namespace {

namespace fs = std::filesystem;

constexpr io::TfliteProfile kProfiles[] = {io::TfliteProfile::kStrict, io::TfliteProfile::kLitert,
                                           io::TfliteProfile::kTflm};

std::vector<fs::path> model_paths() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(test::data_dir() + "/models")) {
    if (entry.path().extension() == ".tflite") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

io::Result<io::TfliteModel> read(const fs::path& path, io::TfliteProfile profile,
                                 bool fold = false) {
  return io::read_tflite(path.string(), io::TfliteOptions().set_profile(profile).set_fold(fold));
}

// Fails unless the plan passes both proofs.
MemoryPlan plan_and_prove(const io::TfliteSubgraph& subgraph) {
  const Result<Lifetimes> lifetimes = LifetimeAnalyzer().analyze(subgraph.graph);
  EXPECT_TRUE(lifetimes.ok());
  if (!lifetimes.ok()) return {};
  Result<MemoryPlan> plan = ArenaPlanner().plan(*lifetimes);
  EXPECT_TRUE(plan.ok());
  if (!plan.ok()) return {};
  EXPECT_TRUE(verify(lifetimes->problem(), *plan).ok());
  EXPECT_TRUE(verify(subgraph.graph, *plan).ok());
  return static_cast<MemoryPlan&&>(plan.value());
}

TEST(TfliteModels, ArePlannedAndProvenUnderEveryProfile) {
  TENURE_SKIP_WITHOUT_DATA();
  EXPECT_EQ(model_paths().size(), 17U);
  for (const fs::path& path : model_paths()) {
    for (const auto profile : kProfiles) {
      const auto model = read(path, profile);
      ASSERT_TRUE(model.ok()) << model.error().message;
      for (const io::TfliteSubgraph& subgraph : model->subgraphs) {
        SCOPED_TRACE(path.string() + " " + subgraph.name);
        plan_and_prove(subgraph);
      }
    }
  }
}

// Weights in float16 that DEQUANTIZE turns into float32.
TEST(TfliteModels, ArePlannedAndProvenWithConstantsFolded) {
  TENURE_SKIP_WITHOUT_DATA();
  for (const auto profile : kProfiles) {
    std::map<std::string, std::uint64_t> kept_bytes;
    for (const fs::path& path : model_paths()) {
      SCOPED_TRACE(path.string());
      const auto model = read(path, profile);
      const auto folded = read(path, profile, true);
      ASSERT_TRUE(model.ok()) << model.error().message;
      ASSERT_TRUE(folded.ok()) << folded.error().message;
      for (std::size_t i = 0; i < model->subgraphs.size(); ++i) {
        const MemoryPlan before = plan_and_prove(model->subgraphs[i]);
        const MemoryPlan after = plan_and_prove(folded->subgraphs[i]);
        const std::uint64_t more = after.region(kPersistentRegion).arena_bytes -
                                   before.region(kPersistentRegion).arena_bytes;
        EXPECT_EQ(more != 0, !folded->subgraphs[i].run_once.empty());
        EXPECT_LE(after.region(kReusableRegion).arena_bytes,
                  before.region(kReusableRegion).arena_bytes);
        if (more != 0) kept_bytes[path.stem().string()] += more;
      }
    }
    EXPECT_EQ(kept_bytes,
              (std::map<std::string, std::uint64_t>{{"face_detection_short_range", 406464},
                                                    {"face_landmark_with_attention", 4757632},
                                                    {"hand_landmark_full", 10863104},
                                                    {"pose_landmark_lite", 5453696},
                                                    {"selfie_segmentation", 426240}}));
  }
}

TEST(TfliteModels, HaveTheLowerBoundOfTheirLifetimeFiles) {
  TENURE_SKIP_WITHOUT_DATA();
  int compared_count = 0;
  for (const fs::path& path : model_paths()) {
    const auto model = read(path, io::TfliteProfile::kStrict);
    ASSERT_TRUE(model.ok()) << model.error().message;
    for (std::size_t i = 0; i < model->subgraphs.size(); ++i) {
      const std::string part = i == 0 ? "" : ".sg" + std::to_string(i);
      const std::string csv_path =
          test::data_dir() + "/lifetimes/models/" + path.stem().string() + part + ".csv";
      if (!fs::exists(csv_path)) continue;
      SCOPED_TRACE(csv_path);
      const auto csv = io::read_csv(csv_path);
      ASSERT_TRUE(csv.ok()) << csv.error().message;
      const Result<RegionBound> expected = lower_bound(csv->problem(), kReusableRegion);
      ASSERT_TRUE(expected.ok());
      const Result<Lifetimes> lifetimes = LifetimeAnalyzer().analyze(model->subgraphs[i].graph);
      ASSERT_TRUE(lifetimes.ok());
      EXPECT_EQ(lifetimes->lower_bound_bytes(), expected->lower_bound_bytes);
      ++compared_count;
    }
  }
  EXPECT_EQ(compared_count, 19);
}

TEST(CsvFiles, AreReadPlannedAndProven) {
  TENURE_SKIP_WITHOUT_DATA();
  int planned_count = 0;
  for (const char* const folder : {"/lifetimes/models", "/lifetimes/packing"}) {
    for (const auto& entry : fs::directory_iterator(test::data_dir() + folder)) {
      SCOPED_TRACE(entry.path().string());
      const auto csv = io::read_csv(entry.path().string());
      ASSERT_TRUE(csv.ok()) << csv.error().message;
      const Result<MemoryPlan> plan = ArenaPlanner().plan(csv->problem());
      ASSERT_TRUE(plan.ok());
      EXPECT_TRUE(verify(csv->problem(), *plan).ok());
      ++planned_count;
    }
  }
  EXPECT_GE(planned_count, 156);
}

}  // namespace
}  // namespace tenure
