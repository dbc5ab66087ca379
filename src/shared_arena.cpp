// SPDX-License-Identifier: Apache-2.0

#include "tenure/shared_arena.h"

#include <algorithm>
#include <cstring>

#include "internal/region_sum.h"

namespace tenure {
namespace {

Status check_count(Span<const RegionLayout> layouts) noexcept {
  if (layouts.size() <= kMaxRegions) return Status();
  return Status(Reason::kTooMany).with(RegionIndex(static_cast<std::uint32_t>(kMaxRegions)));
}

// Those regions that keep contents, or those that do not; empty ones take no place.
Status add_regions(Span<const RegionLayout> layouts, bool keeps_contents,
                   internal::RegionSum* sum) noexcept {
  for (std::uint32_t i = 0; i < layouts.size(); ++i) {
    if (layouts[i].keeps_contents != keeps_contents || layouts[i].size_bytes == 0) continue;
    if (Status status = sum->add(layouts[i], RegionIndex(i)); !status.ok()) return status;
  }
  return Status();
}

}  // namespace

// Shared regions become as large as the model needs them; its own stay out.
void SharedArena::Layouts::widen(Span<const RegionLayout> model) noexcept {
  count = std::max(count, model.size());
  for (std::size_t i = 0; i < model.size(); ++i) {
    if (model[i].keeps_contents) continue;
    of[i].size_bytes = std::max(of[i].size_bytes, model[i].size_bytes);
    of[i].alignment_bytes = std::max(of[i].alignment_bytes, model[i].alignment_bytes);
  }
}

Result<LentSize> SharedArena::lent_size(Span<const Span<const RegionLayout>> models) noexcept {
  Layouts shared;
  for (const Span<const RegionLayout> model : models) {
    const Result<LentSize> alone = tenure::lent_size(model);
    if (!alone.ok()) return alone.status();
    shared.widen(model);
  }
  internal::RegionSum sum;
  if (Status status = add_regions(shared.span(), false, &sum); !status.ok()) return status;
  for (const Span<const RegionLayout> model : models) {
    if (Status status = add_regions(model, true, &sum); !status.ok()) return status;
  }
  return sum.lent_size();
}

bool SharedArena::take(const void* user) noexcept {
  const void* nobody = nullptr;
  return user_.compare_exchange_strong(nobody, user, std::memory_order_acquire,
                                       std::memory_order_relaxed);
}

// Precondition: taken.
Status SharedArena::provide(const Layouts& layouts) noexcept {
  if (Status status = arena_.commit(layouts.span()); !status.ok()) return status;
  layouts_ = layouts;
  if (arena_.moved()) ++generation_;
  return Status();
}

Status SharedArena::reserve(Span<const Span<const RegionLayout>> models) noexcept {
  Layouts wanted = layouts_;
  for (const Span<const RegionLayout> model : models) {
    if (Status status = check_count(model); !status.ok()) return status;
    wanted.widen(model);
  }
  if (!take(this)) return Status(Reason::kRunInProgress);
  const Status status = provide(wanted);
  user_.store(nullptr, std::memory_order_release);
  return status;
}

Status SharedArena::trim() noexcept {
  if (!take(this)) return Status(Reason::kRunInProgress);
  Layouts wanted;
  for (const ModelArena* model = models_; model != nullptr; model = model->next_) {
    wanted.widen(model->layouts_.span());
  }
  Status status = provide(wanted);
  if (status.ok()) {
    status = arena_.trim();
    if (status.ok() && arena_.moved()) ++generation_;
  }
  user_.store(nullptr, std::memory_order_release);
  return status;
}

std::size_t SharedArena::shared_bytes() const noexcept {
  std::size_t bytes = 0;
  for (std::uint32_t i = 0; i < arena_.region_count(); ++i) {
    bytes += arena_.region(RegionIndex(i)).size();
  }
  return bytes;
}

ModelArena::ModelArena(SharedArena* shared) noexcept
    : shared_(shared), next_(shared->models_), own_(shared->upstream_) {
  shared->models_ = this;
}

ModelArena::~ModelArena() {
  TENURE_ASSERT(shared_->user_.load(std::memory_order_relaxed) != this);
  ModelArena** link = &shared_->models_;
  while (*link != this) link = &(*link)->next_;
  *link = next_;
}

Status ModelArena::commit(Span<const RegionLayout> layouts, Fill fill) noexcept {
  if (Status status = check_count(layouts); !status.ok()) return status;
  SharedArena::Layouts shared = shared_->layouts_;
  shared.widen(layouts);
  SharedArena::Layouts all;
  SharedArena::Layouts own;
  all.count = own.count = layouts.size();
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    all.of[i] = layouts[i];
    if (layouts[i].keeps_contents) own.of[i] = layouts[i];
  }
  if (!shared_->take(this)) return Status(Reason::kRunInProgress);
  const SharedArena::Layouts before = shared_->layouts_;
  Status status = shared_->provide(shared);
  if (status.ok()) {
    status = own_.commit(own.span(), fill);
    // Less is always there, so this cannot fail.
    if (!status.ok()) static_cast<void>(shared_->provide(before));
  }
  if (status.ok()) {
    layouts_ = all;
    look_for_moves();
    moved_ = moved_ || own_.moved();
  }
  shared_->user_.store(nullptr, std::memory_order_release);
  return status;
}

Status ModelArena::begin(Fill fill) noexcept {
  if (!shared_->take(this)) return Status(Reason::kRunInProgress);
  look_for_moves();
  for (std::uint32_t i = 0; i < layouts_.count && !fill.is_none(); ++i) {
    const auto size = static_cast<std::size_t>(layouts_.of[i].size_bytes);
    if (layouts_.of[i].keeps_contents || size == 0) continue;
    std::memset(shared_->arena_.region(RegionIndex(i)).data(), fill.pattern(), size);
  }
  return Status();
}

void ModelArena::end() noexcept {
  TENURE_ASSERT(shared_->user_.load(std::memory_order_relaxed) == this);
  shared_->user_.store(nullptr, std::memory_order_release);
}

void ModelArena::look_for_moves() noexcept {
  moved_ = seen_generation_ != shared_->generation_;
  seen_generation_ = shared_->generation_;
}

void* ModelArena::address(Placement placement) const noexcept {
  if (placement.is_none()) return nullptr;
  TENURE_ASSERT(placement.region.value < layouts_.count);
  const bool is_own = layouts_.of[placement.region.value].keeps_contents;
  return is_own ? own_.address(placement) : shared_->arena_.address(placement);
}

}  // namespace tenure
