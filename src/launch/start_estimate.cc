#include "launch/start_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "shardplan/base/units.h"

namespace shardplan {
namespace {

Bytes ReadBy(const Plan& plan, int64_t node) {
  for (const FilesPlan& files : plan.files) {
    if (files.node == node && files.bytes > Bytes()) return files.bytes;
  }
  Bytes sum;
  for (const RankPlan& rank : plan.ranks) {
    if (rank.place.node == node) sum += rank.weights + rank.offloaded;
  }
  const Bytes whole = plan.file_bytes.value_or(plan.totals.payload);
  return whole > Bytes() ? std::min(sum, whole) : sum;
}

const NodeLoading* LoadingOf(const Plan& plan, int64_t node) {
  if (!plan.loading) return nullptr;
  for (const NodeLoading& loading : plan.loading->nodes) {
    if (loading.node == node) return &loading;
  }
  return nullptr;
}

struct Source {
  double seconds = 0;
  bool assumed = false;
  std::string text;
};

Source SlowEnd(const ReadTime& time, const LinkRate& rate, std::string_view from,
               std::string_view whose) {
  return {time.slowest, rate.basis == Basis::kAssumed,
          fmt::format("{} at {:.4g} GB/s{}", from, rate.low, whose)};
}

// What was given goes before what is assumed, and the slower before the faster.
Source SourceOf(const LoadingPlan& loading, const NodeLoading& node) {
  Source disk = SlowEnd(node.disk, loading.rates.disk, "from its disks", "");
  const bool several = loading.nodes.size() > 1;
  Source shared =
      SlowEnd(loading.shared_fs, loading.rates.shared_fs,
              several ? "from a filesystem that all nodes share" : "from a shared filesystem",
              several ? " together" : "");
  if (disk.assumed != shared.assumed) return disk.assumed ? shared : disk;
  return disk.seconds > shared.seconds ? disk : shared;
}

int64_t RoundedUp(double seconds) { return static_cast<int64_t>(std::ceil(seconds)); }

}  // namespace

StartEstimate EstimateStart(const Plan& plan, int64_t node, std::optional<Bytes> rate) {
  StartEstimate out;
  const NodeLoading* const loading = LoadingOf(plan, node);
  if (loading != nullptr && !rate) {
    const Source source = SourceOf(*plan.loading, *loading);
    out.bytes = loading->tensors;
    out.load_seconds = RoundedUp(source.seconds);
    out.assumed = source.assumed;
    out.source = source.text;
  } else {
    const Bytes a_second = rate.value_or(Bytes(kReadBytesPerSecond));
    out.bytes = loading != nullptr ? loading->tensors : ReadBy(plan, node);
    out.load_seconds = CeilDiv(out.bytes.count(), std::max<int64_t>(1, a_second.count()));
    out.assumed = !rate;
    out.source = fmt::format("at {:.4g} GB/s", InGB(a_second).value());
  }
  out.seconds = RoundUp(kLoadFactor * out.load_seconds + kSecondsAfterLoading, 60);
  out.rule = fmt::format(
      "node {} reads {} {} ({}): {} s at least; twice that, and {} s until it answers (assumed)",
      node, FormatGiB(out.bytes), out.source, out.assumed ? "assumed" : "given",
      FormatCount(out.load_seconds), FormatCount(kSecondsAfterLoading));
  return out;
}

HostEstimate EstimateHostMemory(const Plan& plan, int64_t node, Bytes shared) {
  Bytes pinned;
  for (const HostPlan& host : plan.host) {
    if (host.node == node) pinned += host.pinned_allocated;
  }
  Bytes cache;
  if (plan.static_memory && plan.static_memory->host_cache) {
    cache = plan.static_memory->host_cache->per_node;
  }
  const int64_t ranks = std::count_if(plan.ranks.begin(), plan.ranks.end(),
                                      [&](const RankPlan& r) { return r.place.node == node; });
  HostEstimate out;
  out.bytes = pinned + cache + shared + Bytes(kHostBytesPerRank) * ranks + Bytes(kHostBytesPerNode);
  out.rule = fmt::format("pinned {}", FormatGiB(pinned));
  if (cache > Bytes()) out.rule += fmt::format(", host cache {}", FormatGiB(cache));
  out.rule +=
      fmt::format(", /dev/shm {}, {} for each of {} ranks and {} for the node", FormatGiB(shared),
                  FormatGiB(Bytes(kHostBytesPerRank)), ranks, FormatGiB(Bytes(kHostBytesPerNode)));
  return out;
}

}  // namespace shardplan
