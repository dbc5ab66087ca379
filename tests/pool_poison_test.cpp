// SPDX-License-Identifier: Apache-2.0

// What AddressSanitizer knows of a pool. The interface is declared weak in the library, so these
// need no more than a test program that is built with the sanitizer.

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "tenure/pool_allocator.h"

#if defined(__SANITIZE_ADDRESS__)
#define TENURE_TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TENURE_TEST_ASAN 1
#endif
#endif

#ifdef TENURE_TEST_ASAN
#include <sanitizer/asan_interface.h>

namespace tenure {
namespace {

bool is_poisoned(const void* address) { return __asan_address_is_poisoned(address) != 0; }

TEST(PoolPoison, LiesOverEverythingThatIsNotABlock) {
  SingleOwnerPool pool;
  ASSERT_TRUE(pool.reserve(1024).ok());
  auto* block = static_cast<std::byte*>(pool.fastMalloc(100));
  EXPECT_FALSE(is_poisoned(block));
  EXPECT_FALSE(is_poisoned(block + 99));
  EXPECT_TRUE(is_poisoned(block + 100));  // rounding belongs to nobody
  EXPECT_TRUE(is_poisoned(block + 128));
  EXPECT_TRUE(is_poisoned(block + 1023));
  pool.fastFree(block);
  EXPECT_TRUE(is_poisoned(block));
  EXPECT_EQ(pool.fastMalloc(10), block);
  EXPECT_FALSE(is_poisoned(block + 9));
  EXPECT_TRUE(is_poisoned(block + 10));
  pool.fastFree(block);
}

TEST(PoolPoison, ComesBackWithResetAndRewind) {
  PoolAllocator pool;
  ASSERT_TRUE(pool.reserve(1024).ok());
  auto* first = static_cast<std::byte*>(pool.fastMalloc(64));
  const Result<PoolMark> mark = pool.mark();
  auto* second = static_cast<std::byte*>(pool.fastMalloc(64));
  ASSERT_TRUE(pool.force_rewind(*mark).ok());
  EXPECT_FALSE(is_poisoned(first + 63));
  EXPECT_TRUE(is_poisoned(second));
  EXPECT_FALSE(pool.reset().ok());
  EXPECT_FALSE(is_poisoned(first));
  pool.force_reset();
  EXPECT_TRUE(is_poisoned(first));
}

// A3: what the tail allows stays readable, whatever is freed behind it.
TEST(PoolPoison, SparesTheTail) {
  PoolAllocator pool(PoolOptions().set_tail_bytes(64));
  ASSERT_TRUE(pool.reserve(256).ok());
  auto* first = static_cast<std::byte*>(pool.fastMalloc(64));
  auto* second = static_cast<std::byte*>(pool.fastMalloc(192));
  EXPECT_FALSE(is_poisoned(second + 255));  // 192 + 64 - 1
  pool.fastFree(second);
  EXPECT_FALSE(is_poisoned(first + 127));
  EXPECT_TRUE(is_poisoned(first + 128));
  pool.fastFree(first);
}

// In whole shadow bytes, because those may be another thread's.
TEST(PoolPoison, SparesAsMuchBehindATailAsAShadowByteStandsFor) {
  std::vector<std::byte> buffer(512);
  PoolAllocator pool(PoolOptions().set_tail_bytes(60));
  ASSERT_TRUE(pool.lend(buffer).ok());
  auto* first = static_cast<std::byte*>(pool.fastMalloc(97));  // 97 + 60 = 157
  EXPECT_FALSE(is_poisoned(first + 159));
  EXPECT_TRUE(is_poisoned(first + 160));
  auto* second = static_cast<std::byte*>(pool.fastMalloc(128));
  pool.fastFree(second);
  EXPECT_FALSE(is_poisoned(second + 63));
  EXPECT_TRUE(is_poisoned(second + 64));
  pool.fastFree(first);
}

TEST(PoolPoison, IsTakenOffWhatGoesBack) {
  std::vector<std::byte> buffer(1024);
  {
    PoolAllocator pool;
    ASSERT_TRUE(pool.lend(buffer).ok());
    EXPECT_TRUE(is_poisoned(buffer.data() + 512));
  }
  for (const std::byte& byte : buffer) ASSERT_FALSE(is_poisoned(&byte));
}

TEST(PoolPoison, IsOffWhereItIsSwitchedOffOrCannotWork) {
  for (const PoolOptions& options :
       {PoolOptions().set_poison(false), PoolOptions().set_alignment_bytes(4)}) {
    PoolAllocator pool(options);
    ASSERT_TRUE(pool.reserve(1024).ok());
    auto* block = static_cast<std::byte*>(pool.fastMalloc(8));
    EXPECT_FALSE(is_poisoned(block + 8));
    pool.fastFree(block);
    EXPECT_FALSE(is_poisoned(block));
  }
}

}  // namespace
}  // namespace tenure

#endif  // TENURE_TEST_ASAN
