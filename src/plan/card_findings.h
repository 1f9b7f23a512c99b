// Findings about cards, drivers and the NUMA nodes that cards hang on.
#ifndef SHARDPLAN_PLAN_CARD_FINDINGS_H_
#define SHARDPLAN_PLAN_CARD_FINDINGS_H_

#include <vector>

#include "plan/placement_findings.h"

namespace shardplan {

std::vector<Finding> CardFindings(const PlacementRequest& request, const Plan& plan);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_CARD_FINDINGS_H_
