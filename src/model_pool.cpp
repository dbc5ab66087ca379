// SPDX-License-Identifier: Apache-2.0

#include "tenure/model_pool.h"

#include "internal/poison.h"
#include "internal/region_sum.h"

namespace tenure {
namespace {

// The places themselves poison and fill.
PoolOptions memory_options(const ModelPoolOptions& options) noexcept {
  return PoolOptions()
      .set_alignment_bytes(options.alignment_bytes)
      .set_poison(false)
      .set_upstream(options.upstream);
}

// Bytes of a part with its tail, in whole alignments; nothing needs nothing.
bool part_bytes(std::size_t bytes, const ModelPoolOptions& options,
                std::uint64_t* result) noexcept {
  if (bytes == 0) return *result = 0, true;
  return checked_add(bytes, options.tail_bytes, result) &&
         checked_align_up(*result, options.alignment_bytes, result) && *result <= SIZE_MAX / 2;
}

enum class Runs : std::uint8_t { kLargest, kSum };

Result<std::size_t> bytes_of(Span<const ModelNeeds> models, const ModelPoolOptions& options,
                             Runs runs) noexcept {
  if (!is_power_of_two(options.alignment_bytes)) {
    return Status(Reason::kNotPowerOfTwo).needed(options.alignment_bytes);
  }
  std::uint64_t kept = 0;
  std::uint64_t run = 0;
  for (const ModelNeeds& model : models) {
    std::uint64_t load_part = 0;
    std::uint64_t run_part = 0;
    bool fits = part_bytes(model.load_bytes, options, &load_part) &&
                part_bytes(model.run_bytes, options, &run_part) &&
                checked_add(kept, load_part, &kept);
    if (runs == Runs::kSum) {
      fits = fits && checked_add(run, run_part, &run);
    } else if (run_part > run) {
      run = run_part;
    }
    if (!fits) return Status(Reason::kAddressSpace).needed(model.load_bytes);
  }
  std::uint64_t total = 0;
  if (!checked_add(kept, run, &total) || total > SIZE_MAX / 2) {
    return Status(Reason::kAddressSpace).needed(kept);
  }
  return static_cast<std::size_t>(total);
}

// Wherever a place begins, which is aligned as the pool is.
Result<std::size_t> bytes_in_a_place(const internal::RegionSum& sum,
                                     const ModelPoolOptions& options) noexcept {
  std::uint64_t bytes = sum.bytes;
  if (bytes != 0 && sum.alignment_bytes > options.alignment_bytes) {
    bytes += sum.alignment_bytes - options.alignment_bytes;
  }
  if (bytes > SIZE_MAX / 2) return Status(Reason::kAddressSpace).needed(bytes);
  return static_cast<std::size_t>(bytes);
}

}  // namespace

Result<ModelNeeds> needs_of(Span<const RegionLayout> layouts,
                            const ModelPoolOptions& options) noexcept {
  internal::RegionSum run;
  internal::RegionSum load;
  for (std::uint32_t i = 0; i < layouts.size(); ++i) {
    internal::RegionSum& sum = layouts[i].keeps_contents ? load : run;
    if (Status status = sum.add(layouts[i], RegionIndex(i)); !status.ok()) return status;
  }
  const Result<std::size_t> load_bytes = bytes_in_a_place(load, options);
  const Result<std::size_t> run_bytes = bytes_in_a_place(run, options);
  if (!load_bytes.ok()) return load_bytes.status();
  if (!run_bytes.ok()) return run_bytes.status();
  ModelNeeds needs;
  needs.load_bytes = *load_bytes;
  needs.run_bytes = *run_bytes;
  return needs;
}

Result<std::size_t> bytes_by_peak(Span<const ModelNeeds> models,
                                  const ModelPoolOptions& options) noexcept {
  return bytes_of(models, options, Runs::kLargest);
}

Result<std::size_t> bytes_by_sum(Span<const ModelNeeds> models,
                                 const ModelPoolOptions& options) noexcept {
  return bytes_of(models, options, Runs::kSum);
}

ModelPool::ModelPool(const ModelPoolOptions& options) noexcept
    : options_(options), memory_(memory_options(options)) {}

Status ModelPool::reserve(std::size_t size_bytes) noexcept {
  if (first_ != nullptr) return Status(Reason::kBlocksLive);
  return memory_.reserve(size_bytes);
}

Status ModelPool::lend(Span<std::byte> buffer) noexcept {
  if (first_ != nullptr) return Status(Reason::kBlocksLive);
  return memory_.lend(buffer);
}

std::size_t ModelPool::whole_bytes() const noexcept {
  return memory_.size_bytes() & ~(options_.alignment_bytes - 1);
}

std::size_t ModelPool::place_bytes(const ModelPlace& place) const noexcept {
  return is_in_turn() ? place.load_bytes : place.load_bytes + place.run_bytes;
}

std::size_t ModelPool::largest_run_bytes() const noexcept {
  std::size_t largest = 0;
  for (const ModelPlace* place = first_; place != nullptr; place = place->next) {
    if (place->run_bytes > largest) largest = place->run_bytes;
  }
  return largest;
}

std::size_t ModelPool::used_bytes() const noexcept {
  std::size_t used = is_in_turn() ? largest_run_bytes() : 0;
  for (const ModelPlace* place = first_; place != nullptr; place = place->next) {
    used += place_bytes(*place);
  }
  return used;
}

// The smallest that suffices, the lowest of several. There is one when needed_bytes is no more than
// *largest_bytes.
ModelPool::Gap ModelPool::find_gap(std::size_t needed_bytes, std::size_t end_bytes,
                                   std::size_t* largest_bytes) const noexcept {
  Gap best;
  std::size_t best_bytes = SIZE_MAX;
  *largest_bytes = 0;
  ModelPlace* below = nullptr;
  std::size_t begin = 0;
  for (ModelPlace* above = first_;; above = above->next) {
    const std::size_t end = above == nullptr ? end_bytes : above->offset_bytes;
    const std::size_t bytes = end > begin ? end - begin : 0;
    if (bytes > *largest_bytes) *largest_bytes = bytes;
    if (bytes >= needed_bytes && bytes < best_bytes) {
      best = Gap{below, begin, end};
      best_bytes = bytes;
    }
    if (above == nullptr) return best;
    below = above;
    begin = above->offset_bytes + place_bytes(*above);
  }
}

// Where places may reach: to the end, or to where the runs of all models, the new one too, begin.
Status ModelPool::find_end(const ModelPlace& entered, std::size_t* end_bytes) const noexcept {
  const std::size_t end = whole_bytes();
  *end_bytes = end;
  if (!is_in_turn()) return Status();
  const std::size_t others = largest_run_bytes();
  const std::size_t shared = entered.run_bytes > others ? entered.run_bytes : others;
  std::size_t last_end = 0;
  for (const ModelPlace* place = first_; place != nullptr; place = place->next) {
    last_end = place->offset_bytes + place->load_bytes;
  }
  if (shared > end - last_end) {
    return Status(Reason::kPoolExhausted).needed(shared).available(end - last_end);
  }
  *end_bytes = end - shared;
  return Status();
}

Status ModelPool::enter(ModelPlace* place, const ModelNeeds& needs) noexcept {
  std::uint64_t load_part = 0;
  std::uint64_t run_part = 0;
  if (!part_bytes(needs.load_bytes, options_, &load_part) ||
      !part_bytes(needs.run_bytes, options_, &run_part) || load_part + run_part > SIZE_MAX / 2) {
    return Status(Reason::kAddressSpace).needed(needs.load_bytes);
  }
  ModelPlace entered;
  entered.load_bytes = static_cast<std::size_t>(load_part);
  entered.run_bytes = static_cast<std::size_t>(run_part);
  std::size_t end = 0;
  if (Status status = find_end(entered, &end); !status.ok()) return status;
  const std::size_t needed = place_bytes(entered);
  std::size_t largest = 0;
  const Gap gap = find_gap(needed, end, &largest);
  if (needed > largest) {
    return Status(Reason::kPoolExhausted).needed(needed).available(largest);
  }
  const bool at_back = !is_in_turn() && gap.begin_bytes != 0 && gap.end_bytes == end;
  entered.offset_bytes = at_back ? gap.end_bytes - needed : gap.begin_bytes;
  entered.next = gap.below == nullptr ? first_ : gap.below->next;
  *place = entered;
  (gap.below == nullptr ? first_ : gap.below->next) = place;
  return Status();
}

void ModelPool::leave(ModelPlace* place) noexcept {
  end_run(place);
  for (ModelPlace** link = &first_; *link != nullptr; link = &(*link)->next) {
    if (*link != place) continue;
    *link = place->next;
    break;
  }
  *place = ModelPlace();
}

bool ModelPool::discard_unused() noexcept {
  std::size_t begin = 0;
  for (const ModelPlace* place = first_; place != nullptr; place = place->next) {
    memory_.discard(begin, place->offset_bytes);
    begin = place->offset_bytes + place_bytes(*place);
  }
  return memory_.discard(begin, is_in_turn() ? whole_bytes() - largest_run_bytes() : whole_bytes());
}

Status ModelPool::begin_run(const ModelPlace* place) noexcept {
  if (!is_in_turn()) return Status();
  const ModelPlace* nobody = nullptr;
  const bool is_first = running_.compare_exchange_strong(nobody, place, std::memory_order_acquire,
                                                         std::memory_order_relaxed);
  return is_first ? Status() : Status(Reason::kRunInProgress);
}

void ModelPool::end_run(const ModelPlace* place) noexcept {
  if (running_.load(std::memory_order_relaxed) != place) return;
  running_.store(nullptr, std::memory_order_release);
}

Span<std::byte> ModelPool::load_memory(const ModelPlace& place) const noexcept {
  if (place.load_bytes == 0) return {};
  return {memory_.base() + place.offset_bytes, place.load_bytes};
}

// Runs in turn end where the pool ends, so that no run moves when a model comes or goes.
Span<std::byte> ModelPool::run_memory(const ModelPlace& place) const noexcept {
  if (place.run_bytes == 0) return {};
  const std::size_t begin =
      is_in_turn() ? whole_bytes() - place.run_bytes : place.offset_bytes + place.load_bytes;
  return {memory_.base() + begin, place.run_bytes};
}

Span<std::byte> ModelPool::open(Span<std::byte> memory) noexcept {
  if (poison_works()) unpoison(memory.data(), memory.size());
  return memory;
}

}  // namespace tenure
