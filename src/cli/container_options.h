// The options of `launch docker` and `launch compose`.
#ifndef SHARDPLAN_CLI_CONTAINER_OPTIONS_H_
#define SHARDPLAN_CLI_CONTAINER_OPTIONS_H_

#include "cli/option_set.h"
#include "launch/container.h"

namespace shardplan::cli {

void AddContainerOptions(OptionSet* set, ContainerOptions* out);

}  // namespace shardplan::cli

#endif  // SHARDPLAN_CLI_CONTAINER_OPTIONS_H_
