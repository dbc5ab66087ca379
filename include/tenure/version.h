// SPDX-License-Identifier: Apache-2.0
#pragma once

// The version of tenure, and the one place where it is written: CMake reads these three lines.
//
//   static_assert(TENURE_VERSION_MAJOR == 0 && TENURE_VERSION_MINOR >= 1);

#define TENURE_VERSION_MAJOR 0
#define TENURE_VERSION_MINOR 1
#define TENURE_VERSION_PATCH 0
