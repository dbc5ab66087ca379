// SPDX-License-Identifier: Apache-2.0

#include "io/tflite_scratch.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>
#include <unordered_map>

namespace tenure::io {
namespace {

class OperatorFinder {
 public:
  OperatorFinder(const ModelView& model, std::uint32_t subgraph) : subgraph_(subgraph) {
    const auto* operators = model.subgraph(subgraph).operators();
    count_ = count_of(operators);
    for (std::uint32_t i = 0; i < count_; ++i) {
      Named& named = by_name_[model.operator_name(*operators->Get(i))];
      if (named.count++ == 0) {
        named.first = i;
      } else if (named.count == 2) {
        named.second = i;
      }
    }
  }

  [[nodiscard]] Result<std::uint32_t> find(const std::string& op) const {
    const bool is_index = !op.empty() && op.find_first_not_of("0123456789") == std::string::npos;
    if (is_index) return find_index(op);
    const auto found = by_name_.find(op);
    if (found == by_name_.end()) return unknown(op);
    const Named& named = found->second;
    if (named.count == 1) return named.first;
    return Error{StatusCode::kInvalidInput,
                 fmt::format("'{}' is the name of {} operators of subgraph {}, {} and {} among "
                             "them; an index says which is meant",
                             op, named.count, subgraph_, named.first, named.second)};
  }

 private:
  struct Named {
    std::uint32_t count = 0;
    std::uint32_t first = 0;
    std::uint32_t second = 0;
  };

  [[nodiscard]] Result<std::uint32_t> find_index(const std::string& op) const {
    std::uint32_t index = 0;
    const auto parsed = std::from_chars(op.data(), op.data() + op.size(), index);
    if (parsed.ec == std::errc() && index < count_) return index;
    return unknown(op);
  }
  [[nodiscard]] Error unknown(const std::string& op) const {
    return {StatusCode::kInvalidInput,
            fmt::format("'{}' is no operator of subgraph {}, which has {}, counted from 0", op,
                        subgraph_, count_)};
  }

  std::uint32_t subgraph_;
  std::uint32_t count_ = 0;
  std::unordered_map<std::string, Named> by_name_;
};

}  // namespace

Result<std::vector<OperatorScratch>> find_operators(const ModelView& model, std::uint32_t subgraph,
                                                    const ScratchList& list) {
  const OperatorFinder finder(model, subgraph);
  std::vector<OperatorScratch> found;
  for (const ScratchRow& row : list.rows) {
    const Result<std::uint32_t> op = finder.find(row.op);
    if (!op.ok()) {
      return prefixed(fmt::format("{}: line {}", list.name, row.line_number), op.error());
    }
    found.push_back({*op, &row});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const OperatorScratch& a, const OperatorScratch& b) { return a.op < b.op; });
  return found;
}

}  // namespace tenure::io
