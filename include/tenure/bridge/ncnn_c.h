// SPDX-License-Identifier: Apache-2.0
#pragma once

// The allocator of ncnn's C interface: a record that ncnn makes, with two functions that may be
// replaced. They get the record and no pointer of the user's, so that the allocator is a template
// argument: an object with static storage.
//
//   static tenure::PoolAllocator pool;
//   ncnn_allocator_t blobs = ncnn_allocator_create_unlocked_pool_allocator();
//   tenure::bridge::replace_functions<pool>(blobs);
//   ncnn_option_set_blob_allocator(opt, blobs);
//
// None of ncnn's headers are included here. bridge/ncnn.h says what ncnn asks of an allocator.

#include <cstddef>

#include "tenure/allocator.h"

namespace tenure::bridge {

// Record: a struct with the members fast_malloc(Record*, size_t) and fast_free(Record*, void*),
// which are written; the others stay as ncnn has made them.
template <auto& kAllocator, class Record>
void replace_functions(Record* record) noexcept {
  record->fast_malloc = [](Record* /*record*/, std::size_t size_bytes) -> void* {
    return kAllocator.fastMalloc(size_bytes);
  };
  record->fast_free = [](Record* /*record*/, void* memory) { kAllocator.fastFree(memory); };
}

// The same for a record of the caller's, whose pthis is nobody else's: any allocator will do, which
// must outlive the record. Not for records that ncnn makes, which keep an object of ncnn's there.
template <class Record>
[[nodiscard]] Record record_of(Allocator& allocator) noexcept {
  Record record{};
  record.pthis = &allocator;
  record.fast_malloc = [](Record* self, std::size_t size_bytes) -> void* {
    return static_cast<Allocator*>(self->pthis)->fastMalloc(size_bytes);
  };
  record.fast_free = [](Record* self, void* memory) {
    static_cast<Allocator*>(self->pthis)->fastFree(memory);
  };
  return record;
}

}  // namespace tenure::bridge
