// SPDX-License-Identifier: Apache-2.0
#pragma once

// ModelArea: the allocator of one model in a ModelPool. What the runtime asks for while it loads
// the model stays; what it asks for between begin_run and end_run is one run's, and goes with it,
// while other models and the loaded part stay as they are.
//
//   tenure::ModelArea detector(pool, "detector");
//   if (!detector.enter({load_bytes, run_bytes}).ok()) { ... }
//   net.opt.blob_allocator = &bridge;  net.load_model(path);      // for good
//   if (!detector.begin_run().ok()) { ... }
//   extract(...);
//   if (!detector.end_run().ok()) { ... }                         // refuses while blocks are live

#include <cstddef>

#include "tenure/allocator.h"
#include "tenure/model_pool.h"
#include "tenure/pool_allocator.h"
#include "tenure/span.h"
#include "tenure/status.h"

namespace tenure {

// fastMalloc, allocate, fastFree and statistics may be called from any thread; all else is for one
// thread while no other is in a call. Ends with leaving its pool, whatever is live, which is
// reported. The pool and the tag must outlive it.
class ModelArea final : public Allocator {
 public:
  ModelArea(ModelPool& pool, const char* tag) noexcept
      : pool_(pool), load_(part_options(pool, tag)), run_(part_options(pool, tag)) {}
  ~ModelArea() {
    report_live_blocks(tag(), ModelArea::statistics(), pool_.options().sink);
    force_leave();
  }

  // Takes a place of that size. Fails as ModelPool::enter does, or with kHasPlace.
  [[nodiscard]] Status enter(const ModelNeeds& needs) noexcept {
    if (is_in_) return Status(Reason::kHasPlace);
    if (Status status = pool_.enter(&place_, needs); !status.ok()) return status;
    is_in_ = true;
    return lent(load_, pool_.load_memory(place_));
  }
  // Gives its place back for other models. Fails with kRunInProgress or kBlocksLive: blocks, or
  // frees of earlier runs that may yet come.
  [[nodiscard]] Status leave() noexcept {
    if (is_running_) return Status(Reason::kRunInProgress);
    if (Status status = load_.check_idle(); !status.ok()) return status;
    if (Status status = run_.check_idle(); !status.ok()) return status;
    give_up_place();
    return Status();
  }
  // Whatever runs or is live, for runtimes that never free their weights. What is freed late must
  // not come while another model, or this one again, may have the place.
  void force_leave() noexcept {
    force_end_run(LateFrees::kNeverCome);
    run_.force_reset(LateFrees::kNeverCome);
    load_.force_reset(LateFrees::kNeverCome);
    give_up_place();
  }

  // From here on requests are the run's. Fails with kHasNoPlace, or with kRunInProgress: of this
  // model, or where models run in turn of another.
  [[nodiscard]] Status begin_run() noexcept {
    if (!is_in_) return Status(Reason::kHasNoPlace);
    if (is_running_) return Status(Reason::kRunInProgress);
    if (Status status = pool_.begin_run(&place_); !status.ok()) return status;
    is_running_ = true;
    // Only now, because lending writes: before, another model may have been running there. Kept
    // until the place goes, so that late frees are known.
    return run_.total_bytes() != 0 ? Status() : lent(run_, pool_.run_memory(place_));
  }
  // Fails with kBlocksLive: blocks of the run; it goes on then.
  [[nodiscard]] Status end_run() noexcept {
    if (Status status = run_.reset(); !status.ok()) return status;
    force_end_run();
    return Status();
  }
  // Whatever is live; late frees are as after a forced reset of a pool.
  void force_end_run(LateFrees late = LateFrees::kMayCome) noexcept {
    if (!is_running_) return;
    run_.force_reset(late);
    pool_.end_run(&place_);
    is_running_ = false;
  }
  [[nodiscard]] bool is_running() const noexcept { return is_running_; }

