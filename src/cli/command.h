// What all commands have in common.
#ifndef SHARDPLAN_CLI_COMMAND_H_
#define SHARDPLAN_CLI_COMMAND_H_

#include <functional>
#include <memory>
#include <string>

#include "cli/exit_code.h"
#include "cli/option_set.h"
#include "shardplan/base/result.h"

namespace CLI {
class App;
}  // namespace CLI

namespace shardplan::cli {

// A finished answer: the text for standard output or for `file`, and the code to exit with.
struct Answer {
  std::string text;
  ExitCode code = kExitYes;
  std::string file;  // empty or "-": standard output
};

// A command is made of options (declared when it is added, read when the line is parsed) and a
// function from them to an answer. Nothing is printed on the way.
struct Command {
  CLI::App* app = nullptr;
  std::shared_ptr<OptionSet> options;
  std::function<Result<Answer>()> run;
};

// A command or a group of commands below `parent`: purpose and examples in `description`, exit
// codes in `footer`.
CLI::App* AddSubcommand(CLI::App* parent, const std::string& name, const std::string& description,
                        const std::string& footer = "");

// One each in cmd_<name>.cc; they add themselves to `parent`.
Command AddPlanCommand(CLI::App* parent);
Command AddCompareCommand(CLI::App* parent);
Command AddSearchCommand(CLI::App* parent);
Command AddInspectCommand(CLI::App* parent);
Command AddExplainCommand(CLI::App* parent);
Command AddStandinCommand(CLI::App* parent);
Command AddCatalogCommand(CLI::App* parent);

// Commands of a group, "shardplan launch kubernetes …": one each in launch_<name>.cc and
// check_<name>.cc.
CLI::App* AddLaunchGroup(CLI::App* parent);
Command AddLaunchCommands(CLI::App* group);
Command AddLaunchRay(CLI::App* group);
Command AddLaunchDocker(CLI::App* group);
Command AddLaunchCompose(CLI::App* group);
Command AddLaunchSlurm(CLI::App* group);
Command AddLaunchKubernetes(CLI::App* group);
Command AddLaunchStageIndex(CLI::App* group);
Command AddLaunchFiles(CLI::App* group);
CLI::App* AddCheckGroup(CLI::App* parent);
Command AddCheckModel(CLI::App* group);
Command AddCheckCommand(CLI::App* group);

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_COMMAND_H_
