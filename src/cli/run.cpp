// SPDX-License-Identifier: Apache-2.0

#include "cli/run.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <exception>
#include <new>
#include <ostream>
#include <system_error>

#include "cli/plan_command.h"
#include "cli/table.h"
#include "tenure/align.h"
#include "tenure/version.h"

#define TENURE_TEXT_OF(number) #number
#define TENURE_VERSION_TEXT(major, minor, patch) \
  TENURE_TEXT_OF(major) "." TENURE_TEXT_OF(minor) "." TENURE_TEXT_OF(patch)

namespace tenure::cli {
namespace {

constexpr const char* kVersionText =
    "tenure " TENURE_VERSION_TEXT(TENURE_VERSION_MAJOR, TENURE_VERSION_MINOR, TENURE_VERSION_PATCH);

// CLI11 would take 064 for octal and -1 for a large number.
template <class Number>
bool parse_decimal(const std::string& text, Number* number) {
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, *number);
  return code == std::errc() && stop == end;
}

template <class Number>
CLI::Option* add_number(CLI::App* app, const std::string& name, Number* number,
                        const std::string& help) {
  const auto assign = [number](const std::vector<std::string>& values) {
    return parse_decimal(values.back(), number);
  };
  return app->add_option(name, assign, help)->type_name("N")->default_str(std::to_string(*number));
}

std::string power_of_two_error(const std::string& text) {
  std::uint64_t value = 0;
  if (parse_decimal(text, &value) && is_power_of_two(value)) return "";
  return "'" + text + "' is no power of two";
}

std::string name_error(const std::string& name) { return name.empty() ? "the name is empty" : ""; }

// Options that only a model understands.
std::vector<const CLI::Option*> add_model_options(CLI::App* plan, PlanOptions* options) {
  const CLI::Option* profile =
      plan->add_option(
              "--profile", options->profile,
              "Which operators share bytes between operand and result: none (strict), as in "
              "LiteRT (litert), as in tflite-micro (tflm)")
          ->check(CLI::IsMember({"strict", "litert", "tflm"}))
          ->capture_default_str();
  const CLI::Option* fold = plan->add_flag(
      "--fold", options->fold,
      "Make tensors that are computed from constants alone persistent; operators with state are "
      "never folded");
  const CLI::Option* scratch =
      plan->add_option("--scratch", options->scratch,
                       "Add scratch to operators of the subgraph: CSV with the columns "
                       "operator,bytes,alignment, where an operator is an index or a name")
          ->type_name("FILE")
          ->check(name_error);
  const CLI::Option* subgraph =
      add_number(plan, "--subgraph", &options->subgraph, "Which subgraph of a model is planned");
  return {profile, fold, scratch, subgraph};
}

void add_placement_options(CLI::App* plan, PlanOptions* options) {
  add_number(plan, "--alignment", &options->alignment_bytes, "Alignment of every block in bytes")
      ->check(power_of_two_error);
  plan->add_option("--order", options->order, "Which block is placed next")
      ->check(CLI::IsMember({"size", "length", "area", "first-use", "breadth", "section"}))
      ->capture_default_str();
  plan->add_option("--fit", options->fit, "The lowest gap that holds a block, or the smallest")
      ->check(CLI::IsMember({"first", "best"}))
      ->capture_default_str();
  plan->add_option("--effort", options->effort,
                   "Order and fit alone, all of them and a short search, or a long search")
      ->check(CLI::IsMember({"fast", "balanced", "best"}))
      ->capture_default_str();
  add_number(plan, "--budget", &options->search_steps, "Steps that a search may take");
  add_number(plan, "--limit", &options->limit_bytes, "Most bytes of the reusable region's arena")
      ->default_str("");
  plan->add_flag("--no-reuse", options->no_reuse, "Give every block bytes of its own");
  plan->add_flag("--explain", options->explain,
                 "Print which blocks an arena above its lower bound is made of");
}

// CLI11 would say only that a subcommand is required.
void check_subcommand(CLI::App* app, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front().empty() || arguments.front()[0] == '-') return;
  const std::string& word = arguments.front();
  const auto known = app->get_subcommands([](const CLI::App*) { return true; });
  const bool is_known = std::any_of(known.begin(), known.end(), [&](const CLI::App* subcommand) {
    return subcommand->check_name(word);
  });
  if (is_known) return;
  throw CLI::ParseError("there is no subcommand '" + printable(word) + "'",
                        CLI::ExitCodes::ExtrasError);
}

ExitCode parse_and_run(std::vector<std::string> arguments, std::ostream& out, std::ostream& err,
                       bool err_is_terminal) {
  CLI::App app("Plans the memory of neural-network inference.", "tenure");
  app.set_version_flag("--version", kVersionText);
  app.footer(kExitCodeHelp);
  app.require_subcommand(1);
  app.allow_windows_style_options(false);  // which would take /models/a.tflite for an option
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return std::string("tenure: ") + error.what() + "\nRun tenure --help for more.\n";
  });

  PlanOptions options;
  CLI::App* plan = app.add_subcommand("plan", "Plan a model or a list of live ranges");
  plan->footer(kExitCodeHelp);
  plan->add_option("FILE", options.file,
                   "A .tflite model, or CSV with the columns id,lower,upper,size")
      ->required();
  const std::vector<const CLI::Option*> model_options = add_model_options(plan, &options);
  add_placement_options(plan, &options);
  plan->add_option(
          "--csv", options.csv,
          "Write the reusable region's blocks as id,lower,upper,size,offset; - writes them "
          "to standard output, in place of the tables")
      ->type_name("OUT")
      ->check(name_error);

  try {
    check_subcommand(&app, arguments);
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    if (app.exit(error, out, err) != 0) return ExitCode::kUsage;
    out.flush();
    if (out.good()) return ExitCode::kOk;
    err << "tenure: standard output: cannot write\n";
    return ExitCode::kFileAccess;
  }
  const auto given = std::find_if(model_options.begin(), model_options.end(),
                                  [](const CLI::Option* option) { return option->count() > 0; });
  options.shows_progress = err_is_terminal;
  return run_plan(options, given == model_options.end() ? "" : (*given)->get_name(), out, err);
}

}  // namespace

ExitCode run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
             bool err_is_terminal) noexcept {
  try {
    return parse_and_run(arguments, out, err, err_is_terminal);
  } catch (const std::bad_alloc&) {
    err << "tenure: memory was refused\n";
    return ExitCode::kLimit;
  } catch (const std::exception& error) {
    err << "tenure: " << error.what() << '\n';
    return ExitCode::kUsage;
  }
}

}  // namespace tenure::cli
