// SPDX-License-Identifier: Apache-2.0
#include <tenure/version.h>

int main() { return TENURE_VERSION_MAJOR >= 0 ? 0 : 1; }
