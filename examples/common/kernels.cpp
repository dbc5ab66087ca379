// SPDX-License-Identifier: Apache-2.0

#include "common/kernels.h"

#include <algorithm>

namespace example {
namespace {

// Calls visit(y, x, ky, kx) for each pixel of the image under the window of result (row, column).
template <class Visit>
void for_each_pixel(Shape image, Window window, std::uint32_t row, std::uint32_t column,
                    const Visit& visit) noexcept {
  const std::uint32_t top = window.padding(image.height);
  const std::uint32_t left = window.padding(image.width);
  for (std::uint32_t ky = 0; ky < window.size; ++ky) {
    const std::uint32_t y = row * window.stride + ky;
    if (y < top || y - top >= image.height) continue;
    for (std::uint32_t kx = 0; kx < window.size; ++kx) {
      const std::uint32_t x = column * window.stride + kx;
      if (x < left || x - left >= image.width) continue;
      visit(y - top, x - left, ky, kx);
    }
  }
}

template <class Visit>
void for_each_result(Shape result, const Visit& visit) noexcept {
  for (std::uint32_t row = 0; row < result.height; ++row) {
    for (std::uint32_t column = 0; column < result.width; ++column) visit(row, column);
  }
}

}  // namespace

void convolve(Operand from, const float* weights, Window window, Output to) noexcept {
  const Shape filter{window.size, window.size, from.shape.channels};
  const float* bias = weights + filter.element_count() * to.shape.channels;
  for_each_result(to.shape, [&](std::uint32_t row, std::uint32_t column) {
    for (std::uint32_t channel = 0; channel < to.shape.channels; ++channel) {
      const float* taps = weights + filter.element_count() * channel;
      float sum = bias[channel];
      for_each_pixel(from.shape, window, row, column,
                     [&](std::uint32_t y, std::uint32_t x, std::uint32_t ky, std::uint32_t kx) {
                       const float* pixel = from.values + from.shape.at(y, x);
                       const float* tap = taps + filter.at(ky, kx);
                       for (std::uint32_t i = 0; i < filter.channels; ++i) sum += pixel[i] * tap[i];
                     });
      to.values[to.shape.at(row, column) + channel] = sum;
    }
  });
}

void average(Operand from, Window window, Output to) noexcept {
  for_each_result(to.shape, [&](std::uint32_t row, std::uint32_t column) {
    for (std::uint32_t channel = 0; channel < to.shape.channels; ++channel) {
      float sum = 0.0F;
      std::uint32_t count = 0;
      for_each_pixel(from.shape, window, row, column,
                     [&](std::uint32_t y, std::uint32_t x, std::uint32_t, std::uint32_t) {
                       sum += from.values[from.shape.at(y, x) + channel];
                       ++count;
                     });
      to.values[to.shape.at(row, column) + channel] = sum / static_cast<float>(count);
    }
  });
}

void concatenate(Operand first, Operand second, Output to) noexcept {
  for_each_result(to.shape, [&](std::uint32_t row, std::uint32_t column) {
    float* pixel = to.values + to.shape.at(row, column);
    pixel = std::copy_n(first.values + first.shape.at(row, column), first.shape.channels, pixel);
    std::copy_n(second.values + second.shape.at(row, column), second.shape.channels, pixel);
  });
}

void relu(Operand from, Output to) noexcept {
  for (std::size_t i = 0; i < to.shape.element_count(); ++i) {
    to.values[i] = from.values[i] > 0.0F ? from.values[i] : 0.0F;
  }
}

void add(Operand first, Operand second, Output to) noexcept {
  for (std::size_t i = 0; i < to.shape.element_count(); ++i) {
    to.values[i] = first.values[i] + second.values[i];
  }
}

}  // namespace example
