#include "engine/sglang/weights.h"

#include <gtest/gtest.h>

#include <functional>

#include "engine/sglang/parallel.h"
#include "shardplan/base/units.h"
#include "support/sglang_context.h"

namespace shardplan::sglang {
namespace {

using testing_support::SglangContext;

std::vector<double> Gib(SglangContext& c) {
  std::vector<double> out;
  for (const Bytes bytes :
       WeightsByStage(c.context, Stages(c.context.args, c.context.arch->layers()))) {
    out.push_back(InGiB(bytes).value());
  }
  return out;
}

// What the formulas at 0bda0b168 give for Kimi-K3, in GiB a rank.
TEST(SglangWeights, KimiK3Layouts) {
  struct Row {
    const char* name;
    int64_t mib;
    int capability;
    std::function<void(ServerArgs&)> set;
    std::vector<double> gib;
  };
  const std::vector<Row> rows = {
      {"TP8 FlashInfer", 275040, 103, [](ServerArgs& a) { a.tp_size = 8; }, {193.2}},
      {"TP16 EP16",
       143771,
       90,
       [](ServerArgs& a) { a.tp_size = a.ep_size = 16, a.moe_runner_backend = "marlin"; },
       {101.8}},
      {"TP16",
       143771,
       90,
       [](ServerArgs& a) { a.tp_size = 16, a.moe_runner_backend = "marlin"; },
       {130.4}},
      {"TP32 EP32",
       81559,
       90,
       [](ServerArgs& a) { a.tp_size = a.ep_size = 32, a.moe_runner_backend = "marlin"; },
       {56.7}},
      {"TP32",
       81559,
       90,
       [](ServerArgs& a) { a.tp_size = 32, a.moe_runner_backend = "marlin"; },
       {71.3}},
      {"TP8 MegaMoE",
       275040,
       103,
       [](ServerArgs& a) { a.tp_size = 8, a.moe_a2a_backend = "megamoe"; },
       {211.9}},
      {"TP16 DeepEP",
       143771,
       90,
       [](ServerArgs& a) {
         a.tp_size = 16, a.moe_a2a_backend = "deepep", a.moe_runner_backend = "deep_gemm";
       },
       {123.0}},
      {"TP32 DP4 MegaMoE",
       189471,
       100,
       [](ServerArgs& a) {
         a.tp_size = 32, a.dp_size = 4, a.enable_dp_attention = a.enable_dp_lm_head = true;
         a.moe_a2a_backend = "megamoe";
       },
       {85.3}},
      {"PP2 TP8", 183359, 100, [](ServerArgs& a) { a.tp_size = 8, a.pp_size = 2; }, {95.1, 99.0}},
      {"aiter", 294896, 0, [](ServerArgs& a) { a.tp_size = 8, a.aiter_k3_opt = true; }, {191.9}},
      {"aiter, padded", 294896, 0, [](ServerArgs& a) { a.tp_size = 8; }, {248.0}},
  };
  for (const Row& row : rows) {
    SglangContext c("kimi-k3");
    c.Card(row.mib, row.capability);
    row.set(c.args());
    const std::vector<double> gib = Gib(c);
    ASSERT_EQ(gib.size(), row.gib.size()) << row.name;
    for (size_t i = 0; i < gib.size(); ++i) {
      EXPECT_NEAR(gib[i], row.gib[i], .1) << row.name << ", stage " << i;
    }
    EXPECT_TRUE(CheckRunner(c.context).empty()) << row.name;
  }
}

TEST(SglangWeights, HopperUpcastsMxfp4UnlessMarlinIsChosen) {
  SglangContext c("kimi-k3");
  c.args().tp_size = c.args().ep_size = 16;
  EXPECT_EQ(ResolveMoeRunner(c.context), "upcast");
  const std::vector<Finding> findings = CheckRunner(c.context);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "sglang.expert_upcast");
  // 84.2 GiB of experts become 16 ÷ 4.25 times as much.
  c.args().moe_runner_backend = "marlin";
  const double marlin = Gib(c)[0];
  c.args().moe_runner_backend = "auto";
  EXPECT_NEAR(Gib(c)[0] - marlin, 84.1948 * (16 / 4.25 - 1), .2);

