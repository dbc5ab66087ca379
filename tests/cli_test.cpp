// SPDX-License-Identifier: Apache-2.0

#include "support/cli.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_code.h"
#include "cli/run.h"
#include "support/data_dir.h"
#include "tenure/io/csv.h"
#include "tenure/plan.h"
#include "tenure/verify.h"

namespace tenure::test {
namespace {

TEST_F(TenurePlan, PrintsBlocksArenaAndPeakOfACsv) {
  const std::string file = write("blocks.csv", kBlocks);
  const Outcome outcome = run({"plan", file});
  EXPECT_EQ(outcome.code, ExitCode::kOk) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  // a and b are live together: 1000 rounded up to 64 is 1024, and 40,000,000,000 is a multiple
  // of 64.
  EXPECT_EQ(outcome.out,
            file +
                ": 3 blocks, alignment 64 bytes, order size, fit first\n"
                "\n"
                "block        bytes  first_step  last_step  region    offset_bytes  name\n"
                "    a         1000           0          2  reusable   40000000000\n"
                "    b  40000000000           1          1  reusable             0\n"
                "    c           64           2          3  reusable             0\n"
                "\n"
                "region    arena_bytes  lower_bound_bytes   ratio\n"
                "reusable  40000001024        40000001024  1.0000  optimal\n"
                "\n"
                "peak at step 1; live there:\n"
                "      bytes  block  name\n"
                "40000000000      b\n"
                "       1000      a\n");
}

TEST_F(TenurePlan, WritesCsvThatIsASafePlanOfTheSameSize) {
  const std::string file = write("blocks.csv", kBlocks);
  const Outcome outcome = run({"plan", file, "--csv", path("plan.csv")});
  EXPECT_EQ(outcome.code, ExitCode::kOk) << outcome.err;
  EXPECT_EQ(read(path("plan.csv")),
            "id,lower,upper,size,offset\n"
            "a,0,3,1000,40000000000\n"
            "b,1,2,40000000000,0\n"
            "c,2,4,64,0\n");
  const Outcome again = run({"plan", path("plan.csv"), "--csv", path("again.csv")});
  EXPECT_EQ(again.code, ExitCode::kOk) << again.err;
  EXPECT_EQ(read(path("again.csv")), read(path("plan.csv")));
  EXPECT_NE(again.out.find("reusable  40000001024"), std::string::npos) << again.out;
  EXPECT_EQ(file_count(), 3U);
}

TEST_F(TenurePlan, WritesOneRowForEachReusableBlockOfAModel) {
  const Outcome outcome = run({"plan", write_model("model.tflite"), "--csv", "-"});
  EXPECT_EQ(outcome.code, ExitCode::kOk) << outcome.err;
  EXPECT_EQ(outcome.out, "id,lower,upper,size,offset\n1,0,2,1024,0\n3,1,2,256,1024\n");
}

TEST_F(TenurePlan, ReplacesAnOldCsvOnlyOnSuccess) {
  const std::string csv = write("plan.csv", "old");
  EXPECT_EQ(run({"plan", write("bad.csv", "id,lower,upper,size\na,3,2,1\n"), "--csv", csv}).code,
            ExitCode::kInvalidFile);
  EXPECT_EQ(read(csv), "old");
  EXPECT_EQ(run({"plan", write("good.csv", kBlocks), "--csv", csv}).code, ExitCode::kOk);
  EXPECT_NE(read(csv), "old");
  EXPECT_EQ(file_count(), 3U);
}

TEST_F(TenurePlan, RecognizesModelsByContentUnderAnyName) {
  EXPECT_EQ(run({"plan", write_model("model.bin")}).code, ExitCode::kOk);
  EXPECT_EQ(run({"plan", write_model("model.csv")}).code, ExitCode::kOk);
  EXPECT_EQ(run({"plan", write("blocks.txt", kBlocks)}).code, ExitCode::kOk);
}

TEST_F(TenurePlan, SaysWhatIsWrongInTheFile) {
  const std::string csv = write("blocks.csv", "id,lower,upper,size\na,0,1,x\n");
  expect_failure(run({"plan", csv}), ExitCode::kInvalidFile,
                 csv + ": line 2: column 4 (size): 'x' is not a number");
  const std::string model = write("model.tflite", "no model");
  expect_failure(
      run({"plan", model}), ExitCode::kInvalidFile,
      model + ": this is no TensorFlow Lite model: it does not begin with the mark TFL3");
}

// Greedy by size needs 24 bytes, and the bound is 16.
TEST_F(TenurePlan, TriesHarderOnRequest) {
  const std::string file = write("p2.csv",
                                 "id,lower,upper,size\n"
                                 "a,4,8,1\nb,2,5,6\nc,3,5,8\nd,1,3,3\ne,0,3,3\nf,0,3,4\ng,0,2,6\n");
  const auto plan_within = [&](const char* limit, const char* effort) {
    return run({"plan", file, "--alignment", "1", "--limit", limit, "--effort", effort});
  };
  EXPECT_EQ(plan_within("16", "fast").code, ExitCode::kLimit);
  EXPECT_EQ(plan_within("16", "balanced").code, ExitCode::kOk);
  EXPECT_EQ(plan_within("16", "best").code, ExitCode::kOk);
  EXPECT_EQ(plan_within("15", "best").code, ExitCode::kLimit);
  EXPECT_NE(plan_within("16", "best").out.find("effort best"), std::string::npos);
  EXPECT_EQ(run({"plan", file, "--effort", "best", "--budget", "0"}).code, ExitCode::kOk);
  EXPECT_EQ(plan_within("16", "most").code, ExitCode::kUsage);
}

TEST_F(TenurePlan, ShowsOnATerminalHowFarASearchHasCome) {
  const std::string file = write("p2.csv",
                                 "id,lower,upper,size\n"
                                 "a,4,8,1\nb,2,5,6\nc,3,5,8\nd,1,3,3\ne,0,3,3\nf,0,3,4\ng,0,2,6\n");
  const auto plan_with = [&](const char* effort, const char* limit, bool err_is_terminal) {
    std::ostringstream out;
    std::ostringstream err;
    const ExitCode code =
        cli::run({"plan", file, "--alignment", "1", "--effort", effort, "--limit", limit}, out, err,
                 err_is_terminal);
    return test::Outcome{code, out.str(), err.str()};
  };
  const std::string erase = "\r\x1b[K";
  const auto shown = plan_with("best", "100", true);
  EXPECT_EQ(shown.err.rfind(erase + "[", 0), 0U) << shown.err;
  EXPECT_NE(shown.err.find("%"), std::string::npos);
  EXPECT_NE(shown.err.find("16 bytes, at least 16"), std::string::npos) << shown.err;
  EXPECT_EQ(shown.err.substr(shown.err.size() - erase.size()), erase);
  EXPECT_EQ(plan_with("best", "100", false).err, "");
  EXPECT_EQ(plan_with("fast", "100", true).err, "");
  EXPECT_EQ(plan_with("best", "100", false).out, shown.out);
  // A message begins on a line of its own.
  const std::string refused = plan_with("best", "15", true).err;
  EXPECT_NE(refused.find(erase + "tenure: "), std::string::npos) << refused;
}

TEST_F(TenurePlan, NamesBlocksByTheIdsOfTheFile) {
  const std::string fixed = write("fixed.csv",
                                  "id,lower,upper,size,offset\n"
                                  "a,0,2,64,0\nb,1,3,64,0\n");
  expect_failure(run({"plan", fixed}), ExitCode::kInvalidFile,
                 fixed +
                     ": two blocks at fixed offsets conflict: block 0, block 1; block 0 is 'a'; "
                     "block 1 is 'b'");
}

TEST_F(TenurePlan, TellsWhatIsTooLarge) {
  const std::string wide = write("wide.csv", "id,lower,upper,size\na,0,4294967296,1\n");
  EXPECT_EQ(run({"plan", wide}).code, ExitCode::kLimit);
  const std::string high = write("high.csv",
                                 "id,lower,upper,size\n"
                                 "a,0,1,18446744073709551615\n");
  const Outcome outcome = run({"plan", high});
  EXPECT_EQ(outcome.code, ExitCode::kLimit);
  EXPECT_EQ(outcome.err.find("tenure: " + high + ": a size or sum does not fit in 64 bits"), 0U)
      << outcome.err;
  EXPECT_NE(outcome.err.find("block 0 is 'a'"), std::string::npos) << outcome.err;
}

TEST_F(TenurePlan, TellsFilesThatCannotBeReadOrWritten) {
  const std::string missing = path("missing.csv");
  expect_failure(run({"plan", missing}), ExitCode::kFileAccess,
                 missing + ": cannot read: No such file or directory");
  expect_failure(run({"plan", path("")}), ExitCode::kFileAccess,
                 path("") + ": cannot read: it is a folder");
  const std::string file = write("blocks.csv", kBlocks);
  const std::string unwritable = path("no such folder/plan.csv");
  expect_failure(run({"plan", file, "--csv", unwritable}), ExitCode::kFileAccess,
                 unwritable + ": cannot write: No such file or directory");
  expect_failure(run({"plan", file, "--csv", path("")}), ExitCode::kFileAccess,
                 path("") + ": cannot write: it is a folder");
  EXPECT_EQ(file_count(), 1U);
}

TEST_F(TenurePlan, TakesNamesInUtf8) {
  const std::string file = write("\u6A21\u578B.csv", kBlocks);
  const Outcome outcome = run({"plan", file, "--csv", path("\u8A08\u753B.csv")});
  EXPECT_EQ(outcome.code, ExitCode::kOk) << outcome.err;
  EXPECT_EQ(outcome.out.find(file + ": 3 blocks"), 0U) << outcome.out;
  EXPECT_TRUE(fs::exists(fs::u8path(path("\u8A08\u753B.csv"))));
  EXPECT_EQ(file_count(), 2U);
  const auto no_utf8 = io::read_csv(path("") + "\xE4.csv");
  ASSERT_FALSE(no_utf8.ok());
  EXPECT_TRUE(no_utf8.error().is_file_access) << no_utf8.error().message;
}

// Where options may also be written with a slash, this is a name all the same.
TEST(Tenure, TakesNamesThatBeginWithASlash) {
  const Outcome outcome = run({"plan", "/no such folder/model.tflite"});
  EXPECT_EQ(outcome.code, ExitCode::kFileAccess) << outcome.err;
}

TEST_F(TenurePlan, TellsOutputThatCannotBeWritten) {
  std::ostringstream out;
  std::ostringstream err;
  out.setstate(std::ios::badbit);
  EXPECT_EQ(cli::run({"plan", write("blocks.csv", kBlocks)}, out, err), ExitCode::kFileAccess);
  EXPECT_EQ(err.str(), "tenure: standard output: cannot write\n");
}

TEST_F(TenurePlan, TellsOptionsThatAreWrong) {
  const std::string csv = write("blocks.csv", kBlocks);
  const std::string model = write_model("model.tflite");
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"plan"},
      {"plot", csv},
      {"plan", csv, csv},
      {"plan", csv, "--alignment", "48"},
      {"plan", csv, "--alignment", "0"},
      {"plan", csv, "--alignment", "-1"},
      {"plan", csv, "--alignment", "0x40"},
      {"plan", csv, "--alignment", "18446744073709551616"},
      {"plan", csv, "--alignment"},
      {"plan", model, "--subgraph", "-1"},
      {"plan", model, "--subgraph", "4294967296"},
      {"plan", model, "--subgraph", "2"},
      {"plan", model, "--profile", "fast"},
      {"plan", csv, "--profile", "strict"},
      {"plan", csv, "--subgraph", "0"},
      {"plan", csv, "--fold"},
      {"plan", csv, "--unknown"}};
  for (const std::vector<std::string>& arguments : wrong) {
    const Outcome outcome = run(arguments);
    const std::string last = arguments.empty() ? "" : arguments.back();
    EXPECT_EQ(outcome.code, ExitCode::kUsage) << last << outcome.err;
    EXPECT_EQ(outcome.out, "") << last;
    EXPECT_EQ(outcome.err.find("tenure: "), 0U) << last << outcome.err;
  }
  expect_failure(run({"plan", model, "--subgraph", "2"}), ExitCode::kUsage,
                 model + ": there is no subgraph 2; the model has 2, counted from 0");
}

