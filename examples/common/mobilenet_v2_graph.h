// SPDX-License-Identifier: Apache-2.0
#pragma once

// MobileNetV2 as a TensorGraph, from the table of its paper (Sandler, Howard, Zhu, Zhmoginov, Chen,
// "MobileNetV2: Inverted Residuals and Linear Bottlenecks", 2018): width 1.0, 224 x 224 pixels,
// float32. Batch normalisation and ReLU6 are folded into the convolutions, as they are in deployed
// models. Weights are constants of the right sizes; they have no values, so the graph can be
// planned, not run.
//
//   Result<TensorGraph> graph = make_mobilenet_v2_graph();

#include "tenure/graph.h"

namespace example {

[[nodiscard]] tenure::Result<tenure::TensorGraph> make_mobilenet_v2_graph();

}  // namespace example
