# SPDX-License-Identifier: Apache-2.0
#
# cmake -D HEADER=tenure/x.h -D INCLUDE_DIR=... -D CXX=... -D WORK_DIR=... -P check_headers.cmake
#   compiles a public header by itself, includes it twice, and measures what it pulls in (but for
#   bridges, which may include what the other side wants);
# cmake -D SOURCE_DIR=... -D HEADERS=... -D SOURCES=... -P check_headers.cmake
#   measures the length of the core's files, and finds those that the build does not name.

cmake_minimum_required(VERSION 3.25)

set(max_included_lines 6000)
set(max_header_lines 200)
set(max_source_lines 400)
set(heavy_includes algorithm chrono condition_variable deque fstream functional future iomanip
  iostream istream list locale map memory mutex ostream queue random regex set shared_mutex sstream
  stdexcept streambuf string thread unordered_map unordered_set variant vector)

# The number of lines of a text, read by bytes: a text may hold the ; and [ of CMake's lists.
function(count_lines text result)
  string(REGEX REPLACE "[^\n]" "" newlines "${text}")
  string(LENGTH "${newlines}" count)
  set(${result} ${count} PARENT_SCOPE)
endfunction()

set(failures "")

if(HEADER)
  string(MAKE_C_IDENTIFIER "${HEADER}" name)
  set(twice ${WORK_DIR}/${name}_twice.cpp)
  set(once ${WORK_DIR}/${name}_once.cpp)
  file(WRITE ${twice} "#include <${HEADER}>\n#include <${HEADER}>\n")
  file(WRITE ${once} "#include <${HEADER}>\n")
  # Not -isystem, so that the warnings are not lost.
  set(compile ${CXX} -std=c++17 -I ${INCLUDE_DIR})
  set(warnings -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast
    -Werror)
  foreach(flags "-fexceptions;-frtti" "-fno-exceptions;-fno-rtti")
    execute_process(COMMAND ${compile} ${warnings} ${flags} -fsyntax-only ${twice}
      RESULT_VARIABLE code ERROR_VARIABLE errors)
    if(code)
      string(APPEND failures "${HEADER} does not compile alone with ${flags}:\n${errors}\n")
    endif()
  endforeach()

  if(HEADER MATCHES "/bridge/")
    set(heavy_includes "")
    set(max_included_lines 1000000)
  endif()
  execute_process(COMMAND ${compile} -E -P ${once}
    RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE errors)
  count_lines("${text}" included)
  message(STATUS "${HEADER}: ${included} lines with all that it includes")
  if(code)
    string(APPEND failures "${HEADER}: ${errors}\n")
  elseif(included GREATER max_included_lines)
    string(APPEND failures "${HEADER} includes ${included} lines, over ${max_included_lines}\n")
  endif()

  file(READ ${INCLUDE_DIR}/${HEADER} text)
  foreach(heavy IN LISTS heavy_includes)
    if(text MATCHES "#[ \t]*include[ \t]*<${heavy}>")
      string(APPEND failures "${HEADER} includes <${heavy}>\n")
    endif()
  endforeach()
else()
  foreach(kind "HEADERS;include/tenure/*.h;${max_header_lines}"
      "SOURCES;src/*.cpp;${max_source_lines}")
    list(GET kind 0 listed)
    list(GET kind 1 pattern)
    list(GET kind 2 limit)
    file(GLOB present RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/${pattern})
    foreach(file IN LISTS present)
      if(NOT file IN_LIST ${listed})
        string(APPEND failures "${file} is not named in CMakeLists.txt\n")
      endif()
      file(READ ${SOURCE_DIR}/${file} text)
      count_lines("${text}" lines)
      if(lines GREATER limit)
        string(APPEND failures "${file} has ${lines} lines, over ${limit}\n")
      endif()
    endforeach()
  endforeach()
endif()

if(failures)
  message(FATAL_ERROR "${failures}")
endif()
