// SPDX-License-Identifier: Apache-2.0

#include "internal/squeaky_wheel.h"

#include <algorithm>

namespace tenure::internal {

bool SqueakyWheel::reset(std::size_t count) noexcept {
  blames_.clear();
  return blames_.resize(count) && blamed_.reserve(count) && order_.reserve(count);
}

bool SqueakyWheel::turn(Span<const std::uint32_t> blocks) noexcept {
  blamed_.clear();
  order_.clear();
  for (std::uint32_t rank = 0; rank < blocks.size(); ++rank) {
    if (blames_[rank] != 0 && !blamed_.push_back(rank)) return false;
  }
  std::sort(blamed_.begin(), blamed_.end(), [this](std::uint32_t a, std::uint32_t b) {
    return blames_[a] != blames_[b] ? blames_[a] > blames_[b] : a < b;
  });
  for (const std::uint32_t rank : blamed_) {
    if (!order_.push_back(blocks[rank])) return false;
  }
  for (std::uint32_t rank = 0; rank < blocks.size(); ++rank) {
    if (blames_[rank] == 0 && !order_.push_back(blocks[rank])) return false;
  }
  return true;
}

}  // namespace tenure::internal
