// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the functions of tenure::io return: a value, or an Error that is ready to be printed. An
// Error carries the core's StatusCode, so that programs decide as they do for the core, and a
// message that names the file and what is wrong in it.
//
//   io::Result<io::CsvProblem> csv = io::read_csv(path);
//   if (!csv.ok()) return complain(csv.error().message);
//
// Names of files are UTF-8 on Windows, and what the system takes elsewhere.
//
// No function of tenure::io throws, unless memory runs out while a message is put together.

#include <optional>
#include <string>
#include <utility>

#include "tenure/span.h"
#include "tenure/status.h"

namespace tenure::io {

struct Error {
  StatusCode code = StatusCode::kInvalidInput;
  // "model.tflite: subgraph 0, tensor 3 'x': ...", without a line break at the end.
  std::string message;
  // The file itself could not be read or written, whatever is in it.
  bool is_file_access = false;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool ok() const noexcept { return value_.has_value(); }

  // Precondition: ok().
  [[nodiscard]] T& value() & noexcept { return TENURE_ASSERT(ok()), *value_; }
  [[nodiscard]] const T& value() const& noexcept { return TENURE_ASSERT(ok()), *value_; }
  [[nodiscard]] T&& value() && noexcept { return TENURE_ASSERT(ok()), std::move(*value_); }
  T* operator->() noexcept { return &value(); }
  const T* operator->() const noexcept { return &value(); }
  T& operator*() & noexcept { return value(); }
  const T& operator*() const& noexcept { return value(); }

  // Precondition: !ok().
  [[nodiscard]] const Error& error() const noexcept { return TENURE_ASSERT(!ok()), error_; }

 private:
  std::optional<T> value_;
  Error error_;
};

// A failed Status as an Error, in the words of the core's describe().
[[nodiscard]] Error error_of(const Status& status, NameSource names = NameSource());

}  // namespace tenure::io
