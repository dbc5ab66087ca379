// SPDX-License-Identifier: Apache-2.0
#pragma once

// The boundary of tenure::io: what a library throws inside becomes an Error, and errors get the
// name of the file in front.
//
//   return at_boundary(name, [&] { return parse(text); });

#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "tenure/io/result.h"

namespace tenure::io {

// No value: nothing is wrong.
using MaybeError = std::optional<Error>;

[[nodiscard]] inline Error prefixed(std::string_view culprit, const Error& error) {
  return {error.code, std::string(culprit) + ": " + error.message, error.is_file_access};
}

template <class Body>
[[nodiscard]] auto at_boundary(std::string_view name, const Body& body) -> decltype(body()) {
  try {
    auto result = body();
    if (!result.ok()) return prefixed(name, result.error());
    return result;
  } catch (const std::bad_alloc&) {
    return prefixed(name, {StatusCode::kOutOfMemory, "memory was refused"});
  } catch (const std::exception& error) {
    return prefixed(name, {StatusCode::kInvalidInput, error.what()});
  }
}

}  // namespace tenure::io
