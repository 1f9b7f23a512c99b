#include "plan/placement_findings.h"

#include <algorithm>
#include <utility>

#include "plan/card_findings.h"
#include "plan/link_findings.h"

namespace shardplan {

void AddOnce(Finding finding, std::vector<Finding>* out) {
  const bool known = std::any_of(out->begin(), out->end(), [&](const Finding& f) {
    return f.id == finding.id && f.message == finding.message;
  });
  if (!known) out->push_back(std::move(finding));
}

std::vector<Finding> PlacementFindings(const PlacementRequest& request, const Plan& plan) {
  std::vector<Finding> out = LinkFindings(request, plan);
  for (Finding& finding : CardFindings(request, plan)) out.push_back(std::move(finding));
  return out;
}

}  // namespace shardplan
