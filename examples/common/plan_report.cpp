// SPDX-License-Identifier: Apache-2.0

#include "common/plan_report.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

#include "common/print.h"

namespace example {

using tenure::Block;
using tenure::BlockIndex;
using tenure::LiveRange;
using tenure::TensorIndex;
using tenure::TensorKind;

namespace {

std::string tensors_of(const PlannedGraph& planned, BlockIndex block) {
  std::string names;
  for (std::uint32_t i = 0; i < planned.graph.tensor_count(); ++i) {
    if (planned.lifetimes.place(TensorIndex(i)).block != block) continue;
    if (!names.empty()) names += " = ";
    names += planned.graph.tensor_name(TensorIndex(i));
  }
  return names;
}

std::string operators_of(const PlannedGraph& planned, LiveRange range) {
  const auto name_at = [&](tenure::Step step) {
    return planned.graph.operator_name(planned.graph.operator_at(step));
  };
  return std::string(name_at(range.first_use)) + " .. " + name_at(range.last_use);
}

}  // namespace

char letter_of(BlockIndex block) {
  constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  return kLetters[block.value % (sizeof(kLetters) - 1)];
}

std::uint64_t constant_bytes(const tenure::TensorGraph& graph) {
  std::uint64_t sum_bytes = 0;
  for (const tenure::Tensor& tensor : graph.tensors()) {
    if (tensor.kind == TensorKind::kConstant) sum_bytes += tensor.size_bytes;
  }
  return sum_bytes;
}

std::uint64_t placed_bytes(const tenure::TensorGraph& graph) {
  std::uint64_t sum_bytes = 0;
  for (const tenure::Tensor& tensor : graph.tensors()) {
    const bool is_outside =
        tensor.kind == TensorKind::kConstant || tensor.kind == TensorKind::kExternal;
    if (!is_outside) sum_bytes += tensor.size_bytes;
  }
  return sum_bytes;
}

void print_blocks(const PlannedGraph& planned) {
  std::printf("    %10s  %10s  %7s  %-29s %s\n", "offset", "bytes", "steps", "from .. to operator",
              "tensors in the same bytes");
  const auto blocks = planned.lifetimes.problem().blocks;
  for (std::uint32_t i = 0; i < blocks.size(); ++i) {
    const Block& block = blocks[i];
    const tenure::Placement placement = planned.plan.placement(BlockIndex(i));
    std::printf("  %c %10s  %10s  %2" PRIu32 "..%-3" PRIu32 "  %-29s %s\n",
                letter_of(BlockIndex(i)), grouped(placement.offset_bytes).c_str(),
                grouped(block.size_bytes).c_str(), block.live_range.first_use.value,
                block.live_range.last_use.value, operators_of(planned, block.live_range).c_str(),
                tensors_of(planned, BlockIndex(i)).c_str());
  }
}

void print_sizes(const PlannedGraph& planned, std::uint64_t without_reuse_bytes) {
  const auto line = [](const char* what, std::uint64_t bytes, const char* note) {
    std::printf("  %-22s %12s bytes   %s\n", what, grouped(bytes).c_str(), note);
  };
  line("weights", constant_bytes(planned.graph), "constants: not the plan's business");
  line("sum of tensors", placed_bytes(planned.graph), "a buffer for each");
  line("arena without reuse", without_reuse_bytes, "aliases and work in place share");
  const std::uint64_t percent =
      planned.plan.arena_bytes() * 100 / std::max<std::uint64_t>(placed_bytes(planned.graph), 1);
  line("planned arena", planned.plan.arena_bytes(),
       (std::to_string(percent) + " % of the sum").c_str());
  const bool is_optimal = planned.plan.region(tenure::kReusableRegion).is_optimal();
  line("lower bound", planned.plan.lower_bound_bytes(),
       is_optimal ? "reached: the plan is optimal" : "not reached: a smaller plan may exist");
}

void print_peak(const PlannedGraph& planned) {
  const tenure::Step peak = planned.lifetimes.peak_step();
  const auto blocks = planned.lifetimes.problem().blocks;
  std::vector<BlockIndex> live;
  for (std::uint32_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].live_range.overlaps({peak, peak})) live.emplace_back(i);
  }
  std::stable_sort(live.begin(), live.end(), [&](BlockIndex a, BlockIndex b) {
    return blocks[a.value].size_bytes > blocks[b.value].size_bytes;
  });
  std::printf("The peak is at step %" PRIu32 ", operator '%s'. Live there:\n", peak.value,
              planned.graph.operator_name(planned.lifetimes.peak_operator()));
  for (const BlockIndex block : live) {
    std::printf("  %12s bytes   %s\n", grouped(blocks[block.value].size_bytes).c_str(),
                tensors_of(planned, block).c_str());
  }
}

}  // namespace example
