// SPDX-License-Identifier: Apache-2.0

#include "tenure/problem.h"

#include "internal/block_conflicts.h"
#include "tenure/array.h"

namespace tenure {
namespace {

Status check_fixed_offset(const Block& block, const Region& region) noexcept {
  const std::uint64_t offset = block.fixed_offset_bytes;
  if (offset > kMaxArenaBytes) return Status(Reason::kFixedOffsetNegative);
  if (offset % block.alignment_bytes != 0) {
    return Status(Reason::kFixedOffsetMisaligned).needed(block.alignment_bytes);
  }
  if (block.size_bytes > kMaxArenaBytes - offset) return Status(Reason::kSizeOverflow);
  const std::uint64_t end = offset + block.size_bytes;
  if (end > region.capacity_bytes) {
    return Status(Reason::kFixedOffsetBeyondCapacity).needed(end).available(region.capacity_bytes);
  }
  return Status();
}

Status check_block(const PlanningProblem& problem, const Block& block) noexcept {
  if (block.region.value >= problem.regions.size()) {
    return Status(Reason::kIndexOutOfRange).with(block.region);
  }
  if (!is_power_of_two(block.alignment_bytes)) {
    return Status(Reason::kNotPowerOfTwo).needed(block.alignment_bytes);
  }
  const LiveRange range = block.live_range;
  if (range.first_use.is_none() || range.last_use.is_none())
    return Status(Reason::kIndexOutOfRange);
  if (range.last_use < range.first_use)
    return Status(Reason::kReversedLiveRange).with(range.first_use);
  std::uint64_t rounded = 0;
  if (!checked_align_up(block.size_bytes, block.alignment_bytes, &rounded) ||
      rounded > kMaxArenaBytes) {
    return Status(Reason::kSizeOverflow).needed(block.size_bytes);
  }
  return block.is_fixed() ? check_fixed_offset(block, problem.regions[block.region.value])
                          : Status();
}

Status check_pairs(const PlanningProblem& problem, Span<const BlockPair> pairs) noexcept {
  for (const BlockPair& pair : pairs) {
    for (const BlockIndex block : {pair.first, pair.second}) {
      if (block.value >= problem.blocks.size()) return Status(Reason::kIndexOutOfRange).with(block);
    }
    if (pair.first == pair.second)
      return Status(Reason::kIndexOutOfRange).with(pair.first, pair.second);
  }
  return Status();
}

Status check_fixed_pairs(const PlanningProblem& problem, Upstream upstream) noexcept {
  Array<Placement> placements(upstream);
  if (!placements.resize(problem.blocks.size())) return Status(Reason::kUpstreamRefused);
  for (std::size_t i = 0; i < problem.blocks.size(); ++i) {
    const Block& block = problem.blocks[i];
    if (block.is_fixed()) placements[i] = {block.region, block.fixed_offset_bytes};
  }
  Result<internal::FoundConflict> found = internal::find_conflict(problem, placements, upstream);
  if (!found.ok()) return found.status();
  if (found->first.is_none()) return Status();
  return Status(Reason::kFixedOffsetsOverlap).with(found->first, found->second);
}

}  // namespace

Status fix_offsets(Span<const std::uint64_t> offsets_bytes, Span<Block> blocks) noexcept {
  if (offsets_bytes.size() != blocks.size()) return Status(Reason::kFixedOffsetsCount);
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i].fixed_offset_bytes = offsets_bytes[i];
  return Status();
}

Status validate(const PlanningProblem& problem, Upstream upstream) noexcept {
  if (problem.blocks.size() >= BlockIndex::kNoneValue) return Status(Reason::kTooMany);
  for (std::size_t i = 0; i < problem.regions.size(); ++i) {
    const std::uint64_t alignment = problem.regions[i].alignment_bytes;
    if (!is_power_of_two(alignment)) {
      const RegionIndex region(static_cast<std::uint32_t>(i));
      return Status(Reason::kNotPowerOfTwo).with(region).needed(alignment);
    }
  }
  std::size_t fixed_count = 0;
  for (std::size_t i = 0; i < problem.blocks.size(); ++i) {
    Status status = check_block(problem, problem.blocks[i]);
    if (!status.ok()) return status.with(BlockIndex(static_cast<std::uint32_t>(i)));
    if (problem.blocks[i].is_fixed()) ++fixed_count;
  }
  if (Status status = check_pairs(problem, problem.conflicts); !status.ok()) return status;
  if (Status status = check_pairs(problem, problem.may_overlap); !status.ok()) return status;
  return fixed_count < 2 ? Status() : check_fixed_pairs(problem, upstream);
}

}  // namespace tenure
