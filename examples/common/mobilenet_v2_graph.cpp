// SPDX-License-Identifier: Apache-2.0

#include "common/mobilenet_v2_graph.h"

#include <string>

#include "tenure/graph_builder.h"

namespace example {

using tenure::Result;
using tenure::TensorGraph;
using tenure::TensorIndex;

namespace {

// A line of the paper's table 2: `repeats` bottlenecks with the same number of channels. Inside,
// there are `expansion` times as many; the first one has the stride.
struct Row {
  std::uint64_t expansion;
  std::uint64_t channels;
  std::uint32_t repeats;
  std::uint64_t stride;
};
constexpr Row kRows[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                         {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

// A tensor of side x side pixels.
struct Features {
  TensorIndex tensor;
  std::uint64_t side;
  std::uint64_t channels;
};

class MobileNetV2Builder {
 public:
  Result<TensorGraph> build() {
    Features features{builder_.add_input("image", bytes(224 * 224 * 3)), 224, 3};
    features = convolution("conv", features, {3, 2, 32});
    std::uint32_t number = 0;
    for (const Row& row : kRows) {
      for (std::uint32_t i = 0; i < row.repeats; ++i) {
        const Row bottleneck_row{row.expansion, row.channels, 1, i == 0 ? row.stride : 1};
        features = bottleneck("b" + std::to_string(++number) + ".", features, bottleneck_row);
      }
    }
    features = convolution("last_conv", features, {1, 1, 1280});
    classify(features);
    return builder_.build();
  }

 private:
  struct Filter {
    std::uint64_t size;
    std::uint64_t stride;
    std::uint64_t channels;  // of the result
  };

  static std::uint64_t bytes(std::uint64_t element_count) { return element_count * sizeof(float); }

  Features add_features(const std::string& name, std::uint64_t side, std::uint64_t channels) {
    return {builder_.add_tensor(name.c_str(), bytes(side * side * channels)), side, channels};
  }

  // `weight_count` without the biases, one for each channel of the result.
  Features filtered(const std::string& name, Features from, Filter filter,
                    std::uint64_t weight_count) {
    const TensorIndex weights =
        builder_.add_constant((name + ".weights").c_str(), bytes(weight_count + filter.channels));
    const std::uint64_t side = (from.side + filter.stride - 1) / filter.stride;
    const Features result = add_features(name, side, filter.channels);
    builder_.add_operator(name.c_str()).input(from.tensor).input(weights).output(result.tensor);
    return result;
  }

  Features convolution(const std::string& name, Features from, Filter filter) {
    return filtered(name, from, filter,
                    filter.size * filter.size * from.channels * filter.channels);
  }

  Features depthwise(const std::string& name, Features from, std::uint64_t stride) {
    return filtered(name, from, {3, stride, from.channels}, 3 * 3 * from.channels);
  }

  // Expand, filter each channel, project; around it a residual where the shape stays the same.
  Features bottleneck(const std::string& prefix, Features from, const Row& row) {
    Features wide = from;
    if (row.expansion != 1) {
      wide = convolution(prefix + "expand", from, {1, 1, row.expansion * from.channels});
    }
    wide = depthwise(prefix + "depthwise", wide, row.stride);
    const Features narrow = convolution(prefix + "project", wide, {1, 1, row.channels});
    if (row.stride != 1 || from.channels != row.channels) return narrow;
    const Features sum = add_features(prefix + "add", narrow.side, narrow.channels);
    builder_.add_operator((prefix + "add").c_str())
        .input(from.tensor)
        .input(narrow.tensor)
        .output(sum.tensor, {in_place_of(narrow.tensor), in_place_of(from.tensor)});
    return sum;
  }

  void classify(Features features) {
    const Features pooled = add_features("pool", 1, features.channels);
    builder_.add_operator("pool").input(features.tensor).output(pooled.tensor);
    const Features flat = add_features("flatten", 1, features.channels);
    builder_.add_operator("flatten")
        .input(pooled.tensor)
        .output(flat.tensor, alias_of(pooled.tensor));
    const Features scores = convolution("scores", flat, {1, 1, 1000});
    const Features chances = add_features("softmax", 1, 1000);
    builder_.add_operator("softmax")
        .input(scores.tensor)
        .output(chances.tensor, in_place_of(scores.tensor));
    builder_.mark_output(chances.tensor);
  }

  tenure::TensorGraphBuilder builder_;
};

}  // namespace

Result<TensorGraph> make_mobilenet_v2_graph() { return MobileNetV2Builder().build(); }

}  // namespace example
