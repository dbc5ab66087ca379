// SPDX-License-Identifier: Apache-2.0

// Three models in one pool: in turn, where runs share the memory of the largest, beside the same on
// the heap; two at a time and one swapped for a third; and the fragmented heap that refuses a model
// though its bytes are free, where a pool of models has room. Sizes in MB stand for weights and
// activations; nothing is written.

#include <cstdio>

#include "tenure/free_list_allocator.h"
#include "tenure/heap_allocator.h"
#include "tenure/model_area.h"
#include "tenure/model_pool.h"
#include "tenure/upstream.h"

namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

tenure::ModelNeeds megabytes(std::size_t load, std::size_t run) {
  tenure::ModelNeeds needs;
  needs.load_bytes = load * kMegabyte;
  needs.run_bytes = run * kMegabyte;
  return needs;
}

tenure::ModelPoolOptions options(tenure::ModelUse use) {
  return tenure::ModelPoolOptions().set_use(use).set_upstream(tenure::page_upstream());
}

bool expect(bool is_as_expected, const char* what) {
  std::printf("%-8s %s\n", is_as_expected ? "ok" : "FAILED", what);
  return is_as_expected;
}

class Model {
 public:
  Model(tenure::ModelPool& pool, const char* name) : area_(pool, name) {}

  // Enters, loads, and runs once.
  bool runs(const tenure::ModelNeeds& needs) {
    if (!area_.enter(needs).ok()) return false;
    weights_ = area_.fastMalloc(needs.load_bytes);
    if (weights_ == nullptr || !area_.begin_run().ok()) return false;
    void* activations = area_.fastMalloc(needs.run_bytes);
    area_.fastFree(activations);
    return activations != nullptr && area_.end_run().ok();
  }
  bool leaves() {
    area_.fastFree(weights_);
    return area_.leave().ok();
  }
  // What it has loaded is live, so that its place cannot be given away.
  bool is_kept() { return area_.leave().reason() == tenure::Reason::kBlocksLive; }

  tenure::ModelArea& area() { return area_; }

 private:
  tenure::ModelArea area_;
  void* weights_ = nullptr;
};

// The heap as a system with 150 MB has it: one range, first come, first served.
tenure::FreeListOptions heap_options(std::size_t megabytes) {
  return tenure::FreeListOptions()
      .set_tag("heap")
      .set_budget_bytes(megabytes * kMegabyte)
      .set_upstream(tenure::page_upstream());
}

bool in_turn() {
  std::printf("\nface detector 55 MB, landmarks 30 MB, recogniser 70 MB, in turn in 200 MB\n");
  const tenure::ModelNeeds needs[] = {megabytes(5, 50), megabytes(10, 20), megabytes(30, 40)};
  const tenure::ModelPoolOptions in_turn = options(tenure::ModelUse::kInTurn);
  const tenure::Result<std::size_t> by_peak = tenure::bytes_by_peak(needs, in_turn);
  const tenure::Result<std::size_t> by_sum = tenure::bytes_by_sum(needs, in_turn);
  tenure::ModelPool pool(in_turn);
  if (!by_peak.ok() || !by_sum.ok() || !pool.reserve(200 * kMegabyte).ok()) {
    return expect(false, "the pool");
  }
  Model detector(pool, "detector");
  Model landmarks(pool, "landmarks");
  Model recogniser(pool, "recogniser");
  const bool fit = detector.runs(needs[0]) && landmarks.runs(needs[1]) && recogniser.runs(needs[2]);
  std::printf("         pool: %zu MB used, all three loaded; %zu MB would do, at once %zu MB\n",
              pool.used_bytes() / kMegabyte, *by_peak / kMegabyte, *by_sum / kMegabyte);

  tenure::HeapAllocator heap(tenure::HeapOptions().set_upstream(tenure::page_upstream()));
  void* weights[3] = {};
  for (int i = 0; i < 3; ++i) {
    weights[i] = heap.fastMalloc(needs[i].load_bytes);
    void* activations = heap.fastMalloc(needs[i].run_bytes);
    if (weights[i] == nullptr || activations == nullptr) return expect(false, "the heap");
    heap.fastFree(activations);
  }
  std::printf("         heap: %zu MB at the peak, taken and given back at each run\n",
              heap.statistics().peak_bytes / kMegabyte);
  for (void* memory : weights) heap.fastFree(memory);
  return expect(fit, "each has run") &&
         expect(landmarks.area().begin_run().ok(), "one runs again") &&
         expect(!recogniser.area().begin_run().ok(), "two at a time are refused");
}

bool swapped() {
  std::printf("\nthe detector and the recogniser at once, then landmarks for the detector\n");
  tenure::ModelPool pool(options(tenure::ModelUse::kAtOnce));
  if (!pool.reserve(125 * kMegabyte).ok()) return expect(false, "the pool");
  Model detector(pool, "detector");
  Model landmarks(pool, "landmarks");
  Model recogniser(pool, "recogniser");
  const bool two = detector.runs(megabytes(5, 50)) && recogniser.runs(megabytes(30, 40));
  const tenure::Status third = landmarks.area().enter(megabytes(10, 20));
  std::printf("         a third needs %zu MB, %zu MB are left\n",
              static_cast<std::size_t>(third.needed_bytes) / kMegabyte,
              static_cast<std::size_t>(third.available_bytes) / kMegabyte);
  return expect(two, "two live side by side") && expect(!third.ok(), "a third is refused") &&
         expect(detector.leaves(), "the detector leaves") &&
         expect(landmarks.runs(megabytes(10, 20)), "landmarks takes its room") &&
         expect(recogniser.is_kept(), "the recogniser has kept what it loaded");
}

bool fragmented() {
  std::printf("\n60 and 40 MB in 150 MB, then 80 MB for the 60\n");
  tenure::FreeListAllocator heap(heap_options(150));
  if (!heap.reserve(150 * kMegabyte).ok()) return expect(false, "the heap");
  void* first_blob = heap.fastMalloc(60 * kMegabyte);
  void* second_blob = heap.fastMalloc(40 * kMegabyte);
  heap.fastFree(first_blob);
  void* third_blob = heap.fastMalloc(80 * kMegabyte);
  const bool is_refused = third_blob == nullptr;
  std::printf("         heap: %zu MB free in %zu pieces\n",
              (heap.statistics().held_bytes - heap.statistics().in_use_bytes) / kMegabyte,
              heap.free_blocks());
  heap.fastFree(third_blob);
  heap.fastFree(second_blob);

  tenure::ModelPool pool(options(tenure::ModelUse::kAtOnce));
  if (!pool.reserve(150 * kMegabyte).ok()) return expect(false, "the pool");
  Model first(pool, "first");
  Model second(pool, "second");
  Model third(pool, "third");
  const bool two = first.runs(megabytes(10, 50)) && second.runs(megabytes(10, 30));
  return expect(is_refused, "the heap refuses 80 MB with 110 MB free") &&
         expect(two && first.leaves(), "in the pool the first leaves 60 MB beside 50 MB") &&
         expect(third.runs(megabytes(20, 60)), "the third has room: both are one piece");
}

}  // namespace

int main() { return in_turn() && swapped() && fragmented() ? 0 : 1; }
