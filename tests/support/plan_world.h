// Models and deployments that the plan's tests share.
#ifndef SHARDPLAN_TESTS_SUPPORT_PLAN_WORLD_H_
#define SHARDPLAN_TESTS_SUPPORT_PLAN_WORLD_H_

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "plan/prepare.h"
#include "shardplan/plan/plan.h"
#include "support/example_model.h"

namespace shardplan::testing_support {

// An example model from its config alone, loaded once.
inline const Model& ExampleFromConfig(const std::string& name) {
  static std::map<std::string, Model> models;
  auto it = models.find(name);
  if (it == models.end()) {
    Result<Model> model = LoadModel(ExampleConfigPath(name));
    EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().ToString());
    it = models.emplace(name, model ? std::move(*model) : Model()).first;
  }
  return it->second;
}

inline const ConfigStore& Store() {
  static const ConfigStore store = ConfigStore::BuiltIn();
  return store;
}

inline const Catalog& Cards() {
  static const Catalog catalog = *Catalog::Load(Store());
  return catalog;
}

inline Environment EnvironmentFor(const Model& model, const Deployment& deployment) {
  Result<Environment> environment = MakeEnvironment(model, Cards(), Store(), deployment);
  EXPECT_TRUE(environment.has_value()) << (environment ? "" : environment.error().ToString());
  return environment ? std::move(*environment) : Environment();
}

inline Plan Evaluate(const Model& model, const Deployment& deployment) {
  Result<Plan> plan = EvaluatePlan(model, Cards(), Store(), deployment);
  EXPECT_TRUE(plan.has_value()) << (plan ? "" : plan.error().ToString());
  return plan ? std::move(*plan) : Plan();
}

// The published deployment: Kimi-K3, text only, TP8 × PP2 48,45 on 2 × 8 H20, 512K, UVA 32 GiB.
inline Deployment PublishedKimiK3() {
  Deployment d;
  d.gpu = "h20-96";
  d.nodes = 2;
  d.sizes.tp = 8;
  d.sizes.pp = 2;
  d.partition = std::vector<int64_t>{48, 45};
  EngineSettings& s = d.settings;
  s.max_model_len = 524'288;
  s.max_num_seqs = 1;
  s.max_num_batched_tokens = 8192;
  s.gpu_memory_utilization = 0.90;
  s.enforce_eager = true;
  s.enable_prefix_caching = true;
  s.mamba_cache_mode = "align";
  s.language_model_only = true;
  s.numa_bind = true;
  s.offload_backend = "uva";
  s.cpu_offload_gb = 32;
  s.cpu_offload_params = {"w13_weight", "w2_weight"};
  d.output_tokens = 32'768;
  return d;
}

inline const Finding* FindFinding(const Plan& plan, const std::string& id) {
  for (const Finding& finding : plan.findings) {
    if (finding.id == id) return &finding;
  }
  return nullptr;
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_SUPPORT_PLAN_WORLD_H_
