// SPDX-License-Identifier: Apache-2.0
#pragma once

// A small graph under a test of in-place sharing, and what the analyzer makes of it.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/statuses.h"
#include "tenure/graph_builder.h"
#include "tenure/lifetime.h"

namespace tenure::test {

class AnalyzedGraph {
 public:
  explicit AnalyzedGraph(TensorGraphBuilder& builder, std::uint64_t alignment_bytes = 1)
      : graph_(build(builder)) {
    Result<Lifetimes> lifetimes = LifetimeAnalyzer(alignment_bytes).analyze(graph_);
    EXPECT_TRUE(lifetimes.ok()) << text_of(lifetimes.status(), graph_.names());
    if (lifetimes.ok()) lifetimes_ = static_cast<Lifetimes&&>(lifetimes.value());
  }

  [[nodiscard]] const TensorGraph& graph() const { return graph_; }
  [[nodiscard]] const Lifetimes& lifetimes() const { return lifetimes_; }
  [[nodiscard]] std::vector<std::uint64_t> live_bytes() const {
    return {lifetimes_.live_bytes().begin(), lifetimes_.live_bytes().end()};
  }
  // Both lie in one block at the same offset.
  [[nodiscard]] bool shares(TensorIndex a, TensorIndex b) const {
    const StoragePlace at_a = lifetimes_.place(a);
    const StoragePlace at_b = lifetimes_.place(b);
    return !at_a.block.is_none() && at_a.block == at_b.block &&
           at_a.offset_bytes == at_b.offset_bytes;
  }
  [[nodiscard]] bool is_placed(TensorIndex tensor) const {
    return !lifetimes_.place(tensor).block.is_none();
  }

  // The one relation that was refused, and why.
  void expect_refused(TensorIndex result, TensorIndex operand, Refusal refusal) const {
    ASSERT_EQ(lifetimes_.refused().size(), 1U);
    const RefusedRelation& refused = lifetimes_.refused()[0];
    EXPECT_STREQ(tenure::text_of(refused.refusal), tenure::text_of(refusal));
    EXPECT_EQ(refused.relation.tensor, result);
    EXPECT_EQ(refused.relation.base, operand);
    EXPECT_FALSE(shares(result, operand));
  }
  void expect_taken(TensorIndex result, TensorIndex operand) const {
    EXPECT_TRUE(lifetimes_.refused().empty()) << tenure::text_of(lifetimes_.refused()[0].refusal);
    EXPECT_TRUE(shares(result, operand));
  }

 private:
  TensorGraph graph_;
  Lifetimes lifetimes_;
};

}  // namespace tenure::test
