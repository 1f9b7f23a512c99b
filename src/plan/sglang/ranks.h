// How SGLang spreads its ranks over nodes.
#ifndef SHARDPLAN_PLAN_SGLANG_RANKS_H_
#define SHARDPLAN_PLAN_SGLANG_RANKS_H_

#include <vector>

#include "engine/sglang/context.h"
#include "plan/placement.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// Chooses the fewest nodes that hold whole stages, or divide one evenly: a stage never shares a
// node with part of another. What cannot be placed is an error finding; TP over several nodes a
// warning.
void PlaceSglang(const GpuSpec& gpu, const Catalog& catalog, const Deployment& deployment,
                 const ParallelSizes& sizes, NodePlacement* place, std::vector<Finding>* findings);

// rank = (replica × pp + stage) × tp + tp_rank. With DP attention dp_rank counts attention groups
// inside the TP group.
std::vector<RankPlace> PlaceSglangRanks(const sglang::ServerArgs& args, const NodePlacement& place);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_SGLANG_RANKS_H_
