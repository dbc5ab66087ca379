// SPDX-License-Identifier: Apache-2.0
#pragma once

// Draws an arena as a time x offset grid: a column for each step, from left to right, a row for
// each equal part of the arena, offset 0 at the bottom. A letter is a block, a dot is nothing.
//
//   offset
//     2048 |..bb       Block a lies in the lower half at steps 0 to 2, block b in the upper half at
//     steps 1024 |aaa.       2 and 3.

#include "common/plan_report.h"

namespace example {

void print_memory_picture(const PlannedGraph& planned);

}  // namespace example
