#include "plan/node_loading.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "shardplan/base/units.h"

namespace shardplan {
namespace {

ReadTime TimeOf(Bytes bytes, const LinkRate& rate) {
  const auto at = [&](double gb_per_s) {
    return gb_per_s > 0 ? static_cast<double>(bytes.count()) / (gb_per_s * 1e9) : 0;
  };
  return {at(rate.gb_per_s), at(rate.high), at(rate.low)};
}

// Tensors of the checkpoint that the stages on a node own, each once.
Bytes TensorsOf(const std::set<int64_t>& stages, const StageLoads& loads, const Model& model) {
  const auto last = static_cast<int64_t>(loads.stages.size()) - 1;
  const bool first_here = stages.contains(0);
  const bool last_here = stages.contains(last);
  Bytes sum;
  for (const TensorGroup& group : model.contents.groups) {
    const bool tower = group.role == Role::kVision || group.role == Role::kProjector;
    if (tower && !loads.vision) continue;
    const bool tied = loads.tied_embeddings && group.role == Role::kEmbedding && last_here;
    const bool here = (group.placement == Placement::kFirstStage && (first_here || tied)) ||
                      (group.placement == Placement::kLastStage && last_here) ||
                      group.placement == Placement::kEveryStage;
    if (here) sum += group.amount.bytes;
  }
  for (const LayerContents& layer : model.contents.layers) {
    const bool draft = layer.layer >= model.arch.layers();
    const bool here = draft ? loads.draft && last_here
                            : std::any_of(stages.begin(), stages.end(), [&](int64_t stage) {
                                const StageRange& range = loads.stages[static_cast<size_t>(stage)];
                                return layer.layer >= range.first && layer.layer < range.end();
                              });
    if (here) sum += layer.amount.bytes;
  }
  return sum;
}

void FillFiles(const Model& model, const FilesPlan& files, NodeLoading* node) {
  const std::set<std::string> needed(files.needed_shards.begin(), files.needed_shards.end());
  Bytes of_needed, all;
  for (const ShardInfo& shard : model.inventory.shards) {
    all += shard.file_bytes;
    if (needed.contains(shard.name)) of_needed += shard.file_bytes;
  }
  node->needed = of_needed;
  node->opened = all;
  node->needed_files = static_cast<int64_t>(files.needed_shards.size());
  node->opened_files = static_cast<int64_t>(model.inventory.shards.size());
  node->saved = all - files.bytes;
}

// Files that at least two ranks of a node load from.
int64_t SharedFiles(const Model& model, const StageLoads& loads,
                    const std::map<int64_t, int64_t>& ranks_of_stage) {
  return std::count_if(model.shard_use.begin(), model.shard_use.end(), [&](const ShardUse& use) {
    int64_t readers = 0;
    for (const auto& [stage, ranks] : ranks_of_stage) {
      if (LoadsShard(use, loads, stage)) readers += ranks;
    }
    return readers > 1;
  });
}

void FillStaging(const Model& model, const std::string& load_format, LoadingPlan* plan) {
  const ShardInfo* largest = nullptr;
  for (const ShardInfo& shard : model.inventory.shards) {
    if (largest == nullptr || shard.file_bytes > largest->file_bytes) largest = &shard;
  }
  if (largest == nullptr) return;
  plan->staging = largest->file_bytes;
  plan->staging_on_card = load_format == "fastsafetensors";
  plan->staging_reason = plan->staging_on_card
                             ? "the largest file, whole on the card beside the weights"
                             : "the largest file, mapped into page cache while it is read";
}

}  // namespace

std::optional<LoadingPlan> PlanLoading(const NodePlacement& place, const StageLoads& loads,
                                       const Model& model, const LinkRates& rates,
                                       const std::string& load_format, const Plan& plan) {
  if (!model.contents.complete || plan.ranks.empty()) return std::nullopt;
  LoadingPlan out;
  out.rates = rates;
  for (int64_t n = 0; n < place.nodes; ++n) {
    NodeLoading node;
    node.node = n;
    std::map<int64_t, int64_t> ranks_of_stage;
    for (const RankPlan& rank : plan.ranks) {
      if (rank.place.node != n) continue;
      ++node.ranks;
      ++ranks_of_stage[rank.place.stage];
    }
    if (node.ranks == 0) continue;
    std::set<int64_t> stages;
    for (const auto& [stage, ranks] : ranks_of_stage) stages.insert(stage);
    node.tensors = TensorsOf(stages, loads, model);
    for (const FilesPlan& files : plan.files) {
      if (files.node == n) FillFiles(model, files, &node);
    }
    if (node.ranks > 1 && node.needed)
      node.shared_files = SharedFiles(model, loads, ranks_of_stage);
    node.disk = TimeOf(node.tensors, rates.disk);
    if (node.opened) node.all_from_disk = TimeOf(*node.opened, rates.disk);
    out.from_shared_fs += node.tensors;
    out.nodes.push_back(std::move(node));
  }
  out.shared_fs = TimeOf(out.from_shared_fs, rates.shared_fs);
  for (const RankPlan& rank : plan.ranks) out.to_card = std::max(out.to_card, rank.weights);
  if (rates.pcie) out.pcie_seconds = rates.pcie->SecondsFor(out.to_card);
  FillStaging(model, load_format, &out);
  return out;
}

}  // namespace shardplan
