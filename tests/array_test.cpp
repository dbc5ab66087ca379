// SPDX-License-Identifier: Apache-2.0

#include "tenure/array.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "support/upstreams.h"

namespace tenure {
namespace {

template <class T>
std::vector<T> values_of(const Array<T>& array) {
  return std::vector<T>(array.begin(), array.end());
}

TEST(Array, AsksForNothingWhileItIsEmpty) {
  test::TestUpstream upstream;
  Array<int> array(upstream.get());
  EXPECT_TRUE(array.reserve(0));
  EXPECT_TRUE(array.resize(0));
  EXPECT_TRUE(array.append({}));
  array.clear();
  EXPECT_TRUE(array.empty());
  EXPECT_EQ(array.begin(), array.end());
  EXPECT_EQ(upstream.calls(), 0U);
}

TEST(Array, GrowsElementByElement) {
  test::TestUpstream upstream;
  Array<std::uint32_t> array(upstream.get());
  for (std::uint32_t i = 0; i < 1000; ++i) {
    ASSERT_TRUE(array.push_back(i * 7));
    ASSERT_EQ(array.size(), i + 1);
  }
  for (std::uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(array[i], i * 7);
  // 8, 16, ... 1024: growth is geometric.
  EXPECT_EQ(upstream.calls(), 8U);
}

TEST(Array, CopiesAnElementOfItsOwnWhenItGrows) {
  test::TestUpstream upstream;
  Array<std::uint64_t> array(upstream.get());
  ASSERT_TRUE(array.push_back(12345));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(array.push_back(array[0]));
  EXPECT_EQ(array.back(), 12345U);
  ASSERT_TRUE(array.resize(1000, array[0]));
  EXPECT_EQ(array.back(), 12345U);
}

TEST(Array, ReservesExactlyOnce) {
  test::TestUpstream upstream;
  Array<std::uint64_t> array(upstream.get());
  ASSERT_TRUE(array.reserve(10));
  EXPECT_EQ(upstream.live_bytes(), 80U);
  EXPECT_TRUE(array.empty());
  ASSERT_TRUE(array.reserve(9));
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(array.push_back(i));
  EXPECT_EQ(upstream.calls(), 1U);
  ASSERT_TRUE(array.push_back(10));
  EXPECT_EQ(upstream.calls(), 2U);
  EXPECT_EQ(upstream.live_blocks(), 1U);
}

TEST(Array, ResizesBothWays) {
  Array<int> array;
  ASSERT_TRUE(array.resize(3, 5));
  EXPECT_EQ(values_of(array), (std::vector<int>{5, 5, 5}));
  ASSERT_TRUE(array.resize(1));
  EXPECT_EQ(values_of(array), (std::vector<int>{5}));
  // What was cut off does not come back.
  ASSERT_TRUE(array.resize(3));
  EXPECT_EQ(values_of(array), (std::vector<int>{5, 0, 0}));
}

TEST(Array, AppendsBehindWhatIsThere) {
  Array<int> array;
  const int first[] = {1, 2, 3};
  const int second[] = {4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
  ASSERT_TRUE(array.append(first));
  ASSERT_TRUE(array.append({}));
  ASSERT_TRUE(array.append(second));
  EXPECT_EQ(values_of(array), (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}));
}

TEST(Array, KeepsItsMemoryWhenCleared) {
  test::TestUpstream upstream;
  Array<int> array(upstream.get());
  ASSERT_TRUE(array.resize(100, 1));
  array.clear();
  EXPECT_TRUE(array.empty());
  ASSERT_TRUE(array.resize(100, 2));
  EXPECT_EQ(upstream.calls(), 1U);
  EXPECT_EQ(array.back(), 2);
}

TEST(Array, TakesBackTheLastElement) {
  Array<int> array;
  ASSERT_TRUE(array.push_back(1) && array.push_back(2));
  array.pop_back();
  EXPECT_EQ(values_of(array), (std::vector<int>{1}));
  array.pop_back();
  EXPECT_TRUE(array.empty());
}

TEST(Array, IsUnchangedWhenMemoryIsRefused) {
  test::TestUpstream upstream;
  Array<std::uint32_t> array(upstream.get());
  for (std::uint32_t i = 0; i < 8; ++i) ASSERT_TRUE(array.push_back(i));
  upstream.limit_to(upstream.live_bytes());
  const std::uint32_t more[] = {1, 2, 3};
  EXPECT_FALSE(array.push_back(8));
  EXPECT_FALSE(array.append(more));
  EXPECT_FALSE(array.resize(9));
  EXPECT_FALSE(array.reserve(9));
  EXPECT_EQ(values_of(array), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  upstream.limit_to(UINT64_MAX);
  EXPECT_TRUE(array.push_back(8));
  EXPECT_EQ(array.back(), 8U);
}

TEST(Array, RefusesCountsWhoseBytesOverflow) {
  test::TestUpstream upstream;
  Array<std::uint32_t> array(upstream.get());
  ASSERT_TRUE(array.push_back(1));
  const std::uint64_t calls = upstream.calls();
  EXPECT_FALSE(array.reserve(SIZE_MAX / 4 + 1));
  EXPECT_FALSE(array.reserve(SIZE_MAX));
  EXPECT_FALSE(array.resize(SIZE_MAX));
  const std::uint32_t value = 0;
  volatile std::size_t count = SIZE_MAX;        // hidden from the compiler, which would warn
  EXPECT_FALSE(array.append({&value, count}));  // count + extra overflows
  count = SIZE_MAX / 4;
  EXPECT_FALSE(array.append({&value, count}));  // bytes overflow
  EXPECT_EQ(upstream.calls(), calls);
  EXPECT_EQ(values_of(array), (std::vector<std::uint32_t>{1}));
}

TEST(Array, MovesItsMemory) {
  test::TestUpstream upstream;
  Array<int> first(upstream.get());
  ASSERT_TRUE(first.resize(20, 3));
  const int* data = first.data();
  Array<int> second(std::move(first));
  EXPECT_EQ(second.data(), data);
  EXPECT_TRUE(first.empty());  // NOLINT(bugprone-use-after-move): it is empty, and says so
  ASSERT_TRUE(first.push_back(1));
  Array<int> third(upstream.get());
  ASSERT_TRUE(third.resize(5));
  third = std::move(second);
  EXPECT_EQ(third.size(), 20U);
  EXPECT_EQ(third[19], 3);
  EXPECT_EQ(upstream.live_blocks(), 2U);  // of first and third
  Array<int>& same = third;
  third = std::move(same);
  EXPECT_EQ(third.size(), 20U);
}

TEST(Array, TakesTheUpstreamAlongWithTheMemory) {
  test::TestUpstream upstream;
  Array<int> array;
  {
    Array<int> other(upstream.get());
    ASSERT_TRUE(other.resize(4));
    array = std::move(other);
  }
  EXPECT_EQ(upstream.live_blocks(), 1U);
  ASSERT_TRUE(array.reserve(100));
  EXPECT_EQ(upstream.live_blocks(), 1U);
  EXPECT_EQ(upstream.calls(), 2U);
}

TEST(Array, AlignsElementsThatAskForIt) {
  struct alignas(64) Wide {
    std::uint8_t bytes[64];
  };
  test::TestUpstream upstream;
  Array<Wide> array(upstream.get());
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(array.push_back({}));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % 64, 0U);
  }
}

}  // namespace
}  // namespace tenure
