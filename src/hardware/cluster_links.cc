#include "hardware/cluster_links.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

namespace shardplan {
namespace {

// Nothing where nobody told it.
std::optional<LinkRate> RateOf(const SourcedRate& rate, double factor) {
  if (rate.value <= 0) return std::nullopt;
  const double value = rate.value * factor;
  return LinkRate{value, value, value, rate.basis, rate.source};
}

// All ports of a node; nothing where it has none, or one whose rate is not known.
std::optional<LinkRate> NetworkOf(const NodeKind& kind) {
  std::optional<LinkRate> sum;
  for (const NicSpec& nic : kind.nics) {
    const std::optional<LinkRate> port = RateOf(nic.gbit_per_s, 1.0 / 8);
    if (!port) return std::nullopt;
    if (!sum) {
      sum = port;
      continue;
    }
    sum->gb_per_s += port->gb_per_s;
    sum->low = sum->high = sum->gb_per_s;
    sum->basis = Softer(sum->basis, port->basis);
  }
  return sum;
}

std::optional<LinkRate> DiskOf(const NodeKind& kind) {
  std::optional<LinkRate> best;
  for (const DiskSpec& disk : kind.disks) {
    std::optional<LinkRate> rate = RateOf(disk.read_gb_per_s, 1);
    if (rate && (!best || rate->gb_per_s > best->gb_per_s)) best = std::move(rate);
  }
  return best;
}

std::optional<LinkRate> Optional(const std::optional<SourcedRate>& rate) {
  return rate ? RateOf(*rate, 1) : std::nullopt;
}

}  // namespace

LinkRates WithCluster(LinkRates rates, const ClusterSpec& cluster, int64_t nodes,
                      const LinkSettings& settings) {
  std::set<const NodeKind*> kinds;
  for (int64_t node = 0; node < std::min(nodes, cluster.nodes()); ++node) {
    kinds.insert(&cluster.KindOf(node));
  }
  const auto slowest = [&](const std::function<std::optional<LinkRate>(const NodeKind&)>& of) {
    std::optional<LinkRate> least;
    for (const NodeKind* kind : kinds) {
      std::optional<LinkRate> rate = of(*kind);
      if (!rate) return std::optional<LinkRate>();
      if (!least || rate->gb_per_s < least->gb_per_s) least = std::move(rate);
    }
    return least;
  };
  if (rates.nvlink) {
    if (auto rate = slowest([](const NodeKind& k) { return Optional(k.nvlink_gb_per_s); })) {
      rates.nvlink = std::move(rate);
    }
  }
  if (auto rate = slowest([](const NodeKind& k) { return Optional(k.pcie_gb_per_s); })) {
    rates.pcie = std::move(rate);
  }
  if (!settings.network_gbps) {
    if (auto rate = slowest(NetworkOf)) rates.network = std::move(*rate);
  }
  if (!settings.disk_gb_per_s) {
    if (auto rate = slowest(DiskOf)) rates.disk = std::move(*rate);
  }
  if (!settings.shared_fs_gb_per_s && cluster.shared_filesystem) {
    if (auto rate = RateOf(cluster.shared_filesystem->read_gb_per_s, 1)) {
      rates.shared_fs = std::move(*rate);
    }
  }
  return rates;
}

}  // namespace shardplan
