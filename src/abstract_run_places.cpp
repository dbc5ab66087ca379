// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "internal/abstract_run.h"

namespace tenure::internal {

bool AbstractRun::is_outside_buffer(TensorIndex tensor) const noexcept {
  const TensorKind kind = graph_.tensor(tensor).kind;
  return kind == TensorKind::kConstant || kind == TensorKind::kExternal;
}

Status AbstractRun::place_tensors() noexcept {
  const std::uint32_t count = graph_.tensor_count();
  if (!places_.resize(count) || !cells_.resize(count)) return Status(Reason::kUpstreamRefused);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Placement placement = plan_.tensor_placements()[i];
    if (!placement.is_none()) places_[i] = {placement.region.value, placement.offset_bytes};
  }
  if (Status status = place_outside_buffers(); !status.ok()) return status;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (Status status = check_place(TensorIndex(i)); !status.ok()) return status;
  }
  for (const Relation& relation : graph_.relations()) {
    if (!is_required(relation.kind)) continue;
    if (Status status = check_required(relation); !status.ok()) return status;
  }
  return divide_into_cells();
}

// What the plan does not place lies in a buffer from outside, by relation: aliases and views of it,
// and results that are an external tensor's new value.
Status AbstractRun::place_outside_buffers() noexcept {
  const std::uint32_t count = graph_.tensor_count();
  StorageClasses classes(upstream_);
  Array<std::uint32_t> spaces(upstream_);  // of classes, at their roots
  if (!classes.reset(graph_.tensors()) || !spaces.resize(count, kNoSpace)) {
    return Status(Reason::kUpstreamRefused);
  }
  const auto is_unplaced = [&](const Relation& relation) {
    return places_[relation.tensor.value].space == kNoSpace &&
           places_[relation.base.value].space == kNoSpace;
  };
  for (const Relation& relation : graph_.relations()) {
    if (!is_required(relation.kind) || !is_unplaced(relation)) continue;
    if (Status status = classes.require(relation); !status.ok()) return status;
  }
  auto next_space = static_cast<std::uint32_t>(plan_.regions().size());
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!is_outside_buffer(TensorIndex(i))) continue;
    if (places_[i].space != kNoSpace) {
      return Status(Reason::kPlanMismatch).with(TensorIndex(i));  // a plan has no business there
    }
    spaces[classes.find(TensorIndex(i)).root.value] = next_space++;
  }
  for (const Relation& relation : graph_.relations()) {
    if (relation.kind != RelationKind::kUpdate || !is_unplaced(relation)) continue;
    if (graph_.tensor(relation.base).kind == TensorKind::kExternal) {
      place_update(relation, &classes, &spaces);
    }
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (places_[i].space != kNoSpace) continue;
    const StorageClasses::Member member = classes.find(TensorIndex(i));
    const std::int64_t begin = classes.extent(member.root).begin;
    places_[i] = {spaces[member.root.value], static_cast<std::uint64_t>(member.offset - begin)};
  }
  return Status();
}

// A buffer cannot grow, so all that shares storage with the update has to fit inside; and what lies
// in a buffer already stays there.
void AbstractRun::place_update(const Relation& update, StorageClasses* classes,
                               Array<std::uint32_t>* spaces) const noexcept {
  const StorageClasses::Fit fit = classes->fit(update.tensor, update.base, 0);
  if (fit.overflows || fit.base_root == fit.tensor_root) return;
  const StorageClasses::Extent buffer = classes->extent(fit.base_root);
  const StorageClasses::Extent result = classes->extent(fit.tensor_root);
  const bool fits_inside =
      buffer.begin <= result.begin + fit.shift && result.end + fit.shift <= buffer.end;
  if (!fits_inside || (*spaces)[fit.tensor_root.value] != kNoSpace) return;
  const std::uint32_t space = (*spaces)[fit.base_root.value];
  classes->join(fit);
  (*spaces)[classes->find(update.base).root.value] = space;
}

Status AbstractRun::check_place(TensorIndex index) const noexcept {
  const Tensor& tensor = graph_.tensor(index);
  const Placement placement = plan_.tensor_placement(index);
  if (placement.is_none())
    return Status();  // reading or writing it without a space is found by the run
  if (placement.region.value >= plan_.regions().size()) {
    return Status(Reason::kPlanMismatch).with(index).with(placement.region);
  }
  const RegionLayout& layout = plan_.layouts()[placement.region.value];
  if (placement.offset_bytes > layout.size_bytes ||
      tensor.size_bytes > layout.size_bytes - placement.offset_bytes) {
    return Status(Reason::kOutsideRegion)
        .with(index)
        .with(placement.region)
        .needed(tensor.size_bytes)
        .available(layout.size_bytes);
  }
  const std::uint64_t alignment = tensor.alignment_bytes;
  if (alignment != 0 && tensor.size_bytes != 0 &&
      (placement.offset_bytes % alignment != 0 || layout.alignment_bytes < alignment)) {
    return Status(Reason::kMisplacedAlignment).with(index).needed(alignment);
  }
  return Status();
}

Status AbstractRun::check_required(const Relation& relation) const noexcept {
  if (graph_.tensor(relation.tensor).size_bytes == 0) return Status();
  const Place& tensor = places_[relation.tensor.value];
  const Place& base = places_[relation.base.value];
  if (tensor.space == base.space && tensor.begin - base.begin == relation.offset_bytes)
    return Status();
  return Status(Reason::kRelationBroken).with(relation.tensor, relation.base).with(relation.op);
}

Status AbstractRun::divide_into_cells() noexcept {
  Array<End> ends(upstream_);
  if (!ends.reserve(places_.size() * 2)) return Status(Reason::kUpstreamRefused);
  const auto has_cells = [&](std::uint32_t i) {
    return places_[i].space != kNoSpace && takes_bytes(TensorIndex(i));
  };
  const auto end_of = [&](std::uint32_t i) {
    return End{places_[i].space, places_[i].begin + graph_.tensor(TensorIndex(i)).size_bytes};
  };
  for (std::uint32_t i = 0; i < places_.size(); ++i) {
    if (!has_cells(i)) continue;
    if (!ends.push_back({places_[i].space, places_[i].begin}) || !ends.push_back(end_of(i))) {
      return Status(Reason::kUpstreamRefused);
    }
  }
  std::sort(ends.begin(), ends.end());
  const End* last = std::unique(ends.begin(), ends.end());
  const auto cell_at = [&](End end) {
    const End* first = ends.begin();
    return static_cast<std::uint32_t>(std::lower_bound(first, last, end) - first);
  };
  for (std::uint32_t i = 0; i < places_.size(); ++i) {
    if (!has_cells(i)) continue;
    cells_[i] = {cell_at({places_[i].space, places_[i].begin}), cell_at(end_of(i))};
  }
  const auto cell_count = static_cast<std::uint32_t>(last - ends.begin());
  return owners_.reset(cell_count) ? Status() : Status(Reason::kUpstreamRefused);
}

}  // namespace tenure::internal
