// SPDX-License-Identifier: Apache-2.0
#pragma once

// Seeded random graphs, valid by construction: branches, several results, scratch, aliases, views
// named from either side, in-place and update relations, tensors of every kind, empty tensors,
// absent and repeated operands, tensors that nobody uses.
//
//   const TensorGraph graph = test::random_graph(seed);
//
// What makes them valid: a concatenation's parts are written once and belong to one result; a
// persistent tensor that operators write, and an external one before it is produced, have no other
// names.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/random.h"
#include "tenure/graph.h"
#include "tenure/graph_builder.h"

namespace tenure::test {

struct RandomGraphOptions {
  std::uint32_t max_operators = 12;
  std::uint64_t max_size_bytes = 500;
  std::uint64_t max_inputs = 3;  // and at least 1
  std::uint64_t max_constants = 2;
  bool permitted_relations = true;  // false: the same graph without in-place and update relations
  bool explicit_alignments = true;  // false: every tensor takes the default
};

class RandomGraphMaker {
 public:
  RandomGraphMaker(std::uint64_t seed, const RandomGraphOptions& options)
      : random_(seed), options_(options) {}

  TensorGraph make() {
    add_given_tensors();
    const std::uint64_t operators = random_.between(0, options_.max_operators);
    for (std::uint64_t i = 0; i < operators; ++i) add_operator();
    mark_tensors();
    Result<TensorGraph> graph = builder_.build();
    EXPECT_TRUE(graph.ok()) << text_of(graph.status().reason()) << ", tensor "
                            << graph.status().tensor.value;
    return graph.ok() ? static_cast<TensorGraph&&>(graph.value()) : TensorGraph();
  }

 private:
  // What operators do with a persistent or external tensor, decided when it is added.
  enum class Use : std::uint8_t { kReadAndName, kWrite, kConcatenateInto };

  struct Value {
    TensorIndex tensor;
    std::uint64_t size_bytes = 0;
    TensorKind kind = TensorKind::kIntermediate;
    Use use = Use::kReadAndName;
    bool is_readable = true;         // false for what has still to be produced
    bool may_be_part = false;        // of a concatenation: written once and not yet part of one
    std::uint32_t group = 0;         // of values that share storage by required relations
    std::uint64_t offset_bytes = 0;  // in the group
  };
  struct Group {
    bool asks_alignment = false;
  };

  static constexpr std::uint64_t kMaxAlignment = 256;

  std::uint64_t random_size() {
    const std::uint64_t few[] = {0, 1, 4, 63, 64, 65, 128, 256};
    if (random_.chance(60)) return std::min(few[random_.below(8)], options_.max_size_bytes);
    return random_.between(0, options_.max_size_bytes);
  }

  std::uint32_t add_value(std::uint64_t size_bytes, TensorKind kind) {
    Value value;
    value.tensor = builder_.add_tensor("t", size_bytes, kind);
    value.size_bytes = size_bytes;
    value.kind = kind;
    value.may_be_part = kind == TensorKind::kInput || kind == TensorKind::kIntermediate;
    value.group = static_cast<std::uint32_t>(groups_.size());
    groups_.push_back({});
    values_.push_back(value);
    const auto index = static_cast<std::uint32_t>(values_.size() - 1);
    if (random_.chance(15)) ask_alignment(index, std::uint64_t{1} << random_.below(9));
    return index;
  }

  void ask_alignment(std::uint32_t index, std::uint64_t alignment_bytes) {
    const Value& value = values_[index];
    if (!options_.explicit_alignments || value.offset_bytes % alignment_bytes != 0) return;
    builder_.set_alignment(value.tensor, alignment_bytes);
    groups_[value.group].asks_alignment = true;
  }

  void add_given_tensors() {
    for (std::uint64_t i = random_.between(1, options_.max_inputs); i > 0; --i) {
      add_value(random_size(), TensorKind::kInput);
      if (random_.chance(30)) builder_.mark_disposable(values_.back().tensor);
    }
    for (std::uint64_t i = random_.below(options_.max_constants + 1); i > 0; --i) {
      add_value(random_size(), TensorKind::kConstant);
    }
    for (std::uint64_t i = random_.below(3); i > 0; --i) {
      add_value(random_size(), TensorKind::kPersistent);
      values_.back().use = random_.chance(50) ? Use::kWrite : Use::kReadAndName;
    }
    for (std::uint64_t i = random_.below(3); i > 0; --i) {
      add_value(random_size(), TensorKind::kExternal);
      values_.back().use = static_cast<Use>(random_.below(3));
      values_.back().is_readable = values_.back().use != Use::kConcatenateInto;
    }
    if (random_.chance(20)) builder_.add_tensor("unused", random_size());
  }

