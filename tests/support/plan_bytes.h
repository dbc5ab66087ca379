// SPDX-License-Identifier: Apache-2.0
#pragma once

// Plans as bytes in tests: encoded, patched with a checksum that fits again, compared with what
// they came from.
//
//   std::vector<std::byte> bytes = test::encoded(plan, 7);
//   bytes[5] = std::byte{9};
//   test::seal(&bytes);
//   EXPECT_FALSE(PlanBytes::open(bytes, 7).ok());

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tenure/plan_bytes.h"

namespace tenure::test {

[[nodiscard]] inline std::vector<std::byte> encoded(const MemoryPlan& plan,
                                                    std::uint64_t fingerprint) {
  const Result<Array<std::byte>> bytes = encode(plan, fingerprint);
  EXPECT_TRUE(bytes.ok()) << text_of(bytes.status().reason());
  if (!bytes.ok()) return {};
  return std::vector<std::byte>(bytes->begin(), bytes->end());
}

inline void put_number(std::vector<std::byte>* bytes, std::size_t at, std::uint64_t number,
                       std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) {
    (*bytes)[at + i] = static_cast<std::byte>(number >> (8 * i) & 0xFFU);
  }
}

// CRC-32 with a table of four bits, so that it shares no line with the library's.
[[nodiscard]] inline std::uint32_t crc_32(Span<const std::byte> bytes) {
  std::uint32_t table[16];
  for (std::uint32_t i = 0; i < 16; ++i) {
    table[i] = i;
    for (int bit = 0; bit < 4; ++bit) {
      table[i] = (table[i] & 1U) != 0 ? table[i] >> 1 ^ 0xEDB88320U : table[i] >> 1;
    }
  }
  std::uint32_t crc = UINT32_MAX;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    crc = crc >> 4 ^ table[crc & 15U];
    crc = crc >> 4 ^ table[crc & 15U];
  }
  return crc ^ UINT32_MAX;
}

// Makes the checksum fit. Precondition: at least four bytes.
inline void seal(std::vector<std::byte>* bytes) {
  const std::size_t checked = bytes->size() - 4;
  put_number(bytes, checked, crc_32(Span<const std::byte>(*bytes).subspan(0, checked)), 4);
}

inline void expect_same_placements(Span<const Placement> a, Span<const Placement> b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i], b[i]) << i;
}

inline void expect_same(const MemoryPlan& a, const MemoryPlan& b) {
  EXPECT_EQ(a.hash(), b.hash());
  ASSERT_EQ(a.regions().size(), b.regions().size());
  for (std::size_t i = 0; i < a.regions().size(); ++i) {
    EXPECT_EQ(a.regions()[i].arena_bytes, b.regions()[i].arena_bytes);
    EXPECT_EQ(a.regions()[i].lower_bound_bytes, b.regions()[i].lower_bound_bytes);
    EXPECT_EQ(a.regions()[i].unit_bytes, b.regions()[i].unit_bytes);
    EXPECT_EQ(a.regions()[i].peak_step, b.regions()[i].peak_step);
    EXPECT_EQ(a.layouts()[i].size_bytes, b.layouts()[i].size_bytes);
    EXPECT_EQ(a.layouts()[i].alignment_bytes, b.layouts()[i].alignment_bytes);
    EXPECT_EQ(a.layouts()[i].keeps_contents, b.layouts()[i].keeps_contents);
  }
  expect_same_placements(a.placements(), b.placements());
  expect_same_placements(a.tensor_placements(), b.tensor_placements());
}

// What the view answers is what the plan has.
inline void expect_same(const PlanBytes& bytes, const MemoryPlan& plan) {
  ASSERT_EQ(bytes.region_count(), plan.regions().size());
  ASSERT_EQ(bytes.block_count(), plan.placements().size());
  ASSERT_EQ(bytes.tensor_count(), plan.tensor_placements().size());
  for (std::uint32_t i = 0; i < bytes.region_count(); ++i) {
    const RegionIndex index(i);
    EXPECT_EQ(bytes.layout(index).size_bytes, plan.layouts()[i].size_bytes);
    EXPECT_EQ(bytes.layout(index).alignment_bytes, plan.layouts()[i].alignment_bytes);
    EXPECT_EQ(bytes.layout(index).keeps_contents, plan.layouts()[i].keeps_contents);
    EXPECT_EQ(bytes.region(index).arena_bytes, plan.arena_bytes(index));
    EXPECT_EQ(bytes.arena_bytes(index), plan.arena_bytes(index));
    EXPECT_EQ(bytes.lower_bound_bytes(index), plan.lower_bound_bytes(index));
  }
  for (std::uint32_t i = 0; i < bytes.block_count(); ++i) {
    EXPECT_EQ(bytes.placement(BlockIndex(i)), plan.placement(BlockIndex(i))) << i;
  }
  for (std::uint32_t i = 0; i < bytes.tensor_count(); ++i) {
    EXPECT_EQ(bytes.tensor_placement(TensorIndex(i)), plan.tensor_placement(TensorIndex(i))) << i;
  }
}

// Through bytes and back: nothing has changed, and the bytes come out the same again.
inline void expect_round_trip(const MemoryPlan& plan, std::uint64_t fingerprint) {
  const std::vector<std::byte> bytes = encoded(plan, fingerprint);
  const Result<PlanBytes> opened = PlanBytes::open(bytes, fingerprint);
  ASSERT_TRUE(opened.ok()) << text_of(opened.status().reason());
  EXPECT_EQ(opened->fingerprint(), fingerprint);
  expect_same(*opened, plan);
  const Result<MemoryPlan> decoded = decode(*opened);
  ASSERT_TRUE(decoded.ok()) << text_of(decoded.status().reason());
  expect_same(*decoded, plan);
  EXPECT_EQ(encoded(*decoded, fingerprint), bytes);
}

}  // namespace tenure::test
