// SPDX-License-Identifier: Apache-2.0
#pragma once

// Builds a TensorGraph in the words of the graph:
//
//   tenure::TensorGraphBuilder builder;
//   const auto image = builder.add_input("image", 4096);
//   const auto features = builder.add_tensor("features", 8192);
//   const auto active = builder.add_tensor("active", 8192);
//   builder.add_operator("conv").input(image).output(features).scratch("im2col", 1024);
//   builder.add_operator("relu").input(features).output(active, in_place_of(features));
//   builder.mark_output(active);
//   Result<TensorGraph> graph = builder.build();
//
// The first error is kept until build(), which names it; so calls need no checks one by one.

#include <cstdint>
#include <initializer_list>

#include "tenure/array.h"
#include "tenure/graph.h"
#include "tenure/index.h"
#include "tenure/span.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure {

// How an operand or result shares memory with another tensor of the same operator.
struct Sharing {
  RelationKind kind = RelationKind::kAlias;
  TensorIndex base;
  std::uint64_t offset_bytes = 0;
};
// The same bytes under another name: `output(flat, alias_of(image))`.
[[nodiscard]] constexpr Sharing alias_of(TensorIndex base) noexcept {
  return {RelationKind::kAlias, base, 0};
}
// Bytes inside another tensor: a result of a split (`output(left, view_of(x, 0))`), or a part of a
// concatenation, named from its operand (`input(part, view_of(whole, 512))`).
[[nodiscard]] constexpr Sharing view_of(TensorIndex base, std::uint64_t offset_bytes) noexcept {
  return {RelationKind::kView, base, offset_bytes};
}
// The operator may write this result over that operand.
[[nodiscard]] constexpr Sharing in_place_of(TensorIndex base) noexcept {
  return {RelationKind::kInPlace, base, 0};
}
// The result is the new value of that persistent (or external) tensor, and may be written over it.
[[nodiscard]] constexpr Sharing update_of(TensorIndex base) noexcept {
  return {RelationKind::kUpdate, base, 0};
}

class TensorGraphBuilder;

// The operator that add_operator has begun. A handle: cheap to copy, valid until the builder's build().
class OperatorBuilder {
 public:
  OperatorBuilder& input(TensorIndex tensor) noexcept;  // none: an optional operand that is absent
  OperatorBuilder& input(TensorIndex tensor, Sharing sharing) noexcept;
  OperatorBuilder& output(TensorIndex tensor) noexcept;
  OperatorBuilder& output(TensorIndex tensor, Sharing sharing) noexcept;
  // For a result that may be written over any of several operands; the first that holds is taken.
  OperatorBuilder& output(TensorIndex tensor, std::initializer_list<Sharing> sharing) noexcept;
  // Adds a scratch tensor that lives at this operator's step. alignment_bytes 0: the default.
  OperatorBuilder& scratch(const char* name, std::uint64_t size_bytes,
                           std::uint64_t alignment_bytes = 0) noexcept;
  // Its results do not follow from its operands alone; see TensorGraph::has_state.
  OperatorBuilder& stateful() noexcept;

  [[nodiscard]] OperatorIndex index() const noexcept { return op_; }

 private:
  friend class TensorGraphBuilder;
  OperatorBuilder(TensorGraphBuilder* builder, OperatorIndex op) noexcept
      : builder_(builder), op_(op) {}

  TensorGraphBuilder* builder_;
  OperatorIndex op_;
};

// Names are copied; null counts as "". Not thread-safe.
class TensorGraphBuilder {
 public:
  explicit TensorGraphBuilder(Upstream upstream = heap_upstream()) noexcept;

  TensorIndex add_tensor(const char* name, std::uint64_t size_bytes,
                         TensorKind kind = TensorKind::kIntermediate) noexcept;
  TensorIndex add_input(const char* name, std::uint64_t size_bytes) noexcept;
  TensorIndex add_constant(const char* name, std::uint64_t size_bytes) noexcept;
  TensorIndex add_persistent(const char* name, std::uint64_t size_bytes) noexcept;
  TensorIndex add_external(const char* name, std::uint64_t size_bytes) noexcept;

  // Operators run in the order in which they are added.
  OperatorBuilder add_operator(const char* name) noexcept;

  // A tensor may be marked more than once, and an input may also be an output.
  void mark_output(TensorIndex tensor) noexcept;
  void mark_keep(TensorIndex tensor) noexcept;
  void mark_disposable(TensorIndex input) noexcept;  // of no effect on other kinds
  void set_alignment(TensorIndex tensor, std::uint64_t alignment_bytes) noexcept;

  // Checks everything in O(operators + edges) and gives the graph, after which the builder is
  // empty. On failure the Status names tensors and operators by the indices given out here, and the
  // builder keeps all that was added, so that names() can describe it.
  [[nodiscard]] Result<TensorGraph> build() noexcept;

  [[nodiscard]] NameSource names() const noexcept { return graph_.names(); }
  [[nodiscard]] std::uint32_t tensor_count() const noexcept { return graph_.tensor_count(); }
  [[nodiscard]] std::uint32_t operator_count() const noexcept { return graph_.operator_count(); }

 private:
  friend class OperatorBuilder;
  enum class Role : std::uint8_t { kInput, kOutput, kScratch };
  struct Edge {
    OperatorIndex op;
    TensorIndex tensor;
    Role role;
  };

  [[nodiscard]] bool has(TensorIndex tensor) const noexcept {
    return tensor.value < graph_.tensor_count();
  }
  void set_owner(TensorIndex scratch, OperatorIndex op) noexcept {
    graph_.tensors_[scratch.value].producer = op;
  }
  void mark_stateful(OperatorIndex op) noexcept {
    if (op.value < graph_.operator_count()) graph_.operators_[op.value].has_state = true;
  }
  void fail(const Status& status) noexcept;
  [[nodiscard]] bool add_name(const char* name, std::uint32_t* start) noexcept;
  void add_edge(OperatorIndex op, TensorIndex tensor, Role role) noexcept;
  void add_relation(OperatorIndex op, TensorIndex tensor, Sharing sharing) noexcept;
  [[nodiscard]] Status group_by_operator() noexcept;
  [[nodiscard]] Status set_producers() noexcept;

  Upstream upstream_;
  TensorGraph graph_;  // edges and relations stay in the lists below until build()
  Array<Edge> edges_;
  Array<Relation> relations_;
  Status first_error_;
};

}  // namespace tenure
