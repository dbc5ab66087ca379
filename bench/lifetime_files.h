// SPDX-License-Identifier: Apache-2.0
#pragma once

// The live ranges of real networks, hard packings and large programs, and recorded requests, from
// folders of TENURE_DATA_DIR.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "tenure/io/csv.h"

namespace tenure::bench {

struct LifetimeFile {
  std::string name;
  io::CsvProblem csv;
};

// Sorted by name; empty when there is no such folder. Files that cannot be read are left out and
// named on standard error by the caller, who compares the counts.
inline std::vector<LifetimeFile> read_lifetimes(const std::string& folder_name,
                                                std::uint64_t alignment_bytes) {
  std::vector<LifetimeFile> files;
  const char* data = std::getenv("TENURE_DATA_DIR");
  if (data == nullptr || *data == '\0') return files;
  const std::filesystem::path folder = std::filesystem::path(data) / folder_name;
  std::error_code error;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".csv") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const std::filesystem::path& path : paths) {
    auto csv = io::read_csv(path.string(), io::CsvOptions().set_alignment_bytes(alignment_bytes));
    if (csv.ok()) files.push_back({path.stem().string(), *csv});
  }
  return files;
}

}  // namespace tenure::bench
