// SPDX-License-Identifier: Apache-2.0

#include "internal/storage_classes.h"

namespace tenure::internal {
namespace {

// Every stored offset stays within this, so that the sum of two cannot overflow.
constexpr std::int64_t kMaxOffset = INT64_C(1) << 62;

constexpr bool in_range(std::int64_t offset) noexcept {
  return offset >= -kMaxOffset && offset <= kMaxOffset;
}

}  // namespace

bool StorageClasses::reset(Span<const Tensor> tensors) noexcept {
  nodes_.clear();
  if (!nodes_.reserve(tensors.size())) return false;
  for (const Tensor& tensor : tensors) {
    Node node{};
    node.parent = static_cast<std::uint32_t>(nodes_.size());
    node.count = 1;
    // Larger sizes are refused by fit() before they can join anything.
    const std::uint64_t end = tensor.size_bytes;
    node.extent.end = end > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(end);
    if (!nodes_.push_back(node)) return false;
  }
  return true;
}

StorageClasses::Member StorageClasses::find(TensorIndex tensor) noexcept {
  std::uint32_t root = tensor.value;
  std::int64_t offset = 0;
  while (nodes_[root].parent != root) {
    offset += nodes_[root].offset;
    root = nodes_[root].parent;
  }
  std::uint32_t current = tensor.value;
  std::int64_t rest = offset;
  while (nodes_[current].parent != root && current != root) {
    Node& node = nodes_[current];
    const std::uint32_t next = node.parent;
    const std::int64_t step = node.offset;
    node.parent = root;
    node.offset = rest;
    rest -= step;
    current = next;
  }
  return {TensorIndex(root), offset};
}

StorageClasses::Fit StorageClasses::fit(TensorIndex tensor, TensorIndex base,
                                        std::uint64_t offset_bytes) noexcept {
  const Member in_tensor = find(tensor);
  const Member in_base = find(base);
  Fit fit;
  fit.base_root = in_base.root;
  fit.tensor_root = in_tensor.root;
  const Extent a = extent(in_base.root);
  const Extent b = extent(in_tensor.root);
  if (offset_bytes > static_cast<std::uint64_t>(kMaxOffset) || !in_range(a.end) ||
      !in_range(b.end)) {
    fit.overflows = true;
    return fit;
  }
  const std::int64_t at = in_base.offset + static_cast<std::int64_t>(offset_bytes);
  if (!in_range(at) || !in_range(at - in_tensor.offset)) {
    fit.overflows = true;
    return fit;
  }
  fit.shift = at - in_tensor.offset;
  // Joining may hang either class below the other, which shifts the other's extent either way.
  fit.overflows = !in_range(b.begin + fit.shift) || !in_range(b.end + fit.shift) ||
                  !in_range(a.begin - fit.shift) || !in_range(a.end - fit.shift);
  return fit;
}

void StorageClasses::join(const Fit& fit) noexcept {
  TENURE_ASSERT(!fit.overflows && fit.base_root != fit.tensor_root);
  std::uint32_t parent = fit.base_root.value;
  std::uint32_t child = fit.tensor_root.value;
  std::int64_t shift = fit.shift;
  if (nodes_[parent].count < nodes_[child].count) {
    const std::uint32_t swapped = parent;
    parent = child;
    child = swapped;
    shift = -shift;
  }
  Node& above = nodes_[parent];
  Node& below = nodes_[child];
  below.parent = parent;
  below.offset = shift;
  above.count += below.count;
  const std::int64_t begin = below.extent.begin + shift;
  const std::int64_t end = below.extent.end + shift;
  if (begin < above.extent.begin) above.extent.begin = begin;
  if (end > above.extent.end) above.extent.end = end;
}

Status StorageClasses::require(const Relation& relation) noexcept {
  const Fit found = fit(relation.tensor, relation.base, relation.offset_bytes);
  const auto error = [&](Reason reason) {
    return Status(reason).with(relation.tensor, relation.base).with(relation.op);
  };
  if (found.overflows) return error(Reason::kSizeOverflow);
  if (found.base_root == found.tensor_root) {
    return found.shift == 0 ? Status() : error(Reason::kRelationCycle);
  }
  join(found);
  return Status();
}

}  // namespace tenure::internal
