#include "plan/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/visible_cards.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan {

void CheckVisibleCards(const Deployment& deployment, int64_t ranks_per_node,
                       std::vector<Finding>* findings) {
  const std::optional<std::string> visible = VisibleDevices(deployment.settings);
  if (!visible) return;
  const auto shown = static_cast<int64_t>(ShownCards(*visible).size());
  if (shown >= ranks_per_node) return;
  findings->push_back(
      {"layout.hidden_gpus", Severity::kError, "CUDA_VISIBLE_DEVICES=" + Printable(*visible, 40),
       fmt::format("shows {} of a node's cards, and the layout has {} ranks on it", shown,
                   ranks_per_node),
       fmt::format("leave it out, show {} cards, or take a smaller layout", ranks_per_node)});
}

void FillNuma(const Catalog& catalog, const ClusterSpec* cluster, NodePlacement* place) {
  const NodeSpec preset = catalog.NodeFor(static_cast<int>(place->gpus_per_node));
  place->numa_of_gpu = preset.numa_of_gpu;
  place->numa_known = !preset.id.starts_with("flat-");
  if (cluster == nullptr) return;
  place->numa_told = true;
  for (int64_t node = 0; node < place->nodes; ++node) {
    std::optional<std::vector<int>> told = cluster->KindOf(node).NumaOfCards();
    place->numa_told = place->numa_told && told.has_value();
    if (told) told->resize(static_cast<size_t>(place->gpus_per_node));
    place->numa_by_node.push_back(told ? std::move(*told) : preset.numa_of_gpu);
  }
  place->numa_known = place->numa_known || place->numa_told;
  if (place->numa_by_node.empty()) return;
  place->numa_of_gpu = place->numa_by_node.front();
  const bool alike = std::all_of(place->numa_by_node.begin(), place->numa_by_node.end(),
                                 [&](const auto& numa) { return numa == place->numa_of_gpu; });
  if (alike) place->numa_by_node.clear();
}

std::vector<PinnedShare> SharesOf(const std::vector<RankPlan>& ranks) {
  std::vector<PinnedShare> shares;
  for (const RankPlan& rank : ranks) {
    shares.push_back({rank.place.node, rank.numa_node, rank.offloaded, rank.pinned_allocated});
  }
  return shares;
}

std::vector<HostPlan> PlanHost(const NodePlacement& place, const std::vector<PinnedShare>& shares) {
  std::vector<HostPlan> hosts;
  for (int64_t node = 0; node < place.nodes; ++node) {
    HostPlan host;
    host.node = node;
    std::vector<int> domains = place.NumaOf(node);
    std::sort(domains.begin(), domains.end());
    domains.erase(std::unique(domains.begin(), domains.end()), domains.end());
    for (const int domain : domains) {
      NumaBytes numa;
      numa.numa_node = domain;
      host.per_numa.push_back(numa);
    }
    for (const PinnedShare& share : shares) {
      if (share.node != node) continue;
      host.pinned += share.bytes;
      host.pinned_allocated += share.allocated;
      for (NumaBytes& numa : host.per_numa) {
        if (numa.numa_node != share.numa_node) continue;
        numa.bytes += share.bytes;
        numa.allocated += share.allocated;
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
