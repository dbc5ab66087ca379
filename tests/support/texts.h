// SPDX-License-Identifier: Apache-2.0
#pragma once

// A TextSink that keeps what is written.
//
//   test::CollectedText text;
//   PoolAllocator pool(PoolOptions().set_sink(text.sink()));

#include <string>

#include "tenure/status.h"

namespace tenure::test {

class CollectedText {
 public:
  [[nodiscard]] TextSink sink() { return {&write, &text_}; }
  [[nodiscard]] const std::string& text() const { return text_; }
  void clear() { text_.clear(); }

 private:
  static void write(void* user, const char* piece, std::size_t length) {
    static_cast<std::string*>(user)->append(piece, length);
  }
  std::string text_;
};

}  // namespace tenure::test
