// The tensors behind a rank's weights in vLLM.
#ifndef SHARDPLAN_PLAN_EXPLAIN_H_
#define SHARDPLAN_PLAN_EXPLAIN_H_

#include <cstdint>
#include <vector>

#include "plan/prepare.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// As Planner::ExplainWeights.
Result<std::vector<WeightItem>> ExplainVllmWeights(const Environment& environment,
                                                   const Deployment& deployment, int64_t rank);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_EXPLAIN_H_
