// How the layers of a pipeline are split, and what another split would hold.
#ifndef SHARDPLAN_PLAN_PARTITION_H_
#define SHARDPLAN_PLAN_PARTITION_H_

#include <cstdint>
#include <optional>

#include "plan/search.h"
#include "shardplan/base/finding.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

// Plans made for one partition at most: deep pipelines end near the split they begin with.
constexpr int64_t kMostPartitions = 96;

// A deployment and what is known of it.
struct PartitionPlan {
  Deployment deployment;
  Plan plan;
  bool settled = true;  // no move of a single layer is better; false: the search was cut
};

// Gives single layers of one stage to another as long as that is better: what fits before what does
// not, then what the cache holds, then what the fullest rank has to spare. `plan` is of
// `deployment`; `evaluated` counts the plans made, up to kMostPartitions.
PartitionPlan BestPartition(const Evaluator& evaluate, Deployment deployment, Plan plan,
                            int64_t* evaluated);

// Which of two plans of the same request holds more, at every end of their ranges.
enum class Standing { kMore, kLess, kTie };

// A tie: as many blocks, or the ends of the ranges do not agree on which has more.
Standing Compare(const KvPlan& a, const KvPlan& b);

// What `plan`, a pipeline's, holds beside the engine's own split and beside the best one that
// BestPartition finds, with ranges: pipeline.partition, a note; a warning where the best one is
// better at every end, or fits where the plan does not: the fix names it. Nothing for one stage, an
// illegal layout, where the split is the engine's own and none is better, or where none fits.
std::optional<Finding> ComparePartitions(const Evaluator& evaluate, const Deployment& deployment,
                                         const Plan& plan);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_PARTITION_H_
