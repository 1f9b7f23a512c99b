#include "cli/app.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/terminal.h"
#include "cli/usage.h"
#include "shardplan/base/file.h"

namespace shardplan::cli {
namespace {

int Refuse(const Error& error) {
  PrintError(error.ToString());
  return ExitCodeOf(error.code);
}

int Print(std::string_view text) {
  const Status status = WriteStdout(text);
  return status ? kExitYes : Refuse(status.error());
}

int Finish(const Result<Answer>& answer) {
  if (!answer) return Refuse(answer.error());
  const bool to_stdout = answer->file.empty() || answer->file == "-";
  const Status status =
      to_stdout ? WriteStdout(answer->text) : WriteFileAtomically(answer->file, answer->text);
  if (status) return answer->code;
  PrintError(status.error().ToString());
  return kExitIo;
}

}  // namespace

int RunApp(int argc, const char* const* argv) {
  PrepareStreams();
  CLI::App app(
      "shardplan: does this sharded model fit on these cards, and what do I launch?\n\n"
      "Examples:\n"
      "  shardplan plan /models/Kimi-K3 --gpu h20-96 --tp 8 --pp 2 --cpu-offload-gb 32\n"
      "  shardplan standin Kimi-K3/config.json /tmp/k3",
      "shardplan");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.set_version_flag("--version", std::string("shardplan ") + SHARDPLAN_VERSION,
                       "Print the version and exit");
  app.require_subcommand(0, 1);
  app.allow_extras();
  app.footer("`shardplan COMMAND --help` tells more.");
  std::vector<Command> commands = {AddPlanCommand(&app),    AddCompareCommand(&app),
                                   AddSearchCommand(&app),  AddInspectCommand(&app),
                                   AddExplainCommand(&app), AddStandinCommand(&app)};
  std::vector<CLI::App*> groups;
  groups.push_back(AddLaunchGroup(&app));
  commands.push_back(AddLaunchCommands(groups.back()));
  commands.push_back(AddLaunchRay(groups.back()));
  commands.push_back(AddLaunchDocker(groups.back()));
  commands.push_back(AddLaunchCompose(groups.back()));
  commands.push_back(AddLaunchSlurm(groups.back()));
  commands.push_back(AddLaunchKubernetes(groups.back()));
  commands.push_back(AddLaunchStageIndex(groups.back()));
  commands.push_back(AddLaunchFiles(groups.back()));
  groups.push_back(AddCheckGroup(&app));
  commands.push_back(AddCheckModel(groups.back()));
  commands.push_back(AddCheckCommand(groups.back()));
  commands.push_back(AddCatalogCommand(&app));
  for (CLI::App* group : groups) {
    group->allow_extras();
    group->require_subcommand(0, 1);
  }
  for (const Command& command : commands) {
    command.app->allow_extras();
    command.options->SetLine({argv + 1, argv + argc});
  }

  if (const Status status = CheckArguments({argv + 1, argv + argc}); !status) {
    return Refuse(status.error());
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return Print(app.help());
  } catch (const CLI::CallForVersion& version) {
    return Print(std::string(version.what()) + "\n");
  } catch (const CLI::ParseError& error) {
    return Refuse(UsageError(error.what()));
  }
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    // An option that took the next one for its value explains the words that are left over.
    if (const Status& status = command.options->status(); !status) return Refuse(status.error());
    if (const Status status = CheckExtras(*command.app); !status) return Refuse(status.error());
    if (const Status status = command.options->Finish(); !status) return Refuse(status.error());
    return Finish(command.run());
  }
  for (const CLI::App* group : groups) {
    if (!group->parsed()) continue;
    if (const Status status = CheckExtras(*group); !status) return Refuse(status.error());
    return Refuse(MissingCommand(*group));
  }
  if (const Status status = CheckExtras(app); !status) return Refuse(status.error());
  PrintNote(app.help());
  return kExitUsage;
}

}  // namespace shardplan::cli
