// SPDX-License-Identifier: Apache-2.0

#include "internal/bump_offsets.h"

namespace tenure {

template class BumpOffsets<SingleOwner>;

}  // namespace tenure
