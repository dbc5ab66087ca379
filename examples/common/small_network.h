// SPDX-License-Identifier: Apache-2.0
#pragma once

// The network that the examples run: small enough for an emulated board, with everything that makes
// memory interesting - a residual, two branches that are joined again, work in place, a reshape.
//
//   image - conv1 - relu1 -+- conv2 - relu2 - conv3 -+- add -+- left --+- join - relu3 - pool -
//   flatten
//                          +-------- residual -------+       +- right -+ |
//                                                                                                scores

#include "common/network.h"

namespace example {

struct SmallNetwork {
  Network network;
  tenure::TensorIndex residual;  // relu1: read by conv2, and again by add
};

[[nodiscard]] tenure::Result<SmallNetwork> make_small_network();

}  // namespace example
