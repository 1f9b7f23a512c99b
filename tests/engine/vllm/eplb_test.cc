#include "engine/vllm/eplb.h"

#include <gtest/gtest.h>

#include "engine/vllm/legality.h"
#include "shardplan/base/units.h"
#include "support/vllm_context.h"

namespace shardplan {
namespace {

using testing_support::VllmContext;

Bytes ExpertBytes(const DeviceWeights& weights, int64_t layer) {
  Bytes sum;
  for (const DeviceParam& param : weights.layer(layer).params) {
    if (param.role == Role::kRoutedExpert) sum += param.bytes;
  }
  return sum;
}

void Balance(VllmContext* c, int64_t tp, int64_t redundant) {
  c->context.sizes.tp = tp;
  c->context.sizes.expert_parallel = true;
  c->context.settings.enable_eplb = true;
  c->context.settings.redundant_experts = redundant;
  c->Resolve();
}

// DeepSeek-V3's 256 experts and 32 replicas over 8 ranks: 36 of 32 each.
TEST(VllmEplb, ReplicasAreWholeExpertsMore) {
  VllmContext plain("deepseek-v3");
  plain.context.sizes.tp = 8;
  plain.context.sizes.expert_parallel = true;
  plain.Resolve();
  VllmContext more("deepseek-v3");
  Balance(&more, 8, 32);
  EXPECT_TRUE(vllm::CheckEplb(more.context).empty());
  EXPECT_EQ(vllm::RulesFor(more.context, 0).local_experts, 36);
  EXPECT_EQ(ExpertBytes(more.Weights(), 10) * 32, ExpertBytes(plain.Weights(), 10) * 36);
  // The router knows the 256 alone.
  const auto router = [](const DeviceWeights& weights) {
    Bytes sum;
    for (const DeviceParam& param : weights.layer(10).params) {
      if (param.role == Role::kRouter) sum += param.bytes;
    }
    return sum;
  };
  EXPECT_EQ(router(more.Weights()), router(plain.Weights()));
}

TEST(VllmEplb, BuffersOfARank) {
  VllmContext c("deepseek-v3");
  Balance(&c, 8, 32);
  const DeviceWeights weights = c.Weights();
  const StageRange stage = c.context.stages.front();
  const std::vector<vllm::ExtraBytes> buffers = vllm::EplbBuffers(c.context, stage, weights);
  ASSERT_EQ(buffers.size(), 2u);
  EXPECT_EQ(buffers[0].bytes, ExpertBytes(weights, 3));
  EXPECT_EQ(buffers[1].bytes, Bytes(int64_t{1001} * 58 * 288 * 4));
  c.context.settings.eplb_window = 100;
  EXPECT_EQ(vllm::EplbBuffers(c.context, stage, weights)[1].bytes, Bytes(101 * 58 * 288 * 4));
  EXPECT_TRUE(vllm::EplbBuffers(c.context, {0, 3}, weights).empty());  // dense layers
  c.context.settings.enable_eplb = false;
  EXPECT_TRUE(vllm::EplbBuffers(c.context, stage, weights).empty());
}

TEST(VllmEplb, RefusesWhatVllmRefuses) {
  struct Case {
    bool parallel, enable;
    int64_t tp, redundant;
    const char* want;
  };
  const Case cases[] = {
      {true, false, 8, 32,
       "num_redundant_experts is set to 32 but EPLB is not enabled. Either enable EPLB or unset "
       "num_redundant_experts."},
      {false, true, 8, 0, "enable_expert_parallel must be True to use EPLB."},
      {true, true, 1, 0,
       "EPLB requires tensor_parallel_size or data_parallel_size to be greater than 1, but got "
       "TP=1,DP=1."},
      {true, true, 8, 30,
       "EPLB currently only supports even distribution of experts across ranks. (256 experts and "
       "30 redundant ones over 8 ranks)"},
  };
  for (const Case& k : cases) {
    VllmContext c("deepseek-v3");
    Balance(&c, k.tp, k.redundant);
    c.context.sizes.expert_parallel = k.parallel;
    c.context.settings.enable_eplb = k.enable;
    const std::vector<Finding> findings = vllm::CheckEplb(c.context);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].id, "layout.eplb");
    EXPECT_EQ(findings[0].message, k.want);
    // The layout's check says it, too.
    const std::vector<Finding> all = vllm::CheckLayout(c.context, std::nullopt);
    EXPECT_TRUE(std::any_of(all.begin(), all.end(),
                            [](const Finding& f) { return f.id == "layout.eplb"; }));
  }
  VllmContext nearest("deepseek-v3");
  Balance(&nearest, 8, 30);
  EXPECT_EQ(vllm::CheckEplb(nearest.context)[0].fix, "--redundant-experts 32");
  VllmContext dense("dense-70b");
  dense.context.settings.enable_eplb = true;
  dense.Resolve();
  EXPECT_EQ(vllm::CheckEplb(dense.context)[0].severity, Severity::kNote);
}

TEST(VllmEplb, ReadsItsConfig) {
  EngineSettings s;
  ASSERT_TRUE(vllm::ReadEplbConfig(
      R"({"num_redundant_experts":32,"window_size":500,"step_interval":3000})", &s));
  EXPECT_EQ(s.redundant_experts, 32);
  EXPECT_EQ(s.eplb_window, 500);
  const Status status = vllm::ReadEplbConfig(R"({"num_redundant_experts":-1})", &s);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().ToString(),
            "--eplb-config: num_redundant_experts: expected an integer from 0 to 100,000, found "
            "-1");
}

}  // namespace
}  // namespace shardplan