  // Recent values more often than old ones.
  std::uint32_t pick() {
    for (;;) {
      const std::size_t recent = std::min<std::size_t>(values_.size(), random_.chance(70) ? 4 : 99);
      const auto index = static_cast<std::uint32_t>(values_.size() - 1 - random_.below(recent));
      if (values_[index].is_readable) return index;
      if (random_.chance(10)) return 0;  // the first input
    }
  }

  void add_operator() {
    OperatorBuilder op = builder_.add_operator("op");
    switch (random_.below(10)) {
      case 0:
      case 1:
        return add_names(op);
      case 2:
        return concatenate(op);
      case 3:
        return update(op);
      default:
        return compute(op);
    }
  }

  std::vector<std::uint32_t> add_operands(OperatorBuilder& op, std::uint64_t count) {
    std::vector<std::uint32_t> operands;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (random_.chance(10)) op.input(TensorIndex::none());
      operands.push_back(!operands.empty() && random_.chance(15) ? operands.back() : pick());
      op.input(values_[operands.back()].tensor);
    }
    return operands;
  }

  void add_scratch(OperatorBuilder& op) {
    for (std::uint64_t i = random_.chance(30) ? random_.between(1, 2) : 0; i > 0; --i) {
      const std::uint64_t size = random_size();
      const std::uint64_t alignment = std::uint64_t{1} << random_.below(9);
      const bool asks = random_.chance(30) && options_.explicit_alignments;
      op.scratch("scratch", size, asks ? alignment : 0);
    }
  }

  // A new result that may be written over some of the operands; often one of them has its size.
  std::uint32_t add_result(OperatorBuilder& op, const std::vector<std::uint32_t>& operands) {
    if (operands.empty()) {
      const std::uint32_t result = add_value(random_size(), TensorKind::kIntermediate);
      op.output(values_[result].tensor);
      return result;
    }
    const Value first = values_[operands[random_.index(operands.size())]];
    const Value second = values_[operands[random_.index(operands.size())]];
    const std::uint64_t size = random_.chance(70) ? first.size_bytes : random_size();
    const std::uint32_t result = add_value(size, TensorKind::kIntermediate);
    const TensorIndex tensor = values_[result].tensor;
    const std::uint64_t candidates = random_.chance(40) ? 0 : random_.between(1, 2);
    if (candidates == 0 || !options_.permitted_relations) {
      op.output(tensor);
    } else if (candidates == 1) {
      op.output(tensor, in_place_of(first.tensor));
    } else {
      op.output(tensor, {in_place_of(second.tensor), in_place_of(first.tensor)});
    }
    return result;
  }

  void compute(OperatorBuilder& op) {
    const std::vector<std::uint32_t> operands = add_operands(op, random_.below(4));
    for (std::uint64_t i = random_.chance(25) ? random_.between(2, 3) : 1; i > 0; --i) {
      const std::uint32_t result = add_result(op, operands);
      if (random_.chance(10)) add_names_of_result(op, result);
    }
    if (random_.chance(20)) write_given_tensor(op);
    add_scratch(op);
  }

  // A persistent tensor, again and again, or an external one, once.
  void write_given_tensor(OperatorBuilder& op) {
    for (Value& value : values_) {
      if (value.use != Use::kWrite || random_.chance(30)) continue;
      op.output(value.tensor);
      if (value.kind == TensorKind::kExternal) value.use = Use::kReadAndName;
      return;
    }
  }

  // A result that is a view or alias of a value that the operator reads or makes.
  void add_name_of(OperatorBuilder& op, std::uint32_t base_index) {
    const Value base = values_[base_index];
    const bool is_alias = random_.chance(40);
    const std::uint64_t size = is_alias ? base.size_bytes : random_.between(0, base.size_bytes);
    const std::uint64_t offset = is_alias ? 0 : random_.between(0, base.size_bytes - size);
    Value name;
    name.tensor = builder_.add_tensor("name", size);
    name.size_bytes = size;
    name.group = base.group;
    name.offset_bytes = base.offset_bytes + offset;
    op.output(name.tensor, is_alias ? alias_of(base.tensor) : view_of(base.tensor, offset));
    values_.push_back(name);
    if (random_.chance(15)) {
      ask_alignment(static_cast<std::uint32_t>(values_.size() - 1),
                    std::uint64_t{1} << random_.below(9));
    }
  }

  // And names of names, of one operator.
  void add_names_of_result(OperatorBuilder& op, std::uint32_t result) {
    add_name_of(op, result);
    const auto name = static_cast<std::uint32_t>(values_.size() - 1);
    if (random_.chance(40)) add_name_of(op, random_.chance(50) ? name : result);
  }

