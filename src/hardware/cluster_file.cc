#include "shardplan/hardware/cluster_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "hardware/cluster_yaml.h"
#include "hardware/facts/read_facts.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {
namespace {

constexpr Bytes kLargestFile(4 * kMiB);
constexpr size_t kMostNodes = 4096;
constexpr size_t kMostFiles = 256;  // of one node
constexpr const char* kYaml = "cluster.yaml";

// What a server needs before it can be planned on.
Status CheckKind(const NodeKind& kind) {
  if (kind.cards.empty()) {
    return Fail(ErrorCode::kInvalidInput, kind.where, "expected cards, found none",
                "nvidia-smi -q or --query-gpu=name,memory.total,memory.reserved --format=csv "
                "tells them");
  }
  if (kind.numa.empty()) return {};
  for (size_t i = 0; i < kind.cards.size(); ++i) {
    const std::optional<int> node = kind.cards[i].numa_node;
    if (!node || kind.FindNuma(*node) != nullptr) continue;
    return Fail(ErrorCode::kInvalidInput, kind.where,
                fmt::format("card {} is on NUMA node {}, which the node's numa list doesn't have",
                            i, *node));
  }
  return {};
}

Result<ClusterSpec> ReadYaml(const std::string& path) {
  SHARDPLAN_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kLargestFile));
  SHARDPLAN_ASSIGN_OR_RETURN(internal::ClusterYaml read, internal::ParseClusterYaml(text, path));
  const size_t slash = path.rfind('/');
  for (size_t i = 0; i < read.spec.kinds.size(); ++i) {
    std::vector<std::string> files;
    for (const std::string& name : read.facts[i]) {
      files.push_back(slash == std::string::npos ? name
                                                 : JoinPath(path.substr(0, slash + 1), name));
    }
    SHARDPLAN_RETURN_IF_ERROR(facts::ReadFacts(files, false, &read.spec.kinds[i]));
    SHARDPLAN_RETURN_IF_ERROR(CheckKind(read.spec.kinds[i]));
  }
  return std::move(read.spec);
}

// The files in a folder, without those below it.
Result<std::vector<std::string>> FilesOf(const std::string& folder) {
  SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(folder));
  std::vector<std::string> files;
  for (const std::string& name : names) {
    std::string path = JoinPath(folder, name);
    if (name.starts_with('.') || IsDirectory(path)) continue;
    files.push_back(std::move(path));
  }
  if (files.size() <= kMostFiles) return files;
  return Fail(
      ErrorCode::kInvalidInput, Printable(folder),
      fmt::format("expected at most {} files of a node, found {}", kMostFiles, files.size()));
}

Result<NodeKind> ReadFolder(const std::string& folder) {
  NodeKind kind;
  kind.name = BaseName(folder);
  kind.where = Printable(folder);
  SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesOf(folder));
  SHARDPLAN_RETURN_IF_ERROR(facts::ReadFacts(files, true, &kind));
  SHARDPLAN_RETURN_IF_ERROR(CheckKind(kind));
  return kind;
}

Result<ClusterSpec> ReadDirectory(const std::string& path) {
  ClusterSpec spec;
  spec.file = path;
  SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(path));
  for (const std::string& name : names) {
    const std::string folder = JoinPath(path, name);
    if (name.starts_with('.') || !IsDirectory(folder)) continue;
    if (spec.kinds.size() == kMostNodes) {
      return Fail(ErrorCode::kInvalidInput, Printable(path),
                  fmt::format("expected at most {} nodes", kMostNodes));
    }
    SHARDPLAN_ASSIGN_OR_RETURN(NodeKind kind, ReadFolder(folder));
    kind.hosts = {name};
    spec.kinds.push_back(std::move(kind));
  }
  if (spec.kinds.empty()) {
    SHARDPLAN_ASSIGN_OR_RETURN(NodeKind kind, ReadFolder(path));
    spec.kinds.push_back(std::move(kind));
  }
  return spec;
}

}  // namespace

Result<ClusterSpec> ReadCluster(const std::string& path) {
  if (!IsDirectory(path)) return ReadYaml(path);
  const std::string yaml = JoinPath(path, kYaml);
  return Exists(yaml) ? ReadYaml(yaml) : ReadDirectory(path);
}

}  // namespace shardplan
