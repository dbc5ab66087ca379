// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the program `tenure` returns to a script. `tenure --help` prints this table.

#include "tenure/io/result.h"

namespace tenure::cli {

enum class ExitCode : int {
  kOk = 0,
  kInvalidFile = 1,  // the file is not what it should be, or contradicts itself
  kUsage = 2,        // options or arguments that are wrong or do not suit the file
  kLimit = 3,        // too large: a size that cannot be counted, memory that was refused
  kUnsafePlan = 4,   // a plan failed its proof; nothing was written
  kFileAccess = 5,   // a file cannot be read or written
};

inline constexpr const char* kExitCodeHelp =
    "Exit codes:\n"
    "  0  done\n"
    "  1  the file is not what it should be, or contradicts itself\n"
    "  2  options or arguments are wrong, or do not suit the file\n"
    "  3  too large: a size that cannot be counted, memory that was refused\n"
    "  4  the plan failed its proof, nothing was written: an error in tenure\n"
    "  5  a file cannot be read or written";

[[nodiscard]] inline ExitCode exit_code_of(const io::Error& error) noexcept {
  if (error.is_file_access) return ExitCode::kFileAccess;
  switch (error.code) {
    case StatusCode::kOk:
      return ExitCode::kOk;
    case StatusCode::kInvalidInput:
      return ExitCode::kInvalidFile;
    case StatusCode::kOverflow:
    case StatusCode::kLimitExceeded:
    case StatusCode::kOutOfMemory:
    case StatusCode::kInUse:
      return ExitCode::kLimit;
    case StatusCode::kUnsafePlan:
      return ExitCode::kUnsafePlan;
  }
  return ExitCode::kInvalidFile;
}

}  // namespace tenure::cli
