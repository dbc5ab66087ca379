// SPDX-License-Identifier: Apache-2.0
#pragma once

// What networks ask of a runtime's allocators, recorded: TENURE_DATA_DIR/traces, as the requests and
// frees that they were, and a replay through an allocator.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lifetime_files.h"
#include "tenure/allocator.h"

namespace tenure::bench {

struct TraceEvent {
  std::uint32_t block;
  bool is_free;
  std::size_t size_bytes;
};

struct Trace {
  std::string name;  // of the file: NETWORK.blob, .workspace, or .both
  std::vector<Block> blocks;
  std::vector<TraceEvent> events;
};

// What ends at an event is freed before what begins at it.
inline std::vector<TraceEvent> events_of(const std::vector<Block>& blocks) {
  struct Timed {
    std::uint32_t time;
    TraceEvent event;
  };
  std::vector<Timed> timed;
  for (std::uint32_t i = 0; i < blocks.size(); ++i) {
    const Block& block = blocks[i];
    const auto size_bytes = static_cast<std::size_t>(block.size_bytes);
    timed.push_back({block.live_range.first_use.value, {i, false, size_bytes}});
    timed.push_back({block.live_range.last_use.value + 1, {i, true, size_bytes}});
  }
  std::stable_sort(timed.begin(), timed.end(), [](const Timed& a, const Timed& b) {
    return a.time != b.time ? a.time < b.time : a.event.is_free && !b.event.is_free;
  });
  std::vector<TraceEvent> events;
  for (const Timed& entry : timed) events.push_back(entry.event);
  return events;
}

// Those of one kind: "blob", "workspace" or "both". Sorted by name; empty without the folder.
inline std::vector<Trace> read_traces(const std::string& kind) {
  std::vector<Trace> traces;
  const std::string ending = "." + kind;
  for (LifetimeFile& file : read_lifetimes("traces", 64)) {
    if (file.name.size() < ending.size() ||
        file.name.compare(file.name.size() - ending.size(), ending.size(), ending) != 0) {
      continue;
    }
    std::vector<TraceEvent> events = events_of(file.csv.blocks);
    traces.push_back({file.name, std::move(file.csv.blocks), std::move(events)});
  }
  return traces;
}

// Of all requests, in whole units of 64: what a pool that never takes anything back needs.
inline std::size_t sum_bytes_of(const Trace& trace) {
  std::uint64_t sum_bytes = 0;
  for (const Block& block : trace.blocks) sum_bytes += (block.size_bytes + 63) / 64 * 64;
  return static_cast<std::size_t>(sum_bytes);
}

// One run. `live` has room for every block. False when a request was refused.
inline bool replay(const std::vector<TraceEvent>& events, Allocator& allocator, void** live) {
  bool is_whole = true;
  for (const TraceEvent& event : events) {
    if (event.is_free) {
      allocator.fastFree(live[event.block]);
    } else {
      live[event.block] = allocator.fastMalloc(event.size_bytes);
      is_whole = is_whole && live[event.block] != nullptr;
    }
  }
  return is_whole;
}

}  // namespace tenure::bench
