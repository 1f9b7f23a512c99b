#include "shardplan/sharding/device_weights.h"

#include <gtest/gtest.h>

#include "support/tiny_families.h"
#include "support/tiny_models.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::TinyDeepseek;
using testing_support::TinyDeepseekSparse;
using testing_support::TinyDeepseekV4;
using testing_support::TinyDense;
using testing_support::TinyKimiK3;
using testing_support::TinyNemotronH;
using testing_support::TinyPhi3;

ShardingRules Rules(int64_t tp, int64_t pp = 1) {
  ShardingRules rules;
  rules.sizes.tp = tp;
  rules.sizes.pp = pp;
  return rules;
}

const DeviceParam* Find(const std::vector<DeviceParam>& params, const std::string& name) {
  for (const DeviceParam& param : params) {
    if (param.name == name) return &param;
  }
  return nullptr;
}

TEST(DeviceWeights, FusesAndPadsProjections) {
  const ModelSpec spec = Build(TinyKimiK3());
  ShardingRules rules = Rules(4);
  rules.expert_intermediate = 128;
  rules.expert_width = 256;
  rules.local_experts = 6;
  const DeviceWeights w = ComputeDeviceWeights(spec.arch, spec.table, rules);
  // q, k, v, g of 128 rows ÷ 4, f_a whole (16), b of 8 ÷ 4, and padding to 16: 128 + 16 + 2 → 160.
  const DeviceParam* in = Find(w.layer(0).params, "self_attn.in_proj_qkvgfab.weight");
  ASSERT_NE(in, nullptr);
  EXPECT_EQ(in->shape, (Shape{160, 64}));
  EXPECT_EQ(in->rule, "output ÷ TP 4; replicated; rows padded to 160");
  // Stored with head_dim entries, created with one per head.
  EXPECT_EQ(Find(w.layer(0).params, "self_attn.A_log")->shape, (Shape{2}));
  const DeviceParam* conv = Find(w.layer(0).params, "self_attn.conv1d.weight");
  EXPECT_EQ(conv->shape, (Shape{96, 1, 4}));
  EXPECT_EQ(conv->dtype, DType::kF32);
  EXPECT_EQ(Find(w.layer(0).params, "self_attn.o_norm.weight")->dtype, DType::kBF16);
}

TEST(DeviceWeights, SlicesFusedTensorsPartByPart) {
  const ModelSpec spec = Build(TinyPhi3());
  const DeviceWeights w = ComputeDeviceWeights(spec.arch, spec.table, Rules(4));
  // 64 rows of q ÷ 4, and one of two KV heads of 8 rows for each of k and v.
  const DeviceParam* qkv = Find(w.layer(0).params, "self_attn.qkv_proj.weight");
  ASSERT_NE(qkv, nullptr);
  EXPECT_EQ(qkv->shape, (Shape{16 + 8 + 8, 32}));
  EXPECT_EQ(qkv->rule, "output ÷ TP 4; 2 KV heads, one replicated 2×");
}

TEST(DeviceWeights, GroupsOfAStateSplitAsKvHeadsDo) {
  const ModelSpec spec = Build(TinyNemotronH());
  ShardingRules rules = Rules(8);
  rules.expert_intermediate = 3;
  rules.expert_width = 16;
  rules.local_experts = 12;
  const DeviceWeights w = ComputeDeviceWeights(spec.arch, spec.table, rules);
  // z and x of 32 ÷ 8, one group of 4 for each of B and C, one head of dt.
  EXPECT_EQ(Find(w.layer(0).params, "mixer.in_proj.weight")->shape, (Shape{4 + 4 + 4 + 4 + 1, 32}));
  EXPECT_EQ(Find(w.layer(0).params, "mixer.conv1d.weight")->shape, (Shape{4 + 4 + 4, 1, 4}));
  EXPECT_EQ(Find(w.layer(0).params, "mixer.A")->dtype, DType::kF32);
  // Nothing is gated: w13 is the up projection alone.
  EXPECT_EQ(Find(w.layer(1).params, "mixer.experts.routed_experts.w13_weight")->shape,
            (Shape{12, 3, 16}));
}

