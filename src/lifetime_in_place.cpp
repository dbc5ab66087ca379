// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "internal/lifetime_analysis.h"

namespace tenure {

using internal::StorageClasses;

// The bound that a merge must not raise is measured in the unit of the classes as the required
// relations left them; keeps_unit sees to it that this stays the unit.
Status LifetimeAnalysis::join_permitted() noexcept {
  const Span<const Relation> relations = graph_.relations();
  const bool has_permitted =
      std::any_of(relations.begin(), relations.end(),
                  [](const Relation& one) { return !is_required(one.kind); });
  if (!has_permitted) return Status();
  if (Status status = measure_classes(); !status.ok()) return status;
  for (const Relation& relation : relations) {
    if (is_required(relation.kind)) continue;
    const Answer answer = try_join(relation);
    if (!failure_.ok()) return failure_;
    if (!answer.is_taken && !result_.refused_.push_back({relation, answer.refusal})) {
      return Status(Reason::kUpstreamRefused);
    }
  }
  return Status();
}

// Live bytes, unit and the number of classes that have it, from the classes as they are now.
Status LifetimeAnalysis::measure_classes() noexcept {
  for (std::uint32_t i = 0; i < graph_.tensor_count(); ++i) {
    const TensorIndex index(i);
    const bool is_root = classes_.find(index).root == index;
    class_blocks_[i] = is_root ? block_of(index) : no_block();
  }
  return measure_class_blocks();
}

Status LifetimeAnalysis::measure_class_blocks() noexcept {
  if (Status status = sum_live_bytes(class_blocks_); !status.ok()) return status;
  class_count_at_unit_ = 0;
  for (const Block& block : class_blocks_) {
    const bool counts = block.region == kReusableRegion && block.size_bytes != 0;
    if (counts && block.alignment_bytes == unit_bytes_) ++class_count_at_unit_;
  }
  return Status();
}

LifetimeAnalysis::Answer LifetimeAnalysis::try_join(const Relation& relation) noexcept {
  const auto refuse = [](Refusal refusal) { return Answer{false, refusal}; };
  const Tensor& result = graph_.tensor(relation.tensor);
  const Tensor& operand = graph_.tensor(relation.base);
  if (result.size_bytes != operand.size_bytes) return refuse(Refusal::kSizesDiffer);
  const StorageClasses::Fit fit = classes_.fit(relation.tensor, relation.base, 0);
  if (fit.overflows) return refuse(Refusal::kRaisesLowerBound);
  const TensorIndex operand_root = fit.base_root;
  const TensorIndex result_root = fit.tensor_root;
  if (operand_root == result_root) {
    return fit.shift == 0 ? Answer{true, {}} : refuse(Refusal::kAnotherResult);
  }
  if (is_in_place_already(relation)) return refuse(Refusal::kInPlaceAlready);
  ClassInfo& operand_info = infos_[operand_root.value];
  ClassInfo& result_info = infos_[result_root.value];
  const Answer storage = check_storage(relation, operand_info, result_info);
  if (!storage.is_taken) return storage;
  if (has_other_operand(relation, operand_root)) return refuse(Refusal::kAnotherOperand);
  if (has_other_result(relation, operand_root)) return refuse(Refusal::kAnotherResult);
  if (!operand_info.is_external && !suits_alignment(fit)) return refuse(Refusal::kMisaligned);
  const std::uint32_t lost = classes_lost_at_unit(fit);
  const bool raises_unit = lost != 0 && lost == class_count_at_unit_;
  if (!(raises_unit ? update_unit(fit) : update_live_bytes(fit))) {
    return refuse(Refusal::kRaisesLowerBound);
  }
  if (!raises_unit) class_count_at_unit_ -= lost;
  classes_.join(fit);
  ClassInfo joined = operand_info;
  joined.add(result_info);
  infos_[classes_.find(relation.tensor).root.value] = joined;
  return {true, {}};
}

LifetimeAnalysis::Answer LifetimeAnalysis::check_storage(const Relation& relation,
                                                         const ClassInfo& operand,
                                                         const ClassInfo& result) const noexcept {
  const auto refuse = [](Refusal refusal) { return Answer{false, refusal}; };
  const Step step = graph_.step(relation.op);
  const TensorKind base_kind = graph_.tensor(relation.base).kind;
  const bool is_update =
      relation.kind == RelationKind::kUpdate &&
      (base_kind == TensorKind::kPersistent || base_kind == TensorKind::kExternal);
  if (operand.is_read_only || result.is_read_only || result.is_external) {
    return refuse(Refusal::kReadOnly);
  }
  if (operand.is_external && !is_update) return refuse(Refusal::kReadOnly);
  if (result.is_persistent || (operand.is_persistent && !is_update)) {
    return refuse(Refusal::kPersistent);
  }
  if (operand.holds_readable_input) return refuse(Refusal::kGraphInput);
  if (operand.is_held) return refuse(Refusal::kHeldToTheEnd);
  if (operand.last_touch > step) return refuse(Refusal::kReadLater);
  if (result.first_touch < step || result.holds_input) {
    return refuse(Refusal::kResultLiveBefore);
  }
  return {true, {}};
}

bool LifetimeAnalysis::is_in_place_already(const Relation& relation) noexcept {
  const TensorIndex root = classes_.find(relation.tensor).root;
  const Span<const Relation> relations = graph_.relations(relation.op);
  return std::any_of(relations.begin(), relations.end(), [&](const Relation& other) {
    return !is_required(other.kind) && other.tensor == relation.tensor &&
           classes_.find(other.base).root == root;
  });
}

// The same tensor twice counts as another operand: its bytes would be read at two paces.
bool LifetimeAnalysis::has_other_operand(const Relation& relation, TensorIndex root) noexcept {
  std::uint32_t count = 0;
  for (const TensorIndex operand : graph_.inputs(relation.op)) {
    if (!operand.is_none() && classes_.find(operand).root == root) ++count;
  }
  return count > 1;
}

bool LifetimeAnalysis::has_other_result(const Relation& relation, TensorIndex root) noexcept {
  const Span<const TensorIndex> results = graph_.outputs(relation.op);
  return std::any_of(results.begin(), results.end(), [&](TensorIndex result) {
    return result != relation.tensor && classes_.find(result).root == root;
  });
}

// Both classes' bases must come to lie at multiples of what their members ask for.
bool LifetimeAnalysis::suits_alignment(const StorageClasses::Fit& fit) const noexcept {
  const StorageClasses::Extent operand = classes_.extent(fit.base_root);
  const StorageClasses::Extent result = classes_.extent(fit.tensor_root);
  const std::int64_t result_begin = result.begin + fit.shift;
  const std::int64_t begin = std::min(operand.begin, result_begin);
  const auto operand_offset = static_cast<std::uint64_t>(operand.begin - begin);
  const auto result_offset = static_cast<std::uint64_t>(result_begin - begin);
  return operand_offset % infos_[fit.base_root.value].alignment_bytes == 0 &&
         result_offset % infos_[fit.tensor_root.value].alignment_bytes == 0;
}

// By how many a merge lowers the number of reusable classes with the smallest alignment. Where none
// is left, the unit rises, and all sizes are rounded up further.
std::uint32_t LifetimeAnalysis::classes_lost_at_unit(
    const StorageClasses::Fit& fit) const noexcept {
  if (classes_.extent(fit.tensor_root).size_bytes() == 0) return 0;
  const ClassInfo& operand = infos_[fit.base_root.value];
  const ClassInfo& result = infos_[fit.tensor_root.value];
  const auto at_unit = [&](std::uint64_t alignment) { return alignment == unit_bytes_ ? 1U : 0U; };
  const std::uint32_t result_at_unit = at_unit(result.alignment_bytes);
  if (!operand.is_placed() || operand.is_persistent) return result_at_unit;  // it leaves the region
  return result_at_unit + at_unit(operand.alignment_bytes) -
         at_unit(std::max(operand.alignment_bytes, result.alignment_bytes));
}

// As update_live_bytes, for a merge that raises the unit: everything is measured anew.
bool LifetimeAnalysis::update_unit(const StorageClasses::Fit& fit) noexcept {
  const Array<std::uint64_t>& live = result_.live_bytes_;
  const std::uint64_t bound = *std::max_element(live.begin(), live.end());
  failure_ = measure_classes();
  if (!failure_.ok()) return false;
  Block& operand = class_blocks_[fit.base_root.value];
  Block& result = class_blocks_[fit.tensor_root.value];
  const ClassInfo& info = infos_[fit.base_root.value];
  if (info.is_placed() && !info.is_persistent) {
    ClassInfo merged = info;
    merged.widen(infos_[fit.tensor_root.value].live);
    operand.size_bytes = merged_size_of(fit);
    operand.live_range = merged.live;
    operand.alignment_bytes = std::max(operand.alignment_bytes, result.alignment_bytes);
  } else if (merged_size_of(fit) > classes_.extent(fit.base_root).size_bytes()) {
    return false;
  }
  result = no_block();
  if (measure_class_blocks().ok() && *std::max_element(live.begin(), live.end()) <= bound)
    return true;
  failure_ = measure_classes();
  return false;
}

std::uint64_t LifetimeAnalysis::merged_size_of(const StorageClasses::Fit& fit) const noexcept {
  const StorageClasses::Extent a = classes_.extent(fit.base_root);
  const StorageClasses::Extent b = classes_.extent(fit.tensor_root);
  return static_cast<std::uint64_t>(std::max(a.end, b.end + fit.shift) -
                                    std::min(a.begin, b.begin + fit.shift));
}

// False, with live_bytes_ as they were, when the merged class would raise their maximum. Two
// classes of one size meet in one step only, so that the merge takes bytes away there and adds none
// anywhere. Storage that outlives the run must not grow at all: an external buffer cannot, and
// persistent bytes are never shared.
bool LifetimeAnalysis::update_live_bytes(const StorageClasses::Fit& fit) noexcept {
  const ClassInfo& operand = infos_[fit.base_root.value];
  const ClassInfo& result = infos_[fit.tensor_root.value];
  const StorageClasses::Extent a = classes_.extent(fit.base_root);
  const StorageClasses::Extent b = classes_.extent(fit.tensor_root);
  const std::uint64_t merged_size = merged_size_of(fit);
  std::uint64_t operand_size = 0;
  std::uint64_t result_size = 0;
  std::uint64_t size = 0;
  if (!checked_align_up(a.size_bytes(), unit_bytes_, &operand_size) ||
      !checked_align_up(b.size_bytes(), unit_bytes_, &result_size) ||
      !checked_align_up(merged_size, unit_bytes_, &size)) {
    return false;
  }
  Array<std::uint64_t>& live = result_.live_bytes_;
  if (operand.is_external || operand.is_persistent) {  // the result leaves the reusable region
    if (merged_size > a.size_bytes()) return false;
    const LiveRange range = result.live;
    for (std::uint32_t i = range.first_use.value; i <= range.last_use.value; ++i)
      live[i] -= result_size;
    return true;
  }
  ClassInfo merged = operand;
  merged.widen(result.live);
  const auto bytes_after = [&](std::uint32_t step) {
    std::uint64_t bytes = live[step];
    const LiveRange here{Step(step), Step(step)};
    if (operand.live.overlaps(here)) bytes -= operand_size;
    if (result.live.overlaps(here)) bytes -= result_size;
    return bytes;
  };
  const bool is_same_size = operand_size == size && result_size == size;
  const std::uint32_t first =
      is_same_size ? result.live.first_use.value : merged.live.first_use.value;
  const std::uint32_t last =
      is_same_size ? operand.live.last_use.value : merged.live.last_use.value;
  const std::uint64_t bound = is_same_size ? 0 : *std::max_element(live.begin(), live.end());
  for (std::uint32_t step = first; !is_same_size && step <= last; ++step) {
    const std::uint64_t bytes = bytes_after(step);
    if (bytes > bound || size > bound - bytes) return false;
  }
  for (std::uint32_t step = first; step <= last; ++step) live[step] = bytes_after(step) + size;
  return true;
}

}  // namespace tenure
