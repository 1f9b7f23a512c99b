// How fast links are on paper: facts of data sheets and labelled assumptions, never measured
// throughput.
#ifndef SHARDPLAN_HARDWARE_LINK_RATES_H_
#define SHARDPLAN_HARDWARE_LINK_RATES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "shardplan/base/basis.h"
#include "shardplan/base/bytes.h"
#include "shardplan/hardware/gpu.h"

namespace shardplan {

// Decimal gigabytes a second in one direction; low ≤ central ≤ high.
struct LinkRate {
  double gb_per_s = 0;
  double low = 0;
  double high = 0;
  Basis basis = Basis::kAssumed;
  std::string source;

  double SecondsFor(Bytes bytes) const;  // at the central rate
};

// What a person says of the links of a cluster.
struct LinkSettings {
  std::optional<double> network_gbps;        // decimal gigabits a second of one node, one direction
  std::optional<double> disk_gb_per_s;       // reads of one node's local disks
  std::optional<double> shared_fs_gb_per_s;  // reads of a shared filesystem by all nodes together
};

struct LinkRates {
  std::optional<LinkRate> nvlink;  // of one card to the others; nothing where cards have none
  std::optional<LinkRate> pcie;    // of one card to the host
  LinkRate network;                // of one node
  LinkRate disk;                   // of one node
  LinkRate shared_fs;              // of all nodes together

  // What joins the cards of a node, and its name.
  const LinkRate* inside() const;
  const char* inside_name() const { return nvlink ? "NVLink" : "PCIe"; }
};

// NVLink and PCIe are the card's. Assumed where nothing is given: 400 Gb/s of network a card beside
// NVLink of 400 GB/s and more (HGX H100 and later: eight NICs of 400 Gb/s), 200 beside slower ones
// (HGX A100), 100 a node without NVLink; one NVMe drive; a shared filesystem behind one 400 Gb/s
// port.
LinkRates LinkRatesOf(const GpuSpec& gpu, int64_t gpus_per_node, const LinkSettings& settings);

}  // namespace shardplan

#endif  // SHARDPLAN_HARDWARE_LINK_RATES_H_
