// SPDX-License-Identifier: Apache-2.0
#pragma once

// A network that can be planned and run. The TensorGraph is the only list of tensors and operators:
// the planner reads it, and so does the executor (inference.h). Beside it stand just the shapes and
// which kernel an operator is, in the graph's own numbering.
//
//   NetworkBuilder builder;
//   const TensorIndex image = builder.input("image", {32, 32, 3});
//   const TensorIndex conv = builder.convolution("conv", image, 8, Window::of(3));
//   Result<Network> network = builder.finish(builder.relu("relu", conv));

#include <cstdint>
#include <vector>

#include "common/kernels.h"
#include "tenure/graph_builder.h"

namespace example {

enum class Kernel : std::uint8_t { kConvolution, kRelu, kAdd, kConcatenation, kAverage, kReshape };

struct Work {
  Kernel kernel = Kernel::kReshape;
  Window window;  // of a convolution or an average
};

struct Network {
  tenure::TensorGraph graph;
  std::vector<Shape> shapes;  // by tensor
  std::vector<Work> work;     // by operator
  tenure::TensorIndex input;
  tenure::TensorIndex output;
};

// Each function adds one operator and its result, both under `name`, and gives the result.
class NetworkBuilder {
 public:
  using TensorIndex = tenure::TensorIndex;

  TensorIndex input(const char* name, Shape shape);
  TensorIndex convolution(const char* name, TensorIndex from, std::uint32_t channels,
                          Window window);
  TensorIndex average(const char* name, TensorIndex from, Window window);
  TensorIndex concatenation(const char* name, TensorIndex first, TensorIndex second);
  // An alias: the same bytes.
  TensorIndex flatten(const char* name, TensorIndex from);
  // In place: may be written over an operand.
  TensorIndex relu(const char* name, TensorIndex from);
  TensorIndex add(const char* name, TensorIndex first, TensorIndex second);

  // Afterwards the builder is empty.
  [[nodiscard]] tenure::Result<Network> finish(TensorIndex output);

 private:
  TensorIndex add_tensor(const char* name, Shape shape,
                         tenure::TensorKind kind = tenure::TensorKind::kIntermediate);
  tenure::OperatorBuilder add_operator(const char* name, Work work);
  [[nodiscard]] Shape shape(TensorIndex tensor) const { return network_.shapes[tensor.value]; }

  tenure::TensorGraphBuilder builder_;
  Network network_;
};

}  // namespace example
