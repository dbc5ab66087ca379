// SPDX-License-Identifier: Apache-2.0

#include "cli/plan_command.h"

#include <fmt/format.h>

#include <optional>
#include <ostream>
#include <string_view>

#include "cli/table.h"
#include "io/file.h"

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

io::TfliteOptions reading_of(const PlanOptions& options) {
  return io::TfliteOptions().set_profile(profile_of(options.profile)).set_fold(options.fold);
}

std::optional<Failure> plan_model_file(const io::FileBytes& file, const PlanOptions& options,
                                       PlannedFile* planned) {
  const auto model =
      io::parse_tflite({file.bytes, options.file, file.file_size_bytes}, reading_of(options));
  if (!model.ok()) return failure_of(model.error());
  const std::size_t count = model->subgraphs.size();
  if (options.subgraph >= count) {
    return Failure{ExitCode::kUsage,
                   fmt::format("{}: there is no subgraph {}; the model has {}, counted from 0",
                               options.file, options.subgraph, count)};
  }
  const auto result = plan_subgraph(model->subgraphs[options.subgraph], options);
  if (!result.ok()) {
    const std::string culprit = fmt::format("{}: subgraph {}", options.file, options.subgraph);
    return failure_of(io::prefixed(culprit, result.error()));
  }
  *planned = *result;
  return std::nullopt;
}

// The first of the options that only a model understands; empty when none was given.
std::string_view name_of(ModelOptionsGiven given) {
  if (given.profile) return "profile";
  if (given.subgraph) return "subgraph";
  return given.fold ? "fold" : "";
}

std::optional<Failure> plan_csv_file(const io::FileBytes& file, const PlanOptions& options,
                                     ModelOptionsGiven given, PlannedFile* planned) {
  if (const std::string_view name = name_of(given); !name.empty()) {
    return Failure{ExitCode::kUsage,
                   fmt::format("{}: --{} is for models, and this is none", options.file, name)};
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

std::optional<Failure> plan_file(const PlanOptions& options, ModelOptionsGiven given,
                                 PlannedFile* planned) {
  const auto file = io::read_file(options.file, io::kModelBytesLimit);
  if (!file.ok()) return failure_of(file.error());
  if (is_model(*file, options.file)) return plan_model_file(*file, options, planned);
  return plan_csv_file(*file, options, given, planned);
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

ExitCode run_plan(const PlanOptions& options, ModelOptionsGiven given, std::ostream& out,
                  std::ostream& err) {
  PlannedFile planned;
  std::optional<Failure> failure = plan_file(options, given, &planned);
  if (!failure) failure = write(planned, options, out);
  if (!failure) return ExitCode::kOk;
  err << "tenure: " << printable(failure->message) << '\n';
  return failure->code;
}

}  // namespace tenure::cli
