// SPDX-License-Identifier: Apache-2.0

#include "common/network.h"

#include <utility>

namespace example {

using tenure::Result;
using tenure::TensorIndex;
using tenure::TensorKind;

TensorIndex NetworkBuilder::add_tensor(const char* name, Shape shape, TensorKind kind) {
  network_.shapes.push_back(shape);
  return builder_.add_tensor(name, shape.element_count() * sizeof(float), kind);
}

tenure::OperatorBuilder NetworkBuilder::add_operator(const char* name, Work work) {
  network_.work.push_back(work);
  return builder_.add_operator(name);
}

TensorIndex NetworkBuilder::input(const char* name, Shape shape) {
  return network_.input = add_tensor(name, shape, TensorKind::kInput);
}

TensorIndex NetworkBuilder::convolution(const char* name, TensorIndex from, std::uint32_t channels,
                                        Window window) {
  const Shape image = shape(from);
  const Shape filter{window.size, window.size, image.channels};
  const auto taps_and_bias = static_cast<std::uint32_t>(filter.element_count() + 1);
  const TensorIndex weights =
      add_tensor("weights", {1, channels, taps_and_bias}, TensorKind::kConstant);
  const TensorIndex result = add_tensor(
      name, {window.result_count(image.height), window.result_count(image.width), channels});
  add_operator(name, {Kernel::kConvolution, window}).input(from).input(weights).output(result);
  return result;
}

TensorIndex NetworkBuilder::average(const char* name, TensorIndex from, Window window) {
  const Shape image = shape(from);
  const TensorIndex result = add_tensor(
      name, {window.result_count(image.height), window.result_count(image.width), image.channels});
  add_operator(name, {Kernel::kAverage, window}).input(from).output(result);
  return result;
}

TensorIndex NetworkBuilder::concatenation(const char* name, TensorIndex first, TensorIndex second) {
  Shape joined = shape(first);
  joined.channels += shape(second).channels;
  const TensorIndex result = add_tensor(name, joined);
  add_operator(name, {Kernel::kConcatenation, {}}).input(first).input(second).output(result);
  return result;
}

TensorIndex NetworkBuilder::flatten(const char* name, TensorIndex from) {
  const auto count = static_cast<std::uint32_t>(shape(from).element_count());
  const TensorIndex result = add_tensor(name, {1, 1, count});
  add_operator(name, {Kernel::kReshape, {}}).input(from).output(result, alias_of(from));
  return result;
}

TensorIndex NetworkBuilder::relu(const char* name, TensorIndex from) {
  const TensorIndex result = add_tensor(name, shape(from));
  add_operator(name, {Kernel::kRelu, {}}).input(from).output(result, in_place_of(from));
  return result;
}

TensorIndex NetworkBuilder::add(const char* name, TensorIndex first, TensorIndex second) {
  const TensorIndex result = add_tensor(name, shape(first));
  add_operator(name, {Kernel::kAdd, {}})
      .input(first)
      .input(second)
      .output(result, {in_place_of(second), in_place_of(first)});
  return result;
}

Result<Network> NetworkBuilder::finish(TensorIndex output) {
  builder_.mark_output(output);
  Result<tenure::TensorGraph> graph = builder_.build();
  if (!graph.ok()) return graph.status();
  network_.graph = std::move(*graph);
  network_.output = output;
  return std::exchange(network_, Network());
}

}  // namespace example
