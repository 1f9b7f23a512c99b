// What tools print of one server, read.
#ifndef SHARDPLAN_HARDWARE_FACTS_NODE_FACTS_H_
#define SHARDPLAN_HARDWARE_FACTS_NODE_FACTS_H_

#include <optional>
#include <string>
#include <vector>

#include "shardplan/base/bytes.h"

namespace shardplan::facts {

// A card as `nvidia-smi -q` or `--query-gpu` tells it. nvidia-smi rounds to a MiB.
struct CardFacts {
  std::string name;  // "NVIDIA H200"
  std::optional<Bytes> total;
  std::optional<Bytes> reserved;  // by the driver
  std::optional<Bytes> used;
  std::string driver;
  std::optional<int> pcie_generation;  // the most that card and host do
  std::optional<int> pcie_width;
  bool mig = false;
};

struct NicFacts {
  std::string name;             // "mlx5_0", or "NIC0" without a legend
  std::vector<std::string> to;  // one a card: "PIX", "PXB", "PHB", "NODE", "SYS"
};

// `nvidia-smi topo -m`.
struct TopologyFacts {
  // Of card i to card j: "X", "NV18", "PIX", "SYS", …
  std::vector<std::vector<std::string>> links;
  std::vector<std::optional<int>> numa;  // one a card
  std::vector<std::string> cpus;         // one a card: "0-31"
  std::vector<NicFacts> nics;

  // Numbers of the sets of cards that NVLink joins, one a card; -1 for a card on its own.
  std::vector<int> NvlinkGroups() const;
  // "NV18", the weakest of a card's; empty without NVLink.
  std::string NvlinkName() const;
};

// A card of `nvidia-smi nvlink -s`.
struct NvlinkFacts {
  int active = 0;       // links
  double gb_per_s = 0;  // of one link and direction, the least
};

struct NumaFacts {
  int node = 0;
  std::string cpus;
  std::optional<Bytes> memory;
};

// lscpu, /proc/meminfo and `numactl --hardware`, in one file or several.
struct HostFacts {
  std::optional<Bytes> memory;
  std::vector<NumaFacts> numa;
};

}  // namespace shardplan::facts

#endif  // SHARDPLAN_HARDWARE_FACTS_NODE_FACTS_H_
