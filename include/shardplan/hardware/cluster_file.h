// Reading a cluster.
#ifndef SHARDPLAN_HARDWARE_CLUSTER_FILE_H_
#define SHARDPLAN_HARDWARE_CLUSTER_FILE_H_

#include <string>

#include "shardplan/base/result.h"
#include "shardplan/hardware/cluster_spec.h"

namespace shardplan {

// A YAML file (docs/cluster.md), which may name the outputs of tools for each node; or a directory:
// its cluster.yaml where it has one, else one folder for each node with such outputs, whatever the
// files are called, or the outputs themselves for one node. Cards are not looked up: ResolveCard
// does. Fails with kIo, and with kInvalidInput for what is not as it should be: "file:line: …".
Result<ClusterSpec> ReadCluster(const std::string& path);

}  // namespace shardplan

#endif  // SHARDPLAN_HARDWARE_CLUSTER_FILE_H_
