// SPDX-License-Identifier: Apache-2.0

// Every tensor's address from one place: what the plan places, and what the application brings.

#include "tenure/model_memory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/statuses.h"
#include "support/upstreams.h"
#include "tenure/graph_builder.h"
#include "tenure/planner.h"

namespace tenure {
namespace {

using test::TestUpstream;

struct Made {
  TensorGraph graph;
  ModelMemory memory;
};
Made made_from(TensorGraphBuilder& builder) {
  Made made{test::build(builder), {}};
  const Result<Lifetimes> lifetimes = LifetimeAnalyzer().analyze(made.graph);
  EXPECT_TRUE(lifetimes.ok());
  Result<MemoryPlan> plan = ArenaPlanner().plan(*lifetimes);
  EXPECT_TRUE(plan.ok());
  Result<ModelMemory> memory = ModelMemory::create(*lifetimes, std::move(plan.value()));
  EXPECT_TRUE(memory.ok()) << text_of(memory.status().reason());
  if (memory.ok()) made.memory = std::move(memory.value());
  return made;
}

// camera and reply are the application's; halves are views into camera, flat is weights reshaped:
//   0 split camera -> left, right    1 reshape weights -> flat    2 conv left, right, flat -> sum
//   3 copy sum -> reply
struct Model {
  TensorGraphBuilder builder;
  TensorIndex camera = builder.add_external("camera", 256);
  TensorIndex reply = builder.add_external("reply", 128);
  TensorIndex weights = builder.add_constant("weights", 64);
  TensorIndex flat = builder.add_tensor("flat", 64);
  TensorIndex left = builder.add_tensor("left", 128);
  TensorIndex right = builder.add_tensor("right", 128);
  TensorIndex sum = builder.add_tensor("sum", 128);
  TensorGraph graph;
  ModelMemory memory;

