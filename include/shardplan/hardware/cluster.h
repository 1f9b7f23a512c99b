// Nodes full of cards, and the catalogue they are taken from.
#ifndef SHARDPLAN_HARDWARE_CLUSTER_H_
#define SHARDPLAN_HARDWARE_CLUSTER_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/basis.h"
#include "shardplan/base/config_store.h"
#include "shardplan/base/result.h"
#include "shardplan/hardware/gpu.h"

namespace shardplan {

// A server preset: which NUMA node each of its cards hangs on.
struct NodeSpec {
  std::string id;                // "hgx-8"
  std::vector<int> numa_of_gpu;  // index = GPU in the node; size = cards in the node
  Basis basis = Basis::kAssumed;
  std::string source;  // ends with the date it was looked at
};

// The short form of a cluster: identical nodes of identical cards.
struct Cluster {
  GpuSpec gpu;
  int nodes = 1;
  int gpus_per_node = 8;
  std::vector<int> numa_of_gpu;  // gpus_per_node entries
  std::string node_preset;       // id of the NodeSpec the affinity came from

  int TotalGpus() const { return nodes * gpus_per_node; }
};

// The catalogue of cards and servers (configs/gpus/*.yaml, configs/nodes/*.yaml).
class Catalog {
 public:
  // Parses every file. A file that is not as the schema says is kInvalidInput; the error carries
  // file and line, and for an unknown key the close ones.
  static Result<Catalog> Load(const ConfigStore& store);

  // What a plan on one card needs, a tenth of the work: where `gpu` is an exact id, the catalogue
  // holds that card alone (and every server); else it is the whole one, so that FindGpu can say
  // what was meant.
  static Result<Catalog> LoadFor(const ConfigStore& store, std::string_view gpu);

  // By id, by the driver's name, or by an alias with one meaning; case does not matter. Unknown:
  // the error lists close names; ambiguous: the error lists the meanings. Both are kUsage.
  Result<GpuSpec> FindGpu(std::string_view id) const;

  // The preset for a server with that many cards, or one with every card on NUMA node 0 (its id is
  // "flat-N"). Where several presets fit, one from --configs goes before a built-in one, then the
  // first by id.
  NodeSpec NodeFor(int gpus_per_node) const;

  const std::vector<GpuSpec>& gpus() const { return gpus_; }     // sorted by id
  const std::vector<NodeSpec>& nodes() const { return nodes_; }  // sorted by id

 private:
  static Result<Catalog> LoadFiles(const ConfigStore& store,
                                   const std::vector<std::string>& gpu_files);

  std::vector<GpuSpec> gpus_;
  std::vector<NodeSpec> nodes_;
  std::map<size_t, size_t> preset_of_size_;  // cards in a node → index in nodes_
};

}  // namespace shardplan

#endif  // SHARDPLAN_HARDWARE_CLUSTER_H_
