// What one card is: capacities with their basis, and the facts rules depend on.
#ifndef SHARDPLAN_HARDWARE_GPU_H_
#define SHARDPLAN_HARDWARE_GPU_H_

#include <optional>
#include <string>
#include <vector>

#include "shardplan/base/basis.h"
#include "shardplan/base/bytes.h"

namespace shardplan {

// A capacity with its range and where the number comes from.
struct SourcedBytes {
  Range bytes;
  Basis basis = Basis::kAssumed;
  std::string source;  // ends with the date it was looked at: "data sheet (2026-11-29)"
};

// One card. Cards of the catalogue keep these promises: no capacity is negative, low ≤ central ≤
// high, cuda_visible.high ≤ device_total.low, context.high < cuda_visible.low, and every source is
// there.
struct GpuSpec {
  std::string id;                    // "h20-96"
  std::string name;                  // as the driver names it: "NVIDIA H20"
  std::vector<std::string> aliases;  // lower case; one that several cards have is ambiguous
  std::string vendor;                // "nvidia" or "amd"
  double nominal_gb = 0;  // the number in the product's name; nothing is computed from it

  // Three capacities that are never mixed up: what nvidia-smi totals (device_total), what CUDA sees
  // (cuda_visible, the number utilization multiplies); the difference is reserved by the driver.
  SourcedBytes device_total;
  SourcedBytes cuda_visible;

  // A process's context with its first small allocation.
  SourcedBytes context;

  // Compute capability times ten (90 for Hopper, 103 for Blackwell Ultra); 0 for cards without one.
  int capability = 0;
  int cards_per_node = 8;   // what a server usually has of them
  int nvlink_domain = 0;    // cards that NVLink joins, over nodes; 0: those of a node
  int multiprocessors = 0;  // SM count (AMD: compute units); rules of the sampler use it

  double memory_gb_per_s = 0;  // peak, data sheet, decimal gigabytes
  double nvlink_gb_per_s = 0;  // to other cards (AMD: Infinity Fabric), per direction; 0: none
  double pcie_gb_per_s = 0;    // to the host, per direction: PCIe ×16, on Grace NVLink-C2C

  // Of capability, multiprocessors and the bandwidths: exact where the vendor states them.
  Basis specification_basis = Basis::kAssumed;
  std::string specification_source;
};

}  // namespace shardplan

#endif  // SHARDPLAN_HARDWARE_GPU_H_
