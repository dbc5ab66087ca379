// SPDX-License-Identifier: Apache-2.0
#pragma once

// From a graph to a planning problem: which tensors share storage, when each is in use, how many
// bytes are live at each step. Tensors with the same storage form a storage class; each class is
// one block.
//
//   Result<Lifetimes> lifetimes = LifetimeAnalyzer().analyze(graph);
//   lifetimes->live_range(tensor);
//   Result<MemoryPlan> plan = ArenaPlanner().plan(lifetimes->problem());
//
// Required relations (aliases, views) always merge. Permitted ones (in place) merge in the order of
// the operators when that is safe and does not raise the lower bound; the others are listed with a
// reason. Rules follow LiteRT's in-place sharing, but count the uses of all tensors of a class, not
// of one.

#include <cstdint>

#include "tenure/align.h"
#include "tenure/array.h"
#include "tenure/graph.h"
#include "tenure/index.h"
#include "tenure/problem.h"
#include "tenure/span.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure {

// Storage that is not placed, because its bytes come from elsewhere: a constant's, or a buffer that
// the application brings.
using OutsideIndex = Index<struct OutsideTag>;
struct OutsideStorage {
  TensorIndex tensor;  // the first constant or external tensor in it
  std::uint64_t size_bytes = 0;
  std::uint64_t alignment_bytes = 1;
  bool is_read_only = false;
};

// Where a tensor's bytes are: in a block or in outside storage, from an offset on. Both none: it has
// no storage, because no operator uses it.
struct StoragePlace {
  BlockIndex block;
  OutsideIndex outside;
  std::uint64_t offset_bytes = 0;
};

// Why a permitted relation was not taken.
enum class Refusal : std::uint8_t {
  kSizesDiffer,
  kInPlaceAlready,    // the result is written over another operand of this operator
  kReadLater,         // a tensor of the operand's class is read by a later operator
  kHeldToTheEnd,      // a tensor of the operand's class is an output or kept
  kAnotherOperand,    // another operand of the operator is in the class
  kAnotherResult,     // another result of the operator has joined the class
  kResultLiveBefore,  // a part of the result's class is written before this operator
  kReadOnly,          // constant or external data
  kPersistent,        // a persistent tensor of which the result is not declared an update
  kGraphInput,        // an input that is not declared disposable
  kMisaligned,        // the result's alignment cannot be had at the operand's place
  kRaisesLowerBound,
};
[[nodiscard]] const char* text_of(Refusal refusal) noexcept;

struct RefusedRelation {
  Relation relation;
  Refusal refusal = Refusal::kSizesDiffer;
};

// Thread safety: const functions may be called from several threads. Spans, and the problem's
// lists, stay valid as long as this object. All functions are O(1).
class Lifetimes {
 public:
  Lifetimes() noexcept = default;

  // One block for each storage class, ordered by its first tensor.
  [[nodiscard]] PlanningProblem problem() const noexcept {
    PlanningProblem problem;
    problem.blocks = blocks_;
    return problem;
  }
  [[nodiscard]] TensorIndex first_tensor(BlockIndex block) const noexcept {
    return first_tensors_[block.value];
  }
  [[nodiscard]] StoragePlace place(TensorIndex tensor) const noexcept {
    return places_[tensor.value];
  }
  [[nodiscard]] Span<const StoragePlace> places() const noexcept { return places_; }
  // By OutsideIndex.
  [[nodiscard]] Span<const OutsideStorage> outside() const noexcept { return outside_; }

  // The tensor's own, not its class's. Both ends none for a tensor that no operator uses.
  [[nodiscard]] LiveRange live_range(TensorIndex tensor) const noexcept {
    return live_ranges_[tensor.value];
  }
  // Of the reusable region, by step, each block rounded up to the unit.
  [[nodiscard]] Span<const std::uint64_t> live_bytes() const noexcept { return live_bytes_; }
  [[nodiscard]] std::uint64_t lower_bound_bytes() const noexcept { return lower_bound_bytes_; }
  [[nodiscard]] Step peak_step() const noexcept { return peak_step_; }
  [[nodiscard]] OperatorIndex peak_operator() const noexcept { return peak_operator_; }

  [[nodiscard]] Span<const RefusedRelation> refused() const noexcept { return refused_; }

 private:
  friend class LifetimeAnalyzer;
  friend class LifetimeAnalysis;

  Array<LiveRange> live_ranges_;
  Array<StoragePlace> places_;
  Array<OutsideStorage> outside_;
  Array<Block> blocks_;
  Array<TensorIndex> first_tensors_;
  Array<std::uint64_t> live_bytes_;
  Array<RefusedRelation> refused_;
  std::uint64_t lower_bound_bytes_ = 0;
  Step peak_step_;
  OperatorIndex peak_operator_;
};

// Stateless; may be used from several threads at once.
class LifetimeAnalyzer {
 public:
  explicit LifetimeAnalyzer(std::uint64_t default_alignment_bytes = kDefaultAlignmentBytes,
                            Upstream upstream = heap_upstream()) noexcept
      : default_alignment_bytes_(default_alignment_bytes), upstream_(upstream) {}

  // O(edges); for each permitted relation O(edges of its operator), and O(steps) for one between
  // classes of unequal size. Fails for an alignment that is no power of two, a view
  // that cannot be aligned, live sizes that overflow, and memory refused.
  [[nodiscard]] Result<Lifetimes> analyze(const TensorGraph& graph) const noexcept;

 private:
  std::uint64_t default_alignment_bytes_;
  Upstream upstream_;
};

}  // namespace tenure