// Lengths 2, 1, 1 and sizes 64, 128, 192: by size the last row lies at 0, by length the first.
TEST_F(TenurePlan, PlacesInTheOrderThatIsAskedFor) {
  const std::string file = write("a.csv", "id,lower,upper,size\na,0,2,64\nb,0,1,128\nc,1,2,192\n");
  EXPECT_EQ(run({"plan", file, "--csv", "-"}).out,
            "id,lower,upper,size,offset\na,0,2,64,192\nb,0,1,128,0\nc,1,2,192,0\n");
  EXPECT_EQ(run({"plan", file, "--order", "length", "--fit", "best", "--csv", "-"}).out,
            "id,lower,upper,size,offset\na,0,2,64,0\nb,0,1,128,64\nc,1,2,192,64\n");
  EXPECT_EQ(run({"plan", file, "--order", "luck"}).code, ExitCode::kUsage);
  EXPECT_EQ(run({"plan", file, "--fit", "worst"}).code, ExitCode::kUsage);
}

// a, rounded up to 1024, and b are live together at step 1.
TEST_F(TenurePlan, NamesWhoNeedsMoreThanTheLimit) {
  const std::string file = write("blocks.csv", kBlocks);
  EXPECT_EQ(run({"plan", file, "--limit", "40000001024"}).code, ExitCode::kOk);
  const Outcome outcome = run({"plan", file, "--limit", "40000001023", "--csv", path("out.csv")});
  EXPECT_EQ(outcome.code, ExitCode::kLimit);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err,
            "tenure: " + file +
                ": a region's capacity is below what its blocks need: region 0, step 1, needed "
                "40000001024 bytes, available 40000001023 bytes; these do not fit together, all "
                "live at step 1: 'b' (40000000000 bytes), 'a' (1000 bytes)\n");
  EXPECT_EQ(file_count(), 1U);
}

