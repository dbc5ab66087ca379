// SPDX-License-Identifier: Apache-2.0

#include "internal/squeaky_wheel.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tenure/upstream.h"

namespace tenure {
namespace {

using internal::SqueakyWheel;

std::vector<std::uint32_t> turned(SqueakyWheel& wheel, const std::vector<std::uint32_t>& blocks) {
  EXPECT_TRUE(wheel.turn(blocks));
  return std::vector<std::uint32_t>(wheel.order().begin(), wheel.order().end());
}

TEST(SqueakyWheel, PutsWhatWasBlamedMoreOftenFirst) {
  const std::vector<std::uint32_t> blocks = {10, 11, 12, 13, 14};
  SqueakyWheel wheel(heap_upstream());
  ASSERT_TRUE(wheel.reset(blocks.size()));
  EXPECT_EQ(turned(wheel, blocks), blocks);
  wheel.blame(3);
  wheel.blame(1);
  EXPECT_EQ(turned(wheel, blocks), (std::vector<std::uint32_t>{11, 13, 10, 12, 14}));
  wheel.blame(3);
  EXPECT_EQ(turned(wheel, blocks), (std::vector<std::uint32_t>{13, 11, 10, 12, 14}));
  ASSERT_TRUE(wheel.reset(blocks.size()));
  EXPECT_EQ(turned(wheel, blocks), blocks);
}

}  // namespace
}  // namespace tenure
