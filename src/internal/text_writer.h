// SPDX-License-Identifier: Apache-2.0
#pragma once

// Text into a caller's sink, piece by piece and without memory: words, decimal numbers, addresses.
// A sink without a function swallows everything.
//
//   TextWriter(sink).text("block ").number(7);

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenure/status.h"

namespace tenure {

class TextWriter {
 public:
  explicit TextWriter(TextSink sink) noexcept : sink_(sink) {}

  TextWriter& text(const char* value) noexcept { return write(value, std::strlen(value)); }

  TextWriter& number(std::uint64_t value) noexcept {
    char digits[20];
    std::size_t begin = sizeof(digits);
    do {
      digits[--begin] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    return write(digits + begin, sizeof(digits) - begin);
  }

  TextWriter& address(const void* memory) noexcept {
    auto value = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(memory));
    char digits[16];
    std::size_t begin = sizeof(digits);
    do {
      digits[--begin] = "0123456789abcdef"[value & 15];
      value >>= 4;
    } while (value != 0);
    return text("0x").write(digits + begin, sizeof(digits) - begin);
  }

 private:
  TextWriter& write(const char* text, std::size_t length) noexcept {
    if (sink_.write != nullptr) sink_.write(sink_.user, text, length);
    return *this;
  }

  TextSink sink_;
};

}  // namespace tenure
