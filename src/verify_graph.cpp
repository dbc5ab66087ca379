// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "internal/abstract_run.h"
#include "tenure/verify.h"

namespace tenure {
namespace internal {

AbstractRun::AbstractRun(const TensorGraph& graph, const MemoryPlan& plan,
                         Upstream upstream) noexcept
    : graph_(graph),
      plan_(plan),
      upstream_(upstream),
      places_(upstream),
      cells_(upstream),
      versions_(upstream),
      writers_(upstream),
      absorbed_by_(upstream),
      owners_(upstream) {}

Status AbstractRun::run() noexcept {
  if (Status status = place_tensors(); !status.ok()) return status;
  if (Status status = make_room_for_versions(); !status.ok()) return status;
  write_what_is_given();
  for (std::uint32_t i = 0; i < graph_.operator_count(); ++i) {
    if (Status status = run_operator(OperatorIndex(i)); !status.ok()) {
      return status.with(OperatorIndex(i));
    }
  }
  return check_end();
}

// Everything that comes from outside is written once, each result and scratch tensor once an
// operator.
Status AbstractRun::make_room_for_versions() noexcept {
  std::size_t count = graph_.tensor_count();
  for (std::uint32_t i = 0; i < graph_.operator_count(); ++i) {
    count += graph_.outputs(OperatorIndex(i)).size() + graph_.scratch(OperatorIndex(i)).size();
  }
  if (!versions_.resize(graph_.tensor_count()) || !writers_.reserve(count) ||
      !absorbed_by_.reserve(count)) {
    return Status(Reason::kUpstreamRefused);
  }
  return Status();
}

void AbstractRun::write(TensorIndex tensor) noexcept {
  const Version version(static_cast<std::uint32_t>(writers_.size()));
  const bool has_room = writers_.push_back(tensor) && absorbed_by_.push_back(version);
  TENURE_ASSERT(has_room);
  static_cast<void>(has_room);
  versions_[tensor.value] = version;
  owners_.write(cells_[tensor.value], version);
}

Version AbstractRun::version_of(TensorIndex tensor) noexcept {
  Version& version = versions_[tensor.value];
  while (!version.is_none() && absorbed_by_[version.value] != version) {
    version = absorbed_by_[version.value];
  }
  return version;
}

bool AbstractRun::is_intact(TensorIndex tensor, TensorIndex* other) noexcept {
  const Version version = version_of(tensor);
  if (version.is_none()) return false;  // names of one another, which nothing has written
  Version found;
  if (owners_.holds(cells_[tensor.value], version, &found)) return true;
  *other = found.is_none() ? TensorIndex::none() : writers_[found.value];
  return false;
}

// Before the first step: buffers from outside and state of earlier runs, then inputs, which may lie
// in them as parts of what is still to be made. Two that share bytes show when the one written
// first is read.
void AbstractRun::write_what_is_given() noexcept {
  for (const bool is_input : {false, true}) {
    for (std::uint32_t i = 0; i < graph_.tensor_count(); ++i) {
      const TensorIndex index(i);
      const TensorKind kind = graph_.tensor(index).kind;
      const bool is_given = is_input ? kind == TensorKind::kInput
                                     : kind == TensorKind::kPersistent || is_outside_buffer(index);
      if (is_given) write(index);
    }
  }
}

Status AbstractRun::run_operator(OperatorIndex op) noexcept {
  if (Status status = read_operands(op); !status.ok()) return status;
  write_results(op);
  name_aliases(op);
  return check_apart(op);
}

Status AbstractRun::read_operands(OperatorIndex op) noexcept {
  for (const TensorIndex operand : graph_.inputs(op)) {
    if (!takes_bytes(operand)) continue;
    if (places_[operand.value].space == kNoSpace) return Status(Reason::kNotPlaced).with(operand);
    TensorIndex other;
    if (!is_intact(operand, &other)) return Status(Reason::kOverwritten).with(operand, other);
  }
  return Status();
}

// An alias or view of another tensor of the operator is there already; the operator does not write
// it.
bool AbstractRun::is_written(OperatorIndex op, TensorIndex result) const noexcept {
  const Span<const Relation> relations = graph_.relations(op);
  return std::none_of(relations.begin(), relations.end(), [&](const Relation& relation) {
    return is_required(relation.kind) && relation.tensor == result;
  });
}

void AbstractRun::write_results(OperatorIndex op) noexcept {
  for (const TensorIndex scratch : graph_.scratch(op)) write(scratch);
  for (const TensorIndex result : graph_.outputs(op)) {
    if (is_written(op, result)) write(result);
  }
}

// A name may be listed before the one that it is a name of, so it takes as many rounds as there are
// relations at most; one, and one more that changes nothing, for most operators.
void AbstractRun::name_aliases(OperatorIndex op) noexcept {
  const std::size_t rounds = graph_.relations(op).size();
  for (std::size_t round = 0; round < rounds && rename_aliases(op); ++round) {
  }
}

// From here on a result that is an alias or view names its base's version. So does an operand that
// was named as part of a written result: its bytes, and all names of them, are the result's now.
// True when a name has changed its meaning.
bool AbstractRun::rename_aliases(OperatorIndex op) noexcept {
  bool has_changed = false;
  const Span<const TensorIndex> results = graph_.outputs(op);
  const auto is_result = [&](TensorIndex tensor) {
    return std::find(results.begin(), results.end(), tensor) != results.end();
  };
  for (const Relation& relation : graph_.relations(op)) {
    if (!is_required(relation.kind)) continue;
    const Version base = version_of(relation.base);
    const Version part = version_of(relation.tensor);
    if (!part.is_none() && !base.is_none() && part != base && is_result(relation.base) &&
        !is_result(relation.tensor)) {
      const ByteOwners::Cells whole = cells_[relation.base.value];
      const ByteOwners::Cells written = cells_[writers_[part.value].value];
      const bool lies_inside = whole.begin <= written.begin && written.end <= whole.end;
      if (lies_inside) absorbed_by_[part.value] = base;
    }
    has_changed = has_changed || part != base;
    versions_[relation.tensor.value] = base;
  }
  return has_changed;
}

// After the operator everything it has to do with must still be what it was, but for operands that
// a relation lets it overwrite.
Status AbstractRun::check_apart(OperatorIndex op) noexcept {
  for (const Span<const TensorIndex> list :
       {graph_.outputs(op), graph_.scratch(op), graph_.inputs(op)}) {
    for (const TensorIndex tensor : list) {
      if (!takes_bytes(tensor)) continue;
      if (places_[tensor.value].space == kNoSpace) return Status(Reason::kNotPlaced).with(tensor);
      TensorIndex other;
      if (is_intact(tensor, &other)) continue;
      if (!other.is_none() && may_overwrite(op, tensor, other)) continue;
      return Status(Reason::kSharedWithinOperator).with(tensor, other);
    }
  }
  return Status();
}

// What the operand's bytes were written as decides: inputs that stay readable, constants and state
// may be known under other names too.
bool AbstractRun::may_overwrite(OperatorIndex op, TensorIndex operand, TensorIndex by) noexcept {
  const Place& from = places_[operand.value];
  const Place& to = places_[by.value];
  const bool same_bytes = from.space == to.space && from.begin == to.begin &&
                          graph_.tensor(operand).size_bytes == graph_.tensor(by).size_bytes;
  const Span<const TensorIndex> operands = graph_.inputs(op);
  const bool is_once = std::count(operands.begin(), operands.end(), operand) == 1;
  const Tensor& written = graph_.tensor(writers_[version_of(operand).value]);
  const bool is_readable_input = written.kind == TensorKind::kInput && !written.is_disposable;
  if (!same_bytes || !is_once || is_readable_input || written.kind == TensorKind::kConstant) {
    return false;
  }
  const bool outlives_run =
      written.kind == TensorKind::kPersistent || written.kind == TensorKind::kExternal;
  const Span<const Relation> relations = graph_.relations(op);
  return std::any_of(relations.begin(), relations.end(), [&](const Relation& relation) {
    return !is_required(relation.kind) && relation.tensor == by && relation.base == operand &&
           (!outlives_run || relation.kind == RelationKind::kUpdate);
  });
}

// After the last step outputs and kept tensors are read, and what comes from outside or lives
// across runs is there for the next one, with its own bytes or those of its update.
Status AbstractRun::check_end() noexcept {
  for (std::uint32_t i = 0; i < graph_.tensor_count(); ++i) {
    const TensorIndex index(i);
    const Tensor& tensor = graph_.tensor(index);
    const bool is_kept = tensor.is_output || (tensor.keep && !version_of(index).is_none());
    const bool outlives_run = tensor.kind == TensorKind::kPersistent || is_outside_buffer(index);
    if (!takes_bytes(index) || !(outlives_run || is_kept)) continue;
    if (places_[i].space == kNoSpace) return Status(Reason::kNotPlaced).with(index);
    TensorIndex other;
    if (is_intact(index, &other) || (outlives_run && holds_update(index))) continue;
    return Status(Reason::kOverwritten).with(index, other);
  }
  return Status();
}

bool AbstractRun::holds_update(TensorIndex tensor) noexcept {
  const Span<const Relation> relations = graph_.relations();
  return std::any_of(relations.begin(), relations.end(), [&](const Relation& relation) {
    if (relation.kind != RelationKind::kUpdate || relation.base != tensor) return false;
    // A version does not say which of its bytes these are: the update has to be in its own place.
    const Place& place = places_[tensor.value];
    const Place& of_update = places_[relation.tensor.value];
    if (place.space != of_update.space || place.begin != of_update.begin) return false;
    const Version update = version_of(relation.tensor);
    Version other;
    return !update.is_none() && owners_.holds(cells_[tensor.value], update, &other);
  });
}

}  // namespace internal

Status verify(const TensorGraph& graph, const MemoryPlan& plan, Upstream upstream) noexcept {
  if (plan.tensor_placements().size() != graph.tensor_count() ||
      plan.regions().size() != plan.layouts().size()) {
    return Status(Reason::kPlanMismatch);
  }
  return internal::AbstractRun(graph, plan, upstream).run();
}

}  // namespace tenure
