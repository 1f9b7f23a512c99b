#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "plan/cluster_use.h"
#include "plan/issue_match.h"
#include "plan/partition.h"
#include "plan/planner.h"
#include "plan/search.h"
#include "shardplan/plan/plan.h"

namespace shardplan {

std::string_view ToString(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits:
      return "fits";
    case Verdict::kDoesNotFit:
      return "does_not_fit";
    case Verdict::kIllegal:
      return "illegal";
  }
  return "illegal";
}

namespace {

// By memory alone, with the ways out of what is short.
Result<Plan> PlanMemory(const Model& model, const Catalog& catalog, const ConfigStore& store,
                        const Deployment& deployment) {
  SHARDPLAN_ASSIGN_OR_RETURN(const std::unique_ptr<Planner> planner,
                             MakePlanner(model, catalog, store, deployment));
  SHARDPLAN_ASSIGN_OR_RETURN(Plan plan, planner->Assemble(deployment, /*brief=*/false));
  const Evaluator evaluate = [&](const Deployment& other) -> std::optional<Plan> {
    Result<Plan> made = planner->Assemble(other, /*brief=*/true);
    if (!made) return std::nullopt;
    ApplyIssues(&*made, plan.findings);
    return std::move(*made);
  };
  std::string partition;  // with which it fits
  if (std::optional<Finding> finding = ComparePartitions(evaluate, deployment, plan)) {
    if (plan.verdict == Verdict::kDoesNotFit) partition = finding->fix;
    plan.findings.push_back(std::move(*finding));
    SortFindings(plan.findings);
  }
  if (plan.verdict != Verdict::kDoesNotFit) return plan;
  // Every way out, on the first finding that has none of its own; once is enough: the others are of
  // the same cause.
  const auto error =
      std::find_if(plan.findings.begin(), plan.findings.end(), [](const Finding& finding) {
        return finding.severity == Severity::kError && finding.fix.empty();
      });
  if (error == plan.findings.end()) return plan;
  error->fix = planner->DescribeFix(deployment, plan);
  if (!partition.empty()) error->fix = partition + " (on the same cards); or " + error->fix;
  return plan;
}

}  // namespace

Result<Plan> EvaluatePlan(const Model& model, const Catalog& catalog, const ConfigStore& store,
                          const Deployment& deployment) {
  SHARDPLAN_ASSIGN_OR_RETURN(Plan plan, PlanMemory(model, catalog, store, deployment));
  ApplyIssues(&plan);
  return plan;
}

Result<std::vector<WeightItem>> ExplainWeights(const Model& model, const Catalog& catalog,
                                               const ConfigStore& store,
                                               const Deployment& deployment, int64_t rank) {
  SHARDPLAN_ASSIGN_OR_RETURN(const std::unique_ptr<Planner> planner,
                             MakePlanner(model, catalog, store, deployment));
  return planner->ExplainWeights(deployment, rank);
}

FigureEvaluator::FigureEvaluator(const Model& model, const Catalog& catalog,
                                 const ConfigStore& store)
    : model_(model), catalog_(catalog), store_(store) {}
FigureEvaluator::~FigureEvaluator() = default;

Result<Plan> FigureEvaluator::Evaluate(const Deployment& deployment) {
  const bool is_same = planner_ && HasSameCard(deployment, last_) &&
                       deployment.engine == last_.engine &&
                       deployment.engine_version == last_.engine_version &&
                       deployment.calibration == last_.calibration;
  if (!is_same) {
    planner_.reset();
    SHARDPLAN_ASSIGN_OR_RETURN(planner_, MakePlanner(model_, catalog_, store_, deployment));
    last_ = deployment;
  }
  SHARDPLAN_ASSIGN_OR_RETURN(Plan plan, planner_->Assemble(deployment, /*brief=*/true));
  ApplyIssues(&plan);
  return plan;
}

}  // namespace shardplan
