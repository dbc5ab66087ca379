// SPDX-License-Identifier: Apache-2.0
#pragma once

// Version 1 of a plan as bytes, in numbers: where the fields of the table in plan_bytes.h lie, for
// the one that writes them and the one that reads them.

#include <cstddef>
#include <cstdint>

#include "tenure/span.h"

namespace tenure::internal::plan_format {

inline constexpr std::uint32_t kMagic = 0x50524E54;  // "TNRP"
inline constexpr std::uint8_t kVersion = 1;
inline constexpr std::uint8_t kNoRegion = 255;  // and so the number of regions that there may be

inline constexpr std::size_t kVersionAt = 4;
inline constexpr std::size_t kRegionCountAt = 5;
inline constexpr std::size_t kOffsetWidthAt = 6;
inline constexpr std::size_t kOffsetShiftAt = 7;
inline constexpr std::size_t kFingerprintAt = 8;
inline constexpr std::size_t kBlockCountAt = 16;
inline constexpr std::size_t kTensorCountAt = 20;
inline constexpr std::size_t kHeaderBytes = 24;

inline constexpr std::size_t kRegionSizeAt = 0;
inline constexpr std::size_t kRegionArenaAt = 8;
inline constexpr std::size_t kRegionLowerBoundAt = 16;
inline constexpr std::size_t kRegionPeakStepAt = 24;
inline constexpr std::size_t kRegionAlignmentAt = 28;
inline constexpr std::uint8_t kKeepsContents = 128;  // added to the alignment's log2
inline constexpr std::size_t kRegionUnitAt = 29;
inline constexpr std::uint8_t kProven = 128;  // added to the unit's log2
inline constexpr std::size_t kRegionBytes = 30;

inline constexpr std::size_t kChecksumBytes = 4;

struct Counts {
  std::uint64_t regions = 0;
  std::uint64_t placements = 0;  // of blocks and tensors
  std::uint64_t offset_width = 1;
};
// Cannot overflow: there are at most 2^33 placements of 9 bytes.
[[nodiscard]] constexpr std::uint64_t total_bytes(const Counts& counts) noexcept {
  return kHeaderBytes + kRegionBytes * counts.regions +
         (1 + counts.offset_width) * counts.placements + kChecksumBytes;
}

// CRC-32 as in zlib and IEEE 802.3, bit by bit: a plan is short, and a table would be longer.
[[nodiscard]] inline std::uint32_t checksum(Span<const std::byte> bytes) noexcept {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

}  // namespace tenure::internal::plan_format
