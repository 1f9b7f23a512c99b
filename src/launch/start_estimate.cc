#include "launch/start_estimate.h"

#include <fmt/format.h>

#include <algorithm>

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

}  // namespace

StartEstimate EstimateStart(const Plan& plan, int64_t node) {
  StartEstimate out;
  out.bytes = ReadBy(plan, node);
  const int64_t reading = out.bytes.count() / kReadBytesPerSecond + 1;
  out.seconds = (reading + kSecondsAfterLoading + 59) / 60 * 60;
  out.rule =
      fmt::format("node {} reads {} at 1 GB/s: {} s, and {} s until it answers", node,
                  FormatGiB(out.bytes), FormatCount(reading), FormatCount(kSecondsAfterLoading));
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
