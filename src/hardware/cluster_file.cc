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

// Sizes are often nominal: 256 GiB of modules where the kernel shows 252.
bool Exceeds(Bytes part, Bytes whole) { return part.count() - whole.count() > whole.count() / 16; }

// Figures of host memory that cannot stand beside each other.
Status CheckMemory(const NodeKind& kind) {
  NodeKind parts;
  parts.numa = kind.numa;
  const std::optional<Bytes> sum = parts.Memory();
  if (kind.memory && sum && Exceeds(kind.memory->bytes.central, *sum)) {
    return Fail(ErrorCode::kInvalidInput, kind.where,
                fmt::format("expected memory of at most the {} of all NUMA nodes, found {}",
                            FormatAuto(*sum), FormatAuto(kind.memory->bytes.central)));
  }
  const std::optional<Bytes> memory = kind.Memory();
  if (kind.container_limit && memory && Exceeds(kind.container_limit->bytes.central, *memory)) {
    return Fail(ErrorCode::kInvalidInput, kind.where,
                fmt::format("expected container_memory of at most the node's {}, found {}",
                            FormatAuto(*memory), FormatAuto(kind.container_limit->bytes.central)));
  }
  return {};
}

// Cards that a file leaves out where it tells the NUMA nodes of others.
Status CheckNumaOfCards(const NodeKind& kind) {
  std::vector<size_t> without;
  for (size_t i = 0; i < kind.cards.size(); ++i) {
    if (!kind.cards[i].numa_node) without.push_back(i);
  }
  if (without.empty() || without.size() == kind.cards.size()) return {};
  return Fail(
      ErrorCode::kInvalidInput, kind.where,
      fmt::format("expected the NUMA node of every card or of none, found none of card{} {}",
                  without.size() == 1 ? "" : "s", fmt::join(without, ", ")),
      "numa: [{node: 0, gpus: [0, 1]}, {node: 1, gpus: [2, 3]}]");
}

// What a server needs before it can be planned on.
Status CheckKind(const NodeKind& kind) {
  if (kind.cards.empty()) {
    return Fail(ErrorCode::kInvalidInput, kind.where, "expected cards, found none",
                "nvidia-smi -q or --query-gpu=name,memory.total,memory.reserved --format=csv "
                "tells them");
  }
  SHARDPLAN_RETURN_IF_ERROR(CheckMemory(kind));
  if (kind.numa.empty()) return {};
  for (const NicSpec& nic : kind.nics) {
    if (!nic.numa_node || kind.FindNuma(*nic.numa_node) != nullptr) continue;
    return Fail(ErrorCode::kInvalidInput, kind.where,
                fmt::format("port {} is on NUMA node {}, which the node's numa list doesn't have",
                            Printable(nic.name, 60), *nic.numa_node));
  }
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
  Result<internal::ClusterYaml> parsed = internal::ParseClusterYaml(text, path);
  if (!parsed && facts::FactKindOf(text) != facts::FactKind::kUnknown) {
    return Fail(ErrorCode::kInvalidInput, Printable(path),
                "expected a cluster file, found what a tool prints about a server",
                "--cluster FOLDER reads such files, and a cluster file names them under facts");
  }
  SHARDPLAN_ASSIGN_OR_RETURN(internal::ClusterYaml read, std::move(parsed));
  const size_t slash = path.rfind('/');
  for (size_t i = 0; i < read.spec.kinds.size(); ++i) {
    std::vector<std::string> files;
    for (const std::string& name : read.facts[i]) {
      files.push_back(slash == std::string::npos ? name
                                                 : JoinPath(path.substr(0, slash + 1), name));
    }
    NodeKind& kind = read.spec.kinds[i];
    if (const Status status = facts::ReadFacts(files, false, &kind); !status) {
      const Error& error = status.error();
      if (error.code != ErrorCode::kIo) return tl::unexpected<Error>(error);
      return Fail(error.code, kind.where,
                  fmt::format("facts: {}: {}", error.subject, error.message),
                  "paths start at the folder of the file as it was given, links are not followed");
    }
    SHARDPLAN_RETURN_IF_ERROR(CheckKind(kind));
    SHARDPLAN_RETURN_IF_ERROR(CheckNumaOfCards(kind));
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

// Whether a file in the folder is what a tool prints about a server.
bool HasFacts(const std::string& folder) {
  const Result<std::vector<std::string>> files = FilesOf(folder);
  return files && std::any_of(files->begin(), files->end(), [](const std::string& file) {
           const Result<std::string> text = ReadTextFile(file, kLargestFile);
           return text && facts::FactKindOf(*text) != facts::FactKind::kUnknown;
         });
}

Result<std::vector<std::string>> FoldersIn(const std::string& folder) {
  SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(folder));
  std::vector<std::string> folders;
  for (const std::string& name : names) {
    if (!name.starts_with('.') && IsDirectory(JoinPath(folder, name))) folders.push_back(name);
  }
  return folders;
}

// A folder is of one node, or has a folder for each.
Status CheckNoFactsBelow(const std::string& folder, const std::vector<std::string>& below) {
  for (const std::string& name : below) {
    const std::string path = JoinPath(folder, name);
    if (!HasFacts(path)) continue;
    return Fail(ErrorCode::kInvalidInput, Printable(folder),
                "expected outputs of one node or a folder for each node, found outputs here and "
                "in " +
                    Printable(path),
                "give each node a folder of its own");
  }
  return {};
}

Result<NodeKind> ReadFolder(const std::string& folder) {
  NodeKind kind;
  kind.name = BaseName(folder);
  kind.where = Printable(folder);
  SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesOf(folder));
  SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<std::string> below, FoldersIn(folder));
  SHARDPLAN_RETURN_IF_ERROR(CheckNoFactsBelow(folder, below));
  SHARDPLAN_RETURN_IF_ERROR(facts::ReadFacts(files, true, &kind));
  SHARDPLAN_RETURN_IF_ERROR(CheckKind(kind));
  return kind;
}

Result<ClusterSpec> ReadDirectory(const std::string& path) {
  ClusterSpec spec;
  spec.file = path;
  SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<std::string> names, FoldersIn(path));
  if (HasFacts(path)) SHARDPLAN_RETURN_IF_ERROR(CheckNoFactsBelow(path, names));
  for (const std::string& name : names) {
    const std::string folder = JoinPath(path, name);
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
