#include "hardware/cluster_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "hardware/catalog_yaml.h"
#include "hardware/node_yaml.h"
#include "hardware/yaml_mapping.h"

namespace shardplan::internal {
namespace {

constexpr int64_t kMostNodes = 4096;

Result<ClusterYaml> ReadCluster(const Place& place, const YAML::Node& document) {
  static const std::vector<std::string> kKeys = {"name", "basis", "source",
                                                 "date", "nodes", "shared_filesystem"};
  SHARDPLAN_ASSIGN_OR_RETURN(const Mapping map, Mapping::Read(place, document, "", kKeys));
  ClusterYaml out;
  out.spec.file = place.file();
  if (map.Has("name")) {
    SHARDPLAN_ASSIGN_OR_RETURN(out.spec.name, map.Text("name"));
  }
  SHARDPLAN_ASSIGN_OR_RETURN(const Told told, Told::Read(map));
  SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node nodes, map.Get("nodes"));
  if (nodes.IsSequence() && nodes.size() == 0) {
    return place.Fail(nodes.Mark(),
                      "nodes: expected a list of servers, at least one, found an empty list");
  }
  if (!nodes.IsSequence()) {
    return map.Expected("nodes", nodes, "a list of servers, at least one");
  }
  std::set<std::string> hosts;
  for (const YAML::Node& node : nodes) {
    const std::string name = fmt::format("nodes[{}]", out.spec.kinds.size());
    SHARDPLAN_ASSIGN_OR_RETURN(NodeYaml read, ReadNodeKind(place, node, name, told));
    for (const std::string& host : read.kind.hosts) {
      if (!hosts.insert(host).second) {
        return place.Fail(node.Mark(), fmt::format("{}.hosts: second {}", name, host));
      }
    }
    out.spec.kinds.push_back(std::move(read.kind));
    out.facts.push_back(std::move(read.facts));
    if (out.spec.nodes() > kMostNodes) {
      return place.Fail(node.Mark(), fmt::format("expected at most {} nodes", kMostNodes));
    }
  }
  if (map.Has("shared_filesystem")) {
    SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, map.Get("shared_filesystem"));
    SHARDPLAN_ASSIGN_OR_RETURN(out.spec.shared_filesystem,
                               ReadDisk(place, node, "shared_filesystem", told));
  }
  return out;
}

}  // namespace

Result<ClusterYaml> ParseClusterYaml(std::string_view text, const std::string& file) {
  return ReadDocument<ClusterYaml>(text, file, ReadCluster);
}

}  // namespace shardplan::internal
