// SPDX-License-Identifier: Apache-2.0

#include "tenure/order.h"

#include <algorithm>

#include "tenure/align.h"

namespace tenure {
namespace {

class Ordering {
 public:
  Ordering(Span<const OperatorEdges> operators, std::uint32_t tensor_count,
           Upstream upstream) noexcept
      : operators_(operators),
        tensor_count_(tensor_count),
        producers_(upstream),
        waits_for_(upstream),
        begins_(upstream),
        readers_(upstream),
        ready_(upstream),
        order_(upstream) {}

  Result<Array<OperatorIndex>> run(Array<OperatorIndex>* cycle) noexcept {
    if (Status status = find_producers(); !status.ok()) return status;
    if (Status status = find_readers(); !status.ok()) return status;
    for (std::uint32_t i = 0; i < operators_.size(); ++i) {
      if (waits_for_[i] == 0) add_ready(i);
    }
    while (!ready_.empty()) {
      std::pop_heap(ready_.begin(), ready_.end(), kLater);
      const std::uint32_t op = ready_.back();
      ready_.pop_back();
      if (!order_.push_back(OperatorIndex(op))) return Status(Reason::kUpstreamRefused);
      for (std::size_t i = begins_[op]; i < begins_[op + 1]; ++i) {
        if (--waits_for_[readers_[i]] == 0) add_ready(readers_[i]);
      }
    }
    if (order_.size() == operators_.size()) return static_cast<Array<OperatorIndex>&&>(order_);
    return name_cycle(cycle);
  }

 private:
  static constexpr auto kLater = [](std::uint32_t a, std::uint32_t b) { return a > b; };

  void add_ready(std::uint32_t op) noexcept {
    const bool has_room = ready_.push_back(op);  // reserved for all
    TENURE_ASSERT(has_room);
    static_cast<void>(has_room);
    std::push_heap(ready_.begin(), ready_.end(), kLater);
  }

  Status find_producers() noexcept {
    if (!producers_.resize(tensor_count_, kNobody)) return Status(Reason::kUpstreamRefused);
    for (std::uint32_t i = 0; i < operators_.size(); ++i) {
      for (const TensorIndex result : operators_[i].outputs) {
        if (result.value >= tensor_count_) {
          return Status(Reason::kIndexOutOfRange).with(result).with(OperatorIndex(i));
        }
        if (producers_[result.value] != kNobody) {
          return Status(Reason::kProducedTwice).with(result).with(OperatorIndex(i));
        }
        producers_[result.value] = i;
      }
    }
    return Status();
  }

  // Calls visit(producer) for each operand that an operator makes; an operand listed twice counts
  // twice, in waits_for_ as in readers_.
  template <class Visit>
  void for_each_producer(std::uint32_t op, Visit visit) const noexcept {
    for (const TensorIndex operand : operators_[op].inputs) {
      if (!operand.is_none() && producers_[operand.value] != kNobody)
        visit(producers_[operand.value]);
    }
  }

  Status find_readers() noexcept {
    const std::size_t count = operators_.size();
    if (!waits_for_.resize(count) || !begins_.resize(count + 2) || !ready_.reserve(count) ||
        !order_.reserve(count)) {
      return Status(Reason::kUpstreamRefused);
    }
    std::size_t edges = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      for (const TensorIndex operand : operators_[i].inputs) {
        if (operand.is_none() || operand.value < tensor_count_) continue;
        return Status(Reason::kIndexOutOfRange).with(operand).with(OperatorIndex(i));
      }
      for_each_producer(i, [&](std::uint32_t producer) {
        ++waits_for_[i];
        ++begins_[producer + 2];
        ++edges;
      });
    }
    if (!readers_.resize(edges)) return Status(Reason::kUpstreamRefused);
    for (std::size_t i = 2; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
    for (std::uint32_t i = 0; i < count; ++i) {
      for_each_producer(i, [&](std::uint32_t producer) { readers_[begins_[producer + 1]++] = i; });
    }
    return Status();
  }

  // Whoever still waits, waits for someone who waits: walking back comes round to a cycle.
  Status name_cycle(Array<OperatorIndex>* cycle) noexcept {
    std::uint32_t op = 0;
    while (waits_for_[op] == 0) ++op;
    Array<std::uint32_t>& back = ready_;
    back.clear();
    Array<std::size_t>& seen_at = begins_;
    std::fill(seen_at.begin(), seen_at.end(), SIZE_MAX);
    while (seen_at[op] == SIZE_MAX) {
      seen_at[op] = back.size();
      if (!back.push_back(op)) return Status(Reason::kUpstreamRefused);
      std::uint32_t before = op;
      for_each_producer(op, [&](std::uint32_t producer) {
        if (waits_for_[producer] != 0) before = producer;
      });
      op = before;
    }
    Status status = Status(Reason::kOrderCycle).with(OperatorIndex(op));
    for (const TensorIndex operand : operators_[op].inputs) {
      if (!operand.is_none() && producers_[operand.value] != kNobody &&
          waits_for_[producers_[operand.value]] != 0) {
        status.with(operand);
      }
    }
    if (cycle == nullptr) return status;
    const std::size_t length = back.size() - seen_at[op];
    if (!cycle->reserve(length)) return Status(Reason::kUpstreamRefused);
    cycle->clear();
    for (std::size_t i = 0; i < length; ++i) {
      if (!cycle->push_back(OperatorIndex(back[back.size() - 1 - i]))) {
        return Status(Reason::kUpstreamRefused);
      }
    }
    return status;
  }

  static constexpr std::uint32_t kNobody = UINT32_MAX;

  Span<const OperatorEdges> operators_;
  std::uint32_t tensor_count_;
  Array<std::uint32_t> producers_;
  Array<std::uint32_t> waits_for_;
  Array<std::size_t> begins_;
  Array<std::uint32_t> readers_;
  Array<std::uint32_t> ready_;
  Array<OperatorIndex> order_;
};

}  // namespace

Result<Array<OperatorIndex>> order_operators(Span<const OperatorEdges> operators,
                                             std::uint32_t tensor_count,
                                             Array<OperatorIndex>* cycle,
                                             Upstream upstream) noexcept {
  if (operators.size() >= OperatorIndex::kNoneValue) return Status(Reason::kTooMany);
  return Ordering(operators, tensor_count, upstream).run(cycle);
}

}  // namespace tenure
