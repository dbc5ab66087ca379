# SPDX-License-Identifier: Apache-2.0
#
# What the cross compilers of Debian have in common.

# Static programs run under qemu without a root file system, and on any board that they are copied to.
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
