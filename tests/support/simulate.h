// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a graph on real bytes, once where a plan says and once with a buffer for each tensor, and
// tells the first difference. It shares no code with verify: kernels are hashes of all that they
// read, spoil what a kernel may spoil (results and scratch, before they read), and the application
// gives inputs, brings buffers and looks at what is left.
//
//   EXPECT_EQ(test::first_difference(graph, plan), "");
//
// A plan must place everything inside its arenas; alignment is not looked at.

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/random.h"
#include "tenure/graph.h"
#include "tenure/plan.h"

namespace tenure::test {

using Bytes = std::vector<std::uint8_t>;

// What both ways of running have in common: the operators, as functions from bytes to bytes.
class Machine {
 public:
  explicit Machine(const TensorGraph& graph) : graph_(graph) {}
  virtual ~Machine() = default;
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Constants, external buffers and persistent tensors get their first bytes.
  void start() {
    for (std::uint32_t i = 0; i < graph_.tensor_count(); ++i) {
      const TensorKind kind = graph_.tensor(TensorIndex(i)).kind;
      const bool is_given = kind == TensorKind::kConstant || kind == TensorKind::kExternal ||
                            kind == TensorKind::kPersistent;
      if (is_given) give(TensorIndex(i), 1);
    }
  }

  void run(std::uint64_t number) {
    reads_.clear();
    for (std::uint32_t i = 0; i < graph_.tensor_count(); ++i) {
      if (graph_.tensor(TensorIndex(i)).kind == TensorKind::kInput) {
        give(TensorIndex(i), number + 2);
      }
    }
    for (std::uint32_t i = 0; i < graph_.operator_count(); ++i) {
      if (number == 0 || !runs_once(OperatorIndex(i))) {
        run_operator(OperatorIndex(i));
      } else {
        reads_.push_back(0);
      }
    }
  }

  // Operators that are left out from the second run on.
  void run_once(Span<const OperatorIndex> operators) {
    once_.assign(operators.begin(), operators.end());
  }
  [[nodiscard]] bool runs_once(OperatorIndex op) const {
    return std::find(once_.begin(), once_.end(), op) != once_.end();
  }

  // Hashes of what each operator read in the last run, and of its scratch and results after it.
  [[nodiscard]] const std::vector<std::uint64_t>& reads() const { return reads_; }

  [[nodiscard]] virtual Bytes load(TensorIndex tensor) const = 0;
  virtual void store(TensorIndex tensor, const Bytes& bytes) = 0;

 protected:
  virtual void run_operator(OperatorIndex op) = 0;

