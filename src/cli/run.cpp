// SPDX-License-Identifier: Apache-2.0

#include "cli/run.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <exception>
#include <new>
#include <ostream>
#include <set>
#include <system_error>
#include <utility>

#include "cli/plan_command.h"
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

template <class Choice>
using Choices = std::vector<std::pair<std::string, Choice>>;

const Choices<PlacementOrder> kOrders = {
    {"size", PlacementOrder::kSize},       {"length", PlacementOrder::kLength},
    {"area", PlacementOrder::kArea},       {"first-use", PlacementOrder::kFirstUse},
    {"breadth", PlacementOrder::kBreadth}, {"section", PlacementOrder::kSection}};
const Choices<Fit> kFits = {{"first", Fit::kFirst}, {"best", Fit::kBest}};

template <class Choice>
CLI::Option* add_choice(CLI::App* app, const std::string& name, Choice* choice,
                        const Choices<Choice>& choices, const std::string& help) {
  std::set<std::string> words;
  for (const auto& [word, value] : choices) words.insert(word);
  const auto assign = [choice, choices](const std::vector<std::string>& values) {
    for (const auto& [word, value] : choices) {
      if (word == values.back()) *choice = value;
    }
    return true;
  };
  return app->add_option(name, assign, help)->check(CLI::IsMember(words));
}

std::string power_of_two_error(const std::string& text) {
  std::uint64_t value = 0;
  if (parse_decimal(text, &value) && is_power_of_two(value)) return "";
  return "'" + text + "' is no power of two";
}

ExitCode parse_and_run(std::vector<std::string> arguments, std::ostream& out, std::ostream& err) {
  CLI::App app("Plans the memory of neural-network inference.", "tenure");
  app.set_version_flag("--version", kVersionText);
  app.footer(kExitCodeHelp);
  app.require_subcommand(1);
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return std::string("tenure: ") + error.what() + "\nRun tenure --help for more.\n";
  });

  PlanOptions options;
  CLI::App* plan = app.add_subcommand("plan", "Plan a model or a list of live ranges");
  plan->footer(kExitCodeHelp);
  plan->add_option("FILE", options.file,
                   "A .tflite model, or CSV with the columns id,lower,upper,size")
      ->required();
  add_number(plan, "--alignment", &options.alignment_bytes, "Alignment of every block in bytes")
      ->check(power_of_two_error);
  const CLI::Option* profile =
      plan->add_option(
              "--profile", options.profile,
              "Which operators share bytes between operand and result: none (strict), as in "
              "LiteRT (litert), as in tflite-micro (tflm)")
          ->check(CLI::IsMember({"strict", "litert", "tflm"}))
          ->capture_default_str();
  add_choice(plan, "--order", &options.order, kOrders, "Which block is placed next")
      ->default_str("size");
  add_choice(plan, "--fit", &options.fit, kFits,
             "The lowest gap that holds a block, or the smallest")
      ->default_str("first");
  bool no_reuse = false;
  plan->add_flag("--no-reuse", no_reuse, "Give every block bytes of its own");
  const CLI::Option* subgraph =
      add_number(plan, "--subgraph", &options.subgraph, "Which subgraph of a model is planned");
  plan->add_option(
          "--csv", options.csv,
          "Write the reusable region's blocks as id,lower,upper,size,offset; - writes them "
          "to standard output, in place of the tables")
      ->type_name("OUT");

  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return app.exit(error, out, err) == 0 ? ExitCode::kOk : ExitCode::kUsage;
  }
  options.reuse = !no_reuse;
  return run_plan(options, {profile->count() > 0, subgraph->count() > 0}, out, err);
}

}  // namespace

ExitCode run(const std::vector<std::string>& arguments, std::ostream& out,
             std::ostream& err) noexcept {
  try {
    return parse_and_run(arguments, out, err);
  } catch (const std::bad_alloc&) {
    err << "tenure: memory was refused\n";
    return ExitCode::kLimit;
  } catch (const std::exception& error) {
    err << "tenure: " << error.what() << '\n';
    return ExitCode::kUsage;
  }
}

}  // namespace tenure::cli
