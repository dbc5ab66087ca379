// SPDX-License-Identifier: Apache-2.0

#if defined(_WIN32)
#include <fcntl.h>
#include <io.h>
#include <windows.h>
#else
#include <unistd.h>
#endif

#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "cli/run.h"

namespace {

int run(const std::vector<std::string>& after_name, bool err_is_terminal) {
  return static_cast<int>(tenure::cli::run(after_name, std::cout, std::cerr, err_is_terminal));
}

#if defined(_WIN32)

std::string utf8_of(const wchar_t* text) {
  const int size = WideCharToMultiByte(CP_UTF8, 0, text, -1, nullptr, 0, nullptr, nullptr);
  std::string bytes(static_cast<std::size_t>(size), '\0');
  WideCharToMultiByte(CP_UTF8, 0, text, -1, bytes.data(), size, nullptr, nullptr);
  bytes.pop_back();  // the zero at the end
  return bytes;
}

// Whether a console is there and follows what a progress bar writes.
bool err_follows_escapes() {
  HANDLE console = GetStdHandle(STD_ERROR_HANDLE);
  DWORD mode = 0;
  return GetConsoleMode(console, &mode) != 0 &&
         SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0;
}

#endif

}  // namespace

#if defined(_WIN32)

// Wide, because other names depend on the code page and cannot name every file.
int wmain(int argument_count, wchar_t** arguments) {
  std::vector<std::string> after_name;
  for (int i = 1; i < argument_count; ++i) after_name.push_back(utf8_of(arguments[i]));
  for (std::FILE* file : {stdout, stderr}) {
    _setmode(_fileno(file), _O_BINARY);           // the same bytes everywhere
    std::setvbuf(file, nullptr, _IOFBF, BUFSIZ);  // a console wants whole characters
  }
  const UINT code_page = GetConsoleOutputCP();
  SetConsoleOutputCP(CP_UTF8);
  const int exit_code = run(after_name, err_follows_escapes());
  SetConsoleOutputCP(code_page);
  return exit_code;
}

#else

int main(int argument_count, char** arguments) {
  const std::vector<std::string> after_name(arguments + (argument_count > 0 ? 1 : 0),
                                            arguments + argument_count);
  return run(after_name, isatty(2) != 0);
}

#endif
