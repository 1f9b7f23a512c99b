#include "plan/sglang/traffic.h"

#include <gtest/gtest.h>

#include "plan/traffic_counter.h"
#include "support/sglang_world.h"

namespace shardplan {
namespace {

using testing_support::BaselineKimiK3;
using testing_support::ExampleFromConfig;
using testing_support::OnSglang;
using testing_support::SglangEnvironmentFor;

TrafficPlan SglangTrafficOf(const std::string& name, const Deployment& d, int64_t requests) {
  const Model& model = ExampleFromConfig(name);
  const SglangEnvironment env = SglangEnvironmentFor(model, d);
  SglangPrepared p;
  const Status status = PrepareSglang(env, d, &p);
  EXPECT_TRUE(status.has_value());
  EXPECT_TRUE(p.legal);
  return MakeSglangTraffic(p, requests, /*brief=*/false);
}

Bytes NetworkOf(const StepTraffic& step, TrafficKind kind) {
  for (const TrafficItem& item : step.items) {
    if (item.kind == kind) return item.sent.network;
  }
  return Bytes();
}

TEST(SglangTraffic, TensorParallelIsAsVllms) {
  const TrafficPlan traffic = SglangTrafficOf("kimi-k3", BaselineKimiK3(), 4);
  const double sums = 2 * (7168. * (1 + 93 + 1 + 92) + 3584. * 92) * 2 * 15 / 16;
  const double logits = 163'840. * 2 * 15 / 16;
  EXPECT_DOUBLE_EQ(traffic.decode.NetworkPerToken(), 2 * (sums + logits));
  EXPECT_EQ(traffic.decode.tokens, 4);
}

TEST(SglangTraffic, PipelineStagesCarryTheResidualBank) {
  Deployment d = BaselineKimiK3();
  d.sizes.tp = 8;
  d.sizes.pp = 2;
  d.sglang.ep_size = 8;
  const TrafficPlan traffic = SglangTrafficOf("kimi-k3", d, 4);
  // 46 layers on the first stage: four blocks begun.
  EXPECT_DOUBLE_EQ(traffic.decode.NetworkPerToken(), 7168 * 2 * 5);
}

// DP attention over two nodes: rows are gathered for the mixtures and scattered back.
TEST(SglangTraffic, AttentionDataParallelGathersRows) {
  Deployment d = OnSglang("h20-141", 16);
  d.nodes = 2;
  d.sizes.dp = 16;
  d.sizes.dp_in_tp = true;
  d.sglang.enable_dp_attention = true;
  d.sglang.chunked_prefill_size = 16'384;
  const TrafficPlan traffic = SglangTrafficOf("deepseek-v3", d, 2);
  EXPECT_EQ(traffic.decode.tokens, 32);
  const double ring = 2 * 15. / 16;  // two nodes' edges
  const double rows = 32 * 7168. * 2 * 61;
  // Gathered before each of 61 MLPs and mixtures, and once for the logits.
  EXPECT_NEAR(static_cast<double>(NetworkOf(traffic.decode, TrafficKind::kAttentionData).count()),
              ring * (rows + 32 * 7168. * 2), 2);
  // Attention has no sums; MLPs reduce and scatter.
  EXPECT_NEAR(static_cast<double>(NetworkOf(traffic.decode, TrafficKind::kTensorParallel).count()),
              ring * rows, 2);
  // Prefill rows are not padded alike: sums both ways.
  const double more = static_cast<double>(traffic.prefill.tokens) / 32;
  EXPECT_NEAR(static_cast<double>(NetworkOf(traffic.prefill, TrafficKind::kTensorParallel).count()),
              2 * ring * rows * more, 1e3);
}

TEST(SglangTraffic, DeepEpSendsTokensToTheirExperts) {
  Deployment d = OnSglang("h20-141", 16);
  d.nodes = 2;
  d.sizes.dp = 16;
  d.sizes.dp_in_tp = true;
  d.sglang.enable_dp_attention = true;
  d.sglang.moe_a2a_backend = "deepep";
  const TrafficPlan traffic = SglangTrafficOf("deepseek-v3", d, 2);
  // Decode: a copy for each choice, half of them on the other node; FP8 and scales out, bf16 back.
  EXPECT_NEAR(static_cast<double>(NetworkOf(traffic.decode, TrafficKind::kExpertDispatch).count()),
              32 * 58 * 4. * (7168 + 4 * 56 + 16), 2);
  EXPECT_NEAR(static_cast<double>(NetworkOf(traffic.decode, TrafficKind::kExpertCombine).count()),
              32 * 58 * 4. * 2 * 7168, 2);
  // Prefill: once to the other node.
  EXPECT_NEAR(static_cast<double>(NetworkOf(traffic.prefill, TrafficKind::kExpertCombine).count()),
              static_cast<double>(traffic.prefill.tokens) * 58 * HitChance(256, 8, 128) * 2 * 7168,
              1e3);
  // The three dense layers and the logits gather rows.
  EXPECT_NEAR(static_cast<double>(NetworkOf(traffic.decode, TrafficKind::kAttentionData).count()),
              2 * 15. / 16 * 32 * 7168. * 2 * (3 + 1), 2);
}

TEST(SglangTraffic, ReplicasExchangeNothing) {
  Deployment d = OnSglang("h20-141", 4);
  d.nodes = 1;
  d.sizes.dp = 2;
  const TrafficPlan traffic = SglangTrafficOf("deepseek-v3", d, 8);
  EXPECT_EQ(traffic.decode.tokens, 16);
  EXPECT_EQ(traffic.decode.sent.network, Bytes());
  EXPECT_GT(traffic.decode.sent.inside, Bytes());
}

}  // namespace
}  // namespace shardplan
