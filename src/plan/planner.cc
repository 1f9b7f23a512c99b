#include "plan/planner.h"

#include <utility>

#include "plan/assemble.h"
#include "plan/explain.h"
#include "plan/fixes.h"
#include "plan/issue_match.h"
#include "plan/sglang/planner.h"
#include "shardplan/base/file.h"

namespace shardplan {
namespace {

class VllmPlanner : public Planner {
 public:
  explicit VllmPlanner(Environment environment) : environment_(std::move(environment)) {}

  Result<Plan> Assemble(const Deployment& deployment, bool brief) const override {
    return shardplan::Assemble(environment_, deployment, brief);
  }
  std::string DescribeFix(const Deployment& deployment, const Plan& plan) const override {
    // What the plan runs into already is no reason against a way out of what is short.
    Environment changed = environment_;
    if (changed.issues) {
      changed.issues = std::make_shared<const std::vector<KnownIssue>>(
          IssuesBeside(*environment_.issues, plan.findings));
    }
    return shardplan::DescribeFix(changed, deployment, plan);
  }
  Result<std::vector<WeightItem>> ExplainWeights(const Deployment& deployment,
                                                 int64_t rank) const override {
    return ExplainVllmWeights(environment_, deployment, rank);
  }

 private:
  Environment environment_;
};

}  // namespace

Result<std::unique_ptr<Planner>> MakePlanner(const Model& model, const Catalog& catalog,
                                             const ConfigStore& store,
                                             const Deployment& deployment) {
  if (deployment.engine == "vllm") {
    SHARDPLAN_ASSIGN_OR_RETURN(Environment env, MakeEnvironment(model, catalog, store, deployment));
    return std::make_unique<VllmPlanner>(std::move(env));
  }
  if (deployment.engine == "sglang") {
    SHARDPLAN_ASSIGN_OR_RETURN(SglangEnvironment env,
                               MakeSglangEnvironment(model, catalog, store, deployment));
    return std::make_unique<SglangPlanner>(std::move(env));
  }
  return Fail(ErrorCode::kUnsupported, "--engine " + Printable(deployment.engine),
              "only vllm and sglang are modelled", "--engine vllm or sglang, or either @VERSION");
}

}  // namespace shardplan
