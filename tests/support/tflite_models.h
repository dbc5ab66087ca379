// SPDX-License-Identifier: Apache-2.0
#pragma once

// Small models for tests of the reader, and what is expected of them.
//
//   expect_error(model_of({"x", {{-1}}}), "subgraph 0, tensor 0 'x': ...");

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/tflite_writer.h"
#include "tenure/io/tflite.h"
#include "tenure/lifetime.h"
#include "tenure/planner.h"
#include "tenure/verify.h"

namespace tenure::test {

inline io::Result<io::TfliteModel> parse_model(
    const std::vector<std::uint8_t>& bytes,
    io::TfliteProfile profile = io::TfliteProfile::kLitert) {
  return io::parse_tflite({bytes, "test.tflite"}, io::TfliteOptions().set_profile(profile));
}

// x -> RELU -> y, with `tensor` as x.
inline std::vector<std::uint8_t> model_of(const WrittenTensor& tensor) {
  TfliteWriter writer;
  writer.add_code(tflite::BuiltinOperator_RELU);
  writer.subgraphs = {{"main", {tensor, {"y", {{4}}}}, {0}, {1}, {{0, {0}, {1}}}}};
  return writer.bytes();
}

inline std::vector<std::uint8_t> model_with(tflite::BuiltinOperator code,
                                            const std::vector<WrittenTensor>& tensors,
                                            const std::vector<WrittenOperator>& operators) {
  TfliteWriter writer;
  writer.add_code(code);
  const auto last = static_cast<std::int32_t>(tensors.size() - 1);
  writer.subgraphs = {{"main", tensors, {0}, {last}, operators}};
  return writer.bytes();
}

inline void expect_error(const std::vector<std::uint8_t>& bytes, const std::string& message,
                         StatusCode code = StatusCode::kInvalidInput) {
  const auto model = parse_model(bytes);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().message, "test.tflite: " + message);
  EXPECT_EQ(model.error().code, code);
}

inline void expect_size(const WrittenTensor& tensor, std::uint64_t size_bytes) {
  const auto model = parse_model(model_of(tensor));
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->subgraphs[0].graph.tensor(TensorIndex(0)).size_bytes, size_bytes);
}

// Plans the subgraph and runs both proofs.
inline void expect_safe_plan(const io::TfliteSubgraph& subgraph) {
  const Result<Lifetimes> lifetimes = LifetimeAnalyzer().analyze(subgraph.graph);
  ASSERT_TRUE(lifetimes.ok());
  const Result<MemoryPlan> plan = ArenaPlanner().plan(*lifetimes);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(verify(lifetimes->problem(), *plan).ok());
  EXPECT_TRUE(verify(subgraph.graph, *plan).ok());
}

inline std::vector<RelationKind> relation_kinds(const std::vector<std::uint8_t>& bytes,
                                                io::TfliteProfile profile) {
  std::vector<RelationKind> kinds;
  const auto model = parse_model(bytes, profile);
  EXPECT_TRUE(model.ok()) << model.error().message;
  if (!model.ok()) return kinds;
  for (const Relation& relation : model->subgraphs[0].graph.relations())
    kinds.push_back(relation.kind);
  return kinds;
}

}  // namespace tenure::test
