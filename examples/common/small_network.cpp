// SPDX-License-Identifier: Apache-2.0

#include "common/small_network.h"

#include <utility>

namespace example {

tenure::Result<SmallNetwork> make_small_network() {
  NetworkBuilder builder;
  const auto image = builder.input("image", {32, 32, 3});
  const auto conv1 = builder.convolution("conv1", image, 8, Window::of(3));
  const auto relu1 = builder.relu("relu1", conv1);
  const auto conv2 = builder.convolution("conv2", relu1, 8, Window::of(3));
  const auto relu2 = builder.relu("relu2", conv2);
  const auto conv3 = builder.convolution("conv3", relu2, 8, Window::of(3));
  const auto sum = builder.add("add", relu1, conv3);
  const auto left = builder.convolution("left", sum, 16, Window::of(3).every(2));
  const auto right = builder.convolution("right", sum, 8, Window::of(5).every(2));
  const auto joined = builder.concatenation("join", left, right);
  const auto relu3 = builder.relu("relu3", joined);
  const auto pooled = builder.average("pool", relu3, Window::of(4).every(4));
  const auto flat = builder.flatten("flatten", pooled);
  // A fully connected operator is a convolution of one pixel.
  const auto scores = builder.convolution("scores", flat, 10, Window::of(1));

  tenure::Result<Network> network = builder.finish(scores);
  if (!network.ok()) return network.status();
  return SmallNetwork{std::move(*network), relu1};
}

}  // namespace example
