// What the commands of `shardplan launch` have in common.
#ifndef SHARDPLAN_CLI_LAUNCH_TARGET_H_
#define SHARDPLAN_CLI_LAUNCH_TARGET_H_

#include <functional>
#include <string>

#include "cli/command.h"
#include "cli/deployment_options.h"
#include "cli/output_options.h"
#include "shardplan/base/result.h"
#include "shardplan/launch/bundle.h"
#include "shardplan/launch/launch_input.h"

namespace shardplan::cli {

// One target: its name, its help, its options beyond those of all, and what makes its files.
struct LaunchTarget {
  std::string name;         // "kubernetes"
  std::string description;  // first line: what it writes; then examples
  std::function<void(OptionSet*)> add_options;
  std::function<Result<Bundle>(const LaunchInput&)> make;
  std::function<std::string()> image = {};  // that its options name; none: it runs none
  bool finds_master = false;     // node 0's address is known when it runs, whatever a command says
  bool needs_fit = true;         // refuses a plan that does not fit, unless --force
  bool needs_directory = false;  // -o has to be given: too much to print
};

// Adds the target to the group. The command plans the deployment, refuses what does not fit (exit
// code 1, the verdict on standard error; --force writes it all the same), makes the files, adds
// plan.json and README.md, and prints them or, with -o DIR, writes them into a new directory.
Command AddLaunchTarget(CLI::App* group, LaunchTarget target);

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_LAUNCH_TARGET_H_
