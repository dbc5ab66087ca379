// SPDX-License-Identifier: Apache-2.0

// Memory that the CPU cannot see: the same cores hand out offsets into the buffers of a device,
// aligned to 256, and keep their books in memory of their own. The records are shaped like those
// that ncnn's Vulkan layers pass around (buffer, offset, capacity, memory, mapped_ptr); the device is
// a pretence.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <vector>

#include "tenure/array.h"
#include "tenure/bump_offsets.h"
#include "tenure/free_list_allocator.h"
#include "tenure/free_list_offsets.h"

namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20;
constexpr std::size_t kOffsetAlignment = 256;  // minStorageBufferOffsetAlignment of many devices

// What a driver would give: numbered buffers, each bound to memory of its own, and commands that
// touch them. No addresses.
class PretendedDevice {
 public:
  struct Bound {
    std::uint64_t buffer;
    std::uint64_t memory;
  };

  Bound create_buffer(std::size_t size_bytes) {
    contents_.emplace_back(size_bytes);
    live_bytes_ += size_bytes;
    const std::uint64_t buffer = contents_.size();
    return {buffer, kFirstMemory + buffer};
  }
  void destroy_buffer(std::uint64_t buffer) {
    live_bytes_ -= contents_[index_of(buffer)].size();
    contents_[index_of(buffer)] = std::vector<unsigned char>();
  }
  void fill(std::uint64_t buffer, std::size_t offset, std::size_t size_bytes, unsigned char value) {
    std::memset(&contents_[index_of(buffer)][offset], value, size_bytes);
  }
  [[nodiscard]] bool is_full_of(std::uint64_t buffer, std::size_t offset, std::size_t size_bytes,
                                unsigned char value) const {
    for (std::size_t i = 0; i < size_bytes; ++i) {
      if (contents_[index_of(buffer)][offset + i] != value) return false;
    }
    return true;
  }
  [[nodiscard]] std::size_t live_bytes() const { return live_bytes_; }

 private:
  static constexpr std::uint64_t kFirstMemory = 1000;
  static std::size_t index_of(std::uint64_t buffer) { return static_cast<std::size_t>(buffer) - 1; }

  std::vector<std::vector<unsigned char>> contents_;
  std::size_t live_bytes_ = 0;
};

struct BufferRecord {
  std::uint64_t buffer;
  std::size_t offset;
  std::size_t capacity;
  std::uint64_t memory;  // that the buffer is bound to
  void* mapped_ptr;      // null: the CPU cannot see it
  std::uint32_t range;   // which of the buffers, for the way back
};

// Blobs come and go: a free list over buffers of 16 MB, more of them as they are needed. Records
// are many small requests, and come from a free list, too.
class DeviceBlobAllocator {
 public:
  explicit DeviceBlobAllocator(PretendedDevice& device) : device_(device) {}
  ~DeviceBlobAllocator() {
    for (std::uint32_t i = 0; i < buffers_.size(); ++i) {
      device_.destroy_buffer(buffers_[i].buffer);
    }
  }
  DeviceBlobAllocator(const DeviceBlobAllocator&) = delete;
  DeviceBlobAllocator& operator=(const DeviceBlobAllocator&) = delete;

  BufferRecord* fastMalloc(std::size_t size_bytes) {
    tenure::RangeOffset offset = offsets_.allocate(size_bytes, kOffsetAlignment);
    if (offset.is_none() && add_buffer(size_bytes)) {
      offset = offsets_.allocate(size_bytes, kOffsetAlignment);
    }
    if (offset.is_none()) return nullptr;
    void* memory = records_.fastMalloc(sizeof(BufferRecord));
    if (memory == nullptr) {
      offsets_.free(offset);
      return nullptr;
    }
    const PretendedDevice::Bound& bound = buffers_[offset.range];
    return new (memory)
        BufferRecord{bound.buffer, offset.bytes, size_bytes, bound.memory, nullptr, offset.range};
  }
  void fastFree(BufferRecord* record) {
    if (record == nullptr) return;
    offsets_.free({record->range, record->offset});
    records_.fastFree(record);
  }
  [[nodiscard]] const tenure::FreeListOffsets& offsets() const { return offsets_; }

