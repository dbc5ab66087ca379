// SPDX-License-Identifier: Apache-2.0

#include "tenure/status.h"

#include <cstdint>

#include "internal/text_writer.h"

namespace tenure {
namespace {

struct ReasonEntry {
  StatusCode code;
  const char* text;
};

ReasonEntry entry_of(Reason reason) noexcept {
  using Code = StatusCode;
  switch (reason) {
    case Reason::kNone:
      return {Code::kOk, "no error"};
    case Reason::kIndexOutOfRange:
      return {Code::kInvalidInput, "an index names nothing that exists"};
    case Reason::kUsedBeforeProduced:
      return {Code::kInvalidInput, "a tensor is read before the operator that produces it"};
    case Reason::kNeverProduced:
      return {Code::kInvalidInput, "a tensor is read or is an output, but nothing produces it"};
    case Reason::kProducedTwice:
      return {Code::kInvalidInput, "a tensor is produced twice"};
    case Reason::kProducedByGraph:
      return {Code::kInvalidInput,
              "an operator produces a tensor that comes from outside the graph"};
    case Reason::kScratchMisused:
      return {Code::kInvalidInput,
              "a scratch tensor is used as an operand or belongs to no operator"};
    case Reason::kRelationOutsideOperator:
      return {Code::kInvalidInput,
              "a relation names a tensor in a role it does not have at its operator"};
    case Reason::kRelationCycle:
      return {Code::kInvalidInput, "relations contradict each other: one tensor, two offsets"};
    case Reason::kAliasSizeMismatch:
      return {Code::kInvalidInput, "an alias has another size than the tensor whose bytes it is"};
    case Reason::kViewOutOfBounds:
      return {Code::kInvalidInput, "a view does not fit into the tensor it lies in"};
    case Reason::kViewMisaligned:
      return {Code::kInvalidInput,
              "a view's offset is not a multiple of the alignment asked for it"};
    case Reason::kConflictingStorage:
      return {Code::kInvalidInput,
              "relations join tensors whose storage comes from different places"};
    case Reason::kOrderCycle:
      return {Code::kInvalidInput, "operators wait for each other in a cycle"};
    case Reason::kNotPowerOfTwo:
      return {Code::kInvalidInput, "an alignment is not a power of two"};
    case Reason::kSizeOverflow:
      return {Code::kOverflow, "a size or sum does not fit in 64 bits"};
    case Reason::kTooMany:
      return {Code::kOverflow, "there are more parts than can be counted"};
    case Reason::kReversedLiveRange:
      return {Code::kInvalidInput, "a live range ends before it begins"};
    case Reason::kFixedOffsetNegative:
      return {Code::kInvalidInput, "a fixed offset is negative"};
    case Reason::kFixedOffsetMisaligned:
      return {Code::kInvalidInput, "a fixed offset is not a multiple of the block's alignment"};
    case Reason::kFixedOffsetBeyondCapacity:
      return {Code::kLimitExceeded, "a block at a fixed offset ends beyond the region's capacity"};
    case Reason::kFixedOffsetsOverlap:
      return {Code::kInvalidInput, "two blocks at fixed offsets conflict"};
    case Reason::kFixedOffsetsCount:
      return {Code::kInvalidInput, "the list of fixed offsets has another length than the blocks"};
    case Reason::kCapacityExceeded:
      return {Code::kLimitExceeded, "a region's capacity is below what its blocks need"};
    case Reason::kBufferTooSmall:
      return {Code::kLimitExceeded, "the lent buffer is too small"};
    case Reason::kAddressSpace:
      return {Code::kOverflow, "the bytes needed do not fit this machine's address space"};
    case Reason::kUpstreamRefused:
      return {Code::kOutOfMemory, "memory was refused"};
    case Reason::kNotAllocated:
      return {Code::kInvalidInput, "a block is given back that is not allocated"};
    case Reason::kNotOutside:
      return {Code::kInvalidInput, "the tensor's memory is not the application's to bring"};
    case Reason::kBufferMisaligned:
      return {Code::kInvalidInput, "the buffer is not aligned as the tensor needs it"};
    case Reason::kBuffersOverlap:
      return {Code::kInvalidInput, "the buffer shares bytes with other memory"};
    case Reason::kNotBound:
      return {Code::kInvalidInput, "a tensor's memory has not been brought"};
    case Reason::kBlocksLive:
      return {Code::kInUse, "blocks are live in the memory concerned"};
    case Reason::kRunInProgress:
      return {Code::kInUse, "a model is running in the memory concerned"};
    case Reason::kStaleMark:
      return {Code::kInvalidInput,
              "the mark is stale: the pool was rewound past it or reset, or is another"};
    case Reason::kPoolExhausted:
      return {Code::kLimitExceeded, "the pool has no room for it in one piece"};
    case Reason::kHasPlace:
      return {Code::kInUse, "the model has a place in its pool already"};
    case Reason::kHasNoPlace:
      return {Code::kInvalidInput, "the model has no place in its pool"};
    case Reason::kPlanBytesDamaged:
      return {Code::kUnsafePlan, "the bytes are not those of a plan, or are damaged"};
    case Reason::kPlanBytesVersion:
      return {Code::kInvalidInput, "the plan's bytes have a version that is not known here"};
    case Reason::kPlanBytesForeign:
      return {Code::kUnsafePlan, "the plan's bytes belong to another graph or problem"};
    case Reason::kPlanMismatch:
      return {Code::kUnsafePlan, "the plan was made for other blocks, tensors or regions"};
    case Reason::kOutsideRegion:
      return {Code::kUnsafePlan, "a placement ends beyond its arena"};
    case Reason::kMisplacedAlignment:
      return {Code::kUnsafePlan, "a placement is not aligned"};
    case Reason::kBlocksOverlap:
      return {Code::kUnsafePlan, "two blocks that conflict share bytes"};
    case Reason::kFixedOffsetMoved:
      return {Code::kUnsafePlan, "a block does not lie at its fixed offset"};
    case Reason::kNotPlaced:
      return {Code::kUnsafePlan, "something that needs memory has no placement"};
    case Reason::kOverwritten:
      return {Code::kUnsafePlan, "a tensor's bytes are overwritten while they are needed"};
    case Reason::kSharedWithinOperator:
      return {Code::kUnsafePlan, "tensors of one operator share bytes without leave"};
    case Reason::kRelationBroken:
      return {Code::kUnsafePlan, "an alias or view does not lie where its relation says"};
    case Reason::kBoundTooHigh:
      return {Code::kUnsafePlan, "the plan's lower bound is above the true one or above its arena"};
  }
  return {StatusCode::kInvalidInput, "unknown reason"};
}

class Culprits {
 public:
  explicit Culprits(TextSink sink) noexcept : writer_(sink) {}

