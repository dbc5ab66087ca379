// SPDX-License-Identifier: Apache-2.0
#pragma once

// The program `tenure` as a function, so that tests can call it.

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/exit_code.h"

namespace tenure::cli {

// `arguments` are those after the program's name. Never throws.
[[nodiscard]] ExitCode run(const std::vector<std::string>& arguments, std::ostream& out,
                           std::ostream& err) noexcept;

}  // namespace tenure::cli
