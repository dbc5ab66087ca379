// SPDX-License-Identifier: Apache-2.0
#pragma once

// Recorded requests of a runtime, `id,lower,upper,size`, half-open over an event counter, as the
// sequence of requests and frees that they were.
//
//   for (const std::string& path : test::trace_files()) {
//     for (const test::TraceEvent& event : test::read_trace(path)) { ... }
//   }

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/data_dir.h"

namespace tenure::test {

struct TraceEvent {
  bool is_free;
  std::size_t block;  // index of the request
  std::size_t size_bytes;
};

inline std::vector<std::string> trace_files() {
  std::vector<std::string> files;
  const std::filesystem::path folder = data_dir() + "/traces";
  if (data_dir().empty() || !std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".csv") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// What ends at an event is freed before what begins at it.
inline std::vector<TraceEvent> read_trace(const std::string& path) {
  struct Timed {
    std::uint64_t time;
    TraceEvent event;
  };
  std::vector<Timed> timed;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  std::size_t block = 0;
  while (std::getline(file, line)) {
    std::uint64_t numbers[4] = {};
    const char* next = line.c_str();
    for (std::uint64_t& number : numbers) {
      char* end = nullptr;
      number = std::strtoull(next, &end, 10);
      next = *end == ',' ? end + 1 : end;
    }
    const auto size = static_cast<std::size_t>(numbers[3]);
    timed.push_back({numbers[1], {false, block, size}});
    timed.push_back({numbers[2], {true, block, size}});
    ++block;
  }
  std::stable_sort(timed.begin(), timed.end(), [](const Timed& a, const Timed& b) {
    return a.time != b.time ? a.time < b.time : a.event.is_free && !b.event.is_free;
  });
  std::vector<TraceEvent> events;
  for (const Timed& entry : timed) events.push_back(entry.event);
  return events;
}

}  // namespace tenure::test