  template <class Tag>
  void add(const char* word, Index<Tag> index, const char* name) noexcept {
    if (index.is_none()) return;
    separate().text(word).text(" ").number(index.value);
    if (name != nullptr && *name != '\0') writer_.text(" '").text(name).text("'");
  }
  void add_bytes(const char* word, std::uint64_t value) noexcept {
    separate().text(word).text(" ").number(value).text(" bytes");
  }
  void add_live(std::uint64_t blocks) noexcept {
    separate().number(blocks).text(blocks == 1 ? " block live" : " blocks live");
  }

 private:
  TextWriter& separate() noexcept {
    writer_.text(separator_);
    separator_ = ", ";
    return writer_;
  }

  TextWriter writer_;
  const char* separator_ = ": ";
};

}  // namespace

StatusCode code_of(Reason reason) noexcept { return entry_of(reason).code; }
const char* text_of(Reason reason) noexcept { return entry_of(reason).text; }

void describe(const Status& status, NameSource names, TextSink sink) noexcept {
  if (sink.write == nullptr) return;
  const auto tensor_name = [&](TensorIndex tensor) -> const char* {
    if (tensor.is_none() || names.tensor_name == nullptr) return nullptr;
    return names.tensor_name(names.user, tensor);
  };
  const char* operator_name = nullptr;
  if (!status.op.is_none() && names.operator_name != nullptr) {
    operator_name = names.operator_name(names.user, status.op);
  }
  TextWriter(sink).text(text_of(status.reason()));
  Culprits culprits(sink);
  culprits.add("operator", status.op, operator_name);
  culprits.add("tensor", status.tensor, tensor_name(status.tensor));
  culprits.add("tensor", status.other_tensor, tensor_name(status.other_tensor));
  culprits.add("block", status.block, nullptr);
  culprits.add("block", status.other_block, nullptr);
  culprits.add("region", status.region, nullptr);
  culprits.add("step", status.step, nullptr);
  if (status.needed_bytes != 0) culprits.add_bytes("needed", status.needed_bytes);
  if (status.available_bytes != 0 || status.code() == StatusCode::kLimitExceeded) {
    culprits.add_bytes("available", status.available_bytes);
  }
  if (status.alignment_bytes != 0) culprits.add_bytes("alignment", status.alignment_bytes);
  if (status.live_blocks != 0) culprits.add_live(status.live_blocks);
}

}  // namespace tenure
