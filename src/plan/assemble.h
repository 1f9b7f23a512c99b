// Puts an evaluated deployment of vLLM together: ranks, cache, verdict, host, files, launch.
#ifndef SHARDPLAN_PLAN_ASSEMBLE_H_
#define SHARDPLAN_PLAN_ASSEMBLE_H_

#include "plan/prepare.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// The plan without solved fixes. `brief` skips what a search for a fix does not look at (host,
// files, launch, explanatory notes).
Result<Plan> Assemble(const Environment& environment, const Deployment& deployment, bool brief);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_ASSEMBLE_H_
