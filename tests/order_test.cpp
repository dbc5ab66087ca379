// SPDX-License-Identifier: Apache-2.0

#include "tenure/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "support/random.h"
#include "support/statuses.h"
#include "support/upstreams.h"

namespace tenure {
namespace {

using Numbers = std::vector<std::uint32_t>;

// Operators as lists of numbers; edges() borrows from it.
struct OperatorList {
  std::vector<std::vector<TensorIndex>> inputs;
  std::vector<std::vector<TensorIndex>> outputs;

  void add(const Numbers& operands, const Numbers& results) {
    inputs.push_back(tensors(operands));
    outputs.push_back(tensors(results));
  }
  [[nodiscard]] std::vector<OperatorEdges> edges() const {
    std::vector<OperatorEdges> list;
    for (std::size_t i = 0; i < inputs.size(); ++i) list.push_back({inputs[i], outputs[i]});
    return list;
  }

 private:
  static std::vector<TensorIndex> tensors(const Numbers& numbers) {
    std::vector<TensorIndex> list;
    for (const std::uint32_t number : numbers) list.push_back(TensorIndex(number));
    return list;
  }
};

constexpr std::uint32_t kAbsent = TensorIndex::kNoneValue;

Numbers numbers_of(const Array<OperatorIndex>& operators) {
  Numbers numbers;
  for (const OperatorIndex op : operators) numbers.push_back(op.value);
  return numbers;
}

Numbers order_of(const OperatorList& list, std::uint32_t tensor_count) {
  const Result<Array<OperatorIndex>> order = order_operators(list.edges(), tensor_count);
  EXPECT_TRUE(order.ok()) << test::text_of(order.status());
  return order.ok() ? numbers_of(*order) : Numbers{};
}

TEST(OrderOperators, OrdersNothing) {
  EXPECT_EQ(order_of({}, 0), Numbers{});
  EXPECT_EQ(order_of({}, 10), Numbers{});
}

TEST(OrderOperators, LeavesAListInOrderAsItIs) {
  OperatorList list;
  list.add({0}, {1});
  list.add({}, {2});  // could run first
  list.add({1}, {3});
  list.add({0, 2}, {4});
  list.add({}, {});
  EXPECT_EQ(order_of(list, 5), (Numbers{0, 1, 2, 3, 4}));
}

TEST(OrderOperators, TurnsAListAround) {
  OperatorList list;
  list.add({2}, {3});
  list.add({1}, {2});
  list.add({0}, {1});
  EXPECT_EQ(order_of(list, 4), (Numbers{2, 1, 0}));
}

TEST(OrderOperators, TakesTheSmallestIndexThatCanRun) {
  OperatorList list;
  list.add({9}, {0});  // waits for 4
  list.add({}, {1});
  list.add({0, 1}, {2});
  list.add({}, {3});
  list.add({1}, {9});
  // 1; then 3 and 4 can run; only after 4 can 0, and after that 2.
  EXPECT_EQ(order_of(list, 10), (Numbers{1, 3, 4, 0, 2}));
}

TEST(OrderOperators, WaitsOnceForAnOperandThatIsListedTwice) {
  OperatorList list;
  list.add({1, 1, 1}, {2});
  list.add({}, {1});
  EXPECT_EQ(order_of(list, 3), (Numbers{1, 0}));
}

TEST(OrderOperators, WaitsNotForWhatIsAbsentOrGiven) {
  OperatorList list;
  list.add({kAbsent, 5}, {0});
  list.add({0, kAbsent}, {1});
  EXPECT_EQ(order_of(list, 6), (Numbers{0, 1}));
}

TEST(OrderOperators, RefusesIndicesOutOfRange) {
  {
    OperatorList list;
    list.add({}, {0});
    list.add({3}, {1});
    const auto order = order_operators(list.edges(), 3);
    ASSERT_FALSE(order.ok());
    test::expect_failure(order.status(), Reason::kIndexOutOfRange,
                         {TensorIndex(3), {}, OperatorIndex(1)});
    EXPECT_TRUE(order_operators(list.edges(), 4).ok());
  }
  for (const std::uint32_t result : {UINT32_C(3), kAbsent}) {
    OperatorList list;
    list.add({}, {result});
    const auto order = order_operators(list.edges(), 3);
    ASSERT_FALSE(order.ok());
    test::expect_failure(order.status(), Reason::kIndexOutOfRange,
                         {TensorIndex(result), {}, OperatorIndex(0)});
  }
}

TEST(OrderOperators, RefusesTensorsThatAreProducedTwice) {
  OperatorList list;
  list.add({}, {0});
  list.add({0}, {1});
  list.add({1}, {0});
  auto order = order_operators(list.edges(), 2);
  ASSERT_FALSE(order.ok());
  test::expect_failure(order.status(), Reason::kProducedTwice,
                       {TensorIndex(0), {}, OperatorIndex(2)});
  OperatorList twice;
  twice.add({}, {1, 1});
  order = order_operators(twice.edges(), 2);
  ASSERT_FALSE(order.ok());
  test::expect_failure(order.status(), Reason::kProducedTwice,
                       {TensorIndex(1), {}, OperatorIndex(0)});
}

// Each waits for the one before it, the first for the last; the status names one and its operand.
void expect_cycle(const OperatorList& list, const Status& status, const Array<OperatorIndex>& cycle,
                  const Numbers& members) {
  EXPECT_EQ(status.reason(), Reason::kOrderCycle);
  Numbers sorted = numbers_of(cycle);
  std::sort(sorted.begin(), sorted.end());
  ASSERT_EQ(sorted, members);
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const auto& before = list.outputs[cycle[(i + cycle.size() - 1) % cycle.size()].value];
    const auto& operands = list.inputs[cycle[i].value];
    EXPECT_TRUE(std::any_of(operands.begin(), operands.end(),
                            [&](TensorIndex operand) {
                              return std::find(before.begin(), before.end(), operand) !=
                                     before.end();
                            }))
        << "operator " << cycle[i].value;
  }
  ASSERT_TRUE(std::binary_search(members.begin(), members.end(), status.op.value));
  const auto& operands = list.inputs[status.op.value];
  EXPECT_NE(std::find(operands.begin(), operands.end(), status.tensor), operands.end());
  // The operand is made inside the cycle.
  EXPECT_TRUE(std::any_of(members.begin(), members.end(), [&](std::uint32_t member) {
    const auto& results = list.outputs[member];
    return std::find(results.begin(), results.end(), status.tensor) != results.end();
  }));
}

TEST(OrderOperators, NamesAnOperatorThatWaitsForItself) {
  OperatorList list;
  list.add({}, {0});
  list.add({0, 1}, {1, 2});
  list.add({2}, {3});
  Array<OperatorIndex> cycle;
  const auto order = order_operators(list.edges(), 4, &cycle);
  ASSERT_FALSE(order.ok());
  expect_cycle(list, order.status(), cycle, {1});
  test::expect_failure(order.status(), Reason::kOrderCycle, {TensorIndex(1), {}, OperatorIndex(1)});
}

TEST(OrderOperators, NamesALongCycleAndNothingAroundIt) {
  OperatorList list;
  constexpr std::uint32_t kLength = 500;
  // Operators that lead into the cycle, the cycle, operators behind it. Tensor i is made by i.
  for (std::uint32_t i = 0; i < 10; ++i) list.add({}, {i});
  for (std::uint32_t i = 10; i < 10 + kLength; ++i) {
    const std::uint32_t before = i == 10 ? 10 + kLength - 1 : i - 1;
    list.add({i % 10, before, kAbsent}, {i});
  }
  for (std::uint32_t i = 10 + kLength; i < 20 + kLength; ++i) list.add({i - 1, i - 5}, {i});
  Numbers members;
  for (std::uint32_t i = 10; i < 10 + kLength; ++i) members.push_back(i);
  Array<OperatorIndex> cycle;
  ASSERT_TRUE(cycle.resize(3));  // what was there before goes
  const auto order = order_operators(list.edges(), 20 + kLength, &cycle);
  ASSERT_FALSE(order.ok());
  expect_cycle(list, order.status(), cycle, members);
}

TEST(OrderOperators, NamesACycleThatItReachesFromBehind) {
  OperatorList list;
  list.add({4}, {0});  // waits for the cycle, and comes before it
  list.add({0}, {1});
  list.add({3, 5}, {2});
  list.add({2}, {3, 4});
  list.add({}, {5});
  Array<OperatorIndex> cycle;
  const auto order = order_operators(list.edges(), 6, &cycle);
  ASSERT_FALSE(order.ok());
  expect_cycle(list, order.status(), cycle, {2, 3});
}

TEST(OrderOperators, NamesTheCycleToWhoeverAsks) {
  OperatorList list;
  list.add({1}, {0});
  list.add({0}, {1});
  const auto order = order_operators(list.edges(), 2);
  ASSERT_FALSE(order.ok());
  EXPECT_EQ(order.status().reason(), Reason::kOrderCycle);
  EXPECT_FALSE(order.status().op.is_none());
  EXPECT_FALSE(order.status().tensor.is_none());
}

struct ShuffledGraph {
  OperatorList list;
  std::uint32_t tensor_count = 0;
};

// Operators of a random directed graph without cycles, listed in a random order.
ShuffledGraph random_shuffled_graph(test::Random& random) {
  const std::uint32_t count = static_cast<std::uint32_t>(random.between(1, 60));
  std::vector<Numbers> operands(count);
  std::vector<Numbers> results(count);
  ShuffledGraph graph;
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::uint64_t k = random.below(4); k > 0; --k) {
      const bool is_absent = graph.tensor_count == 0 || random.chance(10);
      operands[i].push_back(is_absent ? kAbsent : random.index(graph.tensor_count));
    }
    for (std::uint64_t k = random.below(3); k > 0; --k) results[i].push_back(graph.tensor_count++);
  }
  Numbers order(count);
  for (std::uint32_t i = 0; i < count; ++i) order[i] = i;
  for (std::uint32_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.index(i)]);
  for (const std::uint32_t i : order) graph.list.add(operands[i], results[i]);
  return graph;
}

