// How vLLM spreads its ranks over nodes.
#ifndef SHARDPLAN_PLAN_VLLM_PLACE_H_
#define SHARDPLAN_PLAN_VLLM_PLACE_H_

#include <vector>

#include "plan/placement.h"
#include "shardplan/base/finding.h"
#include "shardplan/hardware/cluster.h"
#include "shardplan/hardware/gpu.h"
#include "shardplan/plan/deployment.h"

namespace shardplan {

// Chooses the fewest nodes that hold the ranks evenly. What cannot be placed, and hidden cards, are
// error findings; groups and stages over several nodes are warnings.
void PlaceVllm(const GpuSpec& gpu, const Catalog& catalog, const Deployment& deployment,
               NodePlacement* place, std::vector<Finding>* findings);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_VLLM_PLACE_H_
