// SPDX-License-Identifier: Apache-2.0
#pragma once

// One block of memory that several models live in, in any order, each in a place of its own: what
// loading a model takes for good, and what a run takes until it ends. Models that run at once have
// a place each for their runs; models that run in turn share one, as large as the largest run.
//
//   const tenure::ModelNeeds needs[] = {{8 << 20, 50 << 20}, {9 << 20, 190 << 20}};
//   const auto bytes = tenure::bytes_by_peak(needs, tenure::ModelPoolOptions());
//   tenure::ModelPool pool(tenure::ModelPoolOptions().set_use(tenure::ModelUse::kInTurn));
//   if (!bytes.ok() || !pool.reserve(*bytes).ok()) { ... }
//   tenure::ModelArea detector(pool, "detector");      // model_area.h: an Allocator

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tenure/align.h"
#include "tenure/layout.h"
#include "tenure/pool_memory.h"
#include "tenure/span.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure {

enum class ModelUse : std::uint8_t {
  kAtOnce,  // any number may run at a time
  kInTurn,  // one may run at a time
};

struct ModelPoolOptions {
  ModelUse use = ModelUse::kAtOnce;
  std::size_t alignment_bytes = static_cast<std::size_t>(kDefaultAlignmentBytes);
  std::size_t tail_bytes = 0;  // readable behind every block
  Fill fill = Fill::none();    // written over what the end of a run gives back
  bool poison = true;          // where AddressSanitizer is
  Upstream upstream = heap_upstream();
  TextSink sink;  // told of live blocks when an area ends

  ModelPoolOptions& set_use(ModelUse way) noexcept { return use = way, *this; }
  ModelPoolOptions& set_alignment_bytes(std::size_t bytes) noexcept {
    return alignment_bytes = bytes, *this;
  }
  ModelPoolOptions& set_tail_bytes(std::size_t bytes) noexcept { return tail_bytes = bytes, *this; }
  ModelPoolOptions& set_fill(Fill pattern) noexcept { return fill = pattern, *this; }
  ModelPoolOptions& set_poison(bool is_on) noexcept { return poison = is_on, *this; }
  ModelPoolOptions& set_upstream(Upstream source) noexcept { return upstream = source, *this; }
  ModelPoolOptions& set_sink(TextSink text) noexcept { return sink = text, *this; }
};

// What one model takes, as a plan says or as ModelArea::recorded_needs() has seen.
struct ModelNeeds {
  std::size_t load_bytes = 0;  // until it leaves
  std::size_t run_bytes = 0;   // until a run ends
};

// Regions that keep their contents are taken for good, the others for a run; one behind the other,
// aligned; with what aligning the first may take, where regions are aligned to more than the pool.
// Fails with kAddressSpace or kNotPowerOfTwo (region).
[[nodiscard]] Result<ModelNeeds> needs_of(
    Span<const RegionLayout> layouts,
    const ModelPoolOptions& options = ModelPoolOptions()) noexcept;

// Bytes of a pool for all these models: in turn the sum of what they keep and the largest run, at
// once the sum of both. With rounding and tails. Fails with kAddressSpace or kNotPowerOfTwo.
[[nodiscard]] Result<std::size_t> bytes_by_peak(Span<const ModelNeeds> models,
                                                const ModelPoolOptions& options) noexcept;
[[nodiscard]] Result<std::size_t> bytes_by_sum(Span<const ModelNeeds> models,
                                               const ModelPoolOptions& options) noexcept;

// A model's place; the pool's part of a ModelArea.
struct ModelPlace {
  ModelPlace* next = nullptr;  // by offset
  std::size_t offset_bytes = 0;
  std::size_t load_bytes = 0;  // rounded, with tail
  std::size_t run_bytes = 0;
};

// Neither copied nor moved; the upstream and a lent buffer must outlive it, and it must outlive its
// areas. Not thread-safe, but for begin_run and end_run of different areas; the areas are.
//
// A place is the smallest gap that suffices. Where models run at once, the first lies at the front
// and the next at the back, so that of two either can go and leave its room and the gap in one
// piece. Where they run in turn, the back is the runs', which may have to grow, and all others lie
// from the front: there the last to come should be the first to go.
class ModelPool {
 public:
  explicit ModelPool(const ModelPoolOptions& options = ModelPoolOptions()) noexcept;
  ~ModelPool() { TENURE_ASSERT(first_ == nullptr); }
  ModelPool(const ModelPool&) = delete;
  ModelPool& operator=(const ModelPool&) = delete;

  // As PoolMemory. Fails with kBlocksLive, too, while there are models.
  [[nodiscard]] Status reserve(std::size_t size_bytes) noexcept;
  [[nodiscard]] Status lend(Span<std::byte> buffer) noexcept;

  // For ModelArea. enter fails with kPoolExhausted (needed, and available in one piece) or
  // kAddressSpace.
  [[nodiscard]] Status enter(ModelPlace* place, const ModelNeeds& needs) noexcept;
  void leave(ModelPlace* place) noexcept;
  // Fails with kRunInProgress when models run in turn.
  [[nodiscard]] Status begin_run(const ModelPlace* place) noexcept;
  void end_run(const ModelPlace* place) noexcept;
  [[nodiscard]] Span<std::byte> load_memory(const ModelPlace& place) const noexcept;
  [[nodiscard]] Span<std::byte> run_memory(const ModelPlace& place) const noexcept;
  // Tells AddressSanitizer that it may be touched.
  [[nodiscard]] static Span<std::byte> open(Span<std::byte> memory) noexcept;

  // Gives the pages between places back to the operating system, such as those of a model that
  // left; addresses stay. False when memory is lent or the upstream cannot. O(models).
  bool discard_unused() noexcept;

  [[nodiscard]] const ModelPoolOptions& options() const noexcept { return options_; }
  [[nodiscard]] std::size_t total_bytes() const noexcept { return memory_.size_bytes(); }
  // In places, and in the one that runs share.
  [[nodiscard]] std::size_t used_bytes() const noexcept;

 private:
  struct Gap {
    ModelPlace* below = nullptr;
    std::size_t begin_bytes = 0;
    std::size_t end_bytes = 0;
  };
  [[nodiscard]] bool is_in_turn() const noexcept { return options_.use == ModelUse::kInTurn; }
  [[nodiscard]] std::size_t whole_bytes() const noexcept;
  [[nodiscard]] std::size_t place_bytes(const ModelPlace& place) const noexcept;
  [[nodiscard]] std::size_t largest_run_bytes() const noexcept;
  [[nodiscard]] Status find_end(const ModelPlace& entered, std::size_t* end_bytes) const noexcept;
  [[nodiscard]] Gap find_gap(std::size_t needed_bytes, std::size_t end_bytes,
                             std::size_t* largest_bytes) const noexcept;

  ModelPoolOptions options_;
  PoolMemory memory_;
  ModelPlace* first_ = nullptr;
  std::atomic<const ModelPlace*> running_{nullptr};  // of models that run in turn
};

}  // namespace tenure
