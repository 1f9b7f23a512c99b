// A command that somebody runs today, as the base of a search for other layouts.
#ifndef SHARDPLAN_CLI_BASE_COMMAND_H_
#define SHARDPLAN_CLI_BASE_COMMAND_H_

#include <optional>
#include <string>
#include <vector>

#include "cli/deployment_options.h"
#include "cli/option_set.h"
#include "shardplan/plan/deployment.h"

namespace shardplan::cli {

struct BaseCommand {
  std::string text;                  // without what is free and what is secret; empty: none given
  std::vector<std::string> freed;    // "--tensor-parallel-size 8": flags of the layout in it
  std::vector<std::string> options;  // ours that it still sets, by a name without dashes
  std::optional<Deployment> today;   // the whole command as it is
};

// Adds --from-command for a search. Model, engine, window, precisions and whatever else the command
// says are taken as `plan` takes them; sizes of the layout, its partition and its offload are left
// open, unless the line has the option itself. --nnodes says how many nodes there are.
// `engines` are the line's own, unread: one at most, the command's. To be called after
// AddDeploymentOptions.
void AddBaseCommand(OptionSet* options, const std::vector<std::string>* engines,
                    DeploymentOptions* out, BaseCommand* base);

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_BASE_COMMAND_H_
