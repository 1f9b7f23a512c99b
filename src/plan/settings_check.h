// What an engine refuses of a deployment before it looks at a model or a card.
#ifndef SHARDPLAN_PLAN_SETTINGS_CHECK_H_
#define SHARDPLAN_PLAN_SETTINGS_CHECK_H_

#include <vector>

#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"
#include "shardplan/hardware/cluster.h"
#include "shardplan/hardware/gpu.h"
#include "shardplan/plan/deployment.h"

namespace shardplan {

// What settings and sizes tell alone, as a plan of the same deployment tells it: the engine's own
// checks of them (engine/vllm/settings_check.h; sglang/parallel.h, legality.h and offload.h).
// Values for which a plan fails with kUsage are command.refused (error). Nodes count where the
// deployment names them.
std::vector<Finding> CheckSettings(const Deployment& deployment);

// What the nodes and a kind of card tell: layout.world_size, layout.tp_spans_nodes … and hidden
// cards. Nothing where the sizes are none. Fails as a plan does where a cluster's nodes are not
// enough.
Result<std::vector<Finding>> CheckPlacement(const GpuSpec& gpu, const Catalog& catalog,
                                            const Deployment& deployment);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_SETTINGS_CHECK_H_