  void add_names(OperatorBuilder& op) {
    std::vector<std::uint32_t> operands = add_operands(op, 1);
    for (int tries = 0; values_[operands[0]].use != Use::kReadAndName && tries < 8; ++tries) {
      operands[0] = pick();
      op.input(values_[operands[0]].tensor);
    }
    if (values_[operands[0]].use == Use::kReadAndName) {
      for (std::uint64_t i = random_.between(1, 3); i > 0; --i) add_name_of(op, operands[0]);
    }
    if (random_.chance(20)) add_result(op, operands);
    add_scratch(op);
  }

  // Parts at offsets of their own, gaps between them; into a new tensor or an external one.
  void concatenate(OperatorBuilder& op) {
    std::vector<std::uint32_t> parts;
    for (std::uint32_t i = 0; i < values_.size(); ++i) {
      if (values_[i].may_be_part && parts.size() < 3 && random_.chance(50)) parts.push_back(i);
    }
    if (random_.chance(50)) std::reverse(parts.begin(), parts.end());
    std::vector<std::uint64_t> offsets;
    std::uint64_t end = random_.chance(30) ? random_.below(100) : 0;
    for (const std::uint32_t part : parts) {
      const bool asks = groups_[values_[part].group].asks_alignment;
      if (asks) end = (end + kMaxAlignment - 1) & ~(kMaxAlignment - 1);
      offsets.push_back(end);
      end += values_[part].size_bytes + (random_.chance(30) ? random_.below(80) : 0);
    }
    const std::uint32_t whole = add_whole(end);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Value& part = values_[parts[i]];
      op.input(part.tensor, view_of(values_[whole].tensor, offsets[i]));
      part.may_be_part = false;
      merge_group(part.group, values_[whole].group, offsets[i]);
    }
    if (random_.chance(30)) add_operands(op, 1);
    op.output(values_[whole].tensor);
    values_[whole].is_readable = true;
    add_scratch(op);
  }

  std::uint32_t add_whole(std::uint64_t size_bytes) {
    for (std::uint32_t i = 0; i < values_.size(); ++i) {
      Value& value = values_[i];
      if (value.use != Use::kConcatenateInto || value.size_bytes < size_bytes) continue;
      value.use = Use::kReadAndName;
      return i;
    }
    const std::uint32_t whole = add_value(size_bytes, TensorKind::kIntermediate);
    values_[whole].is_readable = false;
    return whole;
  }

  void merge_group(std::uint32_t from, std::uint32_t into, std::uint64_t offset_bytes) {
    for (Value& value : values_) {
      if (value.group != from) continue;
      value.group = into;
      value.offset_bytes += offset_bytes;
    }
    if (groups_[from].asks_alignment) groups_[into].asks_alignment = true;
  }

  // The new value of a persistent or external tensor; or of something else, which counts as in
  // place.
  void update(OperatorBuilder& op) {
    std::vector<std::uint32_t> operands = add_operands(op, random_.between(1, 2));
    for (std::uint32_t i = 0; i < values_.size(); ++i) {
      const bool has_state =
          values_[i].kind == TensorKind::kPersistent || values_[i].kind == TensorKind::kExternal;
      if (!has_state || !values_[i].is_readable || random_.chance(30)) continue;
      op.input(values_[i].tensor);
      operands.push_back(i);
      break;
    }
    const std::uint32_t base = operands.back();
    const std::uint64_t size = random_.chance(90) ? values_[base].size_bytes : random_size();
    const std::uint32_t result = add_value(size, TensorKind::kIntermediate);
    if (options_.permitted_relations) {
      op.output(values_[result].tensor, update_of(values_[base].tensor));
    } else {
      op.output(values_[result].tensor);
    }
    if (random_.chance(15)) add_names_of_result(op, result);
    add_scratch(op);
  }

  void mark_tensors() {
    for (const Value& value : values_) {
      if (!value.is_readable) continue;
      if (random_.chance(15)) builder_.mark_output(value.tensor);
      if (random_.chance(5)) builder_.mark_output(value.tensor);
      if (random_.chance(7)) builder_.mark_keep(value.tensor);
    }
  }

  Random random_;
  RandomGraphOptions options_;
  TensorGraphBuilder builder_;
  std::vector<Value> values_;
  std::vector<Group> groups_;
};

[[nodiscard]] inline TensorGraph random_graph(std::uint64_t seed,
                                              const RandomGraphOptions& options = {}) {
  return RandomGraphMaker(seed, options).make();
}

}  // namespace tenure::test
