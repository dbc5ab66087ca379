// SPDX-License-Identifier: Apache-2.0

#include "common/print.h"

#include <cstddef>
#include <cstdio>

namespace example {
namespace {

constexpr std::size_t kColumnCount = 100;

std::string text_of(const tenure::Status& status, tenure::NameSource names) {
  std::string text;
  const tenure::TextSink append{[](void* user, const char* piece, std::size_t length) {
                                  static_cast<std::string*>(user)->append(piece, length);
                                },
                                &text};
  tenure::describe(status, names, append);
  return text;
}

}  // namespace

// What is wrong, and who caused it: the second half goes to a line of its own where one is too
// short.
void print_status(const char* what, const tenure::Status& status, tenure::NameSource names) {
  std::string line = std::string(what) + ": " + text_of(status, names);
  const std::size_t culprits = line.rfind(": ");
  if (line.size() > kColumnCount) line.replace(culprits, 2, ":\n    ");
  std::printf("%s\n", line.c_str());
}

bool succeeded(const char* what, const tenure::Status& status, tenure::NameSource names) {
  if (!status.ok()) print_status(what, status, names);
  return status.ok();
}

std::string grouped(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, ",");
  return digits;
}

void Expectations::expect(bool holds, const char* what) {
  if (holds) return;
  ++failed_count_;
  std::printf("FAILED: %s\n", what);
}

}  // namespace example
