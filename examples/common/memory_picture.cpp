// SPDX-License-Identifier: Apache-2.0

#include "common/memory_picture.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "common/print.h"

namespace example {

using tenure::Block;
using tenure::BlockIndex;
using tenure::Step;

namespace {

constexpr std::uint64_t kRowCount = 12;

struct Bytes {
  std::uint64_t begin;
  std::uint64_t end;
};

std::uint64_t common_bytes(Bytes a, Bytes b) {
  const std::uint64_t begin = std::max(a.begin, b.begin);
  const std::uint64_t end = std::min(a.end, b.end);
  return begin < end ? end - begin : 0;
}

// The block that has most bytes of the row at that step.
char letter_at(const PlannedGraph& planned, Bytes row, Step step) {
  const auto blocks = planned.lifetimes.problem().blocks;
  char letter = '.';
  std::uint64_t most_bytes = 0;
  for (std::uint32_t i = 0; i < blocks.size(); ++i) {
    const Block& block = blocks[i];
    const bool is_live = block.live_range.overlaps({step, step});
    if (!is_live || block.region != tenure::kReusableRegion) continue;
    const std::uint64_t offset = planned.plan.placement(BlockIndex(i)).offset_bytes;
    const std::uint64_t bytes = common_bytes(row, {offset, offset + block.size_bytes});
    if (bytes <= most_bytes) continue;
    most_bytes = bytes;
    letter = letter_of(BlockIndex(i));
  }
  return letter;
}

}  // namespace

void print_memory_picture(const PlannedGraph& planned) {
  const std::uint64_t row_bytes = (planned.plan.arena_bytes() + kRowCount - 1) / kRowCount;
  for (std::uint64_t i = kRowCount; i-- > 0;) {
    const Bytes row{i * row_bytes, (i + 1) * row_bytes};
    std::string line;
    for (std::uint32_t step = 0; step < planned.graph.step_count(); ++step) {
      line += letter_at(planned, row, Step(step));
    }
    std::printf("  %10s |%s\n", grouped(row.begin).c_str(), line.c_str());
  }
  std::string axis(planned.graph.step_count(), '-');
  for (std::uint32_t step = 0; step < planned.graph.step_count(); step += 10) {
    const std::string number = std::to_string(step);
    axis.replace(step, number.size(), number);
  }
  std::printf("  %10s +%s> steps\n", "offset", axis.c_str());
}

}  // namespace example
