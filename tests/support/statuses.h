// SPDX-License-Identifier: Apache-2.0
#pragma once

// Statuses in tests: as text, and compared with all their culprits.
//
//   EXPECT_EQ(test::text_of(status, graph.names()), "...");
//   test::expect_failure(status, Reason::kNeverProduced, {tensor, TensorIndex(), op});

#include <gtest/gtest.h>

#include <string>

#include "tenure/graph_builder.h"
#include "tenure/index.h"
#include "tenure/status.h"

namespace tenure::test {

inline constexpr TensorIndex kNoTensor = TensorIndex::none();

[[nodiscard]] inline std::string text_of(const Status& status, NameSource names = {}) {
  std::string text;
  const auto write = [](void* user, const char* piece, std::size_t length) {
    static_cast<std::string*>(user)->append(piece, length);
  };
  describe(status, names, {write, &text});
  return text;
}

struct Culprits {
  TensorIndex tensor;
  TensorIndex other_tensor;
  OperatorIndex op;
};

inline void expect_failure(const Status& status, Reason reason, const Culprits& culprits) {
  EXPECT_EQ(status.reason(), reason) << text_of(status);
  EXPECT_EQ(status.code(), code_of(reason));
  EXPECT_EQ(status.tensor, culprits.tensor) << text_of(status);
  EXPECT_EQ(status.other_tensor, culprits.other_tensor) << text_of(status);
  EXPECT_EQ(status.op, culprits.op) << text_of(status);
}

// The builder refuses, for that reason and with those culprits; nothing of it is lost.
inline void expect_refused(TensorGraphBuilder& builder, Reason reason, const Culprits& culprits) {
  const std::uint32_t tensors = builder.tensor_count();
  const std::uint32_t operators = builder.operator_count();
  const Result<TensorGraph> graph = builder.build();
  ASSERT_FALSE(graph.ok());
  expect_failure(graph.status(), reason, culprits);
  EXPECT_EQ(builder.tensor_count(), tensors);
  EXPECT_EQ(builder.operator_count(), operators);
}

// The graph, which must be one.
[[nodiscard]] inline TensorGraph build(TensorGraphBuilder& builder) {
  Result<TensorGraph> graph = builder.build();
  EXPECT_TRUE(graph.ok()) << text_of(graph.status(), builder.names());
  return graph.ok() ? static_cast<TensorGraph&&>(graph.value()) : TensorGraph();
}

}  // namespace tenure::test