  [[nodiscard]] std::uint64_t size_of(TensorIndex tensor) const {
    return graph_.tensor(tensor).size_bytes;
  }
  [[nodiscard]] Bytes bytes_of(std::uint64_t seed, std::uint64_t count) const {
    Bytes bytes;
    for (std::uint64_t i = 0; i < count; ++i) {
      bytes.push_back(static_cast<std::uint8_t>(mix(seed * 0x10001 + i)));
    }
    return bytes;
  }
  void give(TensorIndex tensor, std::uint64_t number) {
    store(tensor, bytes_of(mix(number * 7919 + tensor.value), size_of(tensor)));
  }
  void hash_in(std::uint64_t* hash, TensorIndex tensor) const {
    for (const std::uint8_t byte : load(tensor)) *hash = mix(*hash * 257 + byte + 1);
    *hash = mix(*hash + 0x9E3779B97F4A7C15U);
  }
  [[nodiscard]] std::uint64_t read_operands(OperatorIndex op) const {
    std::uint64_t hash = mix(op.value + 99);
    for (const TensorIndex operand : graph_.inputs(op)) {
      if (!operand.is_none()) hash_in(&hash, operand);
    }
    return hash;
  }
  [[nodiscard]] bool is_operand(OperatorIndex op, TensorIndex tensor) const {
    const Span<const TensorIndex> operands = graph_.inputs(op);
    return std::find(operands.begin(), operands.end(), tensor) != operands.end();
  }
  [[nodiscard]] bool is_result(OperatorIndex op, TensorIndex tensor) const {
    const Span<const TensorIndex> results = graph_.outputs(op);
    return std::find(results.begin(), results.end(), tensor) != results.end();
  }
  // A result that is a name of other bytes is not written.
  [[nodiscard]] bool is_name(OperatorIndex op, TensorIndex result) const {
    for (const Relation& relation : graph_.relations(op)) {
      if (is_required(relation.kind) && relation.tensor == result) return true;
    }
    return false;
  }
  // The bytes of a result that an operand has put there already (a concatenation's parts).
  [[nodiscard]] std::vector<bool> covered(OperatorIndex op, TensorIndex result) const {
    std::vector<bool> is_covered(static_cast<std::size_t>(size_of(result)));
    for (const Relation& relation : graph_.relations(op)) {
      if (!is_required(relation.kind) || relation.base != result) continue;
      if (!is_operand(op, relation.tensor) || is_result(op, relation.tensor)) continue;
      for (std::uint64_t i = 0; i < size_of(relation.tensor); ++i) {
        is_covered[static_cast<std::size_t>(relation.offset_bytes + i)] = true;
      }
    }
    return is_covered;
  }
  // Writes a result but for what is covered.
  void compute(OperatorIndex op, TensorIndex result, std::uint64_t seed) {
    const std::vector<bool> is_covered = covered(op, result);
    const Bytes fresh = bytes_of(mix(seed + result.value), size_of(result));
    Bytes bytes = load(result);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (!is_covered[i]) bytes[i] = fresh[i];
    }
    store(result, bytes);
  }

  const TensorGraph& graph_;
  std::vector<std::uint64_t> reads_;
  std::vector<OperatorIndex> once_;
};

// A buffer for each tensor; names are copies.
class SeparateMachine final : public Machine {
 public:
  explicit SeparateMachine(const TensorGraph& graph) : Machine(graph) {
    for (const Tensor& tensor : graph.tensors()) {
      buffers_.emplace_back(static_cast<std::size_t>(tensor.size_bytes));
    }
  }
  [[nodiscard]] Bytes load(TensorIndex tensor) const override { return buffers_[tensor.value]; }
  void store(TensorIndex tensor, const Bytes& bytes) override { buffers_[tensor.value] = bytes; }

 private:
  void run_operator(OperatorIndex op) override {
    const std::uint64_t seed = read_operands(op);
    reads_.push_back(seed);
    for (const TensorIndex result : graph_.outputs(op)) {
      if (!is_name(op, result)) compute(op, result, seed);
    }
    for (const Relation& relation : graph_.relations(op)) {
      const bool is_part = !is_result(op, relation.tensor) && is_result(op, relation.base);
      if (is_required(relation.kind) && is_part) copy(relation, false);
    }
    // Names of names of results: as often as there may be links.
    for (std::size_t i = 0; i < graph_.relations(op).size(); ++i) {
      for (const Relation& relation : graph_.relations(op)) {
        if (is_required(relation.kind) && is_result(op, relation.tensor)) copy(relation, true);
      }
    }
  }
  void copy(const Relation& relation, bool to_tensor) {
    Bytes& tensor = buffers_[relation.tensor.value];
    Bytes& base = buffers_[relation.base.value];
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      std::uint8_t& in_base = base[static_cast<std::size_t>(relation.offset_bytes) + i];
      (to_tensor ? tensor[i] : in_base) = to_tensor ? in_base : tensor[i];
    }
  }

  std::vector<Bytes> buffers_;
};

