// SPDX-License-Identifier: Apache-2.0
#pragma once

// Failure as a value. A Status says what kind of answer the caller owes (`code`), what exactly is
// wrong (`reason`) and who caused it (tensor, operator, block, region, bytes). It is a plain value,
// never allocates, and every function that returns a failed one has left all objects as they were.
//
//   if (tenure::Status status = arena.commit(plan.layouts()); !status.ok()) {
//     tenure::describe(status, graph.names(), sink);
//   }

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tenure/index.h"
#include "tenure/span.h"

namespace tenure {

// One code for each different thing that a caller has to do about it.
enum class StatusCode : std::uint8_t {
  kOk,
  kInvalidInput,   // the graph, problem, file or option contradicts itself: correct it
  kOverflow,       // a size or sum does not fit its type: the model is too large for this machine
  kLimitExceeded,  // memory that was offered is too small: see needed_bytes and available_bytes
  kOutOfMemory,    // the upstream refused: free something, or try again later
  kUnsafePlan,     // a plan would corrupt data: do not use it
  kInUse,          // blocks are live or a run is on: end that first, or say that it is to be forced
};

// What exactly is wrong; each reason belongs to one code.
enum class Reason : std::uint8_t {
  kNone,
  // Graphs.
  kIndexOutOfRange,          // an operator names a tensor that does not exist
  kUsedBeforeProduced,       // a tensor is read at an operator before the one that produces it
  kNeverProduced,            // a tensor is read or is an output, but nothing produces it
  kProducedTwice,            // two operators, or one twice, produce the same tensor
  kProducedByGraph,          // an operator produces an input or a constant
  kScratchMisused,           // a scratch tensor is an operand, or belongs to no operator
  kRelationOutsideOperator,  // a relation names a tensor that its operator neither reads nor writes
  kRelationCycle,      // relations contradict each other: a tensor would lie at two offsets at once
  kAliasSizeMismatch,  // an alias has another size than the tensor whose bytes it is
  kViewOutOfBounds,    // a view does not fit into the tensor it lies in
  kViewMisaligned,     // a view's offset cannot meet the alignment that was asked for it
  kConflictingStorage,  // tensors with storage of different kinds would share their bytes
  kOrderCycle,          // operators wait for each other
  // Values.
  kNotPowerOfTwo,      // an alignment is not a power of two
  kSizeOverflow,       // a size, sum or round-up does not fit in 64 bits
  kTooMany,            // more tensors, operators or regions than can be counted
  kReversedLiveRange,  // a live range ends before it begins
  // Fixed offsets.
  kFixedOffsetNegative,
  kFixedOffsetMisaligned,
  kFixedOffsetBeyondCapacity,
  kFixedOffsetsOverlap,
  kFixedOffsetsCount,  // a list of fixed offsets has another length than the list of blocks
  // Memory.
  kCapacityExceeded,  // a region's capacity is below what its blocks need
  kBufferTooSmall,    // a lent buffer is below what the plan needs
  kAddressSpace,      // bytes do not fit std::size_t on this machine
  kUpstreamRefused,   // the upstream returned no memory
  kNotAllocated,      // a block that is given back is not allocated
  kNotOutside,        // memory is brought for a tensor that the plan places, or that is read-only
  kBufferMisaligned,  // brought memory does not begin at the alignment that is needed
  kBuffersOverlap,    // brought memory shares bytes with other memory
  kNotBound,          // a tensor's memory has not been brought
  // Pools.
  kBlocksLive,     // memory would be taken from blocks that have not been freed: see live_blocks
  kRunInProgress,  // a model is running, in memory that it has for itself
  kStaleMark,      // what the mark remembers is gone: rewound past it, or reset; or another pool's
  kPoolExhausted,  // no room for this in the pool, or not in one piece
  kHasPlace,       // a model is in its pool already
  kHasNoPlace,     // a model that is not in its pool would run
  // Plans as bytes.
  kPlanBytesDamaged,  // what is there is not a plan, or not all of it, or altered
  kPlanBytesVersion,  // a version of the format that this library does not read
  kPlanBytesForeign,  // a plan for another graph or problem
  // Plans that fail their proof.
  kPlanMismatch,   // a plan lists other blocks, tensors or regions than what it is checked against
  kOutsideRegion,  // a placement ends beyond its region's arena
  kMisplacedAlignment,  // a placement is not aligned
  kBlocksOverlap,       // two blocks that conflict share bytes
  kFixedOffsetMoved,    // a block with a fixed offset lies elsewhere
  kNotPlaced,           // something that needs memory has none
  kOverwritten,  // an operator would read, or a run would end with, bytes that another tensor holds
  kSharedWithinOperator,  // two tensors of one operator share bytes without a relation that allows
                          // it
  kRelationBroken,        // an alias or view does not lie where its relation says
  kBoundTooHigh,          // a stated lower bound is above the true one or above its arena
};

[[nodiscard]] StatusCode code_of(Reason reason) noexcept;
// One sentence without culprits and without a full stop; never null.
[[nodiscard]] const char* text_of(Reason reason) noexcept;

class [[nodiscard]] Status {
 public:
  constexpr Status() noexcept = default;
  explicit Status(Reason reason) noexcept : reason_(reason) {}

