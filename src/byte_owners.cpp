// SPDX-License-Identifier: Apache-2.0

#include "internal/byte_owners.h"

namespace tenure::internal {
namespace {

// Recursion is as deep as the tree is high: at most 33 calls.
constexpr bool covers(std::uint32_t outer_begin, std::uint32_t outer_end, std::uint32_t begin,
                      std::uint32_t end) noexcept {
  return outer_begin <= begin && end <= outer_end;
}

}  // namespace

bool ByteOwners::reset(std::uint32_t cell_count) noexcept {
  leaf_count_ = 1;
  while (leaf_count_ < cell_count) leaf_count_ *= 2;
  nodes_.clear();
  return nodes_.resize(std::size_t{leaf_count_} * 2, Version::kNoneValue);
}

void ByteOwners::write(Cells cells, Version owner) noexcept {
  if (!cells.empty()) write_below(1, {0, leaf_count_}, cells, owner.value);
}

bool ByteOwners::holds(Cells cells, Version owner, Version* other) const noexcept {
  return cells.empty() || holds_below(1, {0, leaf_count_}, cells, owner.value, other);
}

void ByteOwners::write_below(std::uint32_t node, Cells span, Cells cells,
                             std::uint32_t owner) noexcept {
  if (cells.end <= span.begin || span.end <= cells.begin) return;
  if (covers(cells.begin, cells.end, span.begin, span.end)) {
    nodes_[node] = owner;
    return;
  }
  const std::uint32_t left = 2 * node;
  const std::uint32_t right = left + 1;
  if (nodes_[node] != kMixed) {
    nodes_[left] = nodes_[node];
    nodes_[right] = nodes_[node];
  }
  const std::uint32_t middle = span.begin + (span.end - span.begin) / 2;
  write_below(left, {span.begin, middle}, cells, owner);
  write_below(right, {middle, span.end}, cells, owner);
  nodes_[node] = nodes_[left] == nodes_[right] ? nodes_[left] : kMixed;
}

bool ByteOwners::holds_below(std::uint32_t node, Cells span, Cells cells, std::uint32_t owner,
                             Version* other) const noexcept {
  if (cells.end <= span.begin || span.end <= cells.begin || nodes_[node] == owner) return true;
  if (nodes_[node] != kMixed) {
    *other = Version(nodes_[node]);
    return false;
  }
  const std::uint32_t middle = span.begin + (span.end - span.begin) / 2;
  return holds_below(2 * node, {span.begin, middle}, cells, owner, other) &&
         holds_below(2 * node + 1, {middle, span.end}, cells, owner, other);
}

}  // namespace tenure::internal
