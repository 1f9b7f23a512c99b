#include "cli/usage.h"

#include <CLI/App.hpp>
#include <algorithm>

#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"

namespace shardplan::cli {
namespace {

// "launch kubernetes ", behind the program's name.
std::string PathOf(const CLI::App& app) {
  std::string path;
  for (const CLI::App* at = &app; at->get_parent() != nullptr; at = at->get_parent()) {
    path.insert(0, at->get_name() + " ");
  }
  return path;
}

std::string Hint(const CLI::App& app, std::string_view word,
                 const std::vector<std::string>& known) {
  const std::vector<std::string> close = CloseNames(word, known);
  if (!close.empty()) return "did you mean " + JoinWithOr(close) + "?";
  return "see shardplan " + PathOf(app) + "--help";
}

std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

}  // namespace

Status CheckArguments(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    if (!argument.starts_with("--") || !argument.ends_with('=')) continue;
    if (argument.find('=') + 1 != argument.size()) continue;
    return Fail(ErrorCode::kUsage, Printable(argument), "expected a value, found nothing");
  }
  return {};
}

Status CheckExtras(const CLI::App& app) {
  std::vector<std::string> extras = app.remaining();
  const bool only_words = std::erase(extras, "--") > 0;  // after "--" nothing is an option
  if (extras.empty()) return {};
  // An unknown option leaves its value behind as well: the option is what to tell.
  const auto option = std::find_if(extras.begin(), extras.end(), [](const std::string& word) {
    return word.size() > 1 && word[0] == '-';
  });
  if (option != extras.end() && !only_words) {
    const std::string name = option->substr(0, option->find('='));
    return Fail(ErrorCode::kUsage, Printable(name), "unknown option",
                Hint(app, name, OptionNames(app)));
  }
  const std::vector<std::string> commands = CommandNames(app);
  if (!commands.empty()) {
    return Fail(ErrorCode::kUsage, Printable(extras[0]), "unknown command",
                Hint(app, extras[0], commands));
  }
  return Fail(ErrorCode::kUsage, Printable(extras[0]), "unexpected argument",
              Hint(app, extras[0], {}));
}

Error MissingCommand(const CLI::App& group) {
  return {ErrorCode::kUsage, "shardplan " + group.get_name(),
          "expected " + JoinWithOr(CommandNames(group)) + ", found none",
          "see shardplan " + PathOf(group) + "--help"};
}

Error UsageError(std::string_view message) {
  // "--gpu: 1 required ID missing"
  const size_t colon = message.find(": ");
  if (colon != std::string_view::npos && message.find(" required ", colon) != message.npos &&
      message.ends_with(" missing")) {
    return {ErrorCode::kUsage, Printable(message.substr(0, colon)),
            "expected a value, found nothing", ""};
  }
  // "Could not convert: --enforce-eager = maybe"
  constexpr std::string_view kConvert = "Could not convert: ";
  if (message.starts_with(kConvert)) {
    return {ErrorCode::kUsage, Printable(message.substr(kConvert.size())),
            "expected a flag without a value, or true or false", ""};
  }
  return {ErrorCode::kUsage, "command line", Printable(message, 1000), "see shardplan --help"};
}

}  // namespace shardplan::cli
