// SPDX-License-Identifier: Apache-2.0

#include <cstdint>

#include "tenure/align.h"
#include "tenure/upstream.h"

#if defined(_WIN32)
#if !defined(WIN32_LEAN_AND_MEAN)
#define WIN32_LEAN_AND_MEAN
#endif
#if !defined(NOMINMAX)
#define NOMINMAX
#endif
#include <windows.h>
#elif defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#include <unistd.h>
#define TENURE_HAS_MMAP 1
#endif

namespace tenure {

#if defined(_WIN32) || defined(TENURE_HAS_MMAP)
namespace {

// Pages that lie wholly inside [memory, memory + size_bytes).
struct PageRange {
  void* begin;
  std::size_t size_bytes;
};

PageRange whole_pages(void* memory, std::size_t size_bytes, std::size_t page_bytes) noexcept {
  const auto padding = static_cast<std::size_t>(
      padding_to_align(reinterpret_cast<std::uintptr_t>(memory), page_bytes));
  if (padding > size_bytes) return {memory, 0};
  return {static_cast<unsigned char*>(memory) + padding,
          (size_bytes - padding) & ~(page_bytes - 1)};
}

#if defined(_WIN32)

SYSTEM_INFO system_info() noexcept {
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return info;
}

constexpr DWORD kTake = MEM_RESERVE | MEM_COMMIT;

// Large pages need a privilege that programs rarely have, and come whole.
void* take_large_pages(std::size_t size_bytes, std::size_t alignment_bytes) noexcept {
  const std::size_t large_bytes = GetLargePageMinimum();
  if (size_bytes < large_bytes || alignment_bytes > large_bytes) return nullptr;
  if (large_bytes == 0 || size_bytes > SIZE_MAX / 2) return nullptr;
  const std::size_t whole_bytes = (size_bytes + large_bytes - 1) / large_bytes * large_bytes;
  return VirtualAlloc(nullptr, whole_bytes, kTake | MEM_LARGE_PAGES, PAGE_READWRITE);
}

// VirtualAlloc aligns to its granularity (64 KiB). For more, more addresses are reserved, and only
// what lies aligned among them becomes memory.
void* take_pages(std::size_t size_bytes, std::size_t alignment_bytes, PageSize pages) noexcept {
  if (pages == PageSize::kHugeWhereGiven) {
    void* memory = take_large_pages(size_bytes, alignment_bytes);
    if (memory != nullptr) return memory;
  }
  if (alignment_bytes <= system_info().dwAllocationGranularity) {
    return VirtualAlloc(nullptr, size_bytes, kTake, PAGE_READWRITE);
  }
  if (alignment_bytes > SIZE_MAX / 2 || size_bytes > SIZE_MAX / 2 - alignment_bytes) return nullptr;
  void* reserved = VirtualAlloc(nullptr, size_bytes + alignment_bytes, MEM_RESERVE, PAGE_READWRITE);
  if (reserved == nullptr) return nullptr;
  const auto padding = static_cast<std::size_t>(
      padding_to_align(reinterpret_cast<std::uintptr_t>(reserved), alignment_bytes));
  void* memory = static_cast<unsigned char*>(reserved) + padding;
  if (VirtualAlloc(memory, size_bytes, MEM_COMMIT, PAGE_READWRITE) != nullptr) return memory;
  VirtualFree(reserved, 0, MEM_RELEASE);
  return nullptr;
}

// What was reserved may begin before.
void give_pages_back(void* /*user*/, void* memory, std::size_t /*size_bytes*/,
                     std::size_t /*alignment_bytes*/) noexcept {
  MEMORY_BASIC_INFORMATION taken;
  if (VirtualQuery(memory, &taken, sizeof taken) == 0) return;
  VirtualFree(taken.AllocationBase, 0, MEM_RELEASE);
}

void discard_pages(void* /*user*/, void* memory, std::size_t size_bytes) noexcept {
  const PageRange range = whole_pages(memory, size_bytes, system_info().dwPageSize);
  if (range.size_bytes == 0) return;
  VirtualAlloc(range.begin, range.size_bytes, MEM_RESET, PAGE_READWRITE);
}

#else

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

std::size_t page_size() noexcept { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

// mmap aligns to pages. For more, more is taken, and what lies before and behind goes back.
void* take_pages(std::size_t size_bytes, std::size_t alignment_bytes, PageSize pages) noexcept {
  const std::size_t page_bytes = page_size();
  const bool asks_for_huge = pages == PageSize::kHugeWhereGiven && size_bytes >= kHugePageBytes;
  if (asks_for_huge && alignment_bytes < kHugePageBytes) alignment_bytes = kHugePageBytes;
  if (alignment_bytes < page_bytes) alignment_bytes = page_bytes;
  if (alignment_bytes > SIZE_MAX / 2 || size_bytes > SIZE_MAX / 2 - 2 * page_bytes) return nullptr;
  if (size_bytes > SIZE_MAX / 2 - alignment_bytes) return nullptr;
  const std::size_t used_bytes = (size_bytes + page_bytes - 1) & ~(page_bytes - 1);
  const std::size_t taken_bytes = used_bytes + alignment_bytes - page_bytes;
  void* mapped =
      mmap(nullptr, taken_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const first = static_cast<unsigned char*>(mapped);
  const std::size_t before_bytes = static_cast<std::size_t>(
      padding_to_align(reinterpret_cast<std::uintptr_t>(mapped), alignment_bytes));
  const std::size_t behind_bytes = taken_bytes - before_bytes - used_bytes;
  unsigned char* const memory = first + before_bytes;
  if (before_bytes != 0) munmap(first, before_bytes);
  if (behind_bytes != 0) munmap(memory + used_bytes, behind_bytes);
#if defined(MADV_HUGEPAGE)
  if (asks_for_huge) madvise(memory, used_bytes, MADV_HUGEPAGE);
#endif
  return memory;
}

void give_pages_back(void* /*user*/, void* memory, std::size_t size_bytes,
                     std::size_t /*alignment_bytes*/) noexcept {
  munmap(memory, size_bytes);  // which rounds up to whole pages
}

void discard_pages(void* /*user*/, void* memory, std::size_t size_bytes) noexcept {
  const PageRange range = whole_pages(memory, size_bytes, page_size());
  if (range.size_bytes == 0) return;
  madvise(range.begin, range.size_bytes, MADV_DONTNEED);
}

#endif

void* take_normal_pages(void* /*user*/, std::size_t size_bytes,
                        std::size_t alignment_bytes) noexcept {
  return take_pages(size_bytes, alignment_bytes, PageSize::kNormal);
}

void* take_huge_pages(void* /*user*/, std::size_t size_bytes,
                      std::size_t alignment_bytes) noexcept {
  return take_pages(size_bytes, alignment_bytes, PageSize::kHugeWhereGiven);
}

}  // namespace

Upstream page_upstream(PageSize pages) noexcept {
  const bool is_normal = pages == PageSize::kNormal;
  return {is_normal ? &take_normal_pages : &take_huge_pages, &give_pages_back, nullptr,
          &discard_pages};
}

#else

Upstream page_upstream(PageSize /*pages*/) noexcept { return malloc_upstream(); }

#endif

}  // namespace tenure
