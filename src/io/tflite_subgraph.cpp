// SPDX-License-Identifier: Apache-2.0

#include "io/tflite_subgraph.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/tflite_profile.h"
#include "io/tflite_scratch.h"
#include "io/tflite_state.h"
#include "tenure/fold.h"
#include "tenure/graph_builder.h"

namespace tenure::io {
namespace {

TensorIndex index_of(std::int32_t tensor) noexcept {
  return tensor == kAbsentTensor ? TensorIndex::none()
                                 : TensorIndex(static_cast<std::uint32_t>(tensor));
}

class SubgraphReader {
 public:
  SubgraphReader(const ModelView& model, const ResourceVariables& variables, std::uint32_t index,
                 const TfliteOptions& options)
      : model_(model),
        variables_(variables),
        index_(index),
        options_(options),
        source_(model.subgraph(index)),
        variable_tensors_(variables.all().size()) {}

  [[nodiscard]] Result<TfliteSubgraph> read() {
    result_.name = text_of(source_.name());
    if (MaybeError error = add_tensors()) return *error;
    add_variables();
    if (MaybeError error = find_scratch()) return *error;
    for (std::uint32_t i = 0; i < count_of(source_.operators()); ++i) add_operator(i);
    for (std::uint32_t i = 0; i < count_of(source_.outputs()); ++i) {
      const TensorIndex output = index_of(source_.outputs()->Get(i));
      if (!output.is_none()) builder_.mark_output(output);
    }
    tenure::Result<TensorGraph> graph = builder_.build();
    if (!graph.ok()) {
      return prefixed(fmt::format("subgraph {}", index_),
                      error_of(graph.status(), builder_.names()));
    }
    result_.graph = std::move(*graph);
    if (MaybeError error = options_.fold ? fold() : std::nullopt) return *error;
    return std::move(result_);
  }

 private:
  [[nodiscard]] MaybeError fold() {
    Array<OperatorIndex> once;
    tenure::Result<TensorGraph> folded = fold_constants(result_.graph, &once);
    if (!folded.ok())
      return prefixed(fmt::format("subgraph {}", index_), error_of(folded.status()));
    std::uint32_t count = 0;
    std::uint64_t size_bytes = 0;
    for (std::uint32_t i = 0; i < folded->tensor_count(); ++i) {
      const Tensor& tensor = folded->tensor(TensorIndex(i));
      if (tensor.kind == result_.graph.tensor(TensorIndex(i)).kind) continue;
      ++count;
      if (!checked_add(size_bytes, tensor.size_bytes, &size_bytes)) {
        return Error{
            StatusCode::kOverflow,
            fmt::format("subgraph {}: the sum of what is folded does not fit in 64 bits", index_)};
      }
    }
    add_note(
        fmt::format("folded: tensors computed from constants alone and kept across runs: {}, of {} "
                    "bytes; operators that need to run only once: {}",
                    count, size_bytes, once.size()));
    result_.graph = std::move(*folded);
    result_.run_once.assign(once.begin(), once.end());
    return std::nullopt;
  }

  void add_note(std::string note) { result_.notes.push_back(std::move(note)); }

  [[nodiscard]] const tflite::Tensor& tensor(std::uint32_t index) const {
    return *source_.tensors()->Get(index);
  }

  // Data in the file and state come before the role of an input: no application writes them.
  [[nodiscard]] TensorKind kind_of(std::uint32_t index) const {
    if (model_.is_constant(tensor(index))) return TensorKind::kConstant;
    if (tensor(index).is_variable()) return TensorKind::kPersistent;
    return is_input_[index] ? TensorKind::kInput : TensorKind::kIntermediate;
  }

