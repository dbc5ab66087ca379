# SPDX-License-Identifier: Apache-2.0
#
# Installs a build of tenure, moves what was installed, and builds and runs tests/consumer against
# it in each of the ways that a user has:
#   cmake -D BUILD_DIR=... -D SOURCE_DIR=... -D WORK_DIR=... -D VERSION=... -D IO=ON|OFF
#     -D GENERATOR=... -D CXX=... -D CXX_FLAGS=... -D LINKER_FLAGS=... -D BUILD_TYPE=...
#     -P consumer_test.cmake

cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(code)
    message(FATAL_ERROR "failed: ${ARGV}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/staging)
file(RENAME ${WORK_DIR}/staging ${WORK_DIR}/prefix)

file(GLOB_RECURSE pc_files ${WORK_DIR}/prefix/tenure.pc)
cmake_path(GET pc_files PARENT_PATH pc_dir)
set(ENV{PKG_CONFIG_PATH} ${pc_dir})

set(ways package subdirectory)
find_program(PKG_CONFIG NAMES pkg-config pkgconf)
if(PKG_CONFIG)
  list(APPEND ways pkg-config)
else()
  message(STATUS "no pkg-config here: that way is not tried")
endif()
foreach(way IN LISTS ways)
  message(STATUS "consumer by ${way}")
  set(build ${WORK_DIR}/${way})
  run(${CMAKE_COMMAND} -S ${SOURCE_DIR}/tests/consumer -B ${build} -G ${GENERATOR}
    -D TENURE_BY=${way} -D TENURE_SOURCE_DIR=${SOURCE_DIR} -D TENURE_WITH_IO=${IO}
    -D TENURE_VERSION=${VERSION}
    -D CMAKE_PREFIX_PATH=${WORK_DIR}/prefix -D CMAKE_BUILD_TYPE=${BUILD_TYPE}
    -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_CXX_FLAGS=${CXX_FLAGS}
    -D CMAKE_EXE_LINKER_FLAGS=${LINKER_FLAGS})
  run(${CMAKE_COMMAND} --build ${build})
  run(${build}/consumer)
  run(${build}/consumer_without_exceptions)
endforeach()
