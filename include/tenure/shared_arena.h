// SPDX-License-Identifier: Apache-2.0
#pragma once

// Several models in one arena, one at a time: what they need only while they run is as large as the
// largest needs it, and each has its own persistent memory beside it.
//
//   SharedArena shared;
//   ModelArena detector(&shared), landmarks(&shared);
//   Status status = detector.commit(detector_plan.layouts());    // 50 MB
//   status = landmarks.commit(landmark_plan.layouts());          // 190 MB: together 190, not 240
//   if (detector.begin().ok()) {                    // refused while the other runs
//     ... detector.address(placement) ...
//     detector.end();
//   }
//
// A region is shared unless its layout keeps contents. Follows tflite-micro, where interpreters
// share one arena's head; different on purpose: it says when two would run at once.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tenure/arena.h"
#include "tenure/index.h"
#include "tenure/layout.h"
#include "tenure/span.h"
#include "tenure/status.h"
#include "tenure/upstream.h"

namespace tenure {

class ModelArena;

// Not copied or moved; must outlive its models. A model may begin and end on any thread; commit,
// reserve and trim refuse while one runs, and no two of them may be called at the same time.
class SharedArena {
 public:
  explicit SharedArena(Upstream upstream = heap_upstream()) noexcept
      : upstream_(upstream), arena_(upstream) {}
  SharedArena(const SharedArena&) = delete;
  SharedArena& operator=(const SharedArena&) = delete;
  ~SharedArena() { TENURE_ASSERT(models_ == nullptr); }

  // The bytes of one buffer for all these models in turn: each shared region once, as large as the
  // largest, and then every model's own. Fails as tenure::lent_size does.
  [[nodiscard]] static Result<LentSize> lent_size(
      Span<const Span<const RegionLayout>> models) noexcept;

  // Makes room for these models, so that none of them has the shared memory grow when it commits.
  // Fails with kRunInProgress and as SimpleMemoryArena::commit does; nothing has changed then.
  [[nodiscard]] Status reserve(Span<const Span<const RegionLayout>> models) noexcept;

  // Gives back what no model needs any more. Fails with kRunInProgress and kUpstreamRefused.
  [[nodiscard]] Status trim() noexcept;

  // Of the shared regions; each model's own come on top.
  [[nodiscard]] std::size_t shared_bytes() const noexcept;
  [[nodiscard]] bool is_in_use() const noexcept {
    return user_.load(std::memory_order_relaxed) != nullptr;
  }

 private:
  friend class ModelArena;
  struct Layouts {
    RegionLayout of[kMaxRegions];
    std::size_t count = 0;

    void widen(Span<const RegionLayout> model) noexcept;
    [[nodiscard]] Span<const RegionLayout> span() const noexcept { return {of, count}; }
  };
  [[nodiscard]] bool take(const void* user) noexcept;
  [[nodiscard]] Status provide(const Layouts& layouts) noexcept;

  Upstream upstream_;
  SimpleMemoryArena arena_;
  Layouts layouts_;                         // what arena_ provides
  std::uint32_t generation_ = 0;            // counts how often addresses have changed
  ModelArena* models_ = nullptr;            // linked by next_
  std::atomic<const void*> user_{nullptr};  // the model that runs, or what changes the memory
};

// One model's part. Not copied or moved.
class ModelArena {
 public:
  explicit ModelArena(SharedArena* shared) noexcept;
  ModelArena(const ModelArena&) = delete;
  ModelArena& operator=(const ModelArena&) = delete;
  // Precondition: this model does not run.
  ~ModelArena();

  // Provides the model's own regions and lets the shared ones grow; also for a new plan, which
  // keeps the contents that its regions keep. Fails with kRunInProgress and as
  // SimpleMemoryArena::commit does; nothing has changed then, but shared memory may have moved when
  // the model's own was refused.
  [[nodiscard]] Status commit(Span<const RegionLayout> layouts, Fill fill = Fill::none()) noexcept;

  // From here to end() the shared memory is this model's; it holds anything, or the fill. Fails
  // with kRunInProgress while a model runs, this one included. O(1) without fill.
  [[nodiscard]] Status begin(Fill fill = Fill::none()) noexcept;
  // Precondition: this model runs.
  void end() noexcept;

  // True when commit or begin found shared or own memory at other addresses than this model had
  // been given before.
  [[nodiscard]] bool moved() const noexcept { return moved_; }

  // O(1). As SimpleMemoryArena::address. Shared memory is this model's only while it runs.
  [[nodiscard]] void* address(Placement placement) const noexcept;

 private:
  friend class SharedArena;

  void look_for_moves() noexcept;

  SharedArena* shared_;
  ModelArena* next_;
  SimpleMemoryArena own_;
  SharedArena::Layouts layouts_;  // all regions of the model
  std::uint32_t seen_generation_ = 0;
  bool moved_ = false;
};

}  // namespace tenure