// An arena for each region, and the application's buffers.
class PlannedMachine final : public Machine {
 public:
  PlannedMachine(const TensorGraph& graph, const MemoryPlan& plan) : Machine(graph) {
    for (const RegionLayout& layout : plan.layouts()) {
      memory_.push_back(bytes_of(memory_.size(), layout.size_bytes));
    }
    places_.resize(graph.tensor_count(), {kNowhere, 0});
    for (std::uint32_t i = 0; i < graph.tensor_count(); ++i) {
      const Placement placement = plan.tensor_placement(TensorIndex(i));
      if (!placement.is_none()) places_[i] = {placement.region.value, placement.offset_bytes};
    }
    place_in_buffers();
  }
  [[nodiscard]] Bytes load(TensorIndex tensor) const override {
    Bytes bytes;
    for (std::uint64_t i = 0; i < size_of(tensor); ++i) bytes.push_back(*byte_at(tensor, i));
    return bytes;
  }
  void store(TensorIndex tensor, const Bytes& bytes) override {
    for (std::size_t i = 0; i < bytes.size(); ++i) *byte_at(tensor, i) = bytes[i];
  }
  [[nodiscard]] bool shares_place(TensorIndex a, TensorIndex b) const {
    return places_[a.value] == places_[b.value] && places_[a.value].first != kNowhere;
  }
  // Something was accessed that has no memory, or lies outside of it.
  [[nodiscard]] bool has_strayed() const { return has_strayed_; }

 private:
  using Place = std::pair<std::size_t, std::uint64_t>;
  static constexpr std::size_t kNowhere = SIZE_MAX;

  // A buffer for each constant and external tensor; whatever the plan does not place lies in one of
  // them: first by relations that must hold, then by those that may.
  void place_in_buffers() {
    for (std::uint32_t i = 0; i < graph_.tensor_count(); ++i) {
      const Tensor& tensor = graph_.tensor(TensorIndex(i));
      if (tensor.kind != TensorKind::kConstant && tensor.kind != TensorKind::kExternal) continue;
      places_[i] = {memory_.size(), 0};
      memory_.emplace_back(static_cast<std::size_t>(tensor.size_bytes));
    }
    bool has_changed = true;
    while (has_changed) {
      has_changed = false;
      for (const bool required : {true, false}) {
        for (const Relation& relation : graph_.relations()) {
          if (has_changed || is_required(relation.kind) != required) continue;
          if (!required && relation.kind != RelationKind::kUpdate) continue;
          has_changed = place_by(relation);
        }
      }
    }
  }
  bool place_by(const Relation& relation) {
    Place& tensor = places_[relation.tensor.value];
    Place& base = places_[relation.base.value];
    const bool is_in_buffer = tensor.first != kNowhere || base.first != kNowhere;
    if (!is_in_buffer || (tensor.first == kNowhere) == (base.first == kNowhere)) return false;
    const std::uint64_t offset = is_required(relation.kind) ? relation.offset_bytes : 0;
    if (tensor.first == kNowhere) {
      tensor = {base.first, base.second + offset};
    } else if (is_required(relation.kind)) {
      base = {tensor.first, tensor.second - offset};
    } else {
      return false;
    }
    return true;
  }