// FP8 with scales in the file, one plain parameter with its neighbour on the card.
TEST(DeviceWeights, SomeLinearsAreCreatedPlain) {
  const ModelSpec spec = Build(TinyDeepseekSparse());
  ShardingRules rules = Rules(2);
  rules.expert_intermediate = 16;
  rules.expert_width = 32;
  rules.local_experts = 10;
  const DeviceWeights w = ComputeDeviceWeights(spec.arch, spec.table, rules);
  const std::string name = "self_attn.indexer.wk_weights_proj.weight";
  const DeviceParam* key = Find(w.layer(0).params, name);
  ASSERT_NE(key, nullptr);
  EXPECT_EQ(key->shape, (Shape{8 + 4, 32}));
  EXPECT_EQ(key->dtype, DType::kBF16);
  EXPECT_EQ(Find(w.layer(0).params, name + "_scale_inv"), nullptr);
  // A layer that shares the choice of another has no indexer at all.
  EXPECT_EQ(Find(w.layer(2).params, name), nullptr);
}

TEST(DeviceWeights, SinksArePaddedAndE8m0ScalesStay) {
  const ModelSpec spec = Build(TinyDeepseekV4());
  ShardingRules rules = Rules(4);
  rules.expert_intermediate = 32;
  rules.expert_width = 32;
  rules.local_experts = 6;
  const DeviceWeights w = ComputeDeviceWeights(spec.arch, spec.table, rules);
  const std::vector<DeviceParam>& params = w.layer(0).params;
  const DeviceParam* sink = Find(params, "attn.attn_sink");
  ASSERT_NE(sink, nullptr);
  EXPECT_EQ(sink->shape, (Shape{64}));
  EXPECT_EQ(sink->rule, "output ÷ TP 4; padded to 64");
  const DeviceParam* scale = Find(params, "attn.wo_b.weight_scale_inv");
  EXPECT_EQ(scale->shape, (Shape{8, 2}));
  EXPECT_EQ(scale->dtype, DType::kF8E8M0);
  EXPECT_EQ(Find(params, "ffn.gate.tid2eid")->dtype, DType::kI32);
  EXPECT_EQ(Find(params, "ffn.experts.routed_experts.w13_weight")->shape, (Shape{6, 64, 16}));
}

TEST(DeviceWeights, LayersOfAKindShareAClass) {
  const ModelSpec spec = Build(TinyKimiK3());
  ShardingRules rules = Rules(1);
  rules.expert_intermediate = 512;
  rules.expert_width = 256;
  rules.local_experts = 6;
  const DeviceWeights w = ComputeDeviceWeights(spec.arch, spec.table, rules);
  EXPECT_EQ(w.classes.size(), 3u);  // KDA + dense, KDA + MoE, MLA + MoE
  EXPECT_EQ(w.class_of_layer[1], w.class_of_layer[3]);
  EXPECT_NE(w.class_of_layer[0], w.class_of_layer[1]);
  EXPECT_NE(w.class_of_layer[2], w.class_of_layer[1]);
}

TEST(DeviceWeights, VocabularyIsPaddedBeforeItIsDivided) {
  const ModelSpec spec = Build(TinyDense());  // 130 rows → 192
  const DeviceWeights w = ComputeDeviceWeights(spec.arch, spec.table, Rules(4));
  EXPECT_EQ(w.first_stage[0].shape, (Shape{48, 32}));
  EXPECT_EQ(w.first_stage[0].rule, "rows padded to 192 ÷ TP 4");
}

TEST(DeviceWeights, TiedEmbeddingsStandOnBothEndsOfAPipeline) {
  nlohmann::json config = TinyDense();
  config["tie_word_embeddings"] = true;
  const ModelSpec spec = Build(config);
  EXPECT_EQ(ComputeDeviceWeights(spec.arch, spec.table, Rules(1)).last_stage.size(), 1u);
  const DeviceWeights two = ComputeDeviceWeights(spec.arch, spec.table, Rules(1, 2));
  ASSERT_EQ(two.last_stage.size(), 2u);
  EXPECT_EQ(two.last_stage[1].bytes, two.first_stage[0].bytes);
}

