// SPDX-License-Identifier: Apache-2.0
#pragma once

// All memory of one model: a plan, the arena that carries it out, and the buffers that the
// application brings for external tensors and constants. It answers for every tensor where its
// bytes are, aliases and views of brought buffers included.
//
//   Result<ModelMemory> memory = ModelMemory::create(lifetimes, std::move(plan));
//   Status status = memory->commit();
//   status = memory->bind(camera, {frame, frame_bytes});   // external: no copy into the arena
//   void* input = memory->address(image);
//
// LiteRT calls a brought buffer a custom allocation.

#include <cstddef>
#include <cstdint>

#include "tenure/arena.h"
#include "tenure/array.h"
#include "tenure/index.h"
#include "tenure/lifetime.h"
#include "tenure/plan.h"
#include "tenure/span.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure {

// Whether a brought buffer may share bytes with another one, because the application knows better
// than the graph: two tensors that are never in use together, or one buffer for an input and what
// replaces it.
enum class BufferOverlap : std::uint8_t { kRefused, kDeclared };

// Move-only. Not thread-safe while something is committed or bound; const functions may be called
// from several threads. Brought and lent buffers and the upstream must outlive it.
class ModelMemory {
 public:
  // Copies what it needs of the lifetimes. The plan has to be made from them: kPlanMismatch
  // otherwise. Nothing is committed or bound yet.
  [[nodiscard]] static Result<ModelMemory> create(const Lifetimes& lifetimes, MemoryPlan plan,
                                                  Upstream upstream = heap_upstream()) noexcept;
  ModelMemory() noexcept = default;

  // As SimpleMemoryArena does, for the plan's regions; commit_lent fails with kBuffersOverlap
  // (tensor) too, when the buffer shares bytes with one that is bound.
  [[nodiscard]] Status commit(Fill fill = Fill::none(), Growth growth = Growth::kKeepOld) noexcept;
  [[nodiscard]] Status commit_lent(Span<std::byte> buffer, Fill fill = Fill::none()) noexcept;

  // Brings the memory of an external tensor and of all that lies in the same storage; the buffer
  // begins where that does, at the tensor itself unless it is a view. Replaces what was bound
  // before. Fails, and leaves that bound, with
  //   kNotOutside        the tensor is placed by the plan, or is a constant;
  //   kBufferTooSmall    needed, available and alignment;
  //   kBufferMisaligned  needed and alignment;
  //   kBuffersOverlap    the other tensor whose buffer it overlaps, unless one of the two was bound
  //                      as kDeclared, or the region, without exception.
  // O(external tensors and constants).
  [[nodiscard]] Status bind(TensorIndex tensor, Span<std::byte> buffer,
                            BufferOverlap overlap = BufferOverlap::kRefused) noexcept;
  // The same for a constant. Constants may overlap each other.
  [[nodiscard]] Status bind_constant(TensorIndex tensor, Span<const std::byte> buffer) noexcept;

  // Fails with kNotBound for the first external tensor or constant without memory.
  [[nodiscard]] Status check_bound() const noexcept;

  // O(1). Null for a tensor without storage, that is not bound, or whose region is not committed;
  // the first also for constants. Precondition: the index is below the count.
  [[nodiscard]] void* address(TensorIndex tensor) const noexcept;
  [[nodiscard]] const void* read_address(TensorIndex tensor) const noexcept;

  [[nodiscard]] const MemoryPlan& plan() const noexcept { return plan_; }
  // To trim, release and reacquire.
  [[nodiscard]] SimpleMemoryArena& arena() noexcept { return arena_; }

 private:
  struct Outside {
    OutsideStorage storage;
    const std::byte* base;  // null: not bound
    BufferOverlap overlap;
  };
  ModelMemory(MemoryPlan plan, Upstream upstream) noexcept;

  [[nodiscard]] Status bind_storage(TensorIndex tensor, Span<const std::byte> buffer,
                                    bool is_constant, BufferOverlap overlap) noexcept;
  [[nodiscard]] Status check_overlaps(TensorIndex tensor, OutsideIndex own, const std::byte* base,
                                      std::size_t size, BufferOverlap overlap) const noexcept;

  MemoryPlan plan_;
  SimpleMemoryArena arena_;
  Array<StoragePlace> places_;  // by tensor
  Array<Outside> outside_;
};

}  // namespace tenure