  SglangContext oss("openai__gpt-oss-120b");
  EXPECT_EQ(ResolveMoeRunner(oss.context), "triton_kernel");
  EXPECT_TRUE(CheckRunner(oss.context).empty());
  // DeepSeek-V4's method was not read: as stored, and said so.
  SglangContext v4("deepseek-ai__DeepSeek-V4-Pro");
  v4.args().tp_size = 8;
  EXPECT_EQ(ResolveMoeRunner(v4.context), "auto");
  ASSERT_EQ(CheckRunner(v4.context).size(), 1u);
  EXPECT_EQ(CheckRunner(v4.context)[0].id, "sglang.expert_runner");
  v4.args().moe_runner_backend = "marlin";
  EXPECT_TRUE(CheckRunner(v4.context).empty());
  oss.Card(183359, 100);
  EXPECT_EQ(ResolveMoeRunner(oss.context), "flashinfer_mxfp4");
  SglangContext dense("Qwen__Qwen3-8B");
  EXPECT_EQ(ResolveMoeRunner(dense.context), "");
}

TEST(SglangWeights, PartsDivideByTheirOwnSizes) {
  SglangContext c("zai-org__GLM-4.5-Air");
  c.args().tp_size = 8;
  c.args().ep_size = 4;
  c.args().dp_size = 4;
  c.args().enable_dp_attention = true;
  const ShardingRules rules = RulesFor(c.context);
  EXPECT_EQ(rules.TpOf(Role::kAttention), 2);
  EXPECT_EQ(rules.TpOf(Role::kEmbedding), 2);
  EXPECT_EQ(rules.TpOf(Role::kHead), 8);
  EXPECT_EQ(rules.TpOf(Role::kDenseMlp), 8);
  EXPECT_EQ(rules.TpOf(Role::kSharedExpert), 8);
  EXPECT_EQ(rules.local_experts, 32);
  EXPECT_EQ(rules.expert_intermediate, 1408 / 2);
  c.args().enable_dp_lm_head = true;
  c.args().moe_dense_tp_size = 1;
  c.args().moe_a2a_backend = "deepep";
  const ShardingRules whole = RulesFor(c.context);
  EXPECT_EQ(whole.TpOf(Role::kHead), 2);
  EXPECT_EQ(whole.TpOf(Role::kDenseMlp), 1);
  EXPECT_EQ(whole.TpOf(Role::kSharedExpert), 1);
  EXPECT_EQ(whole.local_experts, 16);
  EXPECT_EQ(whole.expert_intermediate, 1408);

  // Against a sum by hand: attention ÷ 2, the dense MLP whole, one shared expert whole.
  const DeviceWeights weights = ComputeDeviceWeights(*c.context.arch, *c.context.table, whole);
  Bytes attention, dense, shared, experts;
  for (int64_t layer = 0; layer < 46; ++layer) {
    for (const DeviceParam& param : weights.layer(layer).params) {
      if (!param.shape.dims.empty() && param.shape.dims.size() < 2) continue;
      if (param.role == Role::kAttention) attention += param.bytes;
      if (param.role == Role::kDenseMlp) dense += param.bytes;
      if (param.role == Role::kSharedExpert) shared += param.bytes;
      if (param.role == Role::kRoutedExpert) experts += param.bytes;
    }
  }
  EXPECT_EQ(attention, Bytes(46LL * 2 * 4096 * 128 * (2 * 96 + 2 * 8) / 2));
  EXPECT_EQ(dense, Bytes(2LL * 3 * 4096 * 10944));
  EXPECT_EQ(shared, Bytes(45LL * 2 * 3 * 4096 * 1408));
  EXPECT_EQ(experts, Bytes(45LL * 16 * 2 * 3 * 4096 * 1408));
}

TEST(SglangWeights, ContextParallelismKeepsTheQueriesWhole) {
  SglangContext c("kimi-k3");
  c.Card(275040, 103);
  c.args().tp_size = 8;
  const double before = Gib(c)[0];
  c.args().dcp_size = 8;
  EXPECT_NEAR(Gib(c)[0] - before, 24 * 18432 * .875 * 1536 * 2 / (1 << 30), 1e-6);
}

}  // namespace
}  // namespace shardplan::sglang
