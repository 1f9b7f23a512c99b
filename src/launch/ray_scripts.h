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
// each other without Ray, and for replicas over several nodes where vLLM cannot place them yet.
Result<Bundle> MakeRayScripts(const LaunchInput& input);

// The command of node 0 as Ray runs it for all nodes: without the flags by which processes of
// several nodes find each other, and with the executor, or the data-parallel backend where whole
// engines are on other nodes. Sources: vLLM's docs/serving/parallelism_scaling.md and
// data_parallel_deployment.md. With `spans` a replica takes several nodes: the backend places it
// too, and counts for itself how many of them there are on a node.
std::vector<std::string> RayCommand(const std::vector<std::string>& argv, bool spans = false);

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_RAY_SCRIPTS_H_
