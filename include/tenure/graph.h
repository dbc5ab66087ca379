// SPDX-License-Identifier: Apache-2.0
#pragma once

// The graph as a planner sees it: tensors with sizes, operators in the order in which they run, and
// what may or must share memory. Immutable once built (graph_builder.h builds it). Importers, tests
// and applications all come this way; LifetimeAnalyzer takes it from here.
//
//   for (TensorIndex tensor : graph.inputs(op)) { ... }

#include <cstdint>

#include "tenure/align.h"
#include "tenure/array.h"
#include "tenure/index.h"
#include "tenure/span.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure {

enum class TensorKind : std::uint8_t {
  kIntermediate,  // produced and read by operators
  kInput,         // written by the application before the first step
  kOutput,        // produced by an operator and read by the application after the last step
  kConstant,      // read-only model data; never placed
  kExternal,      // a buffer that the application brings; never placed
  kPersistent,    // lives across runs: variables, caches
  kScratch,       // working memory of one operator
};

struct Tensor {
  std::uint64_t size_bytes = 0;
  std::uint64_t alignment_bytes = 0;  // 0: the analyzer's default
  TensorKind kind = TensorKind::kIntermediate;
  bool is_output =
      false;          // read after the last step; also set on inputs and others that are outputs
  bool keep = false;  // bytes stay intact until the end of the run
  bool is_disposable = false;  // an input that an in-place operator may overwrite
  OperatorIndex producer;      // or the owner of a scratch tensor; none where no operator writes it
};

// `tensor` shares bytes with `base`: byte 0 of `tensor` is byte `offset_bytes` of `base`.
enum class RelationKind : std::uint8_t {
  kAlias,    // required: the same bytes (reshape)
  kView,     // required: inside base (slices of a split; parts of a concatenation)
  kInPlace,  // permitted: a result that may be written over an operand
  kUpdate,   // permitted: as in place, and the result is the new value of a persistent or external
             // base
};

[[nodiscard]] constexpr bool is_required(RelationKind kind) noexcept {
  return kind == RelationKind::kAlias || kind == RelationKind::kView;
}

struct Relation {
  RelationKind kind = RelationKind::kAlias;
  TensorIndex tensor;
  TensorIndex base;
  std::uint64_t offset_bytes = 0;  // of a view
  OperatorIndex op;                // that reads or writes both
};

// Thread safety: const functions may be called from several threads. Spans and names stay valid as
// long as the graph. All functions are O(1).
class TensorGraph {
 public:
  TensorGraph() noexcept = default;

  [[nodiscard]] Span<const Tensor> tensors() const noexcept { return tensors_; }
  [[nodiscard]] std::uint32_t tensor_count() const noexcept {
    return static_cast<std::uint32_t>(tensors_.size());
  }
  [[nodiscard]] std::uint32_t operator_count() const noexcept {
    return static_cast<std::uint32_t>(operators_.size());
  }
  // Steps are [0, step_count); a graph without operators has one.
  [[nodiscard]] std::uint32_t step_count() const noexcept {
    return operators_.empty() ? 1 : operator_count();
  }
  [[nodiscard]] Step step(OperatorIndex op) const noexcept { return Step(op.value); }
  [[nodiscard]] OperatorIndex operator_at(Step step) const noexcept {
    return step.value < operator_count() ? OperatorIndex(step.value) : OperatorIndex::none();
  }

  // Preconditions: the index is below the count.
  [[nodiscard]] const Tensor& tensor(TensorIndex index) const noexcept {
    return tensors_[index.value];
  }
  // Operands may be none (an optional one that is absent); results may not.
  [[nodiscard]] Span<const TensorIndex> inputs(OperatorIndex op) const noexcept;
  [[nodiscard]] Span<const TensorIndex> outputs(OperatorIndex op) const noexcept;
  [[nodiscard]] Span<const TensorIndex> scratch(OperatorIndex op) const noexcept;
  [[nodiscard]] Span<const Relation> relations(OperatorIndex op) const noexcept;
  // It keeps or draws something besides its operands, so that equal operands need not give equal
  // results: random numbers, recurrent cells, handles, calls of other graphs. See fold.h.
  [[nodiscard]] bool has_state(OperatorIndex op) const noexcept {
    return operators_[op.value].has_state;
  }
  // Of all operators, in their order.
  [[nodiscard]] Span<const Relation> relations() const noexcept { return relations_; }

  [[nodiscard]] const char* tensor_name(TensorIndex index) const noexcept;
  [[nodiscard]] const char* operator_name(OperatorIndex index) const noexcept;
  [[nodiscard]] NameSource names() const noexcept;

 private:
  friend class TensorGraphBuilder;
  friend class ConstantFolding;

  void use(Upstream upstream) noexcept;  // for all memory from now on; the graph is empty

  // Ends of an operator's parts in edges_ and relations_; they begin where the one before ends.
  struct OperatorRecord {
    std::uint32_t name = 0;
    std::uint32_t inputs_end = 0;
    std::uint32_t outputs_end = 0;
    std::uint32_t scratch_end = 0;
    std::uint32_t relations_end = 0;
    bool has_state = false;
  };
  [[nodiscard]] std::uint32_t edges_begin(OperatorIndex op) const noexcept {
    return op.value == 0 ? 0 : operators_[op.value - 1].scratch_end;
  }
  [[nodiscard]] Span<const TensorIndex> edges(std::uint32_t begin,
                                              std::uint32_t end) const noexcept {
    return Span<const TensorIndex>(edges_).subspan(begin, end - begin);
  }

  Array<Tensor> tensors_;
  Array<std::uint32_t> tensor_names_;  // where each name starts in text_
  Array<OperatorRecord> operators_;
  Array<TensorIndex> edges_;
  Array<Relation> relations_;
  Array<char> text_;
};

}  // namespace tenure
