// vLLM on a Ray cluster that the scripts form.
#ifndef SHARDPLAN_LAUNCH_RAY_SCRIPTS_H_
#define SHARDPLAN_LAUNCH_RAY_SCRIPTS_H_

#include <string>
#include <vector>

#include "shardplan/base/result.h"
#include "shardplan/launch/bundle.h"
#include "shardplan/launch/launch_input.h"

namespace shardplan {

// head.sh, which starts the cluster, waits for its nodes and serves; worker-N.sh, which join it;
// and common.sh. Fails as PrepareLaunch does, and with kUnsupported for SGLang, whose nodes find
// each other without Ray.
Result<Bundle> MakeRayScripts(const LaunchInput& input);

// The command of node 0 as Ray runs it for all nodes: without the flags by which processes of
// several nodes find each other, and with the executor, or the data-parallel backend where whole
// engines are on other nodes. Sources: vLLM's docs/serving/parallelism_scaling.md and
// data_parallel_deployment.md.
std::vector<std::string> RayCommand(const std::vector<std::string>& argv);

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_RAY_SCRIPTS_H_
