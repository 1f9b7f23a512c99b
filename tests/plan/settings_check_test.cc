#include "plan/settings_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/plan_world.h"

namespace shardplan {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_support::Evaluate;
using testing_support::ExampleFromConfig;

// "id subject" of each.
std::vector<std::string> Told(const std::vector<Finding>& findings) {
  std::vector<std::string> told;
  for (const Finding& finding : findings) told.push_back(finding.id + " " + finding.subject);
  return told;
}

Deployment Of(const char* engine) {
  Deployment d;
  d.engine = engine;
  d.gpu = "h200-141";
  return d;
}

TEST(SettingsCheckTest, PlainDeploymentsPass) {
  EXPECT_THAT(CheckSettings(Of("vllm")), IsEmpty());
  EXPECT_THAT(CheckSettings(Of("sglang")), IsEmpty());
}

TEST(SettingsCheckTest, Sglang) {
  Deployment d = Of("sglang");
  d.sizes.tp = 8;
  d.sizes.dp = 3;
  d.sglang.enable_dp_attention = true;
  EXPECT_THAT(Told(CheckSettings(d)), ElementsAre("layout.dp_attention --dp-size 3"));
  d.sizes.dp = 16;
  EXPECT_THAT(Told(CheckSettings(d)), ElementsAre("layout.dp_attention --dp-size 16"));
  d.sizes.dp = 2;
  EXPECT_THAT(Told(CheckSettings(d)), IsEmpty());
  d.sglang.enable_dp_attention = false;
  d.sglang.enable_dp_lm_head = true;
  EXPECT_THAT(Told(CheckSettings(d)), ElementsAre("layout.dp_lm_head --enable-dp-lm-head"));
  d.sglang.enable_dp_lm_head = false;
  d.sglang.ep_size = 3;
  EXPECT_THAT(Told(CheckSettings(d)), ElementsAre("layout.experts --ep-size 3"));
  d.sglang.ep_size = 1;
  d.nodes = 2;
  EXPECT_THAT(Told(CheckSettings(d)), ElementsAre("layout.replicas --dp-size 2"));
  d.nodes = 3;
  d.sizes.dp = 1;
  EXPECT_THAT(Told(CheckSettings(d)), ElementsAre("layout.nodes --nnodes 3"));
  d = Of("sglang");
  d.sizes.pp = 2;
  d.sglang.speculative_algorithm = "EAGLE";
  d.sglang.speculative_num_draft_tokens = 4;
  EXPECT_THAT(Told(CheckSettings(d)),
              ElementsAre("layout.pipeline --speculative-algorithm EAGLE",
                          "speculative.incomplete --speculative-num-steps"));
  d = Of("sglang");
  d.sglang.enable_eplb = true;
  d.sglang.cpu_offload_gb = 2.5;
  d.sglang.enable_hierarchical_cache = d.sglang.disable_radix_cache = true;
  EXPECT_THAT(
      Told(CheckSettings(d)),
      ElementsAre("engine.contradiction --enable-hierarchical-cache",
                  "engine.contradiction --enable-eplb", "offload.whole --cpu-offload-gb 2.5"));
}

TEST(SettingsCheckTest, Vllm) {
  Deployment d = Of("vllm");
  d.sizes.dcp = 2;
  d.settings.offload_group_size = 4;
  d.settings.cpu_offload_gb = 8;
  EXPECT_THAT(Told(CheckSettings(d)), ElementsAre("offload.conflict --offload-backend",
                                                  "layout.dcp --decode-context-parallel-size 2"));
  d = Of("vllm");
  d.settings.offload_backend = "prefetch";
  d.settings.gpu_memory_utilization = 2;
  EXPECT_THAT(Told(CheckSettings(d)), ElementsAre("command.refused --offload-backend prefetch",
                                                  "command.refused --gpu-memory-utilization 2"));
  d.sizes.tp = 9000;
  EXPECT_THAT(Told(CheckSettings(d)), ElementsAre("command.refused --tensor-parallel-size 9000"));
}

TEST(SettingsCheckTest, PlacesOnNodes) {
  const GpuSpec gpu = testing_support::Cards().FindGpu("h200-141").value();
  for (const char* engine : {"vllm", "sglang"}) {
    Deployment d = Of(engine);
    d.sizes.tp = 16;
    d.nodes = 1;
    const auto told = CheckPlacement(gpu, testing_support::Cards(), d);
    ASSERT_TRUE(told.has_value());
    EXPECT_THAT(Told(*told), ElementsAre("layout.world_size TP 16 × PP 1 × DP 1"));
    // DP attention lies inside TP.
    d = Of("sglang");
    d.sizes.tp = d.sizes.dp = 8;
    d.nodes = 1;
    d.sglang.enable_dp_attention = true;
    EXPECT_THAT(CheckPlacement(gpu, testing_support::Cards(), d).value(), IsEmpty());
    d.sizes.tp = 9000;
    EXPECT_THAT(CheckPlacement(gpu, testing_support::Cards(), d).value(), IsEmpty());
  }
}

// What is told without a model is what its plan tells.
TEST(SettingsCheckTest, PlansSayTheSame) {
  const Model& model = ExampleFromConfig("deepseek-v3");
  std::vector<Deployment> deployments;
  Deployment d = Of("sglang");
  d.sizes.tp = 8;
  d.sizes.dp = 3;
  d.sglang.enable_dp_attention = d.sglang.disable_radix_cache = true;
  d.sglang.enable_hierarchical_cache = d.sglang.enable_eplb = true;
  deployments.push_back(d);
  d = Of("vllm");
  d.sizes.tp = 8;
  d.sizes.dcp = 3;
  d.settings.enable_eplb = true;
  d.settings.max_num_batched_tokens = 100;
  d.settings.max_num_seqs = 200;
  deployments.push_back(d);
  for (const Deployment& deployment : deployments) {
    const Plan plan = Evaluate(model, deployment);
    const std::vector<Finding> alone = CheckSettings(deployment);
    EXPECT_GE(alone.size(), 3U);
    for (const Finding& finding : alone) {
      const bool told =
          std::any_of(plan.findings.begin(), plan.findings.end(), [&](const Finding& f) {
            return f.id == finding.id && f.subject == finding.subject &&
                   f.message == finding.message && f.fix == finding.fix;
          });
      EXPECT_TRUE(told) << finding.id << " " << finding.message;
    }
  }
}

}  // namespace
}  // namespace shardplan
