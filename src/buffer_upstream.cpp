// SPDX-License-Identifier: Apache-2.0

#include "tenure/buffer_upstream.h"

#include <cstdint>

#include "tenure/align.h"

namespace tenure {

void* BufferUpstream::allocate(void* user, std::size_t size_bytes,
                               std::size_t alignment_bytes) noexcept {
  auto* self = static_cast<BufferUpstream*>(user);
  std::byte* const next = self->buffer_.data() + self->used_bytes_;
  const std::uint64_t padding =
      padding_to_align(reinterpret_cast<std::uintptr_t>(next), alignment_bytes);
  const std::size_t free_bytes = self->buffer_.size() - self->used_bytes_;
  if (padding > free_bytes) return nullptr;
  const auto padding_bytes = static_cast<std::size_t>(padding);
  if (size_bytes > free_bytes - padding_bytes) return nullptr;
  self->used_bytes_ += padding_bytes + size_bytes;
  ++self->live_blocks_;
  return next + padding_bytes;
}

void BufferUpstream::deallocate(void* user, void* memory, std::size_t size_bytes,
                                std::size_t /*alignment_bytes*/) noexcept {
  auto* self = static_cast<BufferUpstream*>(user);
  TENURE_ASSERT(self->live_blocks_ > 0);
  const auto offset =
      static_cast<std::size_t>(static_cast<std::byte*>(memory) - self->buffer_.data());
  if (offset + size_bytes == self->used_bytes_) self->used_bytes_ = offset;
  if (--self->live_blocks_ == 0) self->used_bytes_ = 0;
}

}  // namespace tenure
