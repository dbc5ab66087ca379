// SPDX-License-Identifier: Apache-2.0

// Three models in one pool. At once, when the pool is as large as their sum; two at a time and one
// swapped for a third, in a pool that a bump pointer would run out of; and in turn, in a pool as
// large as the largest. Sizes in MB stand for weights and activations; nothing is written.

#include <cstdio>

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

// A model enters, loads, and has run once.
bool runs(tenure::ModelArea& model, const tenure::ModelNeeds& needs) {
  if (!model.enter(needs).ok()) return false;
  void* weights = model.fastMalloc(needs.load_bytes);
  if (weights == nullptr || !model.begin_run().ok()) return false;
  void* activations = model.fastMalloc(needs.run_bytes);
  model.fastFree(activations);
  return activations != nullptr && model.end_run().ok();
}

// What it has loaded is live, so that its place cannot be given away.
bool is_kept(tenure::ModelArea& model) {
  return model.leave().reason() == tenure::Reason::kBlocksLive;
}

bool at_once() {
  std::printf("\n55, 30 and 70 MB at once in 200 MB\n");
  tenure::ModelPool pool(options(tenure::ModelUse::kAtOnce));
  if (!pool.reserve(200 * kMegabyte).ok()) return expect(false, "the pool");
  tenure::ModelArea detector(pool, "detector");
  tenure::ModelArea classifier(pool, "classifier");
  tenure::ModelArea segmenter(pool, "segmenter");
  const bool fit = runs(detector, megabytes(5, 50)) && runs(classifier, megabytes(10, 20)) &&
                   runs(segmenter, megabytes(30, 40));
  std::printf("         %zu of %zu MB used\n", pool.used_bytes() / kMegabyte,
              pool.total_bytes() / kMegabyte);
  return expect(fit, "all three live side by side") &&
         expect(is_kept(classifier), "no model loses what it has loaded");
}

bool swapped() {
  std::printf("\n60 and 40 MB in 150 MB, then 80 MB for the 60\n");
  tenure::ModelPool pool(options(tenure::ModelUse::kAtOnce));
  if (!pool.reserve(150 * kMegabyte).ok()) return expect(false, "the pool");
  tenure::ModelArea first(pool, "first");
  tenure::ModelArea second(pool, "second");
  tenure::ModelArea third(pool, "third");
  if (!first.enter(megabytes(10, 50)).ok() || !second.enter(megabytes(10, 30)).ok()) {
    return expect(false, "two models");
  }
  const tenure::Status status = third.enter(megabytes(20, 60));
  std::printf("         needs %zu MB, %zu MB are left\n",
              static_cast<std::size_t>(status.needed_bytes) / kMegabyte,
              static_cast<std::size_t>(status.available_bytes) / kMegabyte);
  return expect(!status.ok(), "three at a time are refused") &&
         expect(first.leave().ok(), "the first leaves 60 MB beside 50 MB") &&
         expect(runs(third, megabytes(20, 60)), "the third has room: both are one piece");
}

bool in_turn() {
  std::printf("\n50, 190 and 190 MB in turn, 3, 2 and 1 MB of it for good\n");
  const tenure::ModelNeeds needs[] = {megabytes(3, 50), megabytes(2, 190), megabytes(1, 190)};
  const tenure::ModelPoolOptions in_turn = options(tenure::ModelUse::kInTurn);
  const tenure::Result<std::size_t> by_peak = tenure::bytes_by_peak(needs, in_turn);
  const tenure::Result<std::size_t> by_sum = tenure::bytes_by_sum(needs, in_turn);
  tenure::ModelPool pool(in_turn);
  if (!by_peak.ok() || !by_sum.ok() || !pool.reserve(*by_peak).ok()) {
    return expect(false, "the pool");
  }
  std::printf("         %zu MB instead of %zu MB\n", *by_peak / kMegabyte, *by_sum / kMegabyte);
  tenure::ModelArea first(pool, "first");
  tenure::ModelArea second(pool, "second");
  tenure::ModelArea third(pool, "third");
  const bool fit = runs(first, needs[0]) && runs(second, needs[1]) && runs(third, needs[2]);
  return expect(fit, "each has run") && expect(second.begin_run().ok(), "one runs again") &&
         expect(!third.begin_run().ok(), "two at a time are refused");
}

}  // namespace

int main() { return at_once() && swapped() && in_turn() ? 0 : 1; }
