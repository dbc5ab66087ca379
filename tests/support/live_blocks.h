// SPDX-License-Identifier: Apache-2.0
#pragma once

// The reference model for allocators: every block that is live, full of bytes of its own. Finds
// blocks that overlap, are misaligned, lie outside, or whose bytes somebody else has written.
//
//   test::LiveBlocks live;
//   live.add(allocator.fastMalloc(100), 100, 64);
//   live.remove(block);    // looks at the bytes first

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>

namespace tenure::test {

inline constexpr std::size_t kMegabyte = std::size_t{1} << 20;

class LiveBlocks {
 public:
  struct Block {
    std::size_t size_bytes;
    std::uint8_t pattern;
  };

  void add(void* memory, std::size_t size_bytes, std::size_t alignment_bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(address % alignment_bytes, 0U);
    const auto above = blocks_.lower_bound(address);
    if (above != blocks_.end()) {
      ASSERT_GE(above->first - address, size_bytes == 0 ? 1 : size_bytes);
    }
    if (above != blocks_.begin()) {
      const auto below = std::prev(above);
      ASSERT_GE(address - below->first, below->second.size_bytes);
    }
    const auto pattern = static_cast<std::uint8_t>(++last_pattern_);
    std::memset(memory, pattern, size_bytes);
    blocks_[address] = {size_bytes, pattern};
    bytes_ += size_bytes;
  }

  void remove(void* memory) {
    const auto found = blocks_.find(reinterpret_cast<std::uintptr_t>(memory));
    ASSERT_NE(found, blocks_.end());
    expect_intact(found->first, found->second);
    bytes_ -= found->second.size_bytes;
    blocks_.erase(found);
  }

  void expect_all_intact() const {
    for (const auto& [address, block] : blocks_) expect_intact(address, block);
  }
  void clear() { blocks_.clear(), bytes_ = 0; }
  [[nodiscard]] std::size_t count() const { return blocks_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  static void expect_intact(std::uintptr_t address, const Block& block) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(address);
    for (std::size_t i = 0; i < block.size_bytes; ++i) {
      ASSERT_EQ(bytes[i], block.pattern) << "byte " << i << " of " << block.size_bytes;
    }
  }

  std::map<std::uintptr_t, Block> blocks_;
  std::size_t bytes_ = 0;
  unsigned last_pattern_ = 0;
};

}  // namespace tenure::test