  // The memory of a run, for a planned arena in place of requests: between begin_run and end_run,
  // asked for in each run, because that tells AddressSanitizer that it may be touched; where models
  // run at once, it stays the same from enter on. Empty for a model without.
  [[nodiscard]] Span<std::byte> run_memory() const noexcept {
    const Span<std::byte> memory = pool_.run_memory(place_);
    return is_running_ ? ModelPool::open(memory) : memory;
  }
  // What loading takes its blocks from, for a planned arena in place of them: from enter to leave.
  [[nodiscard]] Span<std::byte> load_memory() const noexcept {
    return ModelPool::open(pool_.load_memory(place_));
  }

  // What was really taken, since enter or between enter and leave: for a place that is just large
  // enough the next time. A request with an alignment above the pool's may skip more bytes in
  // another place: as many as that alignment is larger, where there were such requests.
  [[nodiscard]] ModelNeeds recorded_needs() const noexcept {
    if (!is_in_) return recorded_needs_;
    ModelNeeds needs;
    needs.load_bytes = load_.statistics().peak_bytes;
    needs.run_bytes = run_.statistics().peak_bytes;
    return needs;
  }

  [[nodiscard]] void* fastMalloc(std::size_t size_bytes) noexcept override {
    return current().fastMalloc(size_bytes);
  }
  [[nodiscard]] void* allocate(std::size_t size_bytes,
                               std::size_t alignment_bytes) noexcept override {
    return current().allocate(size_bytes, alignment_bytes);
  }
  // A block goes back to the part that it came from, whatever the phase.
  void fastFree(void* memory) noexcept override {
    (load_.owns(memory) ? load_ : run_).fastFree(memory);
  }
  // Bytes and blocks of both parts; peak_bytes is the sum of their peaks, whenever each was.
  [[nodiscard]] AllocatorStatistics statistics() const noexcept override {
    const AllocatorStatistics load = load_.statistics();
    const AllocatorStatistics run = run_.statistics();
    AllocatorStatistics result;
    result.in_use_bytes = load.in_use_bytes + run.in_use_bytes;
    result.held_bytes = place_.load_bytes + place_.run_bytes;
    result.peak_bytes = load.peak_bytes + run.peak_bytes;
    result.live_blocks = load.live_blocks + run.live_blocks;
    result.refusals = load.refusals + run.refusals;
    result.stray_frees = load.stray_frees + run.stray_frees;
    return result;
  }
  [[nodiscard]] std::size_t alignment_bytes() const noexcept override {
    return load_.alignment_bytes();
  }
  [[nodiscard]] const char* tag() const noexcept override { return load_.tag(); }

 private:
  static PoolOptions part_options(const ModelPool& pool, const char* tag) noexcept {
    const ModelPoolOptions& options = pool.options();
    return PoolOptions()
        .set_alignment_bytes(options.alignment_bytes)
        .set_tail_bytes(options.tail_bytes)
        .set_fill(options.fill)
        .set_poison(options.poison)
        .set_tag(tag);
  }
  [[nodiscard]] PoolAllocator& current() noexcept { return is_running_ ? run_ : load_; }
  // A part of no bytes has no tail either.
  [[nodiscard]] static Status lent(PoolAllocator& part, Span<std::byte> memory) noexcept {
    return memory.empty() ? part.release() : part.lend(memory);
  }
  // Precondition: both parts are idle.
  void give_up_place() noexcept {
    if (!is_in_) return;
    recorded_needs_ = recorded_needs();
    static_cast<void>(load_.release());
    static_cast<void>(run_.release());
    pool_.leave(&place_);
    is_in_ = false;
  }

  ModelPool& pool_;
  PoolAllocator load_;
  PoolAllocator run_;
  ModelPlace place_;
  ModelNeeds recorded_needs_;  // of the last place
  bool is_in_ = false;
  bool is_running_ = false;
};

}  // namespace tenure
