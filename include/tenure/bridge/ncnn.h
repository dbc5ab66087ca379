// SPDX-License-Identifier: Apache-2.0
#pragma once

// ncnn's own allocator class over an allocator of tenure. None of ncnn's headers are included here:
// the base is a template argument, and only its two functions are known.
//
//   #include <ncnn/allocator.h>
//   tenure::PoolAllocator pool;
//   tenure::bridge::RuntimeAllocator<ncnn::Allocator> blobs(pool);
//   extractor.set_blob_allocator(&blobs);
//
// What ncnn asks of an allocator: alignment 64 (with AVX-512; 32 with AVX, 16 on ARM), 64 bytes
// readable behind the last block (set_tail_bytes(64)), and for the workspace allocator calls from
// several threads at a time. Weights that ncnn packs while it loads a model come from the blob
// allocator, too, and stay: give loading a phase of its own (model_pool.h), or hand the pool to the
// Extractor and not to net.opt. Destroy Mats and Extractors first, then the Net, then the bridge.

#include <cstddef>

#include "tenure/allocator.h"

namespace tenure::bridge {

// As thread-safe as the allocator, which must outlive it. Base: a class that can be made without
// arguments, with virtual fastMalloc(size_t) and fastFree(void*).
template <class Base>
class RuntimeAllocator : public Base {
 public:
  explicit RuntimeAllocator(Allocator& allocator) : allocator_(allocator) {}

  void* fastMalloc(std::size_t size_bytes) noexcept override {
    return allocator_.fastMalloc(size_bytes);
  }
  void fastFree(void* memory) noexcept override { allocator_.fastFree(memory); }

 private:
  Allocator& allocator_;
};

}  // namespace tenure::bridge
