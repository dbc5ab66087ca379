// SPDX-License-Identifier: Apache-2.0
#pragma once

// The folder with models/ and lifetimes/ that tests use when it is there.
//
//   TENURE_SKIP_WITHOUT_DATA();
//   const std::string path = test::data_dir() + "/models/x.tflite";

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace tenure::test {

inline std::string data_dir() {
  const char* const folder = std::getenv("TENURE_DATA_DIR");
  return folder == nullptr ? "" : folder;
}

}  // namespace tenure::test

#define TENURE_SKIP_WITHOUT_DATA()                                                          \
  if (tenure::test::data_dir().empty()) {                                                   \
    GTEST_SKIP() << "TENURE_DATA_DIR does not name the folder with models/ and lifetimes/"; \
  }                                                                                         \
  static_cast<void>(0)