  void run_operator(OperatorIndex op) override {
    for (const TensorIndex scratch : graph_.scratch(op)) spoil(op, scratch);
    for (const TensorIndex result : graph_.outputs(op)) {
      if (!is_name(op, result) && !is_in_place(op, result)) compute(op, result, 0xDEAD);
    }
    const std::uint64_t seed = read_operands(op);
    reads_.push_back(seed);
    for (const TensorIndex result : graph_.outputs(op)) {
      if (!is_name(op, result)) compute(op, result, seed);
    }
    for (const TensorIndex scratch : graph_.scratch(op)) {
      if (load(scratch) != bytes_of(op.value * 31 + scratch.value, size_of(scratch))) {
        reads_.back() = ~reads_.back();
      }
    }
  }
  void spoil(OperatorIndex op, TensorIndex scratch) {
    store(scratch, bytes_of(op.value * 31 + scratch.value, size_of(scratch)));
  }
  // Then the kernel knows that it must read before it writes.
  [[nodiscard]] bool is_in_place(OperatorIndex op, TensorIndex result) const {
    if (is_operand(op, result)) return true;
    for (const Relation& relation : graph_.relations(op)) {
      if (is_required(relation.kind) || relation.tensor != result) continue;
      if (places_[relation.base.value] == places_[result.value]) return true;
    }
    return false;
  }
  [[nodiscard]] std::uint8_t* byte_at(TensorIndex tensor, std::uint64_t index) const {
    const Place place = places_[tensor.value];
    const bool is_inside = place.first != kNowhere && place.second + index >= index &&
                           place.second + index < memory_[place.first].size();
    has_strayed_ = has_strayed_ || !is_inside;
    if (!is_inside) return &nothing_;
    return &memory_[place.first][static_cast<std::size_t>(place.second + index)];
  }

  mutable std::vector<Bytes> memory_;
  std::vector<Place> places_;
  mutable std::uint8_t nothing_ = 0;
  mutable bool has_strayed_ = false;
};

// An update of all of a state, which no later operator writes itself.
[[nodiscard]] inline bool is_last_value(const TensorGraph& graph, const Relation& relation) {
  const TensorKind kind = graph.tensor(relation.base).kind;
  const bool is_state = kind == TensorKind::kPersistent || kind == TensorKind::kExternal;
  if (relation.kind != RelationKind::kUpdate || !is_state) return false;
  if (graph.tensor(relation.tensor).size_bytes != graph.tensor(relation.base).size_bytes) {
    return false;
  }
  for (std::uint32_t i = relation.op.value; i < graph.operator_count(); ++i) {
    const Span<const TensorIndex> results = graph.outputs(OperatorIndex(i));
    if (std::find(results.begin(), results.end(), relation.base) != results.end()) return false;
  }
  return true;
}

// Empty when two consecutive runs agree in every read, and in what is left after each of them.
// Where the plan is, the operators `once` run in the first of them only.
[[nodiscard]] inline std::string first_difference(const TensorGraph& graph, const MemoryPlan& plan,
                                                  Span<const OperatorIndex> once = {}) {
  SeparateMachine separate(graph);
  PlannedMachine planned(graph, plan);
  separate.start();
  planned.start();
  planned.run_once(once);
  for (std::uint64_t run = 0; run < 2; ++run) {
    const std::string when = " in run " + std::to_string(run);
    separate.run(run);
    planned.run(run);
    for (std::uint32_t op = 0; op < separate.reads().size(); ++op) {
      if (run != 0 && planned.runs_once(OperatorIndex(op))) continue;
      if (separate.reads()[op] != planned.reads()[op]) {
        return "operator " + std::to_string(op) + " reads something else" + when;
      }
    }
    for (const Relation& relation : graph.relations()) {
      if (!is_last_value(graph, relation)) continue;
      if (!planned.shares_place(relation.tensor, relation.base)) continue;
      separate.store(relation.base, separate.load(relation.tensor));
    }
    for (std::uint32_t i = 0; i < graph.tensor_count(); ++i) {
      const TensorIndex index(i);
      const Tensor& tensor = graph.tensor(index);
      const bool is_left = tensor.kind == TensorKind::kPersistent ||
                           tensor.kind == TensorKind::kConstant ||
                           tensor.kind == TensorKind::kExternal;
      const bool has_value = tensor.kind == TensorKind::kInput || !tensor.producer.is_none();
      if (!is_left && !(has_value && (tensor.is_output || tensor.keep))) continue;
      if (tensor.size_bytes != 0 && separate.load(index) != planned.load(index)) {
        return "tensor " + std::to_string(i) + " is lost" + when;
      }
    }
    if (planned.has_strayed()) return "bytes outside the plan are used" + when;
  }
  return "";
}

}  // namespace tenure::test
