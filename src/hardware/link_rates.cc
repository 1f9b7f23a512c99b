#include "shardplan/hardware/link_rates.h"

#include <fmt/format.h>

namespace shardplan {
namespace {

constexpr double kBitsPerByte = 8;

LinkRate Exactly(double gb_per_s, Basis basis, std::string source) {
  return {gb_per_s, gb_per_s, gb_per_s, basis, std::move(source)};
}

LinkRate OfCard(double gb_per_s, const GpuSpec& gpu) {
  return Exactly(gb_per_s, gpu.specification_basis, gpu.specification_source);
}

LinkRate AssumedNetwork(const GpuSpec& gpu, int64_t gpus_per_node) {
  if (gpu.nvlink_gb_per_s <= 0) {
    return {100 / kBitsPerByte, 25 / kBitsPerByte, 400 / kBitsPerByte, Basis::kAssumed,
            "100 Gb/s a node, 25 to 400 (--network-gbps)"};
  }
  const double cards = static_cast<double>(gpus_per_node);
  const double each = gpu.nvlink_gb_per_s >= 400 ? 400 : 200;
  return {cards * each / kBitsPerByte, cards * each / 4 / kBitsPerByte,
          cards * each * 2 / kBitsPerByte, Basis::kAssumed,
          fmt::format("{} × {} Gb/s a node, {} to {} each (--network-gbps)", gpus_per_node, each,
                      each / 4, each * 2)};
}

}  // namespace

double LinkRate::SecondsFor(Bytes bytes) const {
  return gb_per_s > 0 ? static_cast<double>(bytes.count()) / (gb_per_s * 1e9) : 0;
}

const LinkRate* LinkRates::inside() const { return nvlink ? &*nvlink : pcie ? &*pcie : nullptr; }

LinkRates LinkRatesOf(const GpuSpec& gpu, int64_t gpus_per_node, const LinkSettings& settings) {
  LinkRates rates;
  if (gpu.nvlink_gb_per_s > 0) rates.nvlink = OfCard(gpu.nvlink_gb_per_s, gpu);
  if (gpu.pcie_gb_per_s > 0) rates.pcie = OfCard(gpu.pcie_gb_per_s, gpu);
  rates.network = settings.network_gbps
                      ? Exactly(*settings.network_gbps / kBitsPerByte, Basis::kDerived,
                                fmt::format("{} Gb/s a node, as given", *settings.network_gbps))
                      : AssumedNetwork(gpu, gpus_per_node);
  rates.disk = settings.disk_gb_per_s
                   ? Exactly(*settings.disk_gb_per_s, Basis::kDerived, "as given")
                   : LinkRate{6, 2, 24, Basis::kAssumed,
                              "one NVMe drive on PCIe 4.0 ×4; slower disks and stripes of four "
                              "(--disk-gb-per-s)"};
  rates.shared_fs = settings.shared_fs_gb_per_s
                        ? Exactly(*settings.shared_fs_gb_per_s, Basis::kDerived, "as given")
                        : LinkRate{10, 1, 50, Basis::kAssumed,
                                   "all nodes together: 10 Gb/s to one 400 Gb/s port "
                                   "(--shared-fs-gb-per-s)"};
  return rates;
}

}  // namespace shardplan
