# SPDX-License-Identifier: Apache-2.0
#
# Finds what tenure::io, the program and the benchmarks need:
#   tenure_io_missing           list of what is not there; empty when tenure::io can be built
#   tenure_third_party_include  the one folder in which FlatBuffers, fmt and CLI11 are looked up
#   tenure_benchmark_found      whether Google Benchmark is there for the target
#
# The libraries of tenure::io are headers only, so that the host's serve every target. A cross
# compiler must not see the rest of /usr/include, hence a folder of links; native builds take the
# same way.

set(tenure_io_missing "")
set(tenure_third_party_include ${CMAKE_CURRENT_BINARY_DIR}/third_party_include)
file(MAKE_DIRECTORY ${tenure_third_party_include})

function(tenure_find_headers folder header debian_package)
  find_path(TENURE_${folder}_INCLUDE_DIR ${folder}/${header} NO_CMAKE_FIND_ROOT_PATH
    DOC "Folder that contains ${folder}/${header}")
  mark_as_advanced(TENURE_${folder}_INCLUDE_DIR)
  if(TENURE_${folder}_INCLUDE_DIR)
    file(CREATE_LINK ${TENURE_${folder}_INCLUDE_DIR}/${folder}
      ${tenure_third_party_include}/${folder} SYMBOLIC)
  else()
    list(APPEND tenure_io_missing "${folder}/${header} (Debian: ${debian_package})")
    set(tenure_io_missing "${tenure_io_missing}" PARENT_SCOPE)
  endif()
endfunction()

tenure_find_headers(flatbuffers flatbuffers.h libflatbuffers-dev)
tenure_find_headers(fmt format.h libfmt-dev)
tenure_find_headers(CLI CLI.hpp libcli11-dev)
find_program(TENURE_FLATC flatc NO_CMAKE_FIND_ROOT_PATH DOC "Compiler of FlatBuffers schemas")
mark_as_advanced(TENURE_FLATC)
if(NOT TENURE_FLATC)
  list(APPEND tenure_io_missing "flatc (Debian: flatbuffers-compiler)")
endif()

set(tenure_benchmark_found OFF)
if((PROJECT_IS_TOP_LEVEL OR TENURE_BUILD_BENCH) AND NOT CMAKE_CROSSCOMPILING)
  find_package(benchmark QUIET)
  set(tenure_benchmark_found ${benchmark_FOUND})
endif()
