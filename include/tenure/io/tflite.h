// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads TensorFlow Lite / LiteRT models: every subgraph becomes a TensorGraph, its operators in the
// order of the file, which is the order in which they run.
//
//   io::Result<io::TfliteModel> model = io::read_tflite("model.tflite");
//   Result<MemoryPlan> plan = ArenaPlanner().plan(model->subgraphs[0].graph);
//
// Tensors with stored data are constants, `is_variable` tensors and resource variables are
// persistent. A shape must be known: a negative dimension is an error. Each subgraph is planned by
// itself; operators that call other subgraphs are listed in the notes.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/graph.h"
#include "tenure/index.h"
#include "tenure/io/result.h"
#include "tenure/io/scratch.h"
#include "tenure/span.h"

namespace tenure::io {

// Which tensors the runtime that will run the model lets share bytes.
//
//   kStrict   None.
//   kLitert   Follows the kernels' `inplace_operator` flags in LiteRT (tflite/kernels/*.cc), which
//             tflite/arena_planner.cc obeys:
//
//               RESHAPE, SQUEEZE, EXPAND_DIMS, BITCAST   result 0 is operand 0 (alias)
//               ADD, SUB, MUL, DIV                       result 0 in place of operand 0, else of 1
//               SOFTMAX, DYNAMIC_UPDATE_SLICE            result 0 in place of operand 0
//
//             Aliases need equal sizes and operands that are neither constants nor variables.
//   kTflm     tflite-micro: none. Its planner gives every tensor bytes of its own, and neither it
//             nor a kernel looks at `inplace_operator`. Named for what it follows.
//
// Where kLitert differs from LiteRT on purpose: LiteRT counts the uses of one tensor, the core
// those of all tensors that share the bytes. LiteRT never shares graph inputs and outputs, nor
// writes 4 bytes or less in place; here inputs and outputs may have aliases, outputs and small
// results may be written in place. Its kernels allow that: they copy nothing where operand and
// result are one.
enum class TfliteProfile : std::uint8_t { kStrict, kLitert, kTflm };

struct TfliteOptions {
  TfliteProfile profile = TfliteProfile::kLitert;
  // Tensors computed from constants alone become persistent (tenure/fold.h). Operators with state
  // are never folded; these count as such:
  //
  //   RANDOM_UNIFORM, RANDOM_STANDARD_NORMAL, MULTINOMIAL, STABLEHLO_RNG_BIT_GENERATOR;
  //   LSTM, RNN, their *_SEQUENCE_* variants, SVDF; VAR_HANDLE, READ_ and ASSIGN_VARIABLE,
  //   HASHTABLE and HASHTABLE_FIND, _IMPORT and _SIZE, and whatever reads or makes a tensor of
  //   type RESOURCE or VARIANT;
  //   CALL, CALL_ONCE, IF, WHILE, STABLEHLO_CASE, _WHILE, _COMPOSITE and _CUSTOM_CALL, and
  //   whatever else calls a subgraph;
  //   of which nothing is known: CUSTOM (Flex too), DELEGATE, numbers without a name.
  bool fold = false;
  // Scratch tensors for operators of one subgraph, which must exist; null: none. The list must
  // outlive the call that takes these options.
  const ScratchList* scratch = nullptr;
  std::uint32_t scratch_subgraph = 0;

  TfliteOptions& set_profile(TfliteProfile value) noexcept { return profile = value, *this; }
  TfliteOptions& set_fold(bool value) noexcept { return fold = value, *this; }
  TfliteOptions& set_scratch(const ScratchList& list, std::uint32_t subgraph = 0) noexcept {
    return scratch = &list, scratch_subgraph = subgraph, *this;
  }
};

struct TfliteSubgraph {
  std::string name;  // may be empty
  // The tensors of the file with their indices, then those that the file has no plain tensor for:
  // resource variables, scratch for operators' intermediates, and scratch from outside.
  TensorGraph graph;
  // By TensorIndex: the index in the file's subgraph; none for resource variables and scratch from
  // outside.
  std::vector<TensorIndex> file_tensors;
  // Folded operators, in their order: they need not run after the first run. Empty without `fold`.
  std::vector<OperatorIndex> run_once;
  // What a plan of this graph does not show, one sentence each: calls of other subgraphs, sizes
  // that are only known at run time, what was folded.
  std::vector<std::string> notes;
};

struct TfliteModel {
  std::vector<TfliteSubgraph> subgraphs;  // at least one; the first is the main one
};

// A model in memory. Bytes must outlive the call only.
struct TfliteSource {
  Span<const std::uint8_t> bytes;
  std::string_view name;  // stands for the file in messages
  // Of the whole file, when `bytes` is only its beginning (constants may lie behind the
  // FlatBuffer); 0: all of it is in `bytes`.
  std::uint64_t file_size_bytes = 0;
};

// Nothing in the file is trusted: everything is checked before it is followed. Fails with
// kInvalidInput and the subgraph, tensor or operator that is wrong, or the line of a scratch list
// that names no operator or several, kOverflow for a size beyond 64
// bits, kOutOfMemory.
[[nodiscard]] Result<TfliteModel> read_tflite(const std::string& path,
                                              const TfliteOptions& options = TfliteOptions());
[[nodiscard]] Result<TfliteModel> parse_tflite(const TfliteSource& source,
                                               const TfliteOptions& options = TfliteOptions());

// True for bytes that begin as a model does. O(1).
[[nodiscard]] bool is_tflite(Span<const std::uint8_t> bytes) noexcept;

}  // namespace tenure::io
