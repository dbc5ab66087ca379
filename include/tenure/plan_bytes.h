// SPDX-License-Identifier: Apache-2.0
#pragma once

// A plan as bytes: the host makes and proves a plan once, a device opens the bytes where they lie
// (flash, a file that is mapped) and commits them, with no planner and no heap.
//
//   const Result<Array<std::byte>> bytes = encode(plan, fingerprint(graph));         // on the host
//
//   const Result<PlanBytes> plan = PlanBytes::open(bytes, kModel);                 // on the device
//   RegionLayout layouts[kMaxRegions];
//   if (!plan.ok() || !plan->copy_layouts(layouts).ok()) return nullptr;
//   const Span<const RegionLayout> regions(layouts, plan->region_count());
//   if (!arena->commit_lent(memory, regions).ok()) return nullptr;
//   return arena->address(plan->tensor_placement(TensorIndex(0)));
//
// Version 1 of the format. All numbers are unsigned and little-endian, none has the width of a
// machine's types, and no byte is left over; the bytes may lie at any address.
//
//   | at        | bytes           | what
//   |-----------|-----------------|--------------------------------------------------
//   | 0         | 4               | "TNRP"
//   | 4         | 1               | version: 1
//   | 5         | 1               | R: regions, up to 255
//   | 6         | 1               | W: bytes of an offset, 1 to 8
//   | 7         | 1               | S: zero bits cut off the end of offsets, 0 to 63
//   | 8         | 8               | fingerprint of the graph or problem
//   | 16        | 4               | B: blocks
//   | 20        | 4               | T: tensors
//   | 24        | 30 R            | regions
//   | 24 + 30 R | (1 + W) (B + T) | placements, by block, then by tensor
//   | behind    | 4               | CRC-32 of all before (as in zlib and IEEE 802.3)
//
//   A region: 8 size_bytes, 8 arena_bytes, 8 lower_bound_bytes, 4 peak_step (2^32 - 1: none),
//             1 log2 of alignment_bytes (+ 128: keeps contents), 1 log2 of unit_bytes
//             (+ 128: proven).
//   A placement: 1 region (255: none), W offset_bytes / 2^S (none: 0).

#include <cstddef>
#include <cstdint>

#include "tenure/array.h"
#include "tenure/index.h"
#include "tenure/layout.h"
#include "tenure/plan.h"
#include "tenure/span.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure {

class TensorGraph;
struct PlanningProblem;

// Which graph or problem a plan belongs to: a number that is equal for equal ones on every machine.
// Covers everything that decides where bytes may lie: sizes, alignments, kinds, marks, operators
// with their operands in order, relations; blocks, live ranges, regions, pairs. Names are left out,
// since converters change them and devices drop them, and no byte lies elsewhere for it; so are the
// planner's options. It tells models apart that were mixed up, not ones that were forged. O(size).
[[nodiscard]] std::uint64_t fingerprint(const TensorGraph& graph) noexcept;
[[nodiscard]] std::uint64_t fingerprint(const PlanningProblem& problem) noexcept;

// A plan read where its bytes lie. Copying copies a pointer; the bytes must outlive it, unchanged.
// All functions but open() are O(1); all may be called from several threads, and none takes memory.
class PlanBytes {
 public:
  PlanBytes() noexcept = default;  // a plan of nothing

  // Checks everything that can be checked without the graph, in O(bytes). Fails with
  //   kPlanBytesDamaged  no plan, cut off, too long (needed: the length that the counts ask for;
  //                      available), altered (the checksum), or numbers that mean nothing (region);
  //   kPlanBytesVersion  another version of the format;
  //   kPlanBytesForeign  the fingerprint is not the expected one;
  //   kOutsideRegion     a placement in no region or behind the end of its arena (block or tensor),
  //                      or an arena larger than its region (region).
  // Whether tensors meet in memory it cannot know: the host verifies before it encodes, and a plan
  // of unknown origin is decoded and verified.
  [[nodiscard]] static Result<PlanBytes> open(Span<const std::byte> bytes,
                                              std::uint64_t expected_fingerprint) noexcept;

  [[nodiscard]] std::uint64_t fingerprint() const noexcept;
  [[nodiscard]] std::uint32_t region_count() const noexcept { return region_count_; }
  [[nodiscard]] std::uint32_t block_count() const noexcept { return block_count_; }
  [[nodiscard]] std::uint32_t tensor_count() const noexcept { return tensor_count_; }

  // Preconditions: the index is below the count.
  [[nodiscard]] RegionLayout layout(RegionIndex index) const noexcept;
  [[nodiscard]] RegionPlan region(RegionIndex index) const noexcept;
  [[nodiscard]] Placement placement(BlockIndex block) const noexcept {
    TENURE_ASSERT(block.value < block_count_);
    return placement_at(block.value);
  }
  [[nodiscard]] Placement tensor_placement(TensorIndex tensor) const noexcept {
    TENURE_ASSERT(tensor.value < tensor_count_);
    return placement_at(std::size_t{block_count_} + tensor.value);
  }
  // 0 for a region that the plan does not have.
  [[nodiscard]] std::uint64_t arena_bytes(RegionIndex region = kReusableRegion) const noexcept;
  [[nodiscard]] std::uint64_t lower_bound_bytes(
      RegionIndex region = kReusableRegion) const noexcept;

  // Writes the first region_count() elements, for SimpleMemoryArena. Fails with kBufferTooSmall
  // (bytes) when there are fewer; nothing is written then.
  [[nodiscard]] Status copy_layouts(Span<RegionLayout> layouts) const noexcept;

 private:
  [[nodiscard]] Status check_regions() const noexcept;
  [[nodiscard]] Status check_placements() const noexcept;
  [[nodiscard]] const std::byte* region_bytes(RegionIndex index) const noexcept;
  [[nodiscard]] Placement placement_at(std::size_t index) const noexcept;

  const std::byte* bytes_ = nullptr;
  std::uint32_t block_count_ = 0;
  std::uint32_t tensor_count_ = 0;
  std::uint8_t region_count_ = 0;
  std::uint8_t offset_width_ = 1;
  std::uint8_t offset_shift_ = 0;
};

// The plan's bytes, which PlanBytes::open accepts with that fingerprint, and which are equal for
// equal plans on every machine. Says nothing about whether the plan is safe: verify does. Fails for
// what open would refuse: kOutsideRegion (also for a block of no bytes that is fixed behind its
// arena), kNotPowerOfTwo (region); with kTooMany above 255 regions; and when memory is refused.
// O(placements).
[[nodiscard]] Result<Array<std::byte>> encode(const MemoryPlan& plan,
                                              std::uint64_t model_fingerprint,
                                              Upstream upstream = heap_upstream()) noexcept;

// The plan that was encoded, equal in every part; to be verified like any plan from a file. Fails
// when memory is refused.
[[nodiscard]] Result<MemoryPlan> decode(const PlanBytes& bytes,
                                        Upstream upstream = heap_upstream()) noexcept;

}  // namespace tenure
