// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which tensors share storage, and where in it: a union-find whose links carry byte offsets.
// Finding is almost constant; the deepest path is logarithmic even before compression, by joining
// small to large.

#include <cstdint>

#include "tenure/array.h"
#include "tenure/graph.h"
#include "tenure/index.h"
#include "tenure/span.h"
#include "tenure/status.h"

namespace tenure::internal {

class StorageClasses {
 public:
  explicit StorageClasses(Upstream upstream) noexcept : nodes_(upstream) {}

  // Each tensor in a class of its own.
  [[nodiscard]] bool reset(Span<const Tensor> tensors) noexcept;

  // Offsets are relative to the class's origin, an arbitrary point; so they may be negative.
  struct Member {
    TensorIndex root;
    std::int64_t offset = 0;
  };
  [[nodiscard]] Member find(TensorIndex tensor) noexcept;

  struct Extent {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    [[nodiscard]] std::uint64_t size_bytes() const noexcept {
      return static_cast<std::uint64_t>(end - begin);
    }
  };
  // Precondition: root is what find() gave.
  [[nodiscard]] Extent extent(TensorIndex root) const noexcept { return nodes_[root.value].extent; }

  // Where the second class comes to lie beside the first: byte 0 of `tensor` at byte `offset_bytes`
  // of `base`. Nothing is changed. Offsets are those of the first class (that of `base`).
  struct Fit {
    TensorIndex base_root;
    TensorIndex tensor_root;
    std::int64_t shift = 0;  // add to the tensor's class's offsets to get those of the base's class
    bool overflows = false;
  };
  [[nodiscard]] Fit fit(TensorIndex tensor, TensorIndex base, std::uint64_t offset_bytes) noexcept;

  // Joins two different classes. Precondition: !overflows and the roots differ.
  void join(const Fit& fit) noexcept;

  // Merges by a required relation: an error for a contradiction or overflow, else nothing to
  // report.
  [[nodiscard]] Status require(const Relation& relation) noexcept;

 private:
  struct Node {
    std::uint32_t parent;
    std::uint32_t count;
    std::int64_t offset;  // to the parent
    Extent extent;        // of a root
  };
  Array<Node> nodes_;
};

}  // namespace tenure::internal