  [[nodiscard]] constexpr bool ok() const noexcept { return reason_ == Reason::kNone; }
  [[nodiscard]] constexpr Reason reason() const noexcept { return reason_; }
  [[nodiscard]] StatusCode code() const noexcept { return code_of(reason_); }

  // Who caused it; whatever does not apply is none, or 0 bytes.
  TensorIndex tensor;
  TensorIndex other_tensor;
  OperatorIndex op;
  BlockIndex block;
  BlockIndex other_block;
  RegionIndex region;
  Step step;
  std::uint64_t needed_bytes = 0;
  std::uint64_t available_bytes = 0;
  std::uint64_t alignment_bytes = 0;
  std::uint64_t live_blocks = 0;

  Status& with(TensorIndex culprit) noexcept { return tensor = culprit, *this; }
  Status& with(TensorIndex culprit, TensorIndex other) noexcept {
    return other_tensor = other, with(culprit);
  }
  Status& with(OperatorIndex culprit) noexcept { return op = culprit, *this; }
  Status& with(BlockIndex culprit) noexcept { return block = culprit, *this; }
  Status& with(BlockIndex culprit, BlockIndex other) noexcept {
    return other_block = other, with(culprit);
  }
  Status& with(RegionIndex culprit) noexcept { return region = culprit, *this; }
  Status& with(Step culprit) noexcept { return step = culprit, *this; }
  Status& needed(std::uint64_t bytes) noexcept { return needed_bytes = bytes, *this; }
  Status& available(std::uint64_t bytes) noexcept { return available_bytes = bytes, *this; }
  Status& aligned(std::uint64_t bytes) noexcept { return alignment_bytes = bytes, *this; }
  Status& live(std::uint64_t blocks) noexcept { return live_blocks = blocks, *this; }

 private:
  Reason reason_ = Reason::kNone;
};

// A value, or the Status that says why there is none. T has a cheap empty state, which is what a
// failed Result holds.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) noexcept : value_(static_cast<T&&>(value)) {}
  Result(const Status& status) noexcept : status_(status) { TENURE_ASSERT(!status.ok()); }

  [[nodiscard]] bool ok() const noexcept { return status_.ok(); }
  [[nodiscard]] const Status& status() const noexcept { return status_; }

  // Precondition: ok().
  [[nodiscard]] T& value() & noexcept { return TENURE_ASSERT(ok()), value_; }
  [[nodiscard]] const T& value() const& noexcept { return TENURE_ASSERT(ok()), value_; }
  [[nodiscard]] T&& value() && noexcept { return TENURE_ASSERT(ok()), static_cast<T&&>(value_); }
  T* operator->() noexcept { return &value(); }
  const T* operator->() const noexcept { return &value(); }
  T& operator*() & noexcept { return value(); }
  const T& operator*() const& noexcept { return value(); }

 private:
  Status status_;
  T value_{};
};

// Where text goes: called with pieces that are not terminated by a null character.
struct TextSink {
  void (*write)(void* user, const char* text, std::size_t length) = nullptr;
  void* user = nullptr;
};

// Where names come from; TensorGraph::names() gives one. Without functions, "tensor 3" is written.
struct NameSource {
  const char* (*tensor_name)(const void* user, TensorIndex tensor) = nullptr;
  const char* (*operator_name)(const void* user, OperatorIndex op) = nullptr;
  const void* user = nullptr;
};

// Writes one line without a line break: what is wrong, then the culprits with names, steps and
// bytes.
void describe(const Status& status, NameSource names, TextSink sink) noexcept;

}  // namespace tenure
