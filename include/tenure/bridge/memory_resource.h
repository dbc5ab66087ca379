// SPDX-License-Identifier: Apache-2.0
#pragma once

// std::pmr::memory_resource over an allocator of tenure, for containers of the standard library.
//
//   tenure::SingleOwnerPool pool;
//   tenure::bridge::MemoryResource resource(pool);
//   std::pmr::vector<float> scores(&resource);

#include <cstddef>
#include <memory_resource>

#include "tenure/allocator.h"

namespace tenure::bridge {

// As thread-safe as the allocator, which must outlive it. A refused request is answered as the
// standard wants it: by its resource that refuses all, with std::bad_alloc, which ends a program
// that is built without exceptions.
class MemoryResource : public std::pmr::memory_resource {
 public:
  explicit MemoryResource(Allocator& allocator) noexcept : allocator_(allocator) {}

  [[nodiscard]] Allocator& allocator() const noexcept { return allocator_; }

 private:
  void* do_allocate(std::size_t size_bytes, std::size_t alignment_bytes) override {
    void* const memory = allocator_.allocate(size_bytes, alignment_bytes);
    if (memory != nullptr) return memory;
    return std::pmr::null_memory_resource()->allocate(size_bytes, alignment_bytes);
  }
  void do_deallocate(void* memory, std::size_t /*size_bytes*/,
                     std::size_t /*alignment_bytes*/) override {
    allocator_.fastFree(memory);
  }
  // Equal when either can free what the other has allocated. Without RTTI, only a resource itself.
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    if (this == &other) return true;
#if defined(__cpp_rtti)
    const auto* bridge = dynamic_cast<const MemoryResource*>(&other);
    return bridge != nullptr && &bridge->allocator_ == &allocator_;
#else
    return false;
#endif
  }

  Allocator& allocator_;
};

}  // namespace tenure::bridge