TEST(Tenure, PrintsVersionAndHelp) {
  const Outcome version = run({"--version"});
  EXPECT_EQ(version.code, ExitCode::kOk);
  EXPECT_EQ(version.out.find("tenure 0."), 0U) << version.out;
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--help"}, {"plan", "--help"}}) {
    const Outcome help = run(arguments);
    EXPECT_EQ(help.code, ExitCode::kOk);
    EXPECT_NE(help.out.find(cli::kExitCodeHelp), std::string::npos) << help.out;
  }
}

TEST(Tenure, NamesASubcommandThatIsNotThere) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"bogus"}, {"bogus", "plan", "x.csv"}, {"bogus", "--help"}}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, ExitCode::kUsage);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, "tenure: there is no subcommand 'bogus'\nRun tenure --help for more.\n");
  }
  EXPECT_EQ(run({"bog\nus"}).err.find("tenure: there is no subcommand 'bog?us'\n"), 0U);
}

// Reads a CSV with offsets as a problem and as a plan for it, and proves that.
TEST_F(TenurePlan, WritesCsvOfRealModelsThatIsSafe) {
  TENURE_SKIP_WITHOUT_DATA();
  for (const auto& entry : fs::directory_iterator(data_dir() + "/models")) {
    if (entry.path().extension() != ".tflite") continue;
    const Outcome outcome = run({"plan", entry.path().string(), "--csv", path("plan.csv")});
    ASSERT_EQ(outcome.code, ExitCode::kOk) << outcome.err;
    auto csv = io::read_csv(path("plan.csv"));
    ASSERT_TRUE(csv.ok()) << csv.error().message;
    std::vector<Placement> placements;
    RegionPlan region;
    region.arena_bytes = UINT64_MAX;
    for (Block& block : csv->blocks) {
      placements.push_back({kReusableRegion, block.fixed_offset_bytes});
      block.fixed_offset_bytes = kNoFixedOffset;
    }
    const RegionPlan regions[] = {region, {}};
    const RegionLayout layouts[] = {{region.arena_bytes, 64}, {}};
    const Result<MemoryPlan> plan = MemoryPlan::create({regions, layouts, placements, {}});
    ASSERT_TRUE(plan.ok());
    EXPECT_TRUE(verify(csv->problem(), *plan).ok()) << entry.path();
  }
}

}  // namespace
}  // namespace tenure::test