TEST(DeviceWeights, RowBiasesStayWhole) {
  const ModelSpec spec = Build(TinyDense());
  const DeviceWeights w = ComputeDeviceWeights(spec.arch, spec.table, Rules(2));
  EXPECT_EQ(Find(w.layer(0).params, "self_attn.o_proj.bias")->shape, (Shape{32}));
  EXPECT_EQ(Find(w.layer(0).params, "self_attn.qkv_proj.bias")->shape, (Shape{16 + 4 + 4}));
}

TEST(CheckSharding, NamesWhatDoesNotDivide) {
  const ModelSpec spec = Build(TinyDeepseek());
  ShardingRules rules = Rules(16);
  rules.expert_intermediate = 2;
  rules.expert_width = 32;
  rules.local_experts = 10;
  bool expert = false;
  for (const Indivisible& problem : CheckSharding(spec.arch, spec.table, rules)) {
    if (!problem.expert || problem.block == 0) continue;
    expert = true;
    EXPECT_EQ(problem.id, "sharding.fp8_block");
    EXPECT_EQ(problem.local, 2);
    EXPECT_EQ(problem.block, 4);
  }
  EXPECT_TRUE(expert);
  rules.sizes.tp = 4;
  EXPECT_TRUE(CheckSharding(spec.arch, spec.table, rules).empty());
}

// A stack of gate and up has twice the rows of what is divided: 48 rows of 24 over 16 ranks.
TEST(CheckSharding, StacksDivideByTheirExpertsWidth) {
  const ModelSpec spec = Build(testing_support::TinyQwen35Moe());
  ShardingRules rules = Rules(2);
  rules.sizes.dp = 8;
  rules.expert_intermediate = 1;
  rules.expert_width = 32;
  rules.local_experts = 12;
  const std::vector<Indivisible> problems = CheckSharding(spec.arch, spec.table, rules);
  ASSERT_EQ(problems.size(), 2u);  // gate_up and down
  for (const Indivisible& problem : problems) {
    EXPECT_EQ(problem.id, "sharding.expert");
    EXPECT_EQ(problem.dimension, 24);
    EXPECT_EQ(problem.divisor, 16);
  }
  rules.sizes.dp = 4;
  EXPECT_TRUE(CheckSharding(spec.arch, spec.table, rules).empty());
}

TEST(DeviceWeights, StacksAreTheEnginesTwoExpertParameters) {
  const ModelSpec spec = Build(testing_support::TinyQwen35Moe());
  ShardingRules rules = Rules(2);
  rules.expert_intermediate = 12;
  rules.expert_width = 32;
  rules.local_experts = 12;
  const DeviceWeights weights = ComputeDeviceWeights(spec.arch, spec.table, rules);
  const std::vector<DeviceParam>& params = weights.layer(0).params;
  EXPECT_EQ(Find(params, "mlp.experts.routed_experts.w13_weight")->shape, (Shape{12, 24, 32}));
  EXPECT_EQ(Find(params, "mlp.experts.routed_experts.w2_weight")->shape, (Shape{12, 32, 12}));
}

TEST(CheckSharding, EveryPartDivides) {
  nlohmann::json config = TinyPhi3();
  config["intermediate_size"] = 66;  // twice 66 divides by 4, 66 does not
  const ModelSpec spec = Build(config);
  bool gate_up = false;
  for (const Indivisible& problem : CheckSharding(spec.arch, spec.table, Rules(4))) {
    gate_up |= problem.id == "sharding.column" && problem.param == "mlp.gate_up_proj" &&
               problem.dimension == 66;
  }
  EXPECT_TRUE(gate_up);
}

TEST(CheckSharding, KvHeadsDivideOrReplicate) {
  const ModelSpec spec = Build(TinyDense());  // 2 KV heads, 8 heads
  for (const auto& [tp, legal] :
       {std::pair(1, true), std::pair(2, true), std::pair(4, true), std::pair(8, true)}) {
    EXPECT_EQ(CheckSharding(spec.arch, spec.table, Rules(tp)).empty(), legal) << tp;
  }
  bool kv = false;
  for (const Indivisible& problem : CheckSharding(spec.arch, spec.table, Rules(3))) {
    kv |= problem.id == "sharding.kv_heads";
  }
  EXPECT_TRUE(kv);
}

}  // namespace
}  // namespace shardplan
