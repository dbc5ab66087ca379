// SPDX-License-Identifier: Apache-2.0
#pragma once

// The program under test: its arguments, its files, what it says.
//
//   TEST_F(TenurePlan, TakesAnEmptyList) {
//     EXPECT_EQ(run({"plan", write("a.csv", "id,lower,upper,size\n")}).code, ExitCode::kOk);
//   }

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/run.h"
#include "support/tflite_writer.h"

namespace tenure::test {

namespace fs = std::filesystem;
using cli::ExitCode;

struct Outcome {
  ExitCode code = ExitCode::kOk;
  std::string out;
  std::string err;
};

inline Outcome run(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const ExitCode code = cli::run(arguments, out, err);
  return {code, out.str(), err.str()};
}

// Each test has a folder of its own.
class TenurePlan : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) / (std::string("tenure_cli_") + info->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / fs::u8path(name)).u8string();
  }
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(fs::u8path(path(name)), std::ios::binary) << text;
    return path(name);
  }
  [[nodiscard]] static std::string read(const std::string& file) {
    std::ifstream stream(fs::u8path(file), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }
  [[nodiscard]] std::size_t file_count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  // x (1024) -> RESHAPE -> flat -> FULLY_CONNECTED -> y (256), and a state of 32 bytes.
  [[nodiscard]] std::string write_model(const std::string& name) const {
    TfliteWriter writer;
    writer.add_code(tflite::BuiltinOperator_RESHAPE);
    writer.add_code(tflite::BuiltinOperator_FULLY_CONNECTED);
    WrittenTensor state{"state", {{8}}};
    state.is_variable = true;
    writer.subgraphs = {{"main",
                         {state, {"x", {{16, 16}}}, {"flat", {{256}}}, {"y\n", {{64}}}},
                         {1},
                         {3},
                         {{0, {1}, {2}}, {1, {2, 0}, {3}}}},
                        {"other", {{"z", {{4}}}}, {0}, {0}, {}}};
    const std::vector<std::uint8_t> bytes = writer.bytes();
    return write(name, std::string(bytes.begin(), bytes.end()));
  }

 private:
  fs::path folder_;
};

inline constexpr const char* kBlocks =
    "id,lower,upper,size\n"
    "a,0,3,1000\n"
    "b,1,2,40000000000\n"
    "c,2,4,64\n";

inline void expect_failure(const Outcome& outcome, ExitCode code, const std::string& message) {
  EXPECT_EQ(outcome.code, code);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "tenure: " + message + "\n");
}

}  // namespace tenure::test
