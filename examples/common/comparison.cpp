// SPDX-License-Identifier: Apache-2.0

#include "common/comparison.h"

#include <cinttypes>
#include <cstdio>
#include <utility>
#include <vector>

#include "common/inference.h"
#include "common/plan_report.h"
#include "common/print.h"
#include "common/small_network.h"
#include "common/wrong_live_range.h"
#include "tenure/planner.h"
#include "tenure/verify.h"

namespace example {

using tenure::Lifetimes;
using tenure::MemoryPlan;
using tenure::PlannerOptions;
using tenure::Result;
using tenure::Status;
using tenure::Step;
using tenure::TensorGraph;
using tenure::TensorIndex;

namespace {

constexpr std::uint64_t kImageSeed = 1;

void print_hash(const char* memory, std::uint64_t hash, std::uint64_t right_hash) {
  std::printf("  output from %-22s has hash %016" PRIx64 "%s\n", memory, hash,
              hash == right_hash ? "" : ": another result");
}

class Comparison {
 public:
  explicit Comparison(const SmallNetwork& small)
      : residual_(small.residual),
        network_(small.network),
        graph_(small.network.graph),
        weights_(make_weights(small.network)) {}

  ComparisonResult run_all() {
    if (!make_plans()) return {};
    std::printf("A small network runs: %" PRIu32 " operators, float32\n", graph_.operator_count());
    print_sizes({graph_, lifetimes_, planned_}, without_reuse_.arena_bytes());
    const std::uint64_t planned = run_from_arena(planned_);
    const std::uint64_t without_reuse = run_from_arena(without_reuse_);
    const std::uint64_t separate = run_from_separate_buffers();
    print_hash("a buffer for each", separate, separate);
    print_hash("arena without reuse", without_reuse, separate);
    print_hash("planned arena", planned, separate);
    expectations_.expect(planned == separate, "the planned arena gives the bits of own buffers");
    expectations_.expect(without_reuse == separate, "without reuse come the bits of own buffers");
    run_with_wrong_live_range(planned);
    return {expectations_.all_hold(), planned};
  }

 private:
  bool make_plans() {
    Result<Lifetimes> lifetimes = tenure::LifetimeAnalyzer().analyze(graph_);
    if (!is_ok("analysis", lifetimes.status())) return false;
    lifetimes_ = std::move(*lifetimes);
    return make_plan(PlannerOptions(), &planned_) &&
           make_plan(PlannerOptions().set_reuse(false), &without_reuse_);
  }

  bool make_plan(const PlannerOptions& options, MemoryPlan* plan) {
    Result<MemoryPlan> made = tenure::ArenaPlanner(options).plan(lifetimes_);
    if (!is_ok("plan", made.status())) return false;
    *plan = std::move(*made);
    return is_ok("verify(problem, plan)", verify(lifetimes_.problem(), *plan)) &&
           is_ok("verify(graph, plan)", verify(graph_, *plan));
  }

  [[nodiscard]] bool is_ok(const char* what, const Status& status) const {
    return succeeded(what, status, graph_.names());
  }

  // Zero when memory is refused.
  std::uint64_t run_from_arena(const MemoryPlan& plan) {
    tenure::SimpleMemoryArena arena;
    // Four bytes of 0xFF are a NaN: whoever reads what nobody wrote spoils the output.
    const Status status = arena.commit(plan.layouts(), tenure::Fill::with(0xFF));
    expectations_.expect(status.ok(), "the arena is committed");
    return status.ok() ? run_at(addresses_in(arena, plan, network_, &weights_)) : 0;
  }

  std::uint64_t run_from_separate_buffers() {
    const SeparateBuffers buffers(network_, &weights_);
    return run_at(buffers.addresses());
  }

  std::uint64_t run_at(const Addresses& addresses) const {
    write_image(network_, addresses, kImageSeed);
    run(network_, addresses);
    return output_hash(network_, addresses);
  }

  // As if the analyzer had seen conv2 read the residual, and not the add after it.
  void run_with_wrong_live_range(std::uint64_t right_hash) {
    const Step true_last_use = lifetimes_.live_range(residual_).last_use;
    const Step last_use(lifetimes_.live_range(residual_).first_use.value + 1);
    const Result<MemoryPlan> plan = plan_with_wrong_live_range(lifetimes_, {residual_, last_use});
    expectations_.expect(plan.ok(), "a wrong problem can be planned");
    if (!plan.ok()) return;
    std::printf("\nA wrong live range: '%s' is said to end at '%s', but '%s' reads it too\n",
                graph_.tensor_name(residual_), name_at(last_use), name_at(true_last_use));
    std::printf("  an arena of %s bytes is planned, below the lower bound\n",
                grouped(plan->arena_bytes()).c_str());
    expectations_.expect(plan->arena_bytes() < planned_.lower_bound_bytes(),
                         "the wrong plan is smaller than any right one");
    const std::uint64_t hash = run_from_arena(*plan);
    print_hash("wrongly planned arena", hash, right_hash);
    expectations_.expect(hash != right_hash, "a wrong plan changes the output");
    show_proofs(*plan);
  }

  [[nodiscard]] const char* name_at(Step step) const {
    return graph_.operator_name(graph_.operator_at(step));
  }

  void show_proofs(const MemoryPlan& plan) {
    Status blocks = verify(lifetimes_.problem(), plan);
    expectations_.expect(blocks.reason() == tenure::Reason::kBlocksOverlap,
                         "verify(problem, plan) finds the overlap");
    if (!blocks.block.is_none() && !blocks.other_block.is_none()) {
      // A problem knows no tensors; the lifetimes know which were its blocks.
      blocks.with(lifetimes_.first_tensor(blocks.block),
                  lifetimes_.first_tensor(blocks.other_block));
      blocks.with(graph_.operator_at(blocks.step));
    }
    const Status tensors = verify(graph_, plan);
    expectations_.expect(tensors.reason() == tenure::Reason::kOverwritten &&
                             tensors.tensor == residual_ && !tensors.op.is_none(),
                         "verify(graph, plan) finds the overwritten operand");
    print_status("  verify(problem, plan)", blocks, graph_.names());
    print_status("  verify(graph, plan)", tensors, graph_.names());
  }

  TensorIndex residual_;
  const Network& network_;
  const TensorGraph& graph_;
  std::vector<float> weights_;
  Lifetimes lifetimes_;
  MemoryPlan planned_;
  MemoryPlan without_reuse_;
  Expectations expectations_;
};

}  // namespace

ComparisonResult compare_memory_of_inference() {
  const Result<SmallNetwork> small = make_small_network();
  if (!succeeded("network", small.status(), {})) return {};
  return Comparison(*small).run_all();
}

}  // namespace example
