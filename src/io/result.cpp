// SPDX-License-Identifier: Apache-2.0

#include "tenure/io/result.h"

namespace tenure::io {

Error error_of(const Status& status, NameSource names) {
  Error error;
  error.code = status.code();
  const auto append = [](void* user, const char* text, std::size_t length) {
    static_cast<std::string*>(user)->append(text, length);
  };
  describe(status, names, TextSink{append, &error.message});
  return error;
}

}  // namespace tenure::io
