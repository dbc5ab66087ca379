// SPDX-License-Identifier: Apache-2.0

#include "tenure/lifetime.h"

#include <algorithm>

#include "internal/lifetime_analysis.h"

namespace tenure {

using internal::StorageClasses;

const char* text_of(Refusal refusal) noexcept {
  switch (refusal) {
    case Refusal::kSizesDiffer:
      return "the sizes differ";
    case Refusal::kInPlaceAlready:
      return "the result is written over another operand";
    case Refusal::kReadLater:
      return "the operand's storage is used by a later operator";
    case Refusal::kHeldToTheEnd:
      return "the operand's storage holds an output or a kept tensor";
    case Refusal::kAnotherOperand:
      return "another operand has the same storage";
    case Refusal::kAnotherResult:
      return "another result has the same storage";
    case Refusal::kResultLiveBefore:
      return "the result's storage is written before this operator";
    case Refusal::kReadOnly:
      return "the storage is constant or the application's";
    case Refusal::kPersistent:
      return "the storage is persistent and the result not its update";
    case Refusal::kGraphInput:
      return "the storage holds an input that is not disposable";
    case Refusal::kMisaligned:
      return "the operand's place does not suit the result's alignment";
    case Refusal::kRaisesLowerBound:
      return "sharing would raise the lower bound";
  }
  return "unknown reason";
}

Result<Lifetimes> LifetimeAnalyzer::analyze(const TensorGraph& graph) const noexcept {
  if (!is_power_of_two(default_alignment_bytes_)) {
    return Status(Reason::kNotPowerOfTwo).needed(default_alignment_bytes_);
  }
  LifetimeAnalysis analysis(graph, default_alignment_bytes_, upstream_);
  return analysis.run();
}

LifetimeAnalysis::LifetimeAnalysis(const TensorGraph& graph, std::uint64_t default_alignment_bytes,
                                   Upstream upstream) noexcept
    : graph_(graph),
      default_alignment_bytes_(default_alignment_bytes),
      last_step_(graph.step_count() - 1),
      upstream_(upstream),
      classes_(upstream),
      infos_(upstream),
      class_blocks_(upstream) {
  result_.live_ranges_ = Array<LiveRange>(upstream);
  result_.places_ = Array<StoragePlace>(upstream);
  result_.outside_ = Array<OutsideStorage>(upstream);
  result_.blocks_ = Array<Block>(upstream);
  result_.first_tensors_ = Array<TensorIndex>(upstream);
  result_.live_bytes_ = Array<std::uint64_t>(upstream);
  result_.refused_ = Array<RefusedRelation>(upstream);
}

Result<Lifetimes> LifetimeAnalysis::run() noexcept {
  const std::size_t count = graph_.tensor_count();
  if (!classes_.reset(graph_.tensors()) || !infos_.resize(count) || !class_blocks_.resize(count) ||
      !result_.live_ranges_.resize(count) || !result_.places_.resize(count) ||
      !result_.live_bytes_.resize(graph_.step_count())) {
    return Status(Reason::kUpstreamRefused);
  }
  touch_tensors();
  if (Status status = join_required(); !status.ok()) return status;
  if (Status status = collect_infos(); !status.ok()) return status;
  if (Status status = join_permitted(); !status.ok()) return status;
  if (Status status = number_storage(); !status.ok()) return status;
  if (Status status = sum_live_bytes(result_.blocks_); !status.ok()) return status;
  for (std::uint32_t step = 0; step <= last_step_; ++step) {
    if (result_.live_bytes_[step] > result_.lower_bound_bytes_) {
      result_.lower_bound_bytes_ = result_.live_bytes_[step];
      result_.peak_step_ = Step(step);
      result_.peak_operator_ = graph_.operator_at(Step(step));
    }
  }
  return static_cast<Lifetimes&&>(result_);
}

void LifetimeAnalysis::touch(TensorIndex tensor, OperatorIndex op) noexcept {
  LiveRange& range = result_.live_ranges_[tensor.value];
  const Step step = graph_.step(op);
  if (range.first_use.is_none()) range.first_use = step;
  range.last_use = step;
}

// First and last operator that has the tensor as operand, result or scratch; held() widens that.
void LifetimeAnalysis::touch_tensors() noexcept {
  for (std::uint32_t i = 0; i < graph_.operator_count(); ++i) {
    const OperatorIndex op(i);
    for (const TensorIndex operand : graph_.inputs(op)) {
      if (!operand.is_none()) touch(operand, op);
    }
    for (const TensorIndex result : graph_.outputs(op)) touch(result, op);
    for (const TensorIndex scratch : graph_.scratch(op)) touch(scratch, op);
  }
}

// Tensors that come from outside live from the first step, those that are wanted after the run to
// the last.
LiveRange LifetimeAnalysis::held(TensorIndex index) const noexcept {
  const Tensor& tensor = graph_.tensor(index);
  LiveRange range = result_.live_ranges_[index.value];
  const bool is_persistent = tensor.kind == TensorKind::kPersistent;
  const bool is_given = tensor.kind == TensorKind::kInput || is_persistent;
  if (range.first_use.is_none()) {
    if (!is_given) return range;
    range = {Step(0), Step(0)};
  }
  if (is_given) range.first_use = Step(0);
  if (is_persistent || tensor.is_output || tensor.keep) range.last_use = Step(last_step_);
  return range;
}

Status LifetimeAnalysis::join_required() noexcept {
  for (const Relation& relation : graph_.relations()) {
    if (!is_required(relation.kind)) continue;
    if (Status status = classes_.require(relation); !status.ok()) return status;
    infos_[relation.tensor.value].is_derived = true;
  }
  return Status();
}

void LifetimeAnalysis::ClassInfo::widen(LiveRange other) noexcept {
  if (other.first_use.is_none()) return;
  if (live.first_use.is_none()) {
    live = other;
    return;
  }
  live = {std::min(live.first_use, other.first_use), std::max(live.last_use, other.last_use)};
}

void LifetimeAnalysis::ClassInfo::add(const ClassInfo& other) noexcept {
  widen(other.live);
  first_touch = std::min(first_touch, other.first_touch);
  if (last_touch.is_none() || (!other.last_touch.is_none() && other.last_touch > last_touch)) {
    last_touch = other.last_touch;
  }
  alignment_bytes = std::max(alignment_bytes, other.alignment_bytes);
  is_read_only = is_read_only || other.is_read_only;
  is_external = is_external || other.is_external;
  is_persistent = is_persistent || other.is_persistent;
  holds_input = holds_input || other.holds_input;
  holds_readable_input = holds_readable_input || other.holds_readable_input;
  is_held = is_held || other.is_held;
}

// A derived tensor (an alias or view) takes the alignment of what it lies in, unless it asks for
// its own.
LifetimeAnalysis::ClassInfo LifetimeAnalysis::info_of(TensorIndex index) const noexcept {
  const Tensor& tensor = graph_.tensor(index);
  const LiveRange touched = result_.live_ranges_[index.value];
  ClassInfo info;
  info.live = held(index);
  info.first_touch = touched.first_use;
  info.last_touch = touched.last_use;
  const bool takes_default = tensor.alignment_bytes == 0 && !infos_[index.value].is_derived;
  info.alignment_bytes = takes_default ? default_alignment_bytes_ : tensor.alignment_bytes;
  info.is_read_only = tensor.kind == TensorKind::kConstant;
  info.is_external = tensor.kind == TensorKind::kExternal;
  info.is_persistent = tensor.kind == TensorKind::kPersistent;
  info.holds_input = tensor.kind == TensorKind::kInput;
  info.holds_readable_input = info.holds_input && !tensor.is_disposable;
  info.is_held = tensor.is_output || tensor.keep;
  return info;
}

// Infos of roots become those of their classes; from here on a tensor's own live range is the held
// one.
Status LifetimeAnalysis::collect_infos() noexcept {
  for (std::uint32_t i = 0; i < graph_.tensor_count(); ++i) {
    const ClassInfo own = info_of(TensorIndex(i));
    infos_[classes_.find(TensorIndex(i)).root.value].add(own);
  }
  for (std::uint32_t i = 0; i < graph_.tensor_count(); ++i) {
    result_.live_ranges_[i] = held(TensorIndex(i));
    const std::uint32_t root = classes_.find(TensorIndex(i)).root.value;
    // Only derived tensors, which name each other in a circle that closes: the default after all.
    if (infos_[root].alignment_bytes == 0) infos_[root].alignment_bytes = default_alignment_bytes_;
  }
  return check_default_alignment();
}

// A tensor that is no alias or view itself may still lie away from its class's base, where what
// lies in it lies in another tensor too.
Status LifetimeAnalysis::check_default_alignment() noexcept {
  for (std::uint32_t i = 0; i < graph_.tensor_count(); ++i) {
    const StorageClasses::Member member = classes_.find(TensorIndex(i));
    const bool is_placed = infos_[member.root.value].is_placed();
    if (!is_placed || infos_[i].is_derived || graph_.tensor(TensorIndex(i)).alignment_bytes != 0)
      continue;
    const std::int64_t begin = classes_.extent(member.root).begin;
    if (static_cast<std::uint64_t>(member.offset - begin) % default_alignment_bytes_ != 0) {
      return Status(Reason::kViewMisaligned).with(TensorIndex(i)).needed(default_alignment_bytes_);
    }
  }
  return Status();
}

Block LifetimeAnalysis::block_of(TensorIndex root) const noexcept {
  const ClassInfo& info = infos_[root.value];
  Block block;
  if (!info.is_placed()) {
    block.live_range = {Step(0), Step(0)};
    return block;
  }
  // A tensor too large for an extent has joined nothing.
  block.size_bytes = std::max(classes_.extent(root).size_bytes(), graph_.tensor(root).size_bytes);
  block.live_range = info.live;
  block.alignment_bytes = info.alignment_bytes;
  block.region = info.is_persistent ? kPersistentRegion : kReusableRegion;
  if (info.is_persistent) block.live_range = {Step(0), Step(last_step_)};
  return block;
}

OutsideStorage LifetimeAnalysis::outside_of(TensorIndex root, TensorIndex first) const noexcept {
  const ClassInfo& info = infos_[root.value];
  const std::uint64_t size =
      std::max(classes_.extent(root).size_bytes(), graph_.tensor(root).size_bytes);
  return {first, size, info.alignment_bytes, info.is_read_only};
}

// Blocks in the order of their first tensors, outside storage in that of its constants and external
// tensors.
Status LifetimeAnalysis::number_storage() noexcept {
  Array<StoragePlace> numbers(upstream_);
  if (!numbers.resize(graph_.tensor_count())) return Status(Reason::kUpstreamRefused);
  for (std::uint32_t i = 0; i < graph_.tensor_count(); ++i) {
    const TensorIndex index(i);
    const TensorIndex root = classes_.find(index).root;
    const ClassInfo& own = infos_[root.value];
    const TensorKind kind = graph_.tensor(index).kind;
    const bool is_outside = kind == TensorKind::kConstant || kind == TensorKind::kExternal;
    const bool is_used = !result_.live_ranges_[i].first_use.is_none();
    StoragePlace& number = numbers[root.value];
    if (is_outside && number.outside.is_none()) {
      number.outside = OutsideIndex(static_cast<std::uint32_t>(result_.outside_.size()));
      if (!result_.outside_.push_back(outside_of(root, index))) {
        return Status(Reason::kUpstreamRefused);
      }
    } else if (is_used && own.is_placed() && number.block.is_none()) {
      number.block = BlockIndex(static_cast<std::uint32_t>(result_.blocks_.size()));
      if (!result_.blocks_.push_back(block_of(root)) || !result_.first_tensors_.push_back(index)) {
        return Status(Reason::kUpstreamRefused);
      }
    }
  }
  for (std::uint32_t i = 0; i < graph_.tensor_count(); ++i) {
    const StorageClasses::Member member = classes_.find(TensorIndex(i));
    StoragePlace place = numbers[member.root.value];
    const std::int64_t begin = classes_.extent(member.root).begin;
    place.offset_bytes = static_cast<std::uint64_t>(member.offset - begin);
    const bool is_used = !result_.live_ranges_[i].first_use.is_none();
    if (is_used || !place.outside.is_none()) result_.places_[i] = place;
  }
  return Status();
}

// Fills live_bytes_ from the reusable blocks; a refused sum names the tensor that does not fit any
// more.
Status LifetimeAnalysis::sum_live_bytes(Span<const Block> blocks) noexcept {
  unit_bytes_ = UINT64_MAX;
  for (const Block& block : blocks) {
    if (block.region != kReusableRegion || block.size_bytes == 0) continue;
    unit_bytes_ = std::min(unit_bytes_, block.alignment_bytes);
  }
  if (unit_bytes_ == UINT64_MAX) unit_bytes_ = 1;
  Array<std::uint64_t> ending(upstream_);
  Array<std::uint64_t>& live = result_.live_bytes_;
  if (!ending.resize(live.size())) return Status(Reason::kUpstreamRefused);
  std::fill(live.begin(), live.end(), 0);
  const auto overflow = [&](std::size_t index) {
    const auto number = static_cast<std::uint32_t>(index);
    const bool is_numbered = blocks.size() == result_.first_tensors_.size();
    const TensorIndex tensor = is_numbered ? result_.first_tensors_[number] : TensorIndex(number);
    return Status(Reason::kSizeOverflow).with(tensor).needed(blocks[index].size_bytes);
  };
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block& block = blocks[i];
    if (block.region != kReusableRegion) continue;
    std::uint64_t size = 0;
    std::uint64_t& starts = live[block.live_range.first_use.value];
    std::uint64_t& ends = ending[block.live_range.last_use.value];
    if (!checked_align_up(block.size_bytes, unit_bytes_, &size) ||
        !checked_add(starts, size, &starts) || !checked_add(ends, size, &ends)) {
      return overflow(i);
    }
  }
  for (std::size_t step = 1; step < live.size(); ++step) {
    if (checked_add(live[step], live[step - 1] - ending[step - 1], &live[step])) continue;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const bool starts = blocks[i].live_range.first_use == Step(static_cast<std::uint32_t>(step));
      if (starts && blocks[i].size_bytes != 0) return overflow(i);
    }
  }
  return Status();
}

}  // namespace tenure
