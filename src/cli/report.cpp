// SPDX-License-Identifier: Apache-2.0

#include "cli/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "cli/table.h"

namespace tenure::cli {
namespace {

std::string region_name(RegionIndex region) {
  if (region == kReusableRegion) return "reusable";
  if (region == kPersistentRegion) return "persistent";
  return fmt::format("region {}", region.value);
}

std::string rows_text(const Report& report) {
  Table table({{report.row_word, Align::kRight},
               {"bytes", Align::kRight},
               {"first_step", Align::kRight},
               {"last_step", Align::kRight},
               {"region", Align::kLeft},
               {"offset_bytes", Align::kRight},
               {"name", Align::kLeft}});
  for (const ReportRow& row : report.rows) {
    table.add({row.id, fmt::to_string(row.size_bytes),
               fmt::to_string(row.live_range.first_use.value),
               fmt::to_string(row.live_range.last_use.value), region_name(row.placement.region),
               fmt::to_string(row.placement.offset_bytes), row.name});
  }
  return table.text();
}

std::string regions_text(const Report& report) {
  Table table({{"region", Align::kLeft},
               {"arena_bytes", Align::kRight},
               {"lower_bound_bytes", Align::kRight},
               {"ratio", Align::kRight},
               {"", Align::kLeft}});
  for (std::uint32_t i = 0; i < report.regions.size(); ++i) {
    const RegionPlan& region = report.regions[i];
    if (RegionIndex(i) != kReusableRegion && region.arena_bytes == 0) continue;
    const std::string ratio =
        region.lower_bound_bytes == 0
            ? "-"
            : fmt::format("{:.4f}", static_cast<double>(region.arena_bytes) /
                                        static_cast<double>(region.lower_bound_bytes));
    table.add({region_name(RegionIndex(i)), fmt::to_string(region.arena_bytes),
               fmt::to_string(region.lower_bound_bytes), ratio,
               region.is_optimal() ? "optimal" : ""});
  }
  return table.text();
}

// The rows that hold bytes of the reusable region at the step, the largest first.
std::vector<const ReportRow*> rows_live_at(const Report& report, Step step) {
  std::vector<const ReportRow*> live;
  for (const ReportRow& row : report.rows) {
    const bool is_live = row.live_range.overlaps({step, step});
    if (is_live && row.placement.region == kReusableRegion && row.size_bytes != 0) {
      live.push_back(&row);
    }
  }
  std::stable_sort(live.begin(), live.end(), [](const ReportRow* a, const ReportRow* b) {
    return a->size_bytes > b->size_bytes;
  });
  return live;
}

std::string peak_text(const Report& report) {
  const Step step = report.regions[kReusableRegion.value].peak_step;
  if (step.is_none()) return "";
  std::string text = fmt::format("\npeak at step {}", step.value);
  if (!report.peak_operator.empty()) text += ", " + report.peak_operator;
  text += "; live there:\n";
  Table table({{"bytes", Align::kRight}, {report.row_word, Align::kRight}, {"name", Align::kLeft}});
  std::unordered_map<std::uint32_t, const ReportRow*> owners;
  for (const ReportRow* row : rows_live_at(report, step)) {
    const auto [owner, is_new] = owners.emplace(row->block.value, row);
    const std::string shared =
        is_new ? "" : fmt::format(" (in the bytes of {} {})", report.row_word, owner->second->id);
    table.add({fmt::to_string(row->size_bytes), row->id, row->name + shared});
  }
  return text + table.text();
}

std::string peaks_text(const std::vector<LiveRange>& peaks) {
  constexpr std::size_t kMostShown = 12;
  std::string text = "steps whose live bytes are the lower bound:";
  for (std::size_t i = 0; i < peaks.size() && i < kMostShown; ++i) {
    const LiveRange range = peaks[i];
    text += fmt::format("{} {}", i == 0 ? "" : ",", range.first_use.value);
    if (range.first_use != range.last_use) text += fmt::format(" to {}", range.last_use.value);
  }
  if (peaks.size() > kMostShown) text += fmt::format(" and {} more", peaks.size() - kMostShown);
  return peaks.empty() ? "" : text + '\n';
}

std::string chain_text(const Report& report) {
  if (report.chain.empty()) return "";
  const RegionPlan& region = report.regions[kReusableRegion.value];
  std::string text = fmt::format(
      "\n{} bytes above the lower bound: from the top down, each block lies on the next, and both "
      "are live at the step\n",
      region.arena_bytes - region.lower_bound_bytes);
  Table table({{"offset_bytes", Align::kRight},
               {"bytes", Align::kRight},
               {report.row_word, Align::kRight},
               {"step", Align::kRight},
               {"name", Align::kLeft}});
  constexpr std::size_t kMostShown = 40;
  const std::size_t shown = std::min(report.chain.size(), kMostShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const ReportLink& link = report.chain[i];
    table.add({fmt::to_string(link.offset_bytes), fmt::to_string(link.size_bytes),
               printable(link.id), link.step.is_none() ? "" : fmt::to_string(link.step.value),
               printable(link.name)});
  }
  text += table.text();
  if (shown < report.chain.size()) {
    text += fmt::format("and {} more below, {} bytes in all\n", report.chain.size() - shown,
                        report.chain[shown - 1].offset_bytes);
  }
  return text + peaks_text(report.peaks);
}

std::string refused_text(const Report& report) {
  if (report.refused.empty()) return "";
  Table table({{"operator", Align::kLeft},
               {"result", Align::kRight},
               {"operand", Align::kRight},
               {"not in place, because", Align::kLeft}});
  for (const ReportRefusal& refused : report.refused) {
    table.add({refused.op, refused.result, refused.operand, refused.reason});
  }
  return '\n' + table.text();
}

}  // namespace

std::string text_of(const Report& report) {
  std::string text =
      fmt::format("{}\n\n{}\n{}{}{}{}", report.title, rows_text(report), regions_text(report),
                  peak_text(report), chain_text(report), refused_text(report));
  if (!report.notes.empty()) text += '\n';
  for (const std::string& note : report.notes) text += fmt::format("note: {}\n", note);
  return text;
}

}  // namespace tenure::cli
