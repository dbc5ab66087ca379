// SPDX-License-Identifier: Apache-2.0

#include "tenure/graph_builder.h"

#include <cstring>

#include "internal/graph_checks.h"

namespace tenure {

OperatorBuilder& OperatorBuilder::input(TensorIndex tensor) noexcept {
  builder_->add_edge(op_, tensor, TensorGraphBuilder::Role::kInput);
  return *this;
}

OperatorBuilder& OperatorBuilder::input(TensorIndex tensor, Sharing sharing) noexcept {
  builder_->add_relation(op_, tensor, sharing);
  return input(tensor);
}

OperatorBuilder& OperatorBuilder::output(TensorIndex tensor) noexcept {
  builder_->add_edge(op_, tensor, TensorGraphBuilder::Role::kOutput);
  return *this;
}

OperatorBuilder& OperatorBuilder::output(TensorIndex tensor, Sharing sharing) noexcept {
  builder_->add_relation(op_, tensor, sharing);
  return output(tensor);
}

OperatorBuilder& OperatorBuilder::output(TensorIndex tensor,
                                         std::initializer_list<Sharing> sharing) noexcept {
  for (const Sharing& one : sharing) builder_->add_relation(op_, tensor, one);
  return output(tensor);
}

OperatorBuilder& OperatorBuilder::scratch(const char* name, std::uint64_t size_bytes,
                                          std::uint64_t alignment_bytes) noexcept {
  const TensorIndex tensor = builder_->add_tensor(name, size_bytes, TensorKind::kScratch);
  if (tensor.is_none()) return *this;
  if (alignment_bytes != 0) builder_->set_alignment(tensor, alignment_bytes);
  builder_->set_owner(tensor, op_);
  builder_->add_edge(op_, tensor, TensorGraphBuilder::Role::kScratch);
  return *this;
}

OperatorBuilder& OperatorBuilder::stateful() noexcept {
  builder_->mark_stateful(op_);
  return *this;
}

TensorGraphBuilder::TensorGraphBuilder(Upstream upstream) noexcept
    : upstream_(upstream), edges_(upstream), relations_(upstream) {
  graph_.use(upstream);
}

void TensorGraphBuilder::fail(const Status& status) noexcept {
  if (first_error_.ok()) first_error_ = status;
}

bool TensorGraphBuilder::add_name(const char* name, std::uint32_t* start) noexcept {
  const char* text = name == nullptr ? "" : name;
  const std::size_t length = std::strlen(text) + 1;
  if (length > UINT32_MAX - graph_.text_.size()) {
    fail(Status(Reason::kTooMany));
    return false;
  }
  *start = static_cast<std::uint32_t>(graph_.text_.size());
  return graph_.text_.append(Span<const char>(text, length));
}

TensorIndex TensorGraphBuilder::add_tensor(const char* name, std::uint64_t size_bytes,
                                           TensorKind kind) noexcept {
  if (graph_.tensors_.size() >= TensorIndex::kNoneValue) {
    fail(Status(Reason::kTooMany));
    return TensorIndex::none();
  }
  const TensorIndex index(graph_.tensor_count());
  Tensor tensor;
  tensor.size_bytes = size_bytes;
  tensor.kind = kind;
  tensor.is_output = kind == TensorKind::kOutput;
  std::uint32_t start = 0;
  if (add_name(name, &start) && graph_.tensor_names_.push_back(start)) {
    if (graph_.tensors_.push_back(tensor)) return index;
    graph_.tensor_names_.pop_back();  // or later tensors would take each other's names
  }
  fail(Status(Reason::kUpstreamRefused).with(index));
  return TensorIndex::none();
}

TensorIndex TensorGraphBuilder::add_input(const char* name, std::uint64_t size_bytes) noexcept {
  return add_tensor(name, size_bytes, TensorKind::kInput);
}

TensorIndex TensorGraphBuilder::add_constant(const char* name, std::uint64_t size_bytes) noexcept {
  return add_tensor(name, size_bytes, TensorKind::kConstant);
}

TensorIndex TensorGraphBuilder::add_persistent(const char* name,
                                               std::uint64_t size_bytes) noexcept {
  return add_tensor(name, size_bytes, TensorKind::kPersistent);
}

TensorIndex TensorGraphBuilder::add_external(const char* name, std::uint64_t size_bytes) noexcept {
  return add_tensor(name, size_bytes, TensorKind::kExternal);
}

OperatorBuilder TensorGraphBuilder::add_operator(const char* name) noexcept {
  const OperatorIndex index(graph_.operator_count());
  TensorGraph::OperatorRecord record;
  if (graph_.operators_.size() >= OperatorIndex::kNoneValue) {
    fail(Status(Reason::kTooMany));
  } else if (!add_name(name, &record.name) || !graph_.operators_.push_back(record)) {
    fail(Status(Reason::kUpstreamRefused).with(index));
  }
  return {this, index};
}

void TensorGraphBuilder::mark_output(TensorIndex tensor) noexcept {
  if (!has(tensor)) return fail(Status(Reason::kIndexOutOfRange).with(tensor));
  Tensor& marked = graph_.tensors_[tensor.value];
  marked.is_output = true;
  if (marked.kind == TensorKind::kIntermediate) marked.kind = TensorKind::kOutput;
}

void TensorGraphBuilder::mark_keep(TensorIndex tensor) noexcept {
  if (!has(tensor)) return fail(Status(Reason::kIndexOutOfRange).with(tensor));
  graph_.tensors_[tensor.value].keep = true;
}

void TensorGraphBuilder::mark_disposable(TensorIndex input) noexcept {
  if (!has(input)) return fail(Status(Reason::kIndexOutOfRange).with(input));
  graph_.tensors_[input.value].is_disposable = true;
}

void TensorGraphBuilder::set_alignment(TensorIndex tensor, std::uint64_t alignment_bytes) noexcept {
  if (!has(tensor)) return fail(Status(Reason::kIndexOutOfRange).with(tensor));
  if (!is_power_of_two(alignment_bytes)) {
    return fail(Status(Reason::kNotPowerOfTwo).with(tensor).needed(alignment_bytes));
  }
  graph_.tensors_[tensor.value].alignment_bytes = alignment_bytes;
}

void TensorGraphBuilder::add_edge(OperatorIndex op, TensorIndex tensor, Role role) noexcept {
  if (op.value >= graph_.operator_count()) return;  // add_operator has kept the error
  const bool is_absent_operand = tensor.is_none() && role == Role::kInput;
  if (!is_absent_operand && !has(tensor)) {
    return fail(Status(Reason::kIndexOutOfRange).with(tensor).with(op));
  }
  if (!edges_.push_back({op, tensor, role})) fail(Status(Reason::kUpstreamRefused).with(op));
}

void TensorGraphBuilder::add_relation(OperatorIndex op, TensorIndex tensor,
                                      Sharing sharing) noexcept {
  if (op.value >= graph_.operator_count()) return;
  for (const TensorIndex one : {tensor, sharing.base}) {
    if (!has(one)) return fail(Status(Reason::kIndexOutOfRange).with(one).with(op));
  }
  if (!relations_.push_back({sharing.kind, tensor, sharing.base, sharing.offset_bytes, op})) {
    fail(Status(Reason::kUpstreamRefused).with(op));
  }
}

// Two counting sorts, by role and by operator, keep the order in which operands were added.
Status TensorGraphBuilder::group_by_operator() noexcept {
  if (edges_.size() > UINT32_MAX || relations_.size() > UINT32_MAX) return Status(Reason::kTooMany);
  const std::uint32_t operators = graph_.operator_count();
  constexpr std::uint32_t kRoles = 3;
  Array<std::uint32_t> next(upstream_);
  Array<std::uint32_t> next_relation(upstream_);
  Array<TensorIndex> edges(upstream_);
  Array<Relation> relations(upstream_);
  if (!next.resize(std::size_t{operators} * kRoles + 1) ||
      !next_relation.resize(std::size_t{operators} + 1) || !edges.resize(edges_.size()) ||
      !relations.resize(relations_.size())) {
    return Status(Reason::kUpstreamRefused);
  }
  const auto slot = [](const Edge& edge) {
    return std::size_t{edge.op.value} * kRoles + static_cast<std::size_t>(edge.role);
  };
  for (const Edge& edge : edges_) ++next[slot(edge) + 1];
  for (std::size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
  for (const Edge& edge : edges_) edges[next[slot(edge)]++] = edge.tensor;

  for (const Relation& relation : relations_) ++next_relation[relation.op.value + 1];
  for (std::size_t i = 1; i < next_relation.size(); ++i) next_relation[i] += next_relation[i - 1];
  for (const Relation& relation : relations_) {
    relations[next_relation[relation.op.value]++] = relation;
  }
  // Each counter has moved on to where its own group ends.
  for (std::uint32_t op = 0; op < operators; ++op) {
    TensorGraph::OperatorRecord& record = graph_.operators_[op];
    record.inputs_end = next[std::size_t{op} * kRoles];
    record.outputs_end = next[std::size_t{op} * kRoles + 1];
    record.scratch_end = next[std::size_t{op} * kRoles + 2];
    record.relations_end = next_relation[op];
  }
  graph_.edges_ = static_cast<Array<TensorIndex>&&>(edges);
  graph_.relations_ = static_cast<Array<Relation>&&>(relations);
  return Status();
}

Result<TensorGraph> TensorGraphBuilder::build() noexcept {
  if (!first_error_.ok()) return first_error_;
  if (Status status = group_by_operator(); !status.ok()) return status;
  if (Status status = set_producers(); !status.ok()) return status;
  if (Status status = internal::check_graph(graph_, upstream_); !status.ok()) return status;
  edges_.clear();
  relations_.clear();
  TensorGraph built = static_cast<TensorGraph&&>(graph_);
  graph_ = TensorGraph();
  graph_.use(upstream_);
  return built;
}

Status TensorGraphBuilder::set_producers() noexcept {
  for (Tensor& tensor : graph_.tensors_) {
    if (tensor.kind != TensorKind::kScratch) tensor.producer = OperatorIndex::none();
  }
  for (std::uint32_t i = 0; i < graph_.operator_count(); ++i) {
    const OperatorIndex op(i);
    for (const TensorIndex result : graph_.outputs(op)) {
      Tensor& tensor = graph_.tensors_[result.value];
      switch (tensor.kind) {
        case TensorKind::kPersistent:
          continue;  // may be written as often as the model likes
        case TensorKind::kInput:
        case TensorKind::kConstant:
          return Status(Reason::kProducedByGraph).with(result).with(op);
        case TensorKind::kScratch:
          return Status(Reason::kScratchMisused).with(result).with(op);
        case TensorKind::kIntermediate:
        case TensorKind::kOutput:
        case TensorKind::kExternal:
          break;
      }
      if (!tensor.producer.is_none()) {
        return Status(Reason::kProducedTwice).with(result).with(op);
      }
      tensor.producer = op;
    }
  }
  return Status();
}

}  // namespace tenure
