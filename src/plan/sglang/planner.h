// SGLang's planner.
#ifndef SHARDPLAN_PLAN_SGLANG_PLANNER_H_
#define SHARDPLAN_PLAN_SGLANG_PLANNER_H_

#include <string>
#include <vector>

#include "plan/planner.h"
#include "plan/sglang/prepare.h"

namespace shardplan {

class SglangPlanner : public Planner {
 public:
  explicit SglangPlanner(SglangEnvironment environment) : environment_(std::move(environment)) {}

  Result<Plan> Assemble(const Deployment& deployment, bool brief) const override;
  // In the order in which they cost least: a runner that keeps experts small, another fraction or
  // ratio, whole experts, no prefix cache, a smaller window, more cards.
  std::string DescribeFix(const Deployment& deployment, const Plan& plan) const override;
  Result<std::vector<WeightItem>> ExplainWeights(const Deployment& deployment,
                                                 int64_t rank) const override;

 private:
  SglangEnvironment environment_;
};

}  // namespace shardplan

#endif  // SHARDPLAN_PLAN_SGLANG_PLANNER_H_
