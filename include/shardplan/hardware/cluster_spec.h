// A cluster as a file or its own readings tell it: nodes, cards, links, host memory, disks.
#ifndef SHARDPLAN_HARDWARE_CLUSTER_SPEC_H_
#define SHARDPLAN_HARDWARE_CLUSTER_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shardplan/base/basis.h"
#include "shardplan/base/result.h"
#include "shardplan/hardware/cluster.h"
#include "shardplan/hardware/gpu.h"

namespace shardplan {

// A rate with where the number comes from; zero where nobody told it. It is what a link or a disk
// can carry, not measured throughput, unless the basis says so.
struct SourcedRate {
  double value = 0;
  Basis basis = Basis::kAssumed;
  std::string source;
};

enum class NicProtocol { kEthernet, kRoce, kInfiniband };

std::string_view ToString(NicProtocol protocol);  // "ethernet", "roce", "infiniband"

// One network port.
struct NicSpec {
  std::string name;  // "mlx5_0"; may be empty
  SourcedRate gbit_per_s;
  std::optional<NicProtocol> protocol;
  std::optional<int> numa_node;
};

// One NUMA node of a server.
struct NumaSpec {
  int node = 0;
  std::optional<SourcedBytes> memory;
  std::string cpus;  // "0-31,64-95"; empty where nobody told them
};

struct DiskSpec {
  std::string path;
  SourcedRate read_gb_per_s;  // decimal gigabytes a second
};

// One card of a server.
struct CardSpec {
  std::string gpu;  // catalogue id, alias or the driver's name
  // What nvidia-smi showed in its place, where `gpu` or `described` is written beside it.
  std::string read_name;  // "NVIDIA H200"; empty: nothing was read
  Bytes read_total;
  std::optional<GpuSpec> described;          // a card that the file describes itself
  std::optional<SourcedBytes> device_total;  // where it differs from the catalogue's
  std::optional<SourcedBytes> cuda_visible;
  Bytes in_use;  // by others, when it was read
  std::optional<int> numa_node;
  std::optional<int> nvlink_group;  // cards of a node with the same one are joined by NVLink; -1:
                                    // joined to none; absent: as the catalogue says
  bool mig = false;                 // divided into instances
  std::string where;                // "cluster.yaml:12", for errors
};

// Servers that are alike.
struct NodeKind {
  std::string name;
  std::string where;  // "cluster.yaml:3"
  int64_t count = 1;
  std::vector<std::string> hosts;  // names, `count` of them or none
  std::vector<CardSpec> cards;     // in the order of CUDA's indices
  bool nvlink_over_nodes = false;  // NVLink joins the cards of all nodes of this kind
  std::string nvlink_link;         // what nvidia-smi calls it: "NV18"
  // Of a card to all others, per direction, decimal: links × rate as nvidia-smi prints them.
  std::optional<SourcedRate> nvlink_gb_per_s;
  std::optional<SourcedRate> pcie_gb_per_s;  // of each card, per direction
  std::vector<NicSpec> nics;
  std::vector<NumaSpec> numa;  // by number
  std::vector<DiskSpec> disks;
  std::string driver;                           // "580.159.04"; empty where nobody told it
  std::optional<SourcedBytes> memory;           // of the whole node
  std::optional<SourcedBytes> container_limit;  // what a container may take
  std::optional<SourcedBytes> shm;              // size of /dev/shm
  std::optional<SourcedBytes> memlock;          // limit of locked memory; absent: unlimited or
                                                // not told

  // Of the whole node, or the sum of its NUMA nodes where all of them tell theirs.
  std::optional<Bytes> Memory() const;
  const NumaSpec* FindNuma(int node) const;
  // One a card; nothing where a card does not tell it.
  std::optional<std::vector<int>> NumaOfCards() const;
};

struct ClusterSpec {
  std::string name;             // may be empty
  std::string file;             // as it was given
  std::vector<NodeKind> kinds;  // at least one, in the order of the file
  std::optional<DiskSpec> shared_filesystem;

  int64_t nodes() const;
  // Nodes count from zero through all kinds in order. Requires 0 ≤ node < nodes().
  const NodeKind& KindOf(int64_t node) const;
  // "h20-0", or "node 3" where nodes have no names.
  std::string NameOf(int64_t node) const;
};

// The card with what the cluster tells of it; the catalogue gives the rest. Where the driver's name
// means several cards ("NVIDIA H20"), the total decides. Fails with kInvalidInput for a card that
// the catalogue doesn't have and for capacities that contradict each other.
Result<GpuSpec> ResolveCard(const Catalog& catalog, const CardSpec& card);

}  // namespace shardplan

#endif  // SHARDPLAN_HARDWARE_CLUSTER_SPEC_H_
