// shardplan launch commands: one script a node.
#include "cli/command.h"
#include "cli/launch_target.h"
#include "launch/node_scripts.h"

namespace shardplan::cli {

Command AddLaunchCommands(CLI::App* group) {
  LaunchTarget target;
  target.name = "commands";
  target.description =
      "One script a node, for nodes where the engine is installed\n\n"
      "Examples:\n"
      "  shardplan launch commands /models/Kimi-K3 --gpu h20-141 --tp 8 --pp 2 -o deploy/";
  target.make = [](const LaunchInput& input) { return MakeNodeScripts(input); };
  return AddLaunchTarget(group, std::move(target));
}

}  // namespace shardplan::cli
