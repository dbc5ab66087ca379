// SPDX-License-Identifier: Apache-2.0
#pragma once

// The program `tenure` as a function, so that tests can call it.

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/exit_code.h"

namespace tenure::cli {

// `arguments` are those after the program's name. Never throws. On a terminal `err` also shows how
// far a search has come.
[[nodiscard]] ExitCode run(const std::vector<std::string>& arguments, std::ostream& out,
                           std::ostream& err, bool err_is_terminal = false) noexcept;

}  // namespace tenure::cli
