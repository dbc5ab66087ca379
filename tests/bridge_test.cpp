// SPDX-License-Identifier: Apache-2.0

// Each bridge against a runtime's interface as that runtime declares it, written down here because
// its headers are not there.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <new>
#include <utility>
#include <vector>

#include "tenure/bridge/litert.h"
#include "tenure/bridge/memory_resource.h"
#include "tenure/bridge/ncnn.h"
#include "tenure/bridge/ncnn_c.h"
#include "tenure/free_list_allocator.h"
#include "tenure/pool_allocator.h"

namespace {

// As in ncnn: an out-of-line virtual destructor, and nothing else but the two functions.
class RuntimeBase {
 public:
  virtual ~RuntimeBase();
  virtual void* fastMalloc(size_t size) = 0;
  virtual void fastFree(void* ptr) = 0;
};
RuntimeBase::~RuntimeBase() = default;

// As in ncnn's C interface.
struct CAllocator;
using CAllocatorHandle = CAllocator*;
struct CAllocator {
  void* pthis;
  void* (*fast_malloc)(CAllocatorHandle allocator, size_t size);
  void (*fast_free)(CAllocatorHandle allocator, void* ptr);
};

// As in LiteRT, and as it was before it could reallocate.
struct RecordWithReallocate {
  void* data;
  void* (*allocate)(void* data, size_t bytes, size_t alignment);
  void* (*reallocate)(void* data, void* ptr, size_t old_bytes, size_t new_bytes, size_t alignment);
  void (*deallocate)(void* data, void* ptr, size_t bytes, size_t alignment);
};
struct RecordWithout {
  void* data;
  void* (*allocate)(void* data, size_t bytes, size_t alignment);
  void (*deallocate)(void* data, void* ptr, size_t bytes, size_t alignment);
};

tenure::SingleOwnerPool static_pool;  // NOLINT: the C interface has no place for a pointer

}  // namespace

namespace tenure {
namespace {

void expect_whole_space_free(SingleOwnerPool& pool) {
  ASSERT_TRUE(pool.reset().ok());
  void* all = pool.fastMalloc(pool.total_bytes());
  EXPECT_NE(all, nullptr);
  pool.fastFree(all);
}

class Bridge : public testing::Test {
 protected:
  Bridge() { EXPECT_TRUE(pool.reserve(4096).ok()); }
  ~Bridge() override { expect_whole_space_free(pool); }
  SingleOwnerPool pool;
};

TEST_F(Bridge, IsAnAllocatorOfTheRuntimesOwn) {
  auto bridge = std::make_unique<bridge::RuntimeAllocator<RuntimeBase>>(pool);
  RuntimeBase* runtime = bridge.get();
  void* block = runtime->fastMalloc(100);
  EXPECT_TRUE(pool.owns(block));
  EXPECT_EQ(runtime->fastMalloc(5000), nullptr);
  runtime->fastFree(nullptr);
  runtime->fastFree(block);
  EXPECT_EQ(pool.used_bytes(), 0U);
  std::unique_ptr<RuntimeBase> destroyed_by_base = std::move(bridge);
}

TEST_F(Bridge, ReplacesTheFunctionsOfARecordThatTheRuntimeHasMade) {
  ASSERT_TRUE(static_pool.reserve(1024).ok());
  int object_of_the_runtime = 0;
  CAllocator record{&object_of_the_runtime, nullptr, nullptr};
  bridge::replace_functions<static_pool>(&record);
  EXPECT_EQ(record.pthis, &object_of_the_runtime);
  void* block = record.fast_malloc(&record, 100);
  EXPECT_TRUE(static_pool.owns(block));
  EXPECT_EQ(record.fast_malloc(&record, 2000), nullptr);
  record.fast_free(&record, block);
  expect_whole_space_free(static_pool);
}

// What ncnn's options take from a record is the object in it, which calls back.
TEST_F(Bridge, IsReachedThroughTheObjectThatTheRuntimeKeepsInItsRecord) {
  struct Object final : RuntimeBase {
    void* fastMalloc(std::size_t size) override { return record.fast_malloc(&record, size); }
    void fastFree(void* memory) override { record.fast_free(&record, memory); }
    CAllocator record{static_cast<RuntimeBase*>(this), nullptr, nullptr};
  };
  ASSERT_TRUE(static_pool.reserve(1024).ok());
  Object object;
  bridge::replace_functions<static_pool>(&object.record);
  auto* const taken = static_cast<RuntimeBase*>(object.record.pthis);
  void* block = taken->fastMalloc(100);
  EXPECT_TRUE(static_pool.owns(block));
  taken->fastFree(block);
  expect_whole_space_free(static_pool);
}

TEST_F(Bridge, AllocatesForLiteRtWithTheAlignmentAskedFor) {
  const auto record = bridge::litert_allocator<RecordWithReallocate>(pool);
  void* first = record.allocate(record.data, 10, 0);
  void* block = record.allocate(record.data, 100, 1024);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 1024, 0U);
  EXPECT_EQ(record.allocate(record.data, 5000, 64), nullptr);
  record.deallocate(record.data, block, 100, 1024);
  record.deallocate(record.data, first, 10, 0);
  EXPECT_EQ(pool.statistics().live_blocks, 0U);