 private:
  // Ranges are numbered in the order in which they are added, as buffers are.
  bool add_buffer(std::size_t size_bytes) {
    constexpr std::size_t kBufferBytes = 16 * kMegabyte;
    const std::size_t bytes = size_bytes > kBufferBytes ? size_bytes : kBufferBytes;
    const std::size_t rounded = (bytes + kOffsetAlignment - 1) & ~(kOffsetAlignment - 1);
    if (!buffers_.reserve(buffers_.size() + 1)) return false;
    if (!offsets_.add_range(rounded).ok()) return false;
    return buffers_.push_back(device_.create_buffer(rounded));
  }

  PretendedDevice& device_;
  tenure::FreeListOffsets offsets_{kOffsetAlignment};
  tenure::FreeListAllocator records_{tenure::FreeListOptions().set_granule_bytes(16)};
  tenure::Array<PretendedDevice::Bound> buffers_;
};

bool expect(bool is_as_expected, const char* what) {
  std::printf("%-8s %s\n", is_as_expected ? "ok" : "FAILED", what);
  return is_as_expected;
}

bool blobs() {
  PretendedDevice device;
  bool is_as_expected = true;
  {
    DeviceBlobAllocator allocator(device);
    BufferRecord* first = allocator.fastMalloc(6 * kMegabyte);
    BufferRecord* second = allocator.fastMalloc(100);
    BufferRecord* third = allocator.fastMalloc(12 * kMegabyte);  // another buffer
    if (first == nullptr || second == nullptr || third == nullptr) {
      return expect(false, "the device and its books have room");
    }
    unsigned char value = 0;
    for (const BufferRecord* record : {first, second, third}) {
      std::printf("         buffer %llu, memory %llu, offset %9zu, %9zu bytes\n",
                  static_cast<unsigned long long>(record->buffer),
                  static_cast<unsigned long long>(record->memory), record->offset,
                  record->capacity);
      device.fill(record->buffer, record->offset, record->capacity, ++value);
    }
    bool is_intact = true;
    value = 0;
    for (const BufferRecord* record : {first, second, third}) {
      is_intact = is_intact && record->mapped_ptr == nullptr &&
                  device.is_full_of(record->buffer, record->offset, record->capacity, ++value);
    }
    is_as_expected = expect(second->offset == 6 * kMegabyte && second->buffer == first->buffer,
                            "blobs lie one behind the other, aligned to 256") &&
                     expect(third->buffer != first->buffer && device.live_bytes() == 32 * kMegabyte,
                            "a second buffer is made when the first is full") &&
                     expect(is_intact, "no blob is written over by another");
    for (BufferRecord* record : {first, third, second}) allocator.fastFree(record);
    is_as_expected = is_as_expected && expect(allocator.offsets().free_blocks() == 2 &&
                                                  allocator.offsets().live_blocks() == 0,
                                              "each buffer is whole again");
  }
  return is_as_expected && expect(device.live_bytes() == 0, "the device has its memory back");
}

// Weights come and stay: a position in one buffer suffices.
bool weights() {
  tenure::BumpOffsets<tenure::SingleOwner> offsets;
  offsets.open(
      tenure::BumpSpace().set_capacity_bytes(8 * kMegabyte).set_alignment_bytes(kOffsetAlignment));
  const tenure::Offset first = offsets.allocate(1000);
  const tenure::Offset second = offsets.allocate(4 * kMegabyte);
  const tenure::Offset too_large = offsets.allocate(4 * kMegabyte);
  const tenure::Offset third = offsets.allocate(kMegabyte);
  std::printf("         weights at %zu, %zu and %zu\n", first.bytes, second.bytes, third.bytes);
  return expect(first.bytes == 0 && second.bytes == 1024, "weights are aligned to 256") &&
         expect(too_large.is_none() && third.bytes == 1024 + 4 * kMegabyte,
                "a refusal leaves the room to smaller ones");
}

}  // namespace

int main() { return blobs() && weights() ? 0 : 1; }
