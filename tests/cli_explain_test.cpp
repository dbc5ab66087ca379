// SPDX-License-Identifier: Apache-2.0

// `tenure plan` about memory that is short: --explain, and the message when --limit cannot be kept.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/cli.h"

namespace tenure::test {
namespace {

// P2 of the cases: greedy by size gives 24, the optimum is 16.
constexpr const char* kSizeOrderMisses =
    "id,lower,upper,size\n"
    "a,4,8,1\nb,2,5,6\nc,3,5,8\nd,1,3,3\ne,0,3,3\nf,0,3,4\ng,0,2,6\n";

std::string after(const std::string& text, const std::string& begin) {
  const std::size_t found = text.find(begin);
  return found == std::string::npos ? "" : text.substr(found);
}

TEST_F(TenurePlan, ExplainsAnArenaAboveItsLowerBound) {
  const std::string file = write("p2.csv", kSizeOrderMisses);
  const Outcome outcome = run({"plan", file, "--alignment", "1", "--explain"});
  EXPECT_EQ(outcome.code, ExitCode::kOk) << outcome.err;
  // 3 + 3 + 4 + 6 + 8 = 24.
  EXPECT_EQ(after(outcome.out, "\n8 bytes above"),
            "\n8 bytes above the lower bound: from the top down, each block lies on the next, and "
            "both are live at the step\n"
            "offset_bytes  bytes  block  step  name\n"
            "          21      3      d     1\n"
            "          18      3      e     0\n"
            "          14      4      f     2\n"
            "           8      6      b     3\n"
            "           0      8      c\n"
            "steps whose live bytes are the lower bound: 1 to 2\n");
  // Nothing is above the bound, or nobody has asked.
  EXPECT_EQ(after(run({"plan", file, "--alignment", "1", "--explain", "--effort", "best"}).out,
                  "above the lower bound"),
            "");
  EXPECT_EQ(after(run({"plan", file, "--alignment", "1"}).out, "above the lower bound"), "");
}

// a is fixed at 64, and b does not fit below it: 64 free + 64 + 100 + 28 up to the unit = 256,
// where 64 + 100, rounded up, are 192.
constexpr const char* kFixedInTheWay = "id,lower,upper,size,offset\na,0,2,64,64\nb,1,3,100,\n";

TEST_F(TenurePlan, ExplainsGapsToo) {
  const Outcome outcome = run({"plan", write("fixed.csv", kFixedInTheWay), "--explain"});
  EXPECT_EQ(outcome.code, ExitCode::kOk) << outcome.err;
  EXPECT_EQ(after(outcome.out, "offset_bytes  bytes"),
            "offset_bytes  bytes  block  step  name\n"
            "         228     28      -        gap: the arena is rounded up\n"
            "         128    100      b     1\n"
            "          64     64      a\n"
            "           0     64      -        gap: the offset above is fixed\n"
            "steps whose live bytes are the lower bound: 1\n");
}

// z and y and the gap below y, then 50 blocks of a byte, of which 37 are shown.
TEST_F(TenurePlan, ExplainsInFortyLines) {
  std::string text = "id,lower,upper,size,offset\ny,0,1,1,60\nz,0,1,61,\n";
  for (int i = 0; i < 50; ++i) text += "x" + std::to_string(i) + ",0,1,1,\n";
  const Outcome outcome = run({"plan", write("a.csv", text), "--alignment", "1", "--explain"});
  EXPECT_EQ(outcome.code, ExitCode::kOk) << outcome.err;
  EXPECT_EQ(after(outcome.out, "          13      1    x13"),
            "          13      1    x13     0\n"
            "and 13 more below, 13 bytes in all\n"
            "steps whose live bytes are the lower bound: 0\n");
}

TEST_F(TenurePlan, SaysThatMoreEffortMayKeepALimitThatTheBoundMeets) {
  const std::string p2 = write("p2.csv", kSizeOrderMisses);
  const std::string fixed = write("fixed.csv", kFixedInTheWay);
  const auto hint = [&](const std::vector<std::string>& arguments) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, ExitCode::kLimit);
    return after(outcome.err, "; the lower bound");
  };
  EXPECT_EQ(hint({"plan", p2, "--alignment", "1", "--limit", "16"}),
            "; the lower bound is 16 bytes: there is a plan within the limit, which --effort best "
            "may find\n");
  EXPECT_EQ(hint({"plan", p2, "--alignment", "1", "--limit", "16", "--budget", "0"}),
            "; the lower bound is 16 bytes: --effort best may find a plan within the limit\n");
  EXPECT_EQ(hint({"plan", p2, "--alignment", "1", "--limit", "16", "--no-reuse"}),
            "; the lower bound is 16 bytes: without --no-reuse a plan may lie within the limit\n");
  EXPECT_EQ(hint({"plan", fixed, "--limit", "200", "--effort", "best", "--budget", "0"}),
            "; the lower bound is 192 bytes: a larger --budget may find a plan within the limit\n");
  EXPECT_EQ(hint({"plan", fixed, "--limit", "200"}), "");  // for there is none
}

TEST_F(TenurePlan, NamesTheFewBlocksThatDoNotFitTogether) {
  std::string text = "id,lower,upper,size\ny,0,9,128\n";
  for (int i = 0; i < 20; ++i) text += "x" + std::to_string(i) + ",5,6,64\n";
  const std::string file = write("many.csv", text);
  const auto blamed = [](const std::string& csv, const char* limit) {
    return after(run({"plan", csv, "--limit", limit}).err, "; ");
  };
  EXPECT_EQ(blamed(file, "200"),
            "; these do not fit together, all live at step 5: 'y' (128 bytes), 'x0' (64 bytes), "
            "'x1' (64 bytes)\n");
  EXPECT_EQ(blamed(file, "100"), "; too large by itself: 'y' (128 bytes)\n");
  EXPECT_EQ(blamed(write("fixed.csv", kFixedInTheWay), "200"),
            "; these do not fit together, all live at step 1: 'b' (100 bytes), 'a' (64 bytes)\n");
  const std::string all = blamed(file, "1344");  // 128 + 20 x 64 = 1408
  EXPECT_NE(all.find("'x9' (64 bytes), 'x10' (64 bytes) and 9 more\n"), std::string::npos) << all;
}

TEST_F(TenurePlan, NamesTensorsThatDoNotFitTogether) {
  const Outcome outcome = run({"plan", write_model("model.tflite"), "--limit", "1279"});
  EXPECT_EQ(outcome.code, ExitCode::kLimit);
  EXPECT_EQ(after(outcome.err, "; "),
            "; these do not fit together, all live at step 1: tensor 1 'x' (1024 bytes), tensor 3 "
            "'y?' (256 bytes)\n");
}

}  // namespace
}  // namespace tenure::test
