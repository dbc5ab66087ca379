// SPDX-License-Identifier: Apache-2.0
#pragma once

// The allocator of ncnn's C interface: a record that ncnn makes, with two functions that may be
// replaced. They get the record and no pointer of the user's, so that the allocator is a template
// argument: an object with static storage. A record of the caller's own will not do, because ncnn
// takes from a record the ncnn::Allocator that it has put there, which calls the two functions.
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

}  // namespace tenure::bridge
