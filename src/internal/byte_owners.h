// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which version of which tensor each byte holds, for an abstract run. Bytes between two
// neighbouring ends of tensors behave alike, so each such stretch is one cell; a tree over the
// cells answers for any range in O(log n).

#include <cstdint>

#include "tenure/array.h"
#include "tenure/index.h"
#include "tenure/upstream.h"

namespace tenure::internal {

using Version = Index<struct VersionTag>;  // one act of writing a tensor

class ByteOwners {
 public:
  explicit ByteOwners(Upstream upstream) noexcept : nodes_(upstream) {}

  // A half-open range of cells.
  struct Cells {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    [[nodiscard]] bool empty() const noexcept { return begin == end; }
  };

  // All cells hold nothing. False when memory was refused.
  [[nodiscard]] bool reset(std::uint32_t cell_count) noexcept;

  void write(Cells cells, Version owner) noexcept;

  // True when every cell is `owner`'s; otherwise `other` is whose the first wrong one is (or none).
  [[nodiscard]] bool holds(Cells cells, Version owner, Version* other) const noexcept;

 private:
  static constexpr std::uint32_t kMixed = Version::kNoneValue - 1;

  void write_below(std::uint32_t node, Cells span, Cells cells, std::uint32_t owner) noexcept;
  [[nodiscard]] bool holds_below(std::uint32_t node, Cells span, Cells cells, std::uint32_t owner,
                                 Version* other) const noexcept;

  std::uint32_t leaf_count_ = 1;
  Array<std::uint32_t> nodes_;  // heap-shaped: the owner of all cells below, or kMixed
};

}  // namespace tenure::internal
