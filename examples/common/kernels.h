// SPDX-License-Identifier: Apache-2.0
#pragma once

// The arithmetic of the small network: float32, one image, channels innermost, plain loops. Each
// sum is added up in one fixed order, and each product is rounded before it is added (see
// -ffp-contract in CMakeLists.txt), so that the results are the same bits on every machine.
//
//   convolve({image, image_shape}, weights, Window::of(3).every(2), {features, features_shape});

#include <cstddef>
#include <cstdint>

namespace example {

struct Shape {
  std::uint32_t height = 1;
  std::uint32_t width = 1;
  std::uint32_t channels = 1;

  [[nodiscard]] constexpr std::size_t element_count() const noexcept {
    return std::size_t{height} * width * channels;
  }
  [[nodiscard]] constexpr std::size_t at(std::uint32_t y, std::uint32_t x) const noexcept {
    return (std::size_t{y} * width + x) * channels;
  }
};

// size x size pixels, moved on by `stride`. As many results as strides begin inside the image; what
// lies outside of it counts as zero, or is left out of an average.
struct Window {
  std::uint32_t size = 1;
  std::uint32_t stride = 1;

  [[nodiscard]] static constexpr Window of(std::uint32_t size) noexcept { return {size, 1}; }
  [[nodiscard]] constexpr Window every(std::uint32_t pixels) const noexcept {
    return {size, pixels};
  }

  [[nodiscard]] constexpr std::uint32_t result_count(std::uint32_t count) const noexcept {
    return (count + stride - 1) / stride;
  }
  // How far the first window begins before the image.
  [[nodiscard]] constexpr std::uint32_t padding(std::uint32_t count) const noexcept {
    const std::uint32_t covered = (result_count(count) - 1) * stride + size;
    return covered > count ? (covered - count) / 2 : 0;
  }
};

struct Operand {
  const float* values;
  Shape shape;
};
struct Output {
  float* values;
  Shape shape;
};

// weights: for each channel of the result size x size x channels of the image, then one bias each.
void convolve(Operand from, const float* weights, Window window, Output to) noexcept;
void average(Operand from, Window window, Output to) noexcept;
// Pixel by pixel the channels of `first`, then those of `second`.
void concatenate(Operand first, Operand second, Output to) noexcept;

// These two may write over what they read: each element is read before it is written.
void relu(Operand from, Output to) noexcept;
void add(Operand first, Operand second, Output to) noexcept;

}  // namespace example
