// What nodes read while an engine loads its weights.
#ifndef SHARDPLAN_PLAN_NODE_LOADING_H_
#define SHARDPLAN_PLAN_NODE_LOADING_H_

#include <optional>
#include <string>
#include <vector>

#include "plan/placement.h"
#include "shardplan/plan/loading.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// Of the ranks and files of a plan; `load_format` is vLLM's, empty for the default. Nothing for one
// shard of several, which tells too little.
std::optional<LoadingPlan> PlanLoading(const NodePlacement& place, const StageLoads& loads,
                                       const Model& model, const LinkRates& rates,
                                       const std::string& load_format, const Plan& plan);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_NODE_LOADING_H_
