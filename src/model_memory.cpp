// SPDX-License-Identifier: Apache-2.0

#include "tenure/model_memory.h"

#include <functional>
#include <utility>

#include "tenure/align.h"

namespace tenure {
namespace {

// Of memory from different objects, whose addresses only std::less may compare.
bool share_bytes(const std::byte* a, std::size_t a_size, const std::byte* b,
                 std::size_t b_size) noexcept {
  const std::less<> comes_before;
  return a_size != 0 && b_size != 0 && comes_before(a, b + b_size) && comes_before(b, a + a_size);
}

}  // namespace

ModelMemory::ModelMemory(MemoryPlan plan, Upstream upstream) noexcept
    : plan_(std::move(plan)), arena_(upstream), places_(upstream), outside_(upstream) {}

Result<ModelMemory> ModelMemory::create(const Lifetimes& lifetimes, MemoryPlan plan,
                                        Upstream upstream) noexcept {
  const Span<const StoragePlace> places = lifetimes.places();
  if (plan.tensor_placements().size() != places.size()) return Status(Reason::kPlanMismatch);
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    if (places[i].block.is_none() != plan.tensor_placement(TensorIndex(i)).is_none()) {
      return Status(Reason::kPlanMismatch).with(TensorIndex(i));
    }
  }
  ModelMemory memory(std::move(plan), upstream);
  if (!memory.places_.append(places) || !memory.outside_.reserve(lifetimes.outside().size())) {
    return Status(Reason::kUpstreamRefused);
  }
  for (const OutsideStorage& storage : lifetimes.outside()) {
    if (!memory.outside_.push_back({storage, nullptr, BufferOverlap::kRefused})) {
      return Status(Reason::kUpstreamRefused);
    }
  }
  return memory;
}

Status ModelMemory::commit(Fill fill, Growth growth) noexcept {
  return arena_.commit(plan_.layouts(), fill, growth);
}

Status ModelMemory::commit_lent(Span<std::byte> buffer, Fill fill) noexcept {
  for (const Outside& bound : outside_) {
    const auto size = static_cast<std::size_t>(bound.storage.size_bytes);
    if (bound.base == nullptr || !share_bytes(bound.base, size, buffer.data(), buffer.size())) {
      continue;
    }
    return Status(Reason::kBuffersOverlap).with(bound.storage.tensor);
  }
  return arena_.commit_lent(buffer, plan_.layouts(), fill);
}

Status ModelMemory::bind(TensorIndex tensor, Span<std::byte> buffer,
                         BufferOverlap overlap) noexcept {
  return bind_storage(tensor, buffer, false, overlap);
}

Status ModelMemory::bind_constant(TensorIndex tensor, Span<const std::byte> buffer) noexcept {
  return bind_storage(tensor, buffer, true, BufferOverlap::kRefused);
}

Status ModelMemory::bind_storage(TensorIndex tensor, Span<const std::byte> buffer, bool is_constant,
                                 BufferOverlap overlap) noexcept {
  if (tensor.value >= places_.size()) return Status(Reason::kIndexOutOfRange).with(tensor);
  const OutsideIndex own = places_[tensor.value].outside;
  if (own.is_none() || outside_[own.value].storage.is_read_only != is_constant) {
    return Status(Reason::kNotOutside).with(tensor);
  }
  const OutsideStorage& storage = outside_[own.value].storage;
  if (buffer.size() < storage.size_bytes) {
    return Status(Reason::kBufferTooSmall)
        .with(tensor)
        .needed(storage.size_bytes)
        .available(buffer.size())
        .aligned(storage.alignment_bytes);
  }
  const auto address = reinterpret_cast<std::uintptr_t>(buffer.data());
  if (padding_to_align(address, storage.alignment_bytes) != 0) {
    return Status(Reason::kBufferMisaligned)
        .with(tensor)
        .needed(storage.size_bytes)
        .aligned(storage.alignment_bytes);
  }
  const auto size = static_cast<std::size_t>(storage.size_bytes);
  if (Status status = check_overlaps(tensor, own, buffer.data(), size, overlap); !status.ok()) {
    return status;
  }
  outside_[own.value].base = buffer.data();
  outside_[own.value].overlap = overlap;
  return Status();
}

Status ModelMemory::check_overlaps(TensorIndex tensor, OutsideIndex own, const std::byte* base,
                                   std::size_t size, BufferOverlap overlap) const noexcept {
  const bool is_constant = outside_[own.value].storage.is_read_only;
  for (std::uint32_t i = 0; i < outside_.size(); ++i) {
    const Outside& other = outside_[i];
    const bool is_allowed = overlap == BufferOverlap::kDeclared ||
                            other.overlap == BufferOverlap::kDeclared ||
                            (is_constant && other.storage.is_read_only);
    if (i == own.value || other.base == nullptr || is_allowed) continue;
    const auto other_size = static_cast<std::size_t>(other.storage.size_bytes);
    if (!share_bytes(base, size, other.base, other_size)) continue;
    return Status(Reason::kBuffersOverlap).with(tensor, other.storage.tensor);
  }
  for (std::uint32_t i = 0; i < arena_.region_count(); ++i) {
    const Span<const std::byte> region = arena_.region(RegionIndex(i));
    if (region.data() == nullptr || !share_bytes(base, size, region.data(), region.size())) {
      continue;
    }
    return Status(Reason::kBuffersOverlap).with(tensor).with(RegionIndex(i));
  }
  return Status();
}

Status ModelMemory::check_bound() const noexcept {
  for (const Outside& outside : outside_) {
    if (outside.base != nullptr || outside.storage.size_bytes == 0) continue;
    return Status(Reason::kNotBound).with(outside.storage.tensor);
  }
  return Status();
}

void* ModelMemory::address(TensorIndex tensor) const noexcept {
  const OutsideIndex outside = places_[tensor.value].outside;
  if (!outside.is_none() && outside_[outside.value].storage.is_read_only) return nullptr;
  // What is bound for other tensors was given as writable memory.
  return const_cast<void*>(read_address(tensor));
}

const void* ModelMemory::read_address(TensorIndex tensor) const noexcept {
  const StoragePlace& place = places_[tensor.value];
  if (!place.outside.is_none()) {
    const std::byte* base = outside_[place.outside.value].base;
    return base == nullptr ? nullptr : base + static_cast<std::size_t>(place.offset_bytes);
  }
  const Placement placement = plan_.tensor_placement(tensor);
  const bool is_committed = !placement.is_none() && placement.region.value < arena_.region_count();
  return is_committed ? arena_.address(placement) : nullptr;
}

}  // namespace tenure
