// SPDX-License-Identifier: Apache-2.0

// Plan a graph: describe its tensors and operators, plan, prove, get memory. The lines between the
// two marks are the example of the README.

#include <cinttypes>
#include <cstdio>

#include "tenure/arena.h"
#include "tenure/graph_builder.h"
#include "tenure/planner.h"
#include "tenure/verify.h"

int main() {
  // README begin
  tenure::TensorGraphBuilder builder;
  const auto image = builder.add_input("image", 4096);
  const auto features = builder.add_tensor("features", 8192);
  const auto active = builder.add_tensor("active", 8192);
  const auto scores = builder.add_tensor("scores", 40);
  builder.add_operator("conv").input(image).output(features).scratch("im2col", 1024);
  builder.add_operator("relu").input(features).output(active, in_place_of(features));
  builder.add_operator("dense").input(active).output(scores);
  builder.mark_output(scores);
  const auto graph = builder.build();
  if (!graph.ok()) return 1;
  const auto plan = tenure::ArenaPlanner().plan(*graph);
  if (!plan.ok() || !verify(*graph, *plan).ok()) return 1;
  tenure::SimpleMemoryArena arena;
  if (!arena.commit(plan->layouts()).ok()) return 1;
  auto* pixels = static_cast<float*>(arena.address(plan->tensor_placement(image)));
  // README end

  pixels[0] = 1.0F;
  std::printf("arena        %6" PRIu64 " bytes\n", plan->arena_bytes());
  std::printf("lower bound  %6" PRIu64 " bytes\n", plan->lower_bound_bytes());
  for (const auto tensor : {image, features, active, scores}) {
    std::printf("%-9s at  %6" PRIu64 "\n", graph->tensor_name(tensor),
                plan->tensor_placement(tensor).offset_bytes);
  }
  const bool is_relu_in_place = plan->tensor_placement(features) == plan->tensor_placement(active);
  return is_relu_in_place && plan->arena_bytes() == plan->lower_bound_bytes() ? 0 : 1;
}
