// Puts an evaluated deployment together: ranks, cache, verdict, host, files, launch.
#ifndef SHARDPLAN_PLAN_ASSEMBLE_H_
#define SHARDPLAN_PLAN_ASSEMBLE_H_

#include "plan/prepare.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// The plan without solved fixes. `brief` skips what a search for a fix does not look at (host,
// files, launch, explanatory notes).
Result<Plan> Assemble(const Environment& environment, const Deployment& deployment, bool brief);

// Bytes of host memory, per node and NUMA node.
std::vector<HostPlan> PlanHost(const Prepared& prepared, const std::vector<RankPlan>& ranks);

// Shard files per node; empty without headers.
std::vector<FilesPlan> PlanFiles(const Prepared& prepared, const Model& model,
                                 const std::vector<RankPlan>& ranks);

// One command per node.
std::vector<LaunchPlan> PlanLaunch(const Prepared& prepared, const Model& model);

// Physical memory against file bytes.
EvenShare MakeEvenShare(const Prepared& prepared, const Model& model);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_ASSEMBLE_H_
