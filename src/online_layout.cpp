// SPDX-License-Identifier: Apache-2.0

#include "tenure/online_layout.h"

#include <algorithm>

#include "internal/mix.h"

namespace tenure {
namespace {

// Equal histories make equal trees everywhere.
constexpr std::uint32_t priority_of(std::uint32_t node) noexcept {
  return static_cast<std::uint32_t>(internal::mix(node));
}

// Precondition: the sum does not wrap, since offsets and alignments are at most 2^63.
constexpr std::uint64_t align_up(std::uint64_t offset, std::uint64_t alignment) noexcept {
  return (offset + alignment - 1) & ~(alignment - 1);
}

}  // namespace

OnlineLayout::OnlineLayout(const OnlineOptions& options) noexcept
    : nodes_(options.upstream),
      capacity_(std::min(options.capacity_bytes, kMaxArenaBytes)),
      tail_padding_(options.tail_padding_bytes) {
  layout_.keeps_contents = options.keeps_contents;
}

Result<OnlineBlock> OnlineLayout::allocate(std::uint64_t size_bytes,
                                           std::uint64_t alignment_bytes) noexcept {
  if (!is_power_of_two(alignment_bytes)) {
    return Status(Reason::kNotPowerOfTwo).needed(alignment_bytes);
  }
  merge_dead();
  OnlineBlock block{{kReusableRegion, 0}, size_bytes};
  if (size_bytes == 0) return block;
  const NodeIndex above = first_fit(root_, size_bytes, alignment_bytes);
  const std::uint64_t begin = above == kNoNode ? end() : nodes_[above].offset - nodes_[above].gap;
  const std::uint64_t offset = align_up(begin, alignment_bytes);
  const std::uint64_t usable = capacity_ - std::min(capacity_, tail_padding_);
  if (offset > usable || size_bytes > usable - offset) {
    std::uint64_t needed = UINT64_MAX;
    if (!checked_add(offset, size_bytes, &needed) || !checked_add(needed, tail_padding_, &needed)) {
      needed = UINT64_MAX;
    }
    return Status(Reason::kCapacityExceeded).needed(needed).available(capacity_);
  }
  const NodeIndex node = take_node();
  if (node == kNoNode) return Status(Reason::kUpstreamRefused);
  nodes_[node] = {offset, size_bytes, 0, 0, priority_of(node), kNoNode, kNoNode, node};
  insert(node);
  block.placement.offset_bytes = offset;
  ++live_count_;
  live_bytes_ += size_bytes;
  high_water_mark_ = std::max(high_water_mark_, offset + size_bytes);
  layout_.size_bytes = high_water_mark_ + tail_padding_;
  layout_.alignment_bytes = std::max(layout_.alignment_bytes, alignment_bytes);
  return block;
}

Status OnlineLayout::deallocate(const OnlineBlock& block) noexcept {
  if (block.size_bytes == 0) return Status();
  const NodeIndex node = block.placement.is_none() ? kNoNode : find(block.placement.offset_bytes);
  if (node == kNoNode || nodes_[node].size != block.size_bytes || nodes_[node].next_dead != node) {
    return Status(Reason::kNotAllocated).needed(block.size_bytes);
  }
  nodes_[node].next_dead = dead_;
  dead_ = node;
  --live_count_;
  live_bytes_ -= block.size_bytes;
  return Status();
}

void OnlineLayout::clear() noexcept {
  nodes_.clear();
  root_ = free_ = dead_ = kNoNode;
  live_count_ = 0;
  live_bytes_ = high_water_mark_ = 0;
  layout_.size_bytes = 0;
  layout_.alignment_bytes = 1;
}

// The lowest block before which the size fits.
OnlineLayout::NodeIndex OnlineLayout::first_fit(NodeIndex root, std::uint64_t size,
                                                std::uint64_t alignment) const noexcept {
  if (root == kNoNode || nodes_[root].max_gap < size) return kNoNode;
  const Node& node = nodes_[root];
  const NodeIndex found = first_fit(node.left, size, alignment);
  if (found != kNoNode) return found;
  const std::uint64_t begin = align_up(node.offset - node.gap, alignment);
  if (begin <= node.offset && size <= node.offset - begin) return root;
  return first_fit(node.right, size, alignment);
}

// Of the last block.
std::uint64_t OnlineLayout::end() const noexcept {
  if (root_ == kNoNode) return 0;
  NodeIndex last = root_;
  while (nodes_[last].right != kNoNode) last = nodes_[last].right;
  return nodes_[last].offset + nodes_[last].size;
}

OnlineLayout::NodeIndex OnlineLayout::find(std::uint64_t offset) const noexcept {
  NodeIndex node = root_;
  while (node != kNoNode && nodes_[node].offset != offset) {
    node = offset < nodes_[node].offset ? nodes_[node].left : nodes_[node].right;
  }
  return node;
}

OnlineLayout::NodeIndex OnlineLayout::take_node() noexcept {
  const NodeIndex node = free_;
  if (node != kNoNode) {
    free_ = nodes_[node].left;
    return node;
  }
  if (nodes_.size() >= kNoNode || nodes_.push_uninitialized() == nullptr) return kNoNode;
  return static_cast<NodeIndex>(nodes_.size() - 1);
}

void OnlineLayout::insert(NodeIndex node) noexcept {
  const std::uint64_t offset = nodes_[node].offset;
  const Split halves = split(root_, offset);
  root_ = halves.below;
  nodes_[node].gap = offset - end();
  update(node);
  set_first_gap(halves.above, offset + nodes_[node].size);
  root_ = join(join(halves.below, node), halves.above);
}

void OnlineLayout::erase(NodeIndex node) noexcept {
  const std::uint64_t offset = nodes_[node].offset;
  const Split from = split(root_, offset);
  const Split rest = split(from.above, offset + 1);
  root_ = from.below;
  set_first_gap(rest.above, end());
  root_ = join(from.below, rest.above);
  nodes_[node].left = free_;
  free_ = node;
}

void OnlineLayout::merge_dead() noexcept {
  while (dead_ != kNoNode) {
    const NodeIndex node = dead_;
    dead_ = nodes_[node].next_dead;
    erase(node);
  }
}

void OnlineLayout::update(NodeIndex node) noexcept {
  Node& root = nodes_[node];
  root.max_gap = root.gap;
  for (const NodeIndex child : {root.left, root.right}) {
    if (child != kNoNode) root.max_gap = std::max(root.max_gap, nodes_[child].max_gap);
  }
}

// Blocks below the offset, and those from it on.
OnlineLayout::Split OnlineLayout::split(NodeIndex root, std::uint64_t offset) noexcept {
  if (root == kNoNode) return {kNoNode, kNoNode};
  Node& node = nodes_[root];
  if (node.offset < offset) {
    const Split rest = split(node.right, offset);
    node.right = rest.below;
    update(root);
    return {root, rest.above};
  }
  const Split rest = split(node.left, offset);
  node.left = rest.above;
  update(root);
  return {rest.below, root};
}

// Precondition: all of `below` lies below all of `above`.
OnlineLayout::NodeIndex OnlineLayout::join(NodeIndex below, NodeIndex above) noexcept {
  if (below == kNoNode) return above;
  if (above == kNoNode) return below;
  if (nodes_[below].priority < nodes_[above].priority) {
    nodes_[above].left = join(below, nodes_[above].left);
    update(above);
    return above;
  }
  nodes_[below].right = join(nodes_[below].right, above);
  update(below);
  return below;
}

// The lowest block of a tree has another one below it now, or none.
void OnlineLayout::set_first_gap(NodeIndex root, std::uint64_t below_end) noexcept {
  if (root == kNoNode) return;
  if (nodes_[root].left == kNoNode) {
    nodes_[root].gap = nodes_[root].offset - below_end;
  } else {
    set_first_gap(nodes_[root].left, below_end);
  }
  update(root);
}

}  // namespace tenure
