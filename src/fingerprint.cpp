// SPDX-License-Identifier: Apache-2.0

#include "internal/fnv1a.h"
#include "tenure/graph.h"
#include "tenure/plan_bytes.h"
#include "tenure/problem.h"

namespace tenure {
namespace {

using internal::Fnv1a;

// Each list is preceded by its length, so that equal hashes mean equal lists and not merely equal
// numbers in a row; and graphs begin otherwise than problems.
constexpr std::uint64_t kGraphMark = 1;
constexpr std::uint64_t kProblemMark = 2;

// Written out, so that a new enumerator in the middle does not make old plans foreign.
std::uint64_t number_of(TensorKind kind) noexcept {
  switch (kind) {
    case TensorKind::kIntermediate:
      return 0;
    case TensorKind::kInput:
      return 1;
    case TensorKind::kOutput:
      return 2;
    case TensorKind::kConstant:
      return 3;
    case TensorKind::kExternal:
      return 4;
    case TensorKind::kPersistent:
      return 5;
    case TensorKind::kScratch:
      return 6;
  }
  return 0;
}

std::uint64_t number_of(RelationKind kind) noexcept {
  switch (kind) {
    case RelationKind::kAlias:
      return 0;
    case RelationKind::kView:
      return 1;
    case RelationKind::kInPlace:
      return 2;
    case RelationKind::kUpdate:
      return 3;
  }
  return 0;
}

void add_tensor(const Tensor& tensor, Fnv1a* hash) noexcept {
  hash->add(tensor.size_bytes).add(tensor.alignment_bytes).add(number_of(tensor.kind));
  hash->add(tensor.is_output ? 1 : 0).add(tensor.keep ? 1 : 0).add(tensor.is_disposable ? 1 : 0);
}

void add_edges(Span<const TensorIndex> edges, Fnv1a* hash) noexcept {
  hash->add(edges.size());
  for (const TensorIndex tensor : edges) hash->add(tensor.value);
}

void add_pairs(Span<const BlockPair> pairs, Fnv1a* hash) noexcept {
  hash->add(pairs.size());
  for (const BlockPair& pair : pairs) hash->add(pair.first.value).add(pair.second.value);
}

}  // namespace

// A tensor's producer and a relation's operator are not added: the operators' lists say both. Nor
// is an operator's state, which no plan depends on: what folding makes of it are kinds of tensors.
std::uint64_t fingerprint(const TensorGraph& graph) noexcept {
  Fnv1a hash;
  hash.add(kGraphMark).add(graph.tensor_count());
  for (const Tensor& tensor : graph.tensors()) add_tensor(tensor, &hash);
  hash.add(graph.operator_count());
  for (std::uint32_t i = 0; i < graph.operator_count(); ++i) {
    const OperatorIndex op(i);
    add_edges(graph.inputs(op), &hash);
    add_edges(graph.outputs(op), &hash);
    add_edges(graph.scratch(op), &hash);
    hash.add(graph.relations(op).size());
    for (const Relation& relation : graph.relations(op)) {
      hash.add(number_of(relation.kind)).add(relation.tensor.value);
      hash.add(relation.base.value).add(relation.offset_bytes);
    }
  }
  return hash.value();
}

std::uint64_t fingerprint(const PlanningProblem& problem) noexcept {
  Fnv1a hash;
  hash.add(kProblemMark).add(problem.blocks.size());
  for (const Block& block : problem.blocks) {
    hash.add(block.size_bytes).add(block.live_range.first_use.value);
    hash.add(block.live_range.last_use.value).add(block.alignment_bytes);
    hash.add(block.region.value).add(block.fixed_offset_bytes);
  }
  hash.add(problem.regions.size());
  for (const Region& region : problem.regions) {
    hash.add(region.capacity_bytes).add(region.alignment_bytes).add(region.reuse ? 1 : 0);
  }
  add_pairs(problem.conflicts, &hash);
  add_pairs(problem.may_overlap, &hash);
  return hash.value();
}

}  // namespace tenure
