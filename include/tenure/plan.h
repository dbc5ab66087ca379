// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where everything lies: a placement for each block, an arena for each region, and the distance to
// the lower bound. A plan that was made from a graph also has a placement for each tensor.
// Immutable; ArenaPlanner makes it, verify proves it, SimpleMemoryArena carries it out.
//
//   plan.arena_bytes();                 // of the reusable region
//   plan.tensor_placement(tensor);      // region and offset

#include <cstdint>

#include "tenure/array.h"
#include "tenure/index.h"
#include "tenure/layout.h"
#include "tenure/span.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure {

struct RegionPlan {
  std::uint64_t arena_bytes = 0;        // largest offset + size, rounded up to the unit
  std::uint64_t lower_bound_bytes = 0;  // no plan is smaller
  std::uint64_t unit_bytes = 1;         // smallest alignment of its blocks
  Step peak_step;          // where the lower bound is reached; none for an empty region
  bool is_proven = false;  // a search has shown that no plan is smaller, above the lower bound too

  // Nobody can do better. False says only that it is not known.
  [[nodiscard]] bool is_optimal() const noexcept {
    return is_proven || arena_bytes == lower_bound_bytes;
  }
};

// Thread safety: const functions may be called from several threads. Spans stay valid as long as
// the plan.
class MemoryPlan {
 public:
  // Lists to copy; regions and layouts have one element for each region. Says nothing about whether
  // the plan is safe: verify does.
  struct Parts {
    Span<const RegionPlan> regions;
    Span<const RegionLayout> layouts;
    Span<const Placement> placements;
    Span<const Placement> tensor_placements;
  };
  [[nodiscard]] static Result<MemoryPlan> create(const Parts& parts,
                                                 Upstream upstream = heap_upstream()) noexcept;
  MemoryPlan() noexcept = default;

  [[nodiscard]] Span<const RegionPlan> regions() const noexcept { return regions_; }
  // What an arena has to provide; sizes include the tail padding.
  [[nodiscard]] Span<const RegionLayout> layouts() const noexcept { return layouts_; }
  // By block.
  [[nodiscard]] Span<const Placement> placements() const noexcept { return placements_; }
  // By tensor; empty for a plan that was not made from a graph. None for tensors without storage
  // here.
  [[nodiscard]] Span<const Placement> tensor_placements() const noexcept {
    return tensor_placements_;
  }

  // Preconditions: the index is below the count.
  [[nodiscard]] Placement placement(BlockIndex block) const noexcept {
    return placements_[block.value];
  }
  [[nodiscard]] Placement tensor_placement(TensorIndex tensor) const noexcept {
    return tensor_placements_[tensor.value];
  }
  [[nodiscard]] const RegionPlan& region(RegionIndex index) const noexcept {
    return regions_[index.value];
  }
  // 0 for a region that the plan does not have.
  [[nodiscard]] std::uint64_t arena_bytes(RegionIndex region = kReusableRegion) const noexcept {
    return region.value < regions_.size() ? regions_[region.value].arena_bytes : 0;
  }
  [[nodiscard]] std::uint64_t lower_bound_bytes(
      RegionIndex region = kReusableRegion) const noexcept {
    return region.value < regions_.size() ? regions_[region.value].lower_bound_bytes : 0;
  }

  // A number that is equal for equal plans on every machine, compiler and run.
  [[nodiscard]] std::uint64_t hash() const noexcept;

 private:
  friend class ArenaPlanner;
  explicit MemoryPlan(Upstream upstream) noexcept
      : regions_(upstream),
        layouts_(upstream),
        placements_(upstream),
        tensor_placements_(upstream) {}

  Array<RegionPlan> regions_;
  Array<RegionLayout> layouts_;
  Array<Placement> placements_;
  Array<Placement> tensor_placements_;
};

}  // namespace tenure
