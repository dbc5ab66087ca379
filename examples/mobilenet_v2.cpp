// SPDX-License-Identifier: Apache-2.0

// The demo: MobileNetV2 1.0 at 224 x 224 pixels, float32, is built from its published architecture,
// planned and proven; tables show where everything lies and who needs the most. Then a small
// network runs from such a plan, to show that the numbers are those of separate buffers.

#include <cinttypes>
#include <cstdio>

#include "common/comparison.h"
#include "common/memory_picture.h"
#include "common/mobilenet_v2_graph.h"
#include "common/plan_report.h"
#include "common/print.h"
#include "tenure/planner.h"
#include "tenure/verify.h"

namespace {

using example::Expectations;
using example::PlannedGraph;

void print_proofs(const PlannedGraph& planned, Expectations* expectations) {
  const tenure::Status blocks = verify(planned.lifetimes.problem(), planned.plan);
  const tenure::Status tensors = verify(planned.graph, planned.plan);
  example::print_status("  verify(problem, plan)", blocks, planned.graph.names());
  example::print_status("  verify(graph, plan)", tensors, planned.graph.names());
  expectations->expect(blocks.ok() && tensors.ok(), "the plan is proven twice");
}

void print_report(const PlannedGraph& planned, std::uint64_t without_reuse_bytes,
                  Expectations* expectations) {
  std::printf("MobileNetV2 1.0, 224 x 224, float32: %" PRIu32
              " operators. Where everything lies:\n",
              planned.graph.operator_count());
  print_blocks(planned);
  std::printf("\nThe same in time and space:\n");
  print_memory_picture(planned);
  std::printf("\n");
  print_sizes(planned, without_reuse_bytes);
  print_proofs(planned, expectations);
  print_peak(planned);
  std::printf("\n");
}

}  // namespace

int main() {
  const auto graph = example::make_mobilenet_v2_graph();
  if (!example::succeeded("graph", graph.status(), {})) return 1;
  const auto lifetimes = tenure::LifetimeAnalyzer().analyze(*graph);
  if (!example::succeeded("lifetimes", lifetimes.status(), graph->names())) return 1;
  const auto plan = tenure::ArenaPlanner().plan(*lifetimes);
  if (!example::succeeded("plan", plan.status(), graph->names())) return 1;
  const auto without_reuse =
      tenure::ArenaPlanner(tenure::PlannerOptions().set_reuse(false)).plan(*lifetimes);
  if (!example::succeeded("plan", without_reuse.status(), graph->names())) return 1;

  Expectations expectations;
  print_report({*graph, *lifetimes, *plan}, without_reuse->arena_bytes(), &expectations);
  // 3,487,816 weights and biases, once the batch normalisations are folded.
  expectations.expect(example::constant_bytes(*graph) == 3487816 * sizeof(float),
                      "the weights are as many as MobileNetV2 has");
  const bool is_as_expected = example::compare_memory_of_inference().is_as_expected;
  return is_as_expected && expectations.all_hold() ? 0 : 1;
}