  const auto without = bridge::litert_allocator<RecordWithout>(pool);
  block = without.allocate(without.data, 1, 16);
  EXPECT_TRUE(pool.owns(block));
  without.deallocate(without.data, block, 1, 16);
}

TEST_F(Bridge, ReallocatesWithItsContentsOrLeavesTheOldBlock) {
  const auto record = bridge::litert_allocator<RecordWithReallocate>(pool);
  auto* block = static_cast<unsigned char*>(record.reallocate(record.data, nullptr, 0, 100, 64));
  for (unsigned i = 0; i < 100; ++i) block[i] = static_cast<unsigned char>(i);
  EXPECT_EQ(record.reallocate(record.data, block, 100, 5000, 64), nullptr);
  EXPECT_EQ(block[99], 99);
  auto* larger = static_cast<unsigned char*>(record.reallocate(record.data, block, 100, 1000, 256));
  ASSERT_NE(larger, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(larger) % 256, 0U);
  for (unsigned i = 0; i < 100; ++i) ASSERT_EQ(larger[i], i);
  auto* smaller = static_cast<unsigned char*>(record.reallocate(record.data, larger, 1000, 10, 0));
  EXPECT_EQ(smaller[9], 9);
  EXPECT_EQ(pool.statistics().live_blocks, 1U);
  record.deallocate(record.data, smaller, 10, 0);
}

TEST_F(Bridge, CarriesContainersOfTheStandardLibrary) {
  bridge::MemoryResource resource(pool);
  {
    std::pmr::vector<double> values(&resource);
    for (int i = 0; i < 50; ++i) values.push_back(i);
    EXPECT_TRUE(pool.owns(values.data()));
    EXPECT_EQ(values[49], 49);
#if defined(__cpp_exceptions)
    EXPECT_THROW(values.reserve(1000), std::bad_alloc);
    EXPECT_EQ(values.size(), 50U);
#endif
  }
  void* aligned = resource.allocate(10, 512);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % 512, 0U);
  resource.deallocate(aligned, 10, 512);
  EXPECT_EQ(pool.statistics().live_blocks, 0U);
}

TEST_F(Bridge, ResourcesAreEqualWhereTheyShareAnAllocator) {
  FreeListAllocator other;
  const bridge::MemoryResource first(pool);
  const bridge::MemoryResource second(pool);
  const bridge::MemoryResource third(other);
  EXPECT_TRUE(first.is_equal(first));
#if defined(__cpp_rtti)
  EXPECT_TRUE(first.is_equal(second));
#endif
  EXPECT_FALSE(first.is_equal(third));
  EXPECT_FALSE(first.is_equal(*std::pmr::null_memory_resource()));
}

}  // namespace
}  // namespace tenure
