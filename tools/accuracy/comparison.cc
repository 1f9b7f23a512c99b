#include "tools/accuracy/comparison.h"

#include <algorithm>
#include <cmath>

#include "shardplan/base/units.h"

namespace shardplan::accuracy {
namespace {

// Why an evaluated plan has no ranks.
std::string FirstError(const Plan& plan) {
  for (const Finding& finding : plan.findings) {
    if (finding.severity == Severity::kError) return finding.subject + ": " + finding.message;
  }
  return "";
}

}  // namespace

double Comparison::error() const { return InGiB(predicted).value() / observed_gib - 1; }

Result<std::vector<Comparison>> Compare(const std::vector<Case>& cases, const ConfigStore& store) {
  SHARDPLAN_ASSIGN_OR_RETURN(const Catalog catalog, Catalog::Load(store));
  std::vector<Comparison> rows;
  for (const Case& c : cases) {
    if (c.weights_gib.empty() || c.unexplained) continue;
    const Result<Plan> plan = PlanCase(c, c.deployment, catalog, store);
    if (!plan && plan.error().code != ErrorCode::kUnsupported) {
      return tl::unexpected(plan.error());
    }
    if (plan && plan->ranks.empty()) {
      return Fail(ErrorCode::kInvalidInput, c.id, FirstError(*plan));
    }
    for (size_t stage = 0; stage < c.weights_gib.size(); ++stage) {
      Comparison row;
      row.log = c;
      row.stage = static_cast<int64_t>(stage);
      row.observed_gib = c.weights_gib[stage];
      if (!plan) row.not_modelled = plan.error().message;
      if (plan) {
        for (const RankPlan& rank : plan->ranks) {
          if (rank.place.stage != row.stage || rank.weights < row.predicted) continue;
          row.predicted = rank.weights;
          row.detail = rank.detail;
        }
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

Summary Summarize(const std::vector<Comparison>& rows) {
  Summary s;
  s.rows = rows.size();
  std::vector<double> errors;
  for (const Comparison& row : rows) {
    if (row.modelled()) errors.push_back(std::abs(row.error()));
  }
  s.modelled = errors.size();
  if (errors.empty()) return s;
  std::sort(errors.begin(), errors.end());
  const size_t half = errors.size() / 2;
  s.median = errors.size() % 2 == 1 ? errors[half] : (errors[half - 1] + errors[half]) / 2;
  s.largest = errors.back();
  s.within_half_percent =
      static_cast<size_t>(std::upper_bound(errors.begin(), errors.end(), 0.005) - errors.begin());
  return s;
}

}  // namespace shardplan::accuracy
