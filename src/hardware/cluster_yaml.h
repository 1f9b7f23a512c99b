// The YAML of a cluster file (docs/cluster.md).
#ifndef SHARDPLAN_HARDWARE_CLUSTER_YAML_H_
#define SHARDPLAN_HARDWARE_CLUSTER_YAML_H_

#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/result.h"
#include "shardplan/hardware/cluster_spec.h"

namespace shardplan::internal {

struct ClusterYaml {
  ClusterSpec spec;
  std::vector<std::vector<std::string>> facts;  // of each kind: files, relative to the cluster's
};

// `file` is how errors name the text. Fails with kInvalidInput and "file:line: …".
Result<ClusterYaml> ParseClusterYaml(std::string_view text, const std::string& file);

}  // namespace shardplan::internal

#endif  // SHARDPLAN_HARDWARE_CLUSTER_YAML_H_
