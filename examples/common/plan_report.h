// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tables of a planned graph, for people: all blocks with the tensors in them, sizes beside each
// other, and what is live at the peak. Everything is read from graph, lifetimes and plan.
//
//   const PlannedGraph planned{graph, lifetimes, plan};
//   print_blocks(planned);
//   print_sizes(planned);
//   print_peak(planned);

#include <cstdint>

#include "tenure/graph.h"
#include "tenure/lifetime.h"
#include "tenure/plan.h"

namespace example {

// All three must outlive it; the plan was made from the lifetimes, and they from the graph.
struct PlannedGraph {
  const tenure::TensorGraph& graph;
  const tenure::Lifetimes& lifetimes;
  const tenure::MemoryPlan& plan;
};

// Sums over the tensors, each counted for itself: of the constants, and of what a plan has to
// place.
[[nodiscard]] std::uint64_t constant_bytes(const tenure::TensorGraph& graph);
[[nodiscard]] std::uint64_t placed_bytes(const tenure::TensorGraph& graph);

// A letter for each block; beyond 62 blocks they come again.
[[nodiscard]] char letter_of(tenure::BlockIndex block);

void print_blocks(const PlannedGraph& planned);
// without_reuse_bytes: the arena of the same graph planned without reuse.
void print_sizes(const PlannedGraph& planned, std::uint64_t without_reuse_bytes);
void print_peak(const PlannedGraph& planned);

}  // namespace example
