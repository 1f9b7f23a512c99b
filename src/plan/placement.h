// Where ranks sit, and what a node reads and keeps for them.
#ifndef SHARDPLAN_PLAN_PLACEMENT_H_
#define SHARDPLAN_PLAN_PLACEMENT_H_

#include <cstdint>
#include <vector>

#include "shardplan/base/finding.h"
#include "shardplan/hardware/cluster_spec.h"
#include "shardplan/plan/deployment.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// How ranks are spread over nodes.
struct NodePlacement {
  int64_t nodes = 1;  // in use
  int64_t gpus_per_node = 8;
  int64_t ranks_per_node = 1;
  bool tp_spans_nodes = false;
  std::vector<int> numa_of_gpu;
  std::vector<std::vector<int>> numa_by_node;  // where nodes differ; else empty
  bool numa_known = true;  // false: no preset for this size, everything is put on node 0
  bool numa_told = false;  // by a cluster, of every node in use

  const std::vector<int>& NumaOf(int64_t node) const {
    return numa_by_node.empty() ? numa_of_gpu : numa_by_node[static_cast<size_t>(node)];
  }
  int64_t NumaOf(const RankPlace& place) const {
    const std::vector<int>& cards = NumaOf(place.node);
    return cards.empty() ? 0 : cards[static_cast<size_t>(place.gpu)];
  }
};

// NUMA nodes of the cards of the servers in use: as the cluster tells them (it may be null), else
// by the number of cards.
void FillNuma(const Catalog& catalog, const ClusterSpec* cluster, NodePlacement* place);

// layout.hidden_gpus (error): the deployment's CUDA_VISIBLE_DEVICES shows fewer cards than a node
// has ranks.
void CheckVisibleCards(const Deployment& deployment, int64_t ranks_per_node,
                       std::vector<Finding>* findings);

// What a rank of each stage loads.
struct StageLoads {
  std::vector<StageRange> stages;
  bool tied_embeddings = false;
  bool vision = false;
  bool draft = false;  // a drafter whose tensors are in the model's own files, on the last stage
};

// What a rank pins.
struct PinnedShare {
  int64_t node = 0;
  int64_t numa_node = 0;
  Bytes bytes;
  Bytes allocated;
};
std::vector<PinnedShare> SharesOf(const std::vector<RankPlan>& ranks);
// Whether a rank of `stage` loads anything of a shard file.
bool LoadsShard(const ShardUse& use, const StageLoads& loads, int64_t stage);

// Bytes of host memory, per node and NUMA node.
std::vector<HostPlan> PlanHost(const NodePlacement& place, const std::vector<PinnedShare>& shares);

// Shard files per node; empty without headers.
std::vector<FilesPlan> PlanFiles(const NodePlacement& place, const StageLoads& loads,
                                 const Model& model, const std::vector<RankPlan>& ranks);

// Physical memory of `cards` cards against file bytes.
EvenShare MakeEvenShare(const GpuSpec& gpu, int64_t cards, const Model& model);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_PLACEMENT_H_
