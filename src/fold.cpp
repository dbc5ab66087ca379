// SPDX-License-Identifier: Apache-2.0

#include "tenure/fold.h"

#include <algorithm>
#include <cstdint>

#include "internal/storage_classes.h"

namespace tenure {

class ConstantFolding {
 public:
  ConstantFolding(const TensorGraph& graph, Upstream upstream) noexcept
      : graph_(graph),
        upstream_(upstream),
        is_constant_(upstream),
        is_part_(upstream),
        tensor_classes_(upstream),
        classes_(upstream) {}

  [[nodiscard]] Result<TensorGraph> run(Array<OperatorIndex>* once) noexcept {
    const std::size_t count = graph_.tensor_count();
    if (!is_constant_.resize(count) || !is_part_.resize(count) || !classes_.resize(count) ||
        !tensor_classes_.reset(graph_.tensors())) {
      return Status(Reason::kUpstreamRefused);
    }
    mark_constants();
    if (Status status = join_parts(); !status.ok()) return status;
    describe_classes();
    TensorGraph folded;
    if (!copy_to(&folded)) return Status(Reason::kUpstreamRefused);
    make_persistent(&folded);
    if (once != nullptr && !list_once(once)) return Status(Reason::kUpstreamRefused);
    return folded;
  }

 private:
  // Tensors that share bytes by required relations.
  struct Class {
    std::uint32_t tensor_count = 0;
    std::uint32_t relation_count = 0;
    std::uint32_t whole_count = 0;  // of tensors that are not said to be part of another
    TensorIndex whole;
    bool is_constant_data = false;
    bool stays = false;

    // With as many relations as parts, each part lies in one tensor, and all lie in the whole:
    // every byte is written once a run. Two wholes with a part in common could take turns in the
    // bytes beside it, and a second run would find those of the later one.
    [[nodiscard]] bool is_folded() const noexcept {
      return !stays && whole_count == 1 && relation_count == tensor_count - 1;
    }
  };

  [[nodiscard]] Class& class_of(TensorIndex tensor) noexcept {
    return classes_[tensor_classes_.find(tensor).root.value];
  }

  // Operators are in order, so that all operands are decided before they are read.
  void mark_constants() noexcept {
    for (std::uint32_t i = 0; i < graph_.tensor_count(); ++i) {
      is_constant_[i] = graph_.tensor(TensorIndex(i)).kind == TensorKind::kConstant;
    }
    for (std::uint32_t i = 0; i < graph_.operator_count(); ++i) {
      if (!gives_constants(OperatorIndex(i))) continue;
      for (const TensorIndex result : graph_.outputs(OperatorIndex(i))) {
        const TensorKind kind = graph_.tensor(result).kind;
        is_constant_[result.value] =
            kind == TensorKind::kIntermediate || kind == TensorKind::kOutput;
      }
    }
  }

  [[nodiscard]] bool gives_constants(OperatorIndex op) const noexcept {
    bool reads_something = false;
    for (const TensorIndex operand : graph_.inputs(op)) {
      if (operand.is_none()) continue;
      if (!is_constant_[operand.value]) return false;
      reads_something = true;
    }
    return reads_something && !graph_.has_state(op);
  }

  [[nodiscard]] Status join_parts() noexcept {
    for (const Relation& relation : graph_.relations()) {
      if (!is_required(relation.kind)) continue;
      if (Status status = tensor_classes_.require(relation); !status.ok()) return status;
      is_part_[relation.tensor.value] = true;
    }
    return Status();
  }

  void describe_classes() noexcept {
    for (std::uint32_t i = 0; i < graph_.tensor_count(); ++i) {
      const Tensor& tensor = graph_.tensor(TensorIndex(i));
      Class& its = class_of(TensorIndex(i));
      ++its.tensor_count;
      its.is_constant_data = its.is_constant_data || tensor.kind == TensorKind::kConstant;
      const bool may_move = tensor.kind == TensorKind::kIntermediate && !tensor.is_output;
      its.stays = its.stays || !may_move || !is_constant_[i];
      if (is_part_[i]) continue;
      ++its.whole_count;
      its.whole = TensorIndex(i);
    }
    for (const Relation& relation : graph_.relations()) {
      if (is_required(relation.kind)) ++class_of(relation.tensor).relation_count;
    }
  }

  [[nodiscard]] bool copy_to(TensorGraph* copy) const noexcept {
    copy->use(upstream_);
    return copy->tensors_.append(graph_.tensors_) &&
           copy->tensor_names_.append(graph_.tensor_names_) &&
           copy->operators_.append(graph_.operators_) && copy->edges_.append(graph_.edges_) &&
           copy->relations_.append(graph_.relations_) && copy->text_.append(graph_.text_);
  }

  // One tensor of a class brings its storage. Of persistent ones no producer is noted, since
  // several operators may write them.
  void make_persistent(TensorGraph* graph) noexcept {
    for (std::uint32_t i = 0; i < graph_.tensor_count(); ++i) {
      const Class& its = class_of(TensorIndex(i));
      if (!its.is_folded() || its.whole != TensorIndex(i)) continue;
      graph->tensors_[i].kind = TensorKind::kPersistent;
      graph->tensors_[i].producer = OperatorIndex::none();
    }
    for (Relation& relation : graph->relations_) {
      const bool is_update = relation.kind == RelationKind::kUpdate;
      if (is_update && class_of(relation.base).is_folded()) relation.kind = RelationKind::kInPlace;
    }
  }

  [[nodiscard]] bool list_once(Array<OperatorIndex>* once) noexcept {
    Array<OperatorIndex> list(upstream_);
    for (std::uint32_t i = 0; i < graph_.operator_count(); ++i) {
      const OperatorIndex op(i);
      const Span<const TensorIndex> results = graph_.outputs(op);
      const bool is_done = std::all_of(results.begin(), results.end(), [&](TensorIndex result) {
        const Class& its = class_of(result);
        return its.is_folded() || its.is_constant_data;
      });
      if (results.empty() || !is_done || !gives_constants(op)) continue;
      if (!list.push_back(op)) return false;
    }
    *once = static_cast<Array<OperatorIndex>&&>(list);
    return true;
  }

  const TensorGraph& graph_;
  Upstream upstream_;
  Array<bool> is_constant_;  // by tensor
  Array<bool> is_part_;      // by tensor: it lies in another
  internal::StorageClasses tensor_classes_;
  Array<Class> classes_;  // by root
};

Result<TensorGraph> fold_constants(const TensorGraph& graph, Array<OperatorIndex>* once,
                                   Upstream upstream) noexcept {
  return ConstantFolding(graph, upstream).run(once);
}

}  // namespace tenure
