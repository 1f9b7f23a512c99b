// `docker run`, a script a node.
#ifndef SHARDPLAN_LAUNCH_DOCKER_SCRIPTS_H_
#define SHARDPLAN_LAUNCH_DOCKER_SCRIPTS_H_

#include "launch/container.h"
#include "shardplan/base/result.h"
#include "shardplan/launch/bundle.h"
#include "shardplan/launch/launch_input.h"

namespace shardplan {

// node-N.sh, which start a container in the background, and common.sh. Fails as MakeContainers
// does.
Result<Bundle> MakeDockerScripts(const LaunchInput& input, const ContainerOptions& options);

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_DOCKER_SCRIPTS_H_
