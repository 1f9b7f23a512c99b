// Where ranks sit, and what a node reads and keeps for them.
#ifndef SHARDPLAN_PLAN_PLACEMENT_H_
#define SHARDPLAN_PLAN_PLACEMENT_H_

#include <cstdint>
#include <vector>

#include "shardplan/plan/plan.h"

namespace shardplan {

// How ranks are spread over nodes.
struct NodePlacement {
  int64_t nodes = 1;  // in use
  int64_t gpus_per_node = 8;
  int64_t ranks_per_node = 1;
  bool tp_spans_nodes = false;
  std::vector<int> numa_of_gpu;
  bool numa_known = true;  // false: no preset for this size, everything is put on node 0
};

// NUMA nodes of the cards of a server, by their number.
void FillNuma(const Catalog& catalog, NodePlacement* place);

// What a rank of each stage loads.
struct StageLoads {
  std::vector<StageRange> stages;
  bool tied_embeddings = false;
  bool vision = false;
  bool draft = false;  // a drafter whose tensors are in the model's own files, on the last stage
};

// Whether a rank of `stage` loads anything of a shard file.
bool LoadsShard(const ShardUse& use, const StageLoads& loads, int64_t stage);

// Bytes of host memory, per node and NUMA node.
std::vector<HostPlan> PlanHost(const NodePlacement& place, const std::vector<RankPlan>& ranks);

// Shard files per node; empty without headers.
std::vector<FilesPlan> PlanFiles(const NodePlacement& place, const StageLoads& loads,
                                 const Model& model, const std::vector<RankPlan>& ranks);

// Physical memory of `cards` cards against file bytes.
EvenShare MakeEvenShare(const GpuSpec& gpu, int64_t cards, const Model& model);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_PLACEMENT_H_
