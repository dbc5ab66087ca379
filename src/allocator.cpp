// SPDX-License-Identifier: Apache-2.0

#include "tenure/allocator.h"

#include "internal/text_writer.h"

namespace tenure {

void report_live_blocks(const char* tag, const AllocatorStatistics& statistics,
                        TextSink sink) noexcept {
  if (statistics.live_blocks == 0) return;
  TextWriter(sink)
      .text(tag)
      .text(": destroyed with ")
      .number(statistics.live_blocks)
      .text(statistics.live_blocks == 1 ? " block live, " : " blocks live, ")
      .number(statistics.in_use_bytes)
      .text(" bytes\n");
}

}  // namespace tenure
