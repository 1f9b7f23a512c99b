// A command read as --from-command reads it.
#ifndef SHARDPLAN_TESTS_CLI_APPLY_COMMAND_H_
#define SHARDPLAN_TESTS_CLI_APPLY_COMMAND_H_

#include <CLI/App.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/deployment_options.h"
#include "cli/from_command.h"
#include "cli/option_set.h"
#include "shardplan/base/config_store.h"

namespace shardplan::testing_support {

struct Applied {
  cli::DeploymentOptions what;
  std::string error;
};

// A command on top of a line of words separated by blanks.
inline Applied Apply(const std::string& command, const std::string& line = "m") {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.insert(words.begin(), word);
  CLI::App app;
  cli::OptionSet set(&app);
  Applied out;
  cli::AddDeploymentOptions(&set, &out.what);
  app.parse(std::move(words));
  if (!set.status()) out.error = set.status().error().ToString();
  const Status status = cli::ApplyCommand(command, ConfigStore::BuiltIn(), set, &out.what);
  if (!status) out.error = status.error().ToString();
  return out;
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_CLI_APPLY_COMMAND_H_
