#include "cli/help.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "report/text.h"

namespace shardplan::cli {
namespace {

constexpr size_t kWidth = 100;
constexpr size_t kColumn = 38;  // where descriptions begin

// "  --tp, --tensor-parallel-size N    Tensor parallel size".
std::string Entry(const std::string& names, const std::string& help) {
  std::string out = "  " + names;
  std::string text = Wrap(help, kWidth, kColumn, kColumn);
  if (text.empty()) return out + "\n";
  if (DisplayWidth(out) + 2 <= kColumn) return PadRight(out, kColumn) + text.substr(kColumn);
  return out + "\n" + text;
}

std::string NamesOf(const CLI::Option* option) {
  std::string names;
  for (const std::string& name : option->get_snames())
    names += (names.empty() ? "-" : ", -") + name;
  for (const std::string& name : option->get_lnames()) {
    names += (names.empty() ? "--" : ", --") + name;
  }
  if (option->get_items_expected_max() > 0) names += " " + option->get_type_name();
  return names;
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode /*mode*/) const {
  const std::vector<const CLI::App*> commands =
      app->get_subcommands([](const CLI::App*) { return true; });
  const std::vector<const CLI::Option*> words =
      app->get_options([](const CLI::Option* option) { return option->get_positional(); });
  std::string out = app->get_description() + "\n\nUsage: " + name;
  if (!commands.empty()) out += " COMMAND";
  for (const CLI::Option* word : words) out += " " + word->get_name(true);
  out += " [options]\n";
  if (!commands.empty()) out += "\nCommands:\n";
  for (const CLI::App* command : commands) {
    const std::string& text = command->get_description();
    out += Entry(command->get_name(), text.substr(0, text.find('\n')));
  }
  if (!words.empty()) out += "\n";
  for (const CLI::Option* word : words) {
    out += Entry(word->get_name(true), word->get_description());
  }
  // "Options" is CLI11's own group, with help and version: it comes last.
  std::vector<std::string> groups = app->get_groups();
  std::stable_partition(groups.begin(), groups.end(),
                        [](const std::string& group) { return group != "Options"; });
  for (const std::string& group : groups) {
    std::string entries;
    for (const CLI::Option* option : app->get_options([&](const CLI::Option* candidate) {
           return candidate->nonpositional() && candidate->get_group() == group;
         })) {
      entries += Entry(NamesOf(option), option->get_description());
    }
    if (!entries.empty()) out.append("\n").append(group).append(":\n").append(entries);
  }
  if (!app->get_footer().empty()) out += "\n" + app->get_footer() + "\n";
  return out;
}

}  // namespace shardplan::cli