  [[nodiscard]] MaybeError add_tensors() {
    is_input_.resize(count_of(source_.tensors()));
    for (std::uint32_t i = 0; i < count_of(source_.inputs()); ++i) {
      const TensorIndex input = index_of(source_.inputs()->Get(i));
      if (!input.is_none()) is_input_[input.value] = true;
    }
    for (std::uint32_t i = 0; i < count_of(source_.tensors()); ++i) {
      const TensorKind kind = kind_of(i);
      std::uint64_t size_bytes = 0;
      if (kind == TensorKind::kConstant) {
        size_bytes = model_.stored_bytes(tensor(i));
      } else {
        const Result<std::uint64_t> size = size_of_shape(tensor(i));
        if (!size.ok()) return prefixed(model_.tensor_label(index_, i), size.error());
        size_bytes = *size;
        if (has_run_time_size(tensor(i))) {
          add_note(fmt::format(
              "tensor {} '{}' is of type {}, whose size is only known at run time; "
              "it is planned with 0 bytes",
              i, text_of(tensor(i).name()), tflite::EnumNameTensorType(tensor(i).type())));
        }
      }
      kinds_.push_back(kind);
      sizes_.push_back(size_bytes);
      builder_.add_tensor(text_of(tensor(i).name()), size_bytes, kind);
      result_.file_tensors.emplace_back(i);
    }
    return std::nullopt;
  }

  // Those that an operator of this subgraph reads or assigns.
  void add_variables() {
    for (std::uint32_t i = 0; i < count_of(source_.operators()); ++i) {
      const tflite::Operator& op = *source_.operators()->Get(i);
      const tflite::BuiltinOperator code = model_.code(op);
      if (!ResourceVariables::reads(code) && !ResourceVariables::assigns(code)) continue;
      const std::optional<std::size_t> number = variables_.behind(index_, op);
      if (!number) {
        add_note(
            fmt::format("operator {} '{}' uses a variable that no VAR_HANDLE of this subgraph "
                        "names; the plan has no bytes for it",
                        i, model_.operator_name(op)));
        continue;
      }
      TensorIndex& added = variable_tensors_[*number];
      if (!added.is_none()) continue;
      const ResourceVariable& variable = variables_.all()[*number];
      added = builder_.add_persistent(variable.name.c_str(), variable.size_bytes);
      result_.file_tensors.push_back(TensorIndex::none());
      if (variable.has_several_sizes) {
        add_note(
            fmt::format("the variable '{}' takes values of several sizes; it is planned with the "
                        "largest, {} bytes",
                        variable.name, variable.size_bytes));
      }
    }
  }

  void add_operator(std::uint32_t index) {
    const tflite::Operator& source = *source_.operators()->Get(index);
    const tflite::BuiltinOperator code = model_.code(source);
    OperatorBuilder op = builder_.add_operator(model_.operator_name(source).c_str());
    for (std::uint32_t i = 0; i < count_of(source.inputs()); ++i) {
      op.input(index_of(source.inputs()->Get(i)));
    }
    for (std::uint32_t i = 0; i < count_of(source.outputs()); ++i) {
      const TensorIndex result = index_of(source.outputs()->Get(i));
      if (result.is_none()) continue;
      if (i == 0) {
        add_first_result(&op, source, code, result);
      } else {
        op.output(result);
      }
    }
    if (const auto number = variables_.behind(index_, source)) {
      if (ResourceVariables::reads(code)) op.input(variable_tensors_[*number]);
      if (ResourceVariables::assigns(code)) op.output(variable_tensors_[*number]);
    }
    add_intermediates(&op, source);
    add_scratch(&op, source);
    if (has_state(model_, source_, source)) op.stateful();
    note_calls(index, source);
  }

