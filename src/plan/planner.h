// One engine's way from a deployment to a plan.
#ifndef SHARDPLAN_PLAN_PLANNER_H_
#define SHARDPLAN_PLAN_PLANNER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shardplan/plan/plan.h"

namespace shardplan {

// Holds what deployments on the same card and engine share, looked up once. Model, catalogue and
// store have to outlive it.
class Planner {
 public:
  Planner() = default;
  virtual ~Planner() = default;
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  // The plan without solved fixes. `brief` skips what a search for a fix does not look at: host,
  // files, launch, explaining notes, and ranks that are like others.
  virtual Result<Plan> Assemble(const Deployment& deployment, bool brief) const = 0;
  // Every way out of a plan that does not fit, in one line.
  virtual std::string DescribeFix(const Deployment& deployment, const Plan& plan) const = 0;
  // The items behind a rank's weights.
  virtual Result<std::vector<WeightItem>> ExplainWeights(const Deployment& deployment,
                                                         int64_t rank) const = 0;
};

// The planner of the deployment's engine. Fails with kUsage for an unknown card, kUnsupported for
// an engine or version that is not modelled.
Result<std::unique_ptr<Planner>> MakePlanner(const Model& model, const Catalog& catalog,
                                             const ConfigStore& store,
                                             const Deployment& deployment);

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_PLANNER_H_
