// SPDX-License-Identifier: Apache-2.0
#pragma once

// One run of the LifetimeAnalyzer and all that it needs on the way: what each storage class holds,
// and the live bytes per step that tell whether a merge would raise the lower bound.

#include <cstdint>

#include "internal/storage_classes.h"
#include "tenure/array.h"
#include "tenure/graph.h"
#include "tenure/lifetime.h"

namespace tenure {

class LifetimeAnalysis {
 public:
  LifetimeAnalysis(const TensorGraph& graph, std::uint64_t default_alignment_bytes,
                   Upstream upstream) noexcept;
  [[nodiscard]] Result<Lifetimes> run() noexcept;

 private:
  // What a storage class holds; kept at its root.
  struct ClassInfo {
    LiveRange live;    // both ends none: no operator uses it
    Step first_touch;  // by an operator, whatever holds it longer
    Step last_touch;
    std::uint64_t alignment_bytes = 0;
    bool is_read_only = false;
    bool is_external = false;
    bool is_persistent = false;
    bool holds_input = false;
    bool holds_readable_input = false;  // one that is not disposable
    bool is_held = false;               // to the end: an output or a kept tensor
    bool is_derived = false;            // of the tensor itself: an alias or view of another

    void widen(LiveRange other) noexcept;
    void add(const ClassInfo& other) noexcept;
    [[nodiscard]] bool is_placed() const noexcept {
      return !live.first_use.is_none() && !is_read_only && !is_external;
    }
  };

  void touch(TensorIndex tensor, OperatorIndex op) noexcept;
  void touch_tensors() noexcept;
  [[nodiscard]] LiveRange held(TensorIndex index) const noexcept;
  [[nodiscard]] ClassInfo info_of(TensorIndex index) const noexcept;
  [[nodiscard]] Status join_required() noexcept;
  [[nodiscard]] Status collect_infos() noexcept;
  [[nodiscard]] Status check_default_alignment() noexcept;
  [[nodiscard]] Block block_of(TensorIndex root) const noexcept;
  [[nodiscard]] OutsideStorage outside_of(TensorIndex root, TensorIndex first) const noexcept;
  [[nodiscard]] Status number_storage() noexcept;
  [[nodiscard]] Status sum_live_bytes(Span<const Block> blocks) noexcept;

  // In place (lifetime_in_place.cpp).
  struct Answer {
    bool is_taken = false;
    Refusal refusal = Refusal::kSizesDiffer;
  };
  [[nodiscard]] Status join_permitted() noexcept;
  [[nodiscard]] Answer try_join(const Relation& relation) noexcept;
  [[nodiscard]] Answer check_storage(const Relation& relation, const ClassInfo& operand,
                                     const ClassInfo& result) const noexcept;
  [[nodiscard]] bool is_in_place_already(const Relation& relation) noexcept;
  [[nodiscard]] bool has_other_operand(const Relation& relation, TensorIndex root) noexcept;
  [[nodiscard]] bool has_other_result(const Relation& relation, TensorIndex root) noexcept;
  [[nodiscard]] bool suits_alignment(const internal::StorageClasses::Fit& fit) const noexcept;
  [[nodiscard]] Status measure_classes() noexcept;
  [[nodiscard]] Status measure_class_blocks() noexcept;
  [[nodiscard]] static Block no_block() noexcept {
    Block block;
    block.live_range = {Step(0), Step(0)};
    return block;
  }
  [[nodiscard]] std::uint64_t merged_size_of(
      const internal::StorageClasses::Fit& fit) const noexcept;
  [[nodiscard]] bool update_unit(const internal::StorageClasses::Fit& fit) noexcept;
  [[nodiscard]] std::uint32_t classes_lost_at_unit(
      const internal::StorageClasses::Fit& fit) const noexcept;
  [[nodiscard]] bool update_live_bytes(const internal::StorageClasses::Fit& fit) noexcept;

  const TensorGraph& graph_;
  std::uint64_t default_alignment_bytes_;
  std::uint32_t last_step_;
  Upstream upstream_;
  internal::StorageClasses classes_;
  Array<ClassInfo> infos_;
  Array<Block> class_blocks_;
  std::uint64_t unit_bytes_ = 1;
  std::uint32_t class_count_at_unit_ = 0;  // reusable classes whose alignment is the unit
  Status failure_;                         // memory refused while measuring anew
  Lifetimes result_;
};

}  // namespace tenure