  void add_first_result(OperatorBuilder* op, const tflite::Operator& source,
                        tflite::BuiltinOperator code, TensorIndex result) {
    const std::optional<SharingRule> rule = sharing_rule(options_.profile, code);
    std::vector<Sharing> sharing;
    for (std::uint32_t i = 0; rule && i < std::min(rule->operand_count, count_of(source.inputs()));
         ++i) {
      const TensorIndex operand = index_of(source.inputs()->Get(i));
      if (operand.is_none()) continue;
      if (rule->kind == RelationKind::kAlias && !can_be_alias(result, operand)) continue;
      sharing.push_back({rule->kind, operand, 0});
    }
    if (sharing.empty()) {
      op->output(result);
    } else if (sharing.size() == 1) {
      op->output(result, sharing[0]);
    } else {
      op->output(result, {sharing[0], sharing[1]});
    }
  }

  // An alias is an order to the core, so that it is only given where both have bytes in one arena.
  [[nodiscard]] bool can_be_alias(TensorIndex result, TensorIndex operand) const {
    const auto is_from_elsewhere = [this](TensorIndex tensor) {
      const TensorKind kind = kinds_[tensor.value];
      return kind == TensorKind::kConstant || kind == TensorKind::kPersistent;
    };
    return result != operand && sizes_[result.value] == sizes_[operand.value] &&
           !is_from_elsewhere(result) && !is_from_elsewhere(operand);
  }

  void add_intermediates(OperatorBuilder* op, const tflite::Operator& source) {
    for (std::uint32_t i = 0; i < count_of(source.intermediates()); ++i) {
      const TensorIndex intermediate = index_of(source.intermediates()->Get(i));
      if (intermediate.is_none() || kinds_[intermediate.value] != TensorKind::kIntermediate ||
          sizes_[intermediate.value] == 0) {
        continue;
      }
      op->scratch(text_of(tensor(intermediate.value).name()), sizes_[intermediate.value]);
      result_.file_tensors.push_back(intermediate);
    }
  }

  [[nodiscard]] MaybeError find_scratch() {
    if (options_.scratch == nullptr || options_.scratch_subgraph != index_) return std::nullopt;
    auto found = find_operators(model_, index_, *options_.scratch);
    if (!found.ok()) return found.error();
    scratch_ = std::move(*found);
    return std::nullopt;
  }

  // Operators and their scratch come in the same order.
  void add_scratch(OperatorBuilder* op, const tflite::Operator& source) {
    const std::uint32_t index = op->index().value;
    for (; next_scratch_ < scratch_.size() && scratch_[next_scratch_].op == index;
         ++next_scratch_) {
      const ScratchRow& row = *scratch_[next_scratch_].row;
      const std::string name =
          fmt::format("scratch of operator {} '{}'", index, model_.operator_name(source));
      op->scratch(name.c_str(), row.size_bytes, row.alignment_bytes);
      result_.file_tensors.push_back(TensorIndex::none());
    }
  }

  void note_calls(std::uint32_t index, const tflite::Operator& source) {
    const std::vector<std::int64_t> called = ModelView::called_subgraphs(source);
    if (called.empty()) return;
    add_note(
        fmt::format("operator {} '{}' calls subgraph {}; every subgraph is planned by itself, so "
                    "that the memory of what is called comes on top",
                    index, model_.operator_name(source), fmt::join(called, ", ")));
  }

  const ModelView& model_;
  const ResourceVariables& variables_;
  std::uint32_t index_;
  const TfliteOptions& options_;
  const tflite::SubGraph& source_;
  std::vector<TensorIndex> variable_tensors_;  // by variable; none: not used in this subgraph
  std::vector<bool> is_input_;                 // by tensor of the file, as are the next two
  std::vector<TensorKind> kinds_;
  std::vector<std::uint64_t> sizes_;
  std::vector<OperatorScratch> scratch_;  // from outside, by operator
  std::size_t next_scratch_ = 0;
  TensorGraphBuilder builder_;
  TfliteSubgraph result_;
};

}  // namespace

Result<TfliteSubgraph> read_subgraph(const ModelView& model, const ResourceVariables& variables,
                                     std::uint32_t index, const TfliteOptions& options) {
  return SubgraphReader(model, variables, index, options).read();
}

}  // namespace tenure::io
