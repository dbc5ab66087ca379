// SPDX-License-Identifier: Apache-2.0
#pragma once

// An inference in the abstract: instead of numbers, every byte holds the name of the version of a
// tensor. Where a plan would make an operator read another version, the run finds it. Aliases and
// views are further names of the version that was written.

#include <cstdint>

#include "internal/byte_owners.h"
#include "internal/storage_classes.h"
#include "tenure/array.h"
#include "tenure/graph.h"
#include "tenure/plan.h"
#include "tenure/status.h"

namespace tenure::internal {

class AbstractRun {
 public:
  AbstractRun(const TensorGraph& graph, const MemoryPlan& plan, Upstream upstream) noexcept;
  [[nodiscard]] Status run() noexcept;

 private:
  // Where a tensor's bytes are: in one of the plan's regions, or in a space of its own for a buffer
  // from outside (constant, external), which comes after the regions.
  struct Place {
    std::uint32_t space = kNoSpace;
    std::uint64_t begin = 0;
  };
  static constexpr std::uint32_t kNoSpace = UINT32_MAX;
  struct End {
    std::uint32_t space;
    std::uint64_t offset;
    friend constexpr bool operator<(End a, End b) noexcept {
      return a.space != b.space ? a.space < b.space : a.offset < b.offset;
    }
    friend constexpr bool operator==(End a, End b) noexcept {
      return a.space == b.space && a.offset == b.offset;
    }
  };

  // Static part: where everything lies (abstract_run_places.cpp).
  [[nodiscard]] Status place_tensors() noexcept;
  [[nodiscard]] Status place_outside_buffers() noexcept;
  void place_update(const Relation& update, StorageClasses* classes,
                    Array<std::uint32_t>* spaces) const noexcept;
  [[nodiscard]] Status check_place(TensorIndex index) const noexcept;
  [[nodiscard]] Status check_required(const Relation& relation) const noexcept;
  [[nodiscard]] Status divide_into_cells() noexcept;
  [[nodiscard]] bool is_outside_buffer(TensorIndex tensor) const noexcept;

  // The run (verify_graph.cpp).
  [[nodiscard]] Status make_room_for_versions() noexcept;
  void write(TensorIndex tensor) noexcept;
  void write_what_is_given() noexcept;
  [[nodiscard]] Status run_operator(OperatorIndex op) noexcept;
  [[nodiscard]] Status read_operands(OperatorIndex op) noexcept;
  void write_results(OperatorIndex op) noexcept;
  void name_aliases(OperatorIndex op) noexcept;
  [[nodiscard]] bool rename_aliases(OperatorIndex op) noexcept;
  [[nodiscard]] Status check_apart(OperatorIndex op) noexcept;
  [[nodiscard]] bool may_overwrite(OperatorIndex op, TensorIndex operand, TensorIndex by) noexcept;
  [[nodiscard]] Status check_end() noexcept;
  [[nodiscard]] bool holds_update(TensorIndex tensor) noexcept;

  // The version whose bytes a tensor's name means now; none before its first.
  [[nodiscard]] Version version_of(TensorIndex tensor) noexcept;
  // False, with the tensor whose bytes are there instead, when a tensor does not hold its version.
  [[nodiscard]] bool is_intact(TensorIndex tensor, TensorIndex* other) noexcept;
  [[nodiscard]] bool takes_bytes(TensorIndex tensor) const noexcept {
    return !tensor.is_none() && graph_.tensor(tensor).size_bytes != 0;
  }
  [[nodiscard]] bool is_written(OperatorIndex op, TensorIndex result) const noexcept;

  const TensorGraph& graph_;
  const MemoryPlan& plan_;
  Upstream upstream_;
  Array<Place> places_;
  Array<ByteOwners::Cells> cells_;
  Array<Version> versions_;     // by tensor
  Array<TensorIndex> writers_;  // by version: the tensor that was written
  Array<Version>
      absorbed_by_;  // by version: itself, or the written result of which it has become a part
  ByteOwners owners_;
};

}  // namespace tenure::internal
