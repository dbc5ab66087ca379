// SPDX-License-Identifier: Apache-2.0

#include "common/inference.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "common/random.h"

namespace example {

using tenure::OperatorIndex;
using tenure::TensorIndex;
using tenure::TensorKind;

namespace {

bool is_constant(const Network& network, std::uint32_t tensor) {
  return network.graph.tensor(TensorIndex(tensor)).kind == TensorKind::kConstant;
}

// The addresses of constants; null for all other tensors.
Addresses addresses_of_constants(const Network& network, std::vector<float>* weights) {
  Addresses addresses(network.shapes.size(), nullptr);
  float* next = weights->data();
  for (std::uint32_t i = 0; i < network.shapes.size(); ++i) {
    if (!is_constant(network, i)) continue;
    addresses[i] = next;
    next += network.shapes[i].element_count();
  }
  return addresses;
}

void run_operator(const Network& network, const Addresses& addresses, OperatorIndex op) noexcept {
  const auto inputs = network.graph.inputs(op);
  const auto operand = [&](std::size_t position) {
    const std::uint32_t tensor = inputs[position].value;
    return Operand{addresses[tensor], network.shapes[tensor]};
  };
  const std::uint32_t result = network.graph.outputs(op)[0].value;
  const Output to{addresses[result], network.shapes[result]};
  const Work work = network.work[op.value];
  switch (work.kernel) {
    case Kernel::kConvolution:
      return convolve(operand(0), operand(1).values, work.window, to);
    case Kernel::kRelu:
      return relu(operand(0), to);
    case Kernel::kAdd:
      return add(operand(0), operand(1), to);
    case Kernel::kConcatenation:
      return concatenate(operand(0), operand(1), to);
    case Kernel::kAverage:
      return average(operand(0), work.window, to);
    case Kernel::kReshape:
      if (operand(0).values == to.values) return;  // the plan made it an alias: nothing to do
      std::copy_n(operand(0).values, to.shape.element_count(), to.values);
  }
}

}  // namespace

std::vector<float> make_weights(const Network& network) {
  std::vector<float> weights;
  SplitMix64 random(2024);
  for (std::uint32_t i = 0; i < network.shapes.size(); ++i) {
    if (!is_constant(network, i)) continue;
    for (std::size_t count = network.shapes[i].element_count(); count > 0; --count) {
      weights.push_back(random.next_float());
    }
  }
  return weights;
}

Addresses addresses_in(const tenure::SimpleMemoryArena& arena, const tenure::MemoryPlan& plan,
                       const Network& network, std::vector<float>* weights) {
  Addresses addresses = addresses_of_constants(network, weights);
  for (std::uint32_t i = 0; i < addresses.size(); ++i) {
    if (is_constant(network, i)) continue;
    addresses[i] = static_cast<float*>(arena.address(plan.tensor_placement(TensorIndex(i))));
  }
  return addresses;
}

// Filled with NaN, as the arenas are: whoever reads what nobody wrote spoils the output.
SeparateBuffers::SeparateBuffers(const Network& network, std::vector<float>* weights)
    : buffers_(network.shapes.size()), addresses_(addresses_of_constants(network, weights)) {
  for (std::uint32_t i = 0; i < buffers_.size(); ++i) {
    if (is_constant(network, i)) continue;
    const std::size_t count = network.shapes[i].element_count();
    buffers_[i].assign(count, std::numeric_limits<float>::quiet_NaN());
    addresses_[i] = buffers_[i].data();
  }
}

void write_image(const Network& network, const Addresses& addresses, std::uint64_t seed) noexcept {
  SplitMix64 random(seed);
  float* pixels = addresses[network.input.value];
  const std::size_t count = network.shapes[network.input.value].element_count();
  std::generate_n(pixels, count, [&] { return random.next_float(); });
}

void run(const Network& network, const Addresses& addresses) noexcept {
  for (std::uint32_t i = 0; i < network.graph.operator_count(); ++i) {
    run_operator(network, addresses, OperatorIndex(i));
  }
}

std::uint64_t output_hash(const Network& network, const Addresses& addresses) noexcept {
  const float* values = addresses[network.output.value];
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (std::size_t i = 0; i < network.shapes[network.output.value].element_count(); ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, values + i, sizeof(bits));
    for (std::uint32_t shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ ((bits >> shift) & 0xFFU)) * 0x100000001B3U;
    }
  }
  return hash;
}

}  // namespace example
