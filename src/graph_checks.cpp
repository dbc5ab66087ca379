// SPDX-License-Identifier: Apache-2.0

#include "internal/graph_checks.h"

#include "internal/storage_classes.h"
#include "tenure/array.h"

namespace tenure::internal {
namespace {

bool is_made_by_an_operator(TensorKind kind) noexcept {
  return kind == TensorKind::kIntermediate || kind == TensorKind::kOutput;
}

Status check_operands(const TensorGraph& graph) noexcept {
  for (std::uint32_t i = 0; i < graph.operator_count(); ++i) {
    const OperatorIndex op(i);
    for (const TensorIndex operand : graph.inputs(op)) {
      if (operand.is_none()) continue;
      const Tensor& tensor = graph.tensor(operand);
      if (tensor.kind == TensorKind::kScratch) {
        return Status(Reason::kScratchMisused).with(operand).with(op);
      }
      if (!is_made_by_an_operator(tensor.kind)) continue;
      if (tensor.producer.is_none()) {
        return Status(Reason::kNeverProduced).with(operand).with(op);
      }
      if (tensor.producer >= op) {
        return Status(Reason::kUsedBeforeProduced).with(operand).with(op);
      }
    }
  }
  return Status();
}

Status check_tensors(const TensorGraph& graph) noexcept {
  for (std::uint32_t i = 0; i < graph.tensor_count(); ++i) {
    const Tensor& tensor = graph.tensor(TensorIndex(i));
    if (tensor.kind == TensorKind::kOutput && tensor.producer.is_none()) {
      return Status(Reason::kNeverProduced).with(TensorIndex(i));
    }
    const bool is_scratch = tensor.kind == TensorKind::kScratch;
    if (is_scratch && (tensor.producer.is_none() || tensor.is_output || tensor.keep)) {
      return Status(Reason::kScratchMisused).with(TensorIndex(i)).with(tensor.producer);
    }
  }
  return Status();
}

// Which operator last had a tensor as operand or result, so that a membership test is one
// comparison.
struct Roles {
  OperatorIndex operand_of;
  OperatorIndex result_of;
};

Status check_relation(const TensorGraph& graph, const Relation& relation,
                      const Array<Roles>& roles) noexcept {
  const auto error = [&](Reason reason) {
    return Status(reason).with(relation.tensor, relation.base).with(relation.op);
  };
  const Roles& of_tensor = roles[relation.tensor.value];
  const Roles& of_base = roles[relation.base.value];
  const std::uint64_t size = graph.tensor(relation.tensor).size_bytes;
  const std::uint64_t base_size = graph.tensor(relation.base).size_bytes;
  const auto takes_part = [&](const Roles& role) {
    return role.operand_of == relation.op || role.result_of == relation.op;
  };
  if (is_required(relation.kind)) {
    if (!takes_part(of_tensor) || !takes_part(of_base)) {
      return error(Reason::kRelationOutsideOperator);
    }
    if (relation.tensor == relation.base) return error(Reason::kRelationCycle);
  } else if (of_tensor.result_of != relation.op || of_base.operand_of != relation.op) {
    return error(Reason::kRelationOutsideOperator);
  }
  if (relation.kind == RelationKind::kAlias && size != base_size) {
    return error(Reason::kAliasSizeMismatch).needed(base_size).available(size);
  }
  if (is_required(relation.kind) &&
      (size > base_size || relation.offset_bytes > base_size - size)) {
    return error(Reason::kViewOutOfBounds).needed(size).available(base_size);
  }
  return Status();
}

Status check_relations(const TensorGraph& graph, Upstream upstream) noexcept {
  Array<Roles> roles(upstream);
  if (!roles.resize(graph.tensor_count())) return Status(Reason::kUpstreamRefused);
  for (std::uint32_t i = 0; i < graph.operator_count(); ++i) {
    const OperatorIndex op(i);
    if (graph.relations(op).empty()) continue;
    for (const TensorIndex operand : graph.inputs(op)) {
      if (!operand.is_none()) roles[operand.value].operand_of = op;
    }
    for (const TensorIndex result : graph.outputs(op)) roles[result.value].result_of = op;
    for (const Relation& relation : graph.relations(op)) {
      if (Status status = check_relation(graph, relation, roles); !status.ok()) return status;
    }
  }
  return Status();
}

bool brings_storage(TensorKind kind) noexcept {
  return kind == TensorKind::kConstant || kind == TensorKind::kExternal ||
         kind == TensorKind::kPersistent;
}

// A tensor that does not lie in its class inside `owner`; none if all do.
TensorIndex find_outside(const TensorGraph& graph, StorageClasses& classes,
                         TensorIndex owner) noexcept {
  const StorageClasses::Member at = classes.find(owner);
  const auto end_of = [&](TensorIndex tensor, std::int64_t offset) {
    return offset + static_cast<std::int64_t>(graph.tensor(tensor).size_bytes);
  };
  for (std::uint32_t i = 0; i < graph.tensor_count(); ++i) {
    const StorageClasses::Member member = classes.find(TensorIndex(i));
    if (member.root != at.root) continue;
    const bool lies_inside = member.offset >= at.offset &&
                             end_of(TensorIndex(i), member.offset) <= end_of(owner, at.offset);
    if (!lies_inside) return TensorIndex(i);
  }
  return TensorIndex::none();
}

// Marks what its operator does not write, because the bytes are there already: results that are
// aliases or views, and results all of whose bytes are an operand.
[[nodiscard]] bool mark_names(const TensorGraph& graph, Array<bool>* is_name) noexcept {
  if (!is_name->resize(graph.tensor_count())) return false;
  for (const Relation& relation : graph.relations()) {
    if (!is_required(relation.kind)) continue;
    const Tensor& tensor = graph.tensor(relation.tensor);
    const Tensor& base = graph.tensor(relation.base);
    if (tensor.producer == relation.op) {
      (*is_name)[relation.tensor.value] = true;
    } else if (base.producer == relation.op && base.size_bytes == tensor.size_bytes) {
      (*is_name)[relation.base.value] = true;
    }
  }
  return true;
}

// A class has at most one tensor that brings its storage; a buffer from outside cannot grow, so its
// class lies inside it, and into constant data nothing is written. And what a view asks to be
// aligned to must divide its offset.
Status check_storage(const TensorGraph& graph, StorageClasses& classes,
                     Upstream upstream) noexcept {
  Array<TensorIndex> owners(upstream);
  Array<bool> is_name(upstream);
  if (!owners.resize(graph.tensor_count()) || !mark_names(graph, &is_name)) {
    return Status(Reason::kUpstreamRefused);
  }
  for (std::uint32_t i = 0; i < graph.tensor_count(); ++i) {
    const TensorIndex index(i);
    const Tensor& tensor = graph.tensor(index);
    const StorageClasses::Member member = classes.find(index);
    const StorageClasses::Extent extent = classes.extent(member.root);
    const auto offset = static_cast<std::uint64_t>(member.offset - extent.begin);
    if (tensor.alignment_bytes != 0 && offset % tensor.alignment_bytes != 0) {
      return Status(Reason::kViewMisaligned).with(index).needed(tensor.alignment_bytes);
    }
    if (!brings_storage(tensor.kind)) continue;
    TensorIndex& owner = owners[member.root.value];
    if (!owner.is_none()) return Status(Reason::kConflictingStorage).with(index, owner);
    owner = index;
    const bool can_grow = tensor.kind == TensorKind::kPersistent;
    if (!can_grow && extent.size_bytes() != tensor.size_bytes &&
        tensor.size_bytes <= static_cast<std::uint64_t>(INT64_MAX)) {
      return Status(Reason::kConflictingStorage).with(index, find_outside(graph, classes, index));
    }
  }
  for (std::uint32_t i = 0; i < graph.tensor_count(); ++i) {
    const Tensor& tensor = graph.tensor(TensorIndex(i));
    const TensorIndex owner = owners[classes.find(TensorIndex(i)).root.value];
    if (owner.is_none() || graph.tensor(owner).kind != TensorKind::kConstant) continue;
    const bool is_written = !tensor.producer.is_none() && !is_name[i];
    if (is_written || tensor.kind == TensorKind::kInput) {
      return Status(Reason::kConflictingStorage).with(TensorIndex(i), owner);
    }
  }
  return Status();
}

}  // namespace

Status check_graph(const TensorGraph& graph, Upstream upstream) noexcept {
  if (Status status = check_operands(graph); !status.ok()) return status;
  if (Status status = check_tensors(graph); !status.ok()) return status;
  if (Status status = check_relations(graph, upstream); !status.ok()) return status;
  StorageClasses classes(upstream);
  if (!classes.reset(graph.tensors())) return Status(Reason::kUpstreamRefused);
  for (const Relation& relation : graph.relations()) {
    if (!is_required(relation.kind)) continue;
    if (Status status = classes.require(relation); !status.ok()) return status;
  }
  return check_storage(graph, classes, upstream);
}

}  // namespace tenure::internal
