#include "plan/placement.h"

#include <algorithm>

#include "shardplan/base/units.h"

namespace shardplan {

void FillNuma(const Catalog& catalog, NodePlacement* place) {
  const NodeSpec node = catalog.NodeFor(static_cast<int>(place->gpus_per_node));
  place->numa_of_gpu = node.numa_of_gpu;
  place->numa_known = !node.id.starts_with("flat-");
}

std::vector<HostPlan> PlanHost(const NodePlacement& place, const std::vector<RankPlan>& ranks) {
  std::vector<HostPlan> hosts;
  for (int64_t node = 0; node < place.nodes; ++node) {
    HostPlan host;
    host.node = node;
    std::vector<int> domains = place.numa_of_gpu;
    std::sort(domains.begin(), domains.end());
    domains.erase(std::unique(domains.begin(), domains.end()), domains.end());
    for (const int domain : domains) host.per_numa.push_back({domain, Bytes(), Bytes()});
    for (const RankPlan& rank : ranks) {
      if (rank.place.node != node) continue;
      host.pinned += rank.offloaded;
      host.pinned_allocated += rank.pinned_allocated;
      for (NumaBytes& numa : host.per_numa) {
        if (numa.numa_node != rank.numa_node) continue;
        numa.bytes += rank.offloaded;
        numa.allocated += rank.pinned_allocated;
      }
    }
    hosts.push_back(std::move(host));
  }
  return hosts;
}

bool LoadsShard(const ShardUse& use, const StageLoads& loads, int64_t stage) {
  const StageRange& range = loads.stages[static_cast<size_t>(stage)];
  const bool last = static_cast<size_t>(stage) + 1 == loads.stages.size();
  if (use.first_stage && (stage == 0 || (last && loads.tied_embeddings))) return true;
  if (use.last_stage && last) return true;
  if (use.draft && last && loads.draft) return true;
  if (use.every_stage || (use.tower && loads.vision)) return true;
  return std::any_of(use.layers.begin(), use.layers.end(),
                     [&](int64_t layer) { return layer >= range.first && layer < range.end(); });
}

std::vector<FilesPlan> PlanFiles(const NodePlacement& place, const StageLoads& loads,
                                 const Model& model, const std::vector<RankPlan>& ranks) {
  std::vector<FilesPlan> files;
  if (model.shard_use.empty()) return files;
  for (int64_t node = 0; node < place.nodes; ++node) {
    FilesPlan plan;
    plan.node = node;
    for (size_t shard = 0; shard < model.shard_use.size(); ++shard) {
      const ShardUse& use = model.shard_use[shard];
      const bool needed = std::any_of(ranks.begin(), ranks.end(), [&](const RankPlan& rank) {
        return rank.place.node == node && LoadsShard(use, loads, rank.place.stage);
      });
      const ShardInfo& info = model.inventory.shards[shard];
      if (needed) plan.needed_shards.push_back(info.name);
      if (needed || use.outside_stack) {
        plan.shards.push_back(info.name);
        plan.bytes += info.file_bytes;
      }
    }
    files.push_back(std::move(plan));
  }
  return files;
}

EvenShare MakeEvenShare(const GpuSpec& gpu, int64_t cards, const Model& model) {
  EvenShare share;
  share.cards = cards;
  share.card = gpu.device_total.bytes.central;
  share.physical = share.card * share.cards;
  share.from_files = model.shape_basis == Basis::kExact;
  share.file_bytes = share.from_files ? model.inventory.file_bytes : model.totals.payload;
  share.share = Bytes(CeilDiv(share.file_bytes.count(), share.cards));
  share.margin = share.card - share.share;
  return share;
}

}  // namespace shardplan
