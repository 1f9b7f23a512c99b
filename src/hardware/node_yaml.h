// A kind of server in a cluster file.
#ifndef SHARDPLAN_HARDWARE_NODE_YAML_H_
#define SHARDPLAN_HARDWARE_NODE_YAML_H_

#include <string>
#include <vector>

#include "hardware/yaml_mapping.h"
#include "shardplan/base/result.h"
#include "shardplan/hardware/cluster_spec.h"

namespace shardplan::internal {

// How the figures of a file are known that say nothing themselves.
struct Told {
  Basis basis = Basis::kAssumed;
  std::string source;  // empty: the file and the line

  // From the keys basis, source and date, all three or none.
  static Result<Told> Read(const Mapping& map);
  std::string SourceAt(const Place& place, const YAML::Mark& mark) const;
};

struct NodeYaml {
  NodeKind kind;
  std::vector<std::string> facts;  // paths below the file's folder
};

Result<NodeYaml> ReadNodeKind(const Place& place, const YAML::Node& node, const std::string& name,
                              const Told& told);

// {path, read_gb_per_s}
Result<DiskSpec> ReadDisk(const Place& place, const YAML::Node& node, const std::string& name,
                          const Told& told);

}  // namespace shardplan::internal

#endif  // SHARDPLAN_HARDWARE_NODE_YAML_H_
