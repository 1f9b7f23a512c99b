#include "plan/placement_findings.h"

#include <utility>

#include "plan/card_findings.h"
#include "plan/link_findings.h"

namespace shardplan {

std::vector<Finding> PlacementFindings(const PlacementRequest& request, const Plan& plan) {
  std::vector<Finding> out = LinkFindings(request, plan);
  for (Finding& finding : CardFindings(request, plan)) out.push_back(std::move(finding));
  return out;
}

}  // namespace shardplan
