#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing on Debian and Ubuntu, then builds and runs the tests or the demo.
set -eu

usage() {
  cat >&2 <<'TEXT'
usage: cmake/bootstrap.sh demo          build the demo and run it
       cmake/bootstrap.sh test          build everything and run the tests
       cmake/bootstrap.sh windows       build for Windows and run the tests under wine
       cmake/bootstrap.sh packages-ci   only install what .ci/run needs
TEXT
  exit 2
}

# One need a line: a program or a file, and the package of Debian that brings it.
needs_to_build='
cmake cmake
ninja ninja-build
g++ g++
pkg-config pkg-config
flatc flatbuffers-compiler
/usr/src/googletest/CMakeLists.txt googletest
/usr/include/flatbuffers/flatbuffers.h libflatbuffers-dev
/usr/include/fmt/format.h libfmt-dev
/usr/include/CLI/CLI.hpp libcli11-dev
/usr/include/benchmark/benchmark.h libbenchmark-dev'
needs_of_ci='
git git
clang++ clang
clang-tidy clang-tidy
clang-format clang-format
/usr/lib/llvm-14/lib/clang/14.0.6/lib/linux libclang-rt-14-dev
aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
arm-linux-gnueabihf-g++ g++-arm-linux-gnueabihf
qemu-arm qemu-user'
needs_of_windows='
x86_64-w64-mingw32-g++-posix g++-mingw-w64-x86-64-posix
wine wine'

[ $# -eq 1 ] || usage
case $1 in
  demo | test) needs=$needs_to_build ;;
  windows) needs=$needs_to_build$needs_of_windows ;;
  packages-ci) needs=$needs_to_build$needs_of_ci ;;
  *) usage ;;
esac

present() {
  case $1 in
    /*) [ -e "$1" ] ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
  esac
}

missing() {
  echo "$needs" | while read -r need package; do
    [ -z "$need" ] || present "$need" || echo "$package"
  done
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

install_packages() {
  as_root apt-get update &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

packages=$(missing | tr '\n' ' ')
if [ -n "$packages" ]; then
  if command -v apt-get >/dev/null 2>&1; then
    echo "installing: $packages"
    # shellcheck disable=SC2086  # a list of words
    install_packages $packages </dev/null || {
      echo 'once more in ten seconds' >&2
      sleep 10
      install_packages $packages </dev/null
    }
  else
    echo "Not found here (names are Debian's packages): $packages" >&2
    for tool in cmake ninja c++; do
      present "$tool" || {
        echo "Cannot go on without $tool: please install it and try again." >&2
        exit 1
      }
    done
  fi
fi

cmake --version | awk 'NR == 1 { split($3, v, "."); exit !(v[1] > 3 || (v[1] == 3 && v[2] >= 25)) }' || {
  echo "CMake 3.25 or newer is needed; this is $(cmake --version | head -n 1)" >&2
  exit 1
}

cd "$(dirname "$0")/.."
[ "$1" = packages-ci ] || exec cmake --workflow --preset "$1"
