#include <algorithm>

#include "engine/vllm/arguments.h"
#include "plan/assemble.h"
#include "shardplan/base/units.h"

namespace shardplan {

std::vector<HostPlan> PlanHost(const Prepared& p, const std::vector<RankPlan>& ranks) {
  std::vector<HostPlan> hosts;
  for (int64_t node = 0; node < p.placement.nodes; ++node) {
    HostPlan host;
    host.node = node;
    std::vector<int> domains = p.placement.numa_of_gpu;
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

namespace {

bool Loads(const ShardUse& use, const Prepared& p, int64_t stage) {
  const StageRange& range = p.context.stages[static_cast<size_t>(stage)];
  const bool last = stage + 1 == p.context.sizes.pp;
  if (use.first_stage && (stage == 0 || (last && p.context.arch->tied_embeddings))) return true;
  if (use.last_stage && last) return true;
  if (use.draft && last && p.draft && p.draft->in_checkpoint) return true;
  if (use.every_stage || (use.tower && p.context.resolved.vision_on_device)) return true;
  return std::any_of(use.layers.begin(), use.layers.end(),
                     [&](int64_t layer) { return layer >= range.first && layer < range.end(); });
}

}  // namespace

std::vector<FilesPlan> PlanFiles(const Prepared& p, const Model& model,
                                 const std::vector<RankPlan>& ranks) {
  std::vector<FilesPlan> files;
  if (model.shard_use.empty()) return files;
  for (int64_t node = 0; node < p.placement.nodes; ++node) {
    FilesPlan plan;
    plan.node = node;
    for (size_t shard = 0; shard < model.shard_use.size(); ++shard) {
      const ShardUse& use = model.shard_use[shard];
      const bool needed = std::any_of(ranks.begin(), ranks.end(), [&](const RankPlan& rank) {
        return rank.place.node == node && Loads(use, p, rank.place.stage);
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

std::vector<LaunchPlan> PlanLaunch(const Prepared& p, const Model& model) {
  std::vector<LaunchPlan> launch;
  for (int64_t node = 0; node < p.placement.nodes; ++node) {
    vllm::NodeFacts facts;
    facts.node = node;
    facts.nodes = p.placement.nodes;
    facts.gpus = p.placement.ranks_per_node;
    facts.explicit_partition =
        p.context.stages != DefaultPartition(p.context.arch->layers(), p.context.sizes.pp);
    facts.numa_of_gpu = p.placement.numa_of_gpu;
    facts.numa_of_gpu.resize(static_cast<size_t>(p.placement.ranks_per_node));
    if (model.hypothetical) break;
    vllm::NodeCommand command = vllm::MakeCommand(p.context, model.inventory.directory, facts);
    launch.push_back({node, std::move(command.env), std::move(command.argv)});
  }
  return launch;
}

EvenShare MakeEvenShare(const Prepared& p, const Model& model) {
  EvenShare share;
  share.cards = p.placement.nodes * p.placement.ranks_per_node;
  if (!p.legal) share.cards = p.deployment.sizes.world();
  share.card = p.gpu.device_total.bytes.central;
  share.physical = share.card * share.cards;
  share.from_files = model.shape_basis == Basis::kExact;
  share.file_bytes = share.from_files ? model.inventory.file_bytes : model.totals.payload;
  share.share = Bytes(CeilDiv(share.file_bytes.count(), share.cards));
  share.margin = share.card - share.share;
  return share;
}

}  // namespace shardplan
