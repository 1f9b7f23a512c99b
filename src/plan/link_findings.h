// Findings about what goes over which link.
#ifndef SHARDPLAN_PLAN_LINK_FINDINGS_H_
#define SHARDPLAN_PLAN_LINK_FINDINGS_H_

#include <vector>

#include "plan/placement_findings.h"

namespace shardplan {

std::vector<Finding> LinkFindings(const PlacementRequest& request, const Plan& plan);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_LINK_FINDINGS_H_
