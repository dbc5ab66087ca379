// SPDX-License-Identifier: Apache-2.0

#include "cli/plan_command.h"

#include <fmt/format.h>

#include <optional>
#include <ostream>
#include <string_view>
#include <utility>

#include "cli/progress_bar.h"
#include "cli/table.h"
#include "io/file.h"
#include "tenure/io/scratch.h"

namespace tenure::cli {
namespace {

// Why a file has no plan, as far as the options are to blame; else the Error says it.
struct Failure {
  ExitCode code = ExitCode::kInvalidFile;
  std::string message;
};

Failure failure_of(const io::Error& error) { return {exit_code_of(error), error.message}; }

io::TfliteProfile profile_of(std::string_view name) {
  if (name == "strict") return io::TfliteProfile::kStrict;
  return name == "tflm" ? io::TfliteProfile::kTflm : io::TfliteProfile::kLitert;
}

// A list of scratch is for a subgraph that exists, so it is added in a second reading.
std::optional<Failure> read_model(const io::TfliteSource& source, const PlanOptions& options,
                                  io::TfliteModel* model) {
  io::TfliteOptions reading;
  reading.set_profile(profile_of(options.profile)).set_fold(options.fold);
  auto result = io::parse_tflite(source, reading);
  if (!result.ok()) return failure_of(result.error());
  const std::size_t count = result->subgraphs.size();
  if (options.subgraph >= count) {
    return Failure{ExitCode::kUsage,
                   fmt::format("{}: there is no subgraph {}; the model has {}, counted from 0",
                               options.file, options.subgraph, count)};
  }
  if (!options.scratch.empty()) {
    const auto list = io::read_scratch_csv(options.scratch);
    if (!list.ok()) return failure_of(list.error());
    result = io::parse_tflite(source, reading.set_scratch(*list, options.subgraph));
    if (!result.ok()) return failure_of(result.error());
  }
  *model = std::move(*result);
  return std::nullopt;
}

std::optional<Failure> plan_model_file(const io::FileBytes& file, const PlanOptions& options,
                                       PlannedFile* planned) {
  io::TfliteModel model;
  const io::TfliteSource source{file.bytes, options.file, file.file_size_bytes};
  if (std::optional<Failure> failure = read_model(source, options, &model)) return failure;
  const auto result = plan_subgraph(model.subgraphs[options.subgraph], options);
  if (!result.ok()) {
    const std::string culprit = fmt::format("{}: subgraph {}", options.file, options.subgraph);
    return failure_of(io::prefixed(culprit, result.error()));
  }
  *planned = *result;
  return std::nullopt;
}

std::optional<Failure> plan_csv_file(const io::FileBytes& file, const PlanOptions& options,
                                     const std::string& model_option, PlannedFile* planned) {
  if (!model_option.empty()) {
    return Failure{ExitCode::kUsage, fmt::format("{}: {} is for models, and this is none",
                                                 options.file, model_option)};
  }
  if (file.file_size_bytes > file.bytes.size()) {
    return Failure{ExitCode::kLimit, options.file + ": the file is too large"};
  }
  const std::string_view text(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
  const auto csv = io::parse_csv(text, options.file,
                                 io::CsvOptions().set_alignment_bytes(options.alignment_bytes));
  if (!csv.ok()) return failure_of(csv.error());
  const auto result = plan_csv(*csv, options);
  if (!result.ok()) return failure_of(io::prefixed(options.file, result.error()));
  *planned = *result;
  return std::nullopt;
}

// By content; the name decides only about what could be neither.
bool is_model(const io::FileBytes& file, std::string_view name) {
  constexpr std::string_view kExtension = ".tflite";
  const bool has_extension = name.size() >= kExtension.size() &&
                             name.substr(name.size() - kExtension.size()) == kExtension;
  return has_extension || io::is_tflite(file.bytes);
}

std::optional<Failure> plan_file(const PlanOptions& options, const std::string& model_option,
                                 PlannedFile* planned) {
  const auto file = io::read_file(options.file, io::kModelBytesLimit);
  if (!file.ok()) return failure_of(file.error());
  if (is_model(*file, options.file)) return plan_model_file(*file, options, planned);
  return plan_csv_file(*file, options, model_option, planned);
}

std::optional<Failure> write(const PlannedFile& planned, const PlanOptions& options,
                             std::ostream& out) {
  const bool csv_to_out = options.csv == "-";
  if (!options.csv.empty() && !csv_to_out) {
    const io::MaybeError error = io::write_file(options.csv, io::csv_text(planned.rows));
    if (error) return failure_of(*error);
  }
  out << (csv_to_out ? io::csv_text(planned.rows) : text_of(planned.report));
  out.flush();
  if (out.good()) return std::nullopt;
  return Failure{ExitCode::kFileAccess, "standard output: cannot write"};
}

}  // namespace

ExitCode run_plan(const PlanOptions& options, const std::string& model_option, std::ostream& out,
                  std::ostream& err) {
  PlannedFile planned;
  std::optional<Failure> failure;
  {
    ProgressBar bar(err);
    PlanOptions shown = options;
    if (options.shows_progress) shown.progress = bar.progress();
    failure = plan_file(shown, model_option, &planned);
  }
  if (!failure) failure = write(planned, options, out);
  if (!failure) return ExitCode::kOk;
  err << "tenure: " << printable(failure->message) << '\n';
  return failure->code;
}

}  // namespace tenure::cli
