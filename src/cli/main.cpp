// SPDX-License-Identifier: Apache-2.0

#if defined(_WIN32)
#include <io.h>
#else
#include <unistd.h>
#endif

#include <iostream>
#include <string>
#include <vector>

#include "cli/run.h"

namespace {

bool is_terminal(int descriptor) {
#if defined(_WIN32)
  return _isatty(descriptor) != 0;
#else
  return isatty(descriptor) != 0;
#endif
}

}  // namespace

int main(int argument_count, char** arguments) {
  const std::vector<std::string> after_name(arguments + (argument_count > 0 ? 1 : 0),
                                            arguments + argument_count);
  return static_cast<int>(tenure::cli::run(after_name, std::cout, std::cerr, is_terminal(2)));
}
