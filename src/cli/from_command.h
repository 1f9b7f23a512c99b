// A deployment read from the command that starts it.
#ifndef SHARDPLAN_CLI_FROM_COMMAND_H_
#define SHARDPLAN_CLI_FROM_COMMAND_H_

#include <string>
#include <vector>

#include "cli/deployment_options.h"
#include "cli/option_set.h"
#include "engine/command.h"
#include "engine/flag_table.h"
#include "launch/serve_command.h"
#include "shardplan/base/config_store.h"

namespace shardplan::cli {

// The catalogue of the line: the built-in one, overridden by --configs.
Result<ConfigStore> StoreOf(const OptionSet& given);

// The option of `set` that reads a flag; nothing where none of ours does.
const OptionSet::Known* OptionOf(const OptionSet& set, const FlagRow& row);

// Adds --from-command, which fills in what the rest of the line leaves open. To be called after
// AddDeploymentOptions.
void AddFromCommand(OptionSet* options, DeploymentOptions* out);

// Reads a command such as "ENV=… vllm serve MODEL --flag …" or "python3 -m sglang.launch_server …"
// into `what`: it names the engine, and its image may name the version. Flags that one of our
// options reads are read by it, unless `given`, the options of the line, have that option: the line
// wins. The others are kept for the launch commands and for the findings of the plan
// (engine/command_findings.h). --nnodes says how many nodes there are; which cards is --gpu's.
// MODEL is the line's where it has one; else what the command serves, if that is a path.
// Fails with kUsage where a shell, the engine's parser or one of our options would refuse, where
// --engine names another engine, and where a value that matters hangs on a shell variable; with kIo
// where the file of --config is not readable.
Status ApplyCommand(const std::string& text, const ConfigStore& store, const OptionSet& given,
                    DeploymentOptions* what);

// What is worth knowing of a command beside the deployment.
struct CommandReading {
  FlagTable table;                    // of the engine that it starts
  ServeCommand serve;                 // as it was found
  ParsedCommand command;              // its flags, and those of the file of --config
  std::vector<std::string> repeated;  // flags that stand in it twice, with other values
};

// The same, telling everything at once: what is wrong goes to `problems` and is left out, and a
// MODEL that is no path stays open. Fails where there is no command to read: text that no shell
// takes, no engine's program, another engine than --engine names, a --config that is not readable.
// Null: as ApplyCommand.
Result<CommandReading> ReadCommand(const std::string& text, const ConfigStore& store,
                                   const OptionSet& given, std::vector<CommandProblem>* problems,
                                   DeploymentOptions* what);

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_FROM_COMMAND_H_
