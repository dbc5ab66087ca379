// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the examples print: a Status in words, byte counts that are easy to read, and expectations
// that a program fails with.
//
//   if (!succeeded("plan", plan.status(), graph.names())) return 1;
//   std::printf("%s bytes\n", grouped(6021120).c_str());   // 6,021,120 bytes

#include <cstdint>
#include <string>

#include "tenure/status.h"

namespace example {

// What was done, and the library's own description of how that went.
void print_status(const char* what, const tenure::Status& status, tenure::NameSource names);

// Whether it was; prints the status if not.
[[nodiscard]] bool succeeded(const char* what, const tenure::Status& status,
                             tenure::NameSource names);

[[nodiscard]] std::string grouped(std::uint64_t value);

// Counts what did not come out as it should. Only failures are printed.
class Expectations {
 public:
  void expect(bool holds, const char* what);
  [[nodiscard]] bool all_hold() const { return failed_count_ == 0; }

 private:
  std::uint32_t failed_count_ = 0;
};

}  // namespace example
