// SPDX-License-Identifier: Apache-2.0

#include <iostream>
#include <string>
#include <vector>

#include "cli/run.h"

int main(int argument_count, char** arguments) {
  const std::vector<std::string> after_name(arguments + (argument_count > 0 ? 1 : 0),
                                            arguments + argument_count);
  return static_cast<int>(tenure::cli::run(after_name, std::cout, std::cerr));
}
