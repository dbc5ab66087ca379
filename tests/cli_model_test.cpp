// SPDX-License-Identifier: Apache-2.0

// `tenure plan` of a model: what it prints, and the options that only models understand.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/cli.h"
#include "support/tflite_writer.h"

namespace tenure::test {
namespace {

TEST_F(TenurePlan, PrintsTensorsOperatorAndSharedBytesOfAModel) {
  const std::string file = write_model("model.tflite");
  const Outcome outcome = run({"plan", file});
  EXPECT_EQ(outcome.code, ExitCode::kOk) << outcome.err;
  EXPECT_EQ(outcome.out,
            file +
                ": subgraph 0 'main', 2 operators, profile litert, alignment 64 bytes, order size, "
                "fit first\n"
                "\n"
                "tensor  bytes  first_step  last_step  region      offset_bytes  name\n"
                "     0     32           0          1  persistent             0  state\n"
                "     1   1024           0          0  reusable               0  x\n"
                "     2   1024           0          1  reusable               0  flat\n"
                "     3    256           1          1  reusable            1024  y?\n"
                "\n"
                "region      arena_bytes  lower_bound_bytes   ratio\n"
                "reusable           1280               1280  1.0000  optimal\n"
                "persistent           64                 64  1.0000  optimal\n"
                "\n"
                "peak at step 1, operator 1 'FULLY_CONNECTED'; live there:\n"
                "bytes  tensor  name\n"
                " 1024       2  flat\n"
                "  256       3  y?\n");
}

TEST_F(TenurePlan, ObeysProfileReuseAlignmentAndSubgraph) {
  const std::string file = write_model("model.tflite");
  const auto arena_line = [](const Outcome& outcome) {
    const std::size_t begin = outcome.out.find("\nreusable ");
    return outcome.out.substr(begin + 1, outcome.out.find('\n', begin + 1) - begin - 1);
  };
  // x and flat apart: 1024 + 1024.
  EXPECT_EQ(arena_line(run({"plan", file, "--profile", "strict"})),
            "reusable           2048               2048  1.0000  optimal");
  // x, flat and y: 1024 + 1024 + 256.
  EXPECT_EQ(arena_line(run({"plan", file, "--profile", "tflm", "--no-reuse"})),
            "reusable           2304               2048  1.1250");
  // 1280 rounded up to 1024.
  EXPECT_EQ(arena_line(run({"plan", file, "--alignment", "1024"})),
            "reusable           2048               2048  1.0000  optimal");
  EXPECT_EQ(arena_line(run({"plan", file, "--subgraph", "1", "--alignment", "1"})),
            "reusable           16                 16  1.0000  optimal");
}

TEST_F(TenurePlan, SaysWhyAResultIsNotWrittenOverItsOperand) {
  TfliteWriter writer;
  writer.add_code(tflite::BuiltinOperator_MUL);
  writer.subgraphs = {{"main", {{"x", {{16}}}, {"y", {{16}}}}, {0}, {1}, {{0, {0, 0}, {1}}}}};
  const std::vector<std::uint8_t> bytes = writer.bytes();
  const Outcome outcome = run({"plan", write("m.tflite", std::string(bytes.begin(), bytes.end()))});
  EXPECT_EQ(outcome.code, ExitCode::kOk) << outcome.err;
  EXPECT_NE(outcome.out.find("not in place, because"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("the storage holds an input that is not disposable"),
            std::string::npos)
      << outcome.out;
}

// 0 w -> DEQUANTIZE -> table (1024)    1 x (1024), table -> ADD -> y
TEST_F(TenurePlan, CountsFoldedTensorsAsPersistent) {
  TfliteWriter writer;
  const std::uint32_t dequantize = writer.add_code(tflite::BuiltinOperator_DEQUANTIZE);
  const std::uint32_t add = writer.add_code(tflite::BuiltinOperator_ADD);
  const std::uint32_t data = writer.add_buffer(std::vector<std::uint8_t>(512));
  writer.subgraphs = {{"main",
                       {{"w", {{256}}, tflite::TensorType_FLOAT16, data},
                        {"table", {{256}}},
                        {"x", {{256}}},
                        {"y", {{256}}}},
                       {2},
                       {3},
                       {{dequantize, {0}, {1}}, {add, {2, 1}, {3}}}}};
  const std::vector<std::uint8_t> bytes = writer.bytes();
  const std::string file = write("m.tflite", std::string(bytes.begin(), bytes.end()));
  const Outcome plain = run({"plan", file, "--profile", "strict"});
  EXPECT_EQ(plain.out.find("persistent"), std::string::npos) << plain.out;
  EXPECT_NE(plain.out.find("\nreusable         3072"), std::string::npos) << plain.out;
  const Outcome folded = run({"plan", file, "--profile", "strict", "--fold"});
  EXPECT_EQ(folded.code, ExitCode::kOk) << folded.err;
  EXPECT_EQ(
      folded.out,
      file +
          ": subgraph 0 'main', 2 operators, profile strict, constants folded, alignment 64 "
          "bytes, order size, fit first\n"
          "\n"
          "tensor  bytes  first_step  last_step  region      offset_bytes  name\n"
          "     1   1024           0          1  persistent             0  table\n"
          "     2   1024           0          1  reusable               0  x\n"
          "     3   1024           1          1  reusable            1024  y\n"
          "\n"
          "region      arena_bytes  lower_bound_bytes   ratio\n"
          "reusable           2048               2048  1.0000  optimal\n"
          "persistent         1024               1024  1.0000  optimal\n"
          "\n"
          "peak at step 1, operator 1 'ADD'; live there:\n"
          "bytes  tensor  name\n"
          " 1024       2  x\n"
          " 1024       3  y\n"
          "\n"
          "note: folded: tensors computed from constants alone and kept across runs: 1, of 1024 "
          "bytes; operators that need to run only once: 1\n");
}

// x (1024) lives at step 0, flat (1024) in its bytes at steps 0 and 1, y (256) at step 1.
TEST_F(TenurePlan, ShowsScratchFromOutsideAtItsOperatorsStep) {
  const std::string file = write_model("model.tflite");
  const std::string scratch =
      write("scratch.csv", "operator,bytes,alignment\n1,512,\nFULLY_CONNECTED,100,4096\n");
  const Outcome outcome = run({"plan", file, "--scratch", scratch});
  EXPECT_EQ(outcome.code, ExitCode::kOk) << outcome.err;
  // By size: flat at 0, 512 at 1024, y at 1536; the last at the next multiple of 4096.
  EXPECT_NE(
      outcome.out.find("    s1    512           1          1  reusable            1024  scratch of "
                       "operator 1 'FULLY_CONNECTED'\n"
                       "    s1    100           1          1  reusable            4096  scratch of "
                       "operator 1 'FULLY_CONNECTED'\n"),
      std::string::npos)
      << outcome.out;
  EXPECT_EQ(run({"plan", file, "--scratch", scratch, "--csv", "-"}).out,
            "id,lower,upper,size,offset\n"
            "1,0,2,1024,0\n3,1,2,256,1536\ns1,1,2,512,1024\ns1.1,1,2,100,4096\n");
}

TEST_F(TenurePlan, RefusesScratchThatDoesNotSuitTheFile) {
  const std::string model = write_model("model.tflite");
  const std::string scratch = write("scratch.csv", "operator,bytes,alignment\n2,512,\n");
  expect_failure(run({"plan", model, "--scratch", scratch}), ExitCode::kInvalidFile,
                 model + ": " + scratch +
                     ": line 2: '2' is no operator of subgraph 0, which has 2, counted from 0");
  const std::string bad = write("bad.csv", "operator,bytes,alignment\n1,512,48\n");
  expect_failure(run({"plan", model, "--scratch", bad}), ExitCode::kInvalidFile,
                 bad + ": line 2: column 3 (alignment): '48' is not a power of two");
  const std::string wide = write("wide.csv", "operator,bytes\n1,18446744073709551616\n");
  EXPECT_EQ(run({"plan", model, "--scratch", wide}).code, ExitCode::kLimit);
  expect_failure(run({"plan", model, "--subgraph", "2", "--scratch", scratch}), ExitCode::kUsage,
                 model + ": there is no subgraph 2; the model has 2, counted from 0");
  EXPECT_EQ(run({"plan", model, "--scratch", path("missing.csv")}).code, ExitCode::kFileAccess);
  EXPECT_EQ(run({"plan", model, "--scratch", ""}).code, ExitCode::kUsage);
  const std::string csv = write("blocks.csv", kBlocks);
  expect_failure(run({"plan", csv, "--scratch", scratch}), ExitCode::kUsage,
                 csv + ": --scratch is for models, and this is none");
}

}  // namespace
}  // namespace tenure::test
