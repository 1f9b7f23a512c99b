// compose.yaml, one a node.
#ifndef SHARDPLAN_LAUNCH_COMPOSE_FILE_H_
#define SHARDPLAN_LAUNCH_COMPOSE_FILE_H_

#include <string>

#include "launch/container.h"
#include "shardplan/base/result.h"
#include "shardplan/launch/bundle.h"
#include "shardplan/launch/launch_input.h"

namespace shardplan {

// node-N/compose.yaml. What the place has to say is a variable that compose asks for. Fails as
// MakeContainers does, with kUnsupported for --cpuset-mems, which compose has no word for, and with
// kInvalidInput for text that YAML cannot hold.
Result<Bundle> MakeComposeFiles(const LaunchInput& input, const ContainerOptions& options);

// Text as it stands in a value that compose interpolates: "$" is written twice.
std::string ComposeText(const std::string& text);

}  // namespace shardplan

#endif  // SHARDPLAN_LAUNCH_COMPOSE_FILE_H_