TEST(OrderOperators, MakesAValidOrderOfShuffledOperators) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::Random random(seed);
    const ShuffledGraph graph = random_shuffled_graph(random);
    const OperatorList& list = graph.list;
    const Numbers order = order_of(list, graph.tensor_count);
    ASSERT_EQ(order.size(), list.inputs.size());
    std::vector<bool> is_made_somewhere(graph.tensor_count);
    for (const auto& results : list.outputs) {
      for (const TensorIndex result : results) is_made_somewhere[result.value] = true;
    }
    std::vector<bool> is_made(graph.tensor_count);
    std::vector<bool> has_run(order.size());
    const auto can_run = [&](std::uint32_t op) {
      return std::all_of(list.inputs[op].begin(), list.inputs[op].end(), [&](TensorIndex operand) {
        return operand.is_none() || !is_made_somewhere[operand.value] || is_made[operand.value];
      });
    };
    for (const std::uint32_t op : order) {
      ASSERT_FALSE(has_run[op]);
      ASSERT_TRUE(can_run(op)) << "operator " << op;
      for (std::uint32_t earlier = 0; earlier < op; ++earlier) {
        ASSERT_FALSE(!has_run[earlier] && can_run(earlier))
            << earlier << " could run before " << op;
      }
      has_run[op] = true;
      for (const TensorIndex result : list.outputs[op]) is_made[result.value] = true;
    }
  }
}

