// SGLang deployments that the plan's tests share.
#ifndef SHARDPLAN_TESTS_SUPPORT_SGLANG_WORLD_H_
#define SHARDPLAN_TESTS_SUPPORT_SGLANG_WORLD_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "plan/sglang/prepare.h"
#include "support/plan_world.h"

namespace shardplan::testing_support {

inline Deployment OnSglang(const std::string& gpu, int64_t tp, int64_t pp = 1) {
  Deployment d;
  d.engine = "sglang";
  d.gpu = gpu;
  d.sizes.tp = tp;
  d.sizes.pp = pp;
  return d;
}

// Kimi-K3's conservative baseline on 2 × 8 H20 of 141 GB: TP16 × EP16, a window of 32,768, marlin,
// flashmla, BF16 cache and states, no prefix cache, no draft.
inline Deployment BaselineKimiK3() {
  Deployment d = OnSglang("h20-141", 16);
  d.nodes = 2;
  d.settings.max_model_len = 32'768;
  d.sglang.context_length = 32'768;
  d.sglang.ep_size = 16;
  d.sglang.moe_runner_backend = "marlin";
  d.sglang.attention_backend = "flashmla";
  d.sglang.disable_radix_cache = true;
  d.sglang.mamba_ssm_dtype = DType::kBF16;
  return d;
}

inline SglangEnvironment SglangEnvironmentFor(const Model& model, const Deployment& deployment) {
  auto environment = MakeSglangEnvironment(model, Cards(), Store(), deployment);
  EXPECT_TRUE(environment.has_value()) << (environment ? "" : environment.error().ToString());
  return environment ? std::move(*environment) : SglangEnvironment();
}

inline bool HasFinding(const std::vector<Finding>& findings, const std::string& id) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& finding) { return finding.id == id; });
}

inline const Finding& FindingOf(const std::vector<Finding>& findings, const std::string& id) {
  static const Finding none;
  const auto it = std::find_if(findings.begin(), findings.end(),
                               [&](const Finding& finding) { return finding.id == id; });
  EXPECT_NE(it, findings.end()) << "no finding " << id;
  return it == findings.end() ? none : *it;
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_SUPPORT_SGLANG_WORLD_H_
