// Scripts for nodes where the engine is installed.
#ifndef SHARDPLAN_LAUNCH_NODE_SCRIPTS_H_
#define SHARDPLAN_LAUNCH_NODE_SCRIPTS_H_

#include "launch/bash_script.h"
#include "launch/node_launch.h"
#include "shardplan/base/result.h"
#include "shardplan/launch/bundle.h"
#include "shardplan/launch/launch_input.h"

namespace shardplan {

// node-N.sh, one a node, and common.sh, which they read: what is the same on all of them stands
// there once. Fails as PrepareLaunch does.
Result<Bundle> MakeNodeScripts(const LaunchInput& input);

// The same of a launch that is prepared; `options` are common.sh's.
Bundle NodeScripts(const PreparedLaunch& launch, const SiteSectionOptions& options);

// The program of an engine and what to do where it is missing, for CheckFunction.
std::pair<std::string, std::string> EngineProgram(const PreparedLaunch& launch);

// The line that warns where RDMA may not lock memory; none where there is no RDMA.
std::vector<std::string> LockedMemoryLines(const PreparedLaunch& launch);

// The arguments of each node, for FactorArguments.
std::vector<std::vector<ArgumentGroup>> Arguments(const PreparedLaunch& launch);

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_NODE_SCRIPTS_H_