TEST(OrderOperators, SurvivesTheRefusalOfEveryCallForMemory) {
  OperatorList good;
  good.add({1}, {2});
  good.add({0}, {1});
  OperatorList bad = good;
  bad.add({3}, {3});
  test::TestUpstream upstream;
  for (const OperatorList* list : {&good, &bad}) {
    upstream.refuse_call(test::TestUpstream::kNever);
    upstream.start_counting();
    Array<OperatorIndex> cycle(upstream.get());
    const auto order = order_operators(list->edges(), 4, &cycle, upstream.get());
    ASSERT_EQ(order.ok(), list == &good);
    const std::uint64_t calls = upstream.calls();
    EXPECT_GT(calls, 3U);
    for (std::uint64_t k = 0; k < calls; ++k) {
      SCOPED_TRACE("call " + std::to_string(k));
      upstream.start_counting();
      upstream.refuse_call(k);
      Array<OperatorIndex> untouched(upstream.get());
      const auto refused = order_operators(list->edges(), 4, &untouched, upstream.get());
      ASSERT_FALSE(refused.ok());
      EXPECT_EQ(refused.status().reason(), Reason::kUpstreamRefused);
      EXPECT_TRUE(untouched.empty());
    }
  }
}

}  // namespace
}  // namespace tenure