  Model() {
    builder.add_operator("split")
        .input(camera)
        .output(left, view_of(camera, 0))
        .output(right, view_of(camera, 128));
    builder.add_operator("reshape").input(weights).output(flat, alias_of(weights));
    builder.add_operator("conv").input(left).input(right).input(flat).output(sum);
    builder.add_operator("copy").input(sum).output(reply);
    Made made = made_from(builder);
    graph = std::move(made.graph);
    memory = std::move(made.memory);
  }
};

struct alignas(64) OwnBuffer {
  std::byte bytes[512];
  [[nodiscard]] Span<std::byte> at(std::size_t offset, std::size_t size) {
    return {bytes + offset, size};
  }
};

TEST(ModelMemory, AnswersForBroughtBuffersAndWhatLiesInThem) {
  Model model;
  OwnBuffer buffer;
  EXPECT_EQ(model.memory.check_bound().tensor, model.camera);
  ASSERT_TRUE(model.memory.bind(model.camera, buffer.at(64, 256)).ok());
  ASSERT_TRUE(model.memory.bind(model.reply, buffer.at(320, 128)).ok());
  EXPECT_EQ(model.memory.check_bound().tensor, model.weights);
  ASSERT_TRUE(model.memory.bind_constant(model.weights, buffer.at(0, 64)).ok());
  EXPECT_TRUE(model.memory.check_bound().ok());
  ASSERT_TRUE(model.memory.commit().ok());

  EXPECT_EQ(model.memory.address(model.camera), buffer.bytes + 64);
  EXPECT_EQ(model.memory.address(model.left), buffer.bytes + 64);
  EXPECT_EQ(model.memory.address(model.right), buffer.bytes + 64 + 128);
  EXPECT_EQ(model.memory.address(model.reply), buffer.bytes + 320);
  EXPECT_EQ(model.memory.read_address(model.weights), buffer.bytes);
  EXPECT_EQ(model.memory.read_address(model.flat), buffer.bytes);
  EXPECT_EQ(model.memory.address(model.weights), nullptr);  // not to be written
  EXPECT_EQ(model.memory.address(model.flat), nullptr);
  EXPECT_EQ(model.memory.address(model.sum),
            model.memory.arena().address(model.memory.plan().tensor_placement(model.sum)));
  EXPECT_NE(model.memory.address(model.sum), nullptr);
}

TEST(ModelMemory, HasNoAddressForWhatIsNotCommittedOrBound) {
  const Model model;
  EXPECT_EQ(model.memory.address(model.sum), nullptr);
  EXPECT_EQ(model.memory.address(model.camera), nullptr);
  EXPECT_EQ(model.memory.read_address(model.flat), nullptr);
}

// litert-torch 237, ncnn 228.
TEST(ModelMemory, RefusesAMisalignedBufferWithTheSizeAndAlignmentThatItNeeds) {
  Model model;
  OwnBuffer buffer;
  const Status status = model.memory.bind(model.camera, buffer.at(4, 256));
  EXPECT_EQ(status.reason(), Reason::kBufferMisaligned);
  EXPECT_EQ(status.tensor, model.camera);
  EXPECT_EQ(status.needed_bytes, 256U);
  EXPECT_EQ(status.alignment_bytes, 64U);
  EXPECT_EQ(test::text_of(status, model.graph.names()),
            "the buffer is not aligned as the tensor needs it: tensor 0 'camera', needed 256 "
            "bytes, alignment 64 bytes");
  EXPECT_EQ(model.memory.address(model.camera), nullptr);
}

TEST(ModelMemory, RefusesABufferThatIsOneByteTooSmall) {
  Model model;
  OwnBuffer buffer;
  ASSERT_TRUE(model.memory.bind(model.camera, buffer.at(0, 256)).ok());
  const Status status = model.memory.bind(model.camera, buffer.at(64, 255));
  EXPECT_EQ(status.reason(), Reason::kBufferTooSmall);
  EXPECT_EQ(status.needed_bytes, 256U);
  EXPECT_EQ(status.available_bytes, 255U);
  EXPECT_EQ(status.alignment_bytes, 64U);
  EXPECT_EQ(model.memory.address(model.camera), buffer.bytes);  // what was bound before
  EXPECT_TRUE(model.memory.bind(model.camera, buffer.at(64, 257)).ok());
}

TEST(ModelMemory, RefusesBuffersThatOverlapUnlessThatIsDeclared) {
  Model model;
  OwnBuffer buffer;
  ASSERT_TRUE(model.memory.bind(model.camera, buffer.at(0, 256)).ok());
  // camera ends at 256: from 192 on 64 bytes are shared.
  const Status status = model.memory.bind(model.reply, buffer.at(192, 128));
  EXPECT_EQ(status.reason(), Reason::kBuffersOverlap);
  EXPECT_EQ(status.tensor, model.reply);
  EXPECT_EQ(status.other_tensor, model.camera);
  EXPECT_EQ(model.memory.bind_constant(model.weights, buffer.at(64, 64)).reason(),
            Reason::kBuffersOverlap);
  EXPECT_TRUE(model.memory.bind(model.reply, buffer.at(256, 128)).ok());  // the first that is free
  EXPECT_TRUE(model.memory.bind(model.reply, buffer.at(192, 128), BufferOverlap::kDeclared).ok());
  // And the other way round: camera is brought anew, over a reply that has declared it.
  EXPECT_TRUE(model.memory.bind(model.camera, buffer.at(0, 256)).ok());
  // A tensor's own old buffer is no obstacle.
  EXPECT_TRUE(model.memory.bind(model.camera, buffer.at(64, 256)).ok());
}

TEST(ModelMemory, RefusesABufferInsideTheArenaAndAnArenaOverABuffer) {
  Model model;
  OwnBuffer arena;
  ASSERT_TRUE(model.memory.commit_lent(arena.at(0, 128)).ok());  // sum alone: 128
  const Status status = model.memory.bind(model.camera, arena.at(64, 256));
  EXPECT_EQ(status.reason(), Reason::kBuffersOverlap);
  EXPECT_EQ(status.region, kReusableRegion);
  EXPECT_EQ(model.memory.bind(model.camera, arena.at(64, 256), BufferOverlap::kDeclared).reason(),
            Reason::kBuffersOverlap);
  ASSERT_TRUE(model.memory.bind(model.camera, arena.at(128, 256)).ok());
  const Status lent = model.memory.commit_lent(arena.at(0, 129));
  EXPECT_EQ(lent.reason(), Reason::kBuffersOverlap);
  EXPECT_EQ(lent.tensor, model.camera);
  EXPECT_EQ(model.memory.address(model.sum), arena.bytes);
}

TEST(ModelMemory, BringsNothingForTensorsThatThePlanPlacesAndWritesNoConstants) {
  Model model;
  OwnBuffer buffer;
  EXPECT_EQ(model.memory.bind(model.sum, buffer.at(0, 128)).reason(), Reason::kNotOutside);
  EXPECT_EQ(model.memory.bind(model.weights, buffer.at(0, 64)).reason(), Reason::kNotOutside);
  EXPECT_EQ(model.memory.bind_constant(model.camera, buffer.at(0, 256)).reason(),
            Reason::kNotOutside);
  EXPECT_EQ(model.memory.bind(TensorIndex(7), buffer.at(0, 64)).reason(), Reason::kIndexOutOfRange);
  EXPECT_EQ(model.memory.bind(TensorIndex::none(), buffer.at(0, 64)).reason(),
            Reason::kIndexOutOfRange);
}

TEST(ModelMemory, ConstantsMayShareBytes) {
  TensorGraphBuilder builder;
  const TensorIndex a = builder.add_constant("a", 64);
  const TensorIndex b = builder.add_constant("b", 64);
  const TensorIndex sum = builder.add_tensor("sum", 64);
  builder.add_operator("add").input(a).input(b).output(sum);
  Made made = made_from(builder);
  OwnBuffer buffer;
  EXPECT_TRUE(made.memory.bind_constant(a, buffer.at(0, 64)).ok());
  EXPECT_TRUE(made.memory.bind_constant(b, buffer.at(0, 64)).ok());
  EXPECT_TRUE(made.memory.check_bound().ok());
}

// An in-out buffer: the update of an external tensor lies in it.
TEST(ModelMemory, AnUpdateOfABroughtBufferLiesInIt) {
  TensorGraphBuilder builder;
  const TensorIndex cache = builder.add_external("cache", 64);
  const TensorIndex token = builder.add_input("token", 64);
  const TensorIndex next = builder.add_tensor("next", 64);
  builder.add_operator("append").input(cache).input(token).output(next, update_of(cache));
  Made made = made_from(builder);
  OwnBuffer buffer;
  ASSERT_TRUE(made.memory.bind(cache, buffer.at(0, 64)).ok());
  EXPECT_EQ(made.memory.address(next), buffer.bytes);
}

TEST(ModelMemory, TakesOnlyAPlanOfTheSameTensors) {
  Model model;
  const Result<Lifetimes> lifetimes = LifetimeAnalyzer().analyze(model.graph);
  ASSERT_TRUE(lifetimes.ok());
  EXPECT_EQ(ModelMemory::create(*lifetimes, MemoryPlan()).status().reason(), Reason::kPlanMismatch);
  const Result<MemoryPlan> plan = ArenaPlanner().plan(*lifetimes);
  std::vector<Placement> placements(plan->tensor_placements().begin(),
                                    plan->tensor_placements().end());
  placements[model.sum.value] = Placement::none();
  Result<MemoryPlan> altered =
      MemoryPlan::create({plan->regions(), plan->layouts(), plan->placements(), placements});
  const Status status = ModelMemory::create(*lifetimes, std::move(altered.value())).status();
  EXPECT_EQ(status.reason(), Reason::kPlanMismatch);
  EXPECT_EQ(status.tensor, model.sum);
}

TEST(ModelMemory, SaysWhenMemoryForItsListsIsRefused) {
  Model model;
  const Result<Lifetimes> lifetimes = LifetimeAnalyzer().analyze(model.graph);
  std::uint64_t call = 0;
  for (;; ++call) {
    TestUpstream upstream;
    upstream.refuse_call(call);
    Result<MemoryPlan> plan = ArenaPlanner().plan(*lifetimes);
    const Result<ModelMemory> memory =
        ModelMemory::create(*lifetimes, std::move(plan.value()), upstream.get());
    if (memory.ok()) break;
    EXPECT_EQ(memory.status().reason(), Reason::kUpstreamRefused);
  }
  EXPECT_EQ(call, 2U);  // two lists
}

}  // namespace
}  // namespace tenure
