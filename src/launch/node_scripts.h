// One script a node.
#ifndef SHARDPLAN_LAUNCH_NODE_SCRIPTS_H_
#define SHARDPLAN_LAUNCH_NODE_SCRIPTS_H_

#include "shardplan/base/result.h"
#include "shardplan/launch/bundle.h"
#include "shardplan/launch/launch_input.h"

namespace shardplan {

// node-0.sh, node-1.sh, …: what starts the engine there. Fails with kUnsupported where the plan has
// no launch commands (an illegal layout).
Result<Bundle> MakeNodeScripts(const LaunchInput& input);

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_NODE_SCRIPTS_H_
