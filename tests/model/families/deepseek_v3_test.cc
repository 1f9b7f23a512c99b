#include <gtest/gtest.h>

#include "support/example_model.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::ExampleConfig;

TEST(DeepseekV3, Architecture) {
  const Architecture a = Build(ExampleConfig("deepseek-v3")).arch;
  EXPECT_EQ(a.layers(), 61);
  EXPECT_EQ(a.mtp_layers, 1);
  EXPECT_EQ(a.moe.first_dense, 3);
  EXPECT_EQ(a.moe.experts, 256);
  EXPECT_EQ(a.head_dim, 192);
  EXPECT_TRUE(a.rotary.yarn);
  EXPECT_EQ(a.rotary.positions, 163'840);
  EXPECT_FALSE(a.is_hybrid());
}

// Elements by dtype, as the hub splits them.
TEST(DeepseekV3, ElementsByDType) {
  std::map<DType, int64_t> elements;
  const ModelSpec spec = Build(ExampleConfig("deepseek-v3"));
  for (const ModuleRow& row : spec.table.rows) {
    for (const StoredTensor& tensor : StoredTensors(row)) {
      elements[tensor.dtype] += tensor.shape.Elements() * row.Count();
    }
  }
  EXPECT_EQ(elements[DType::kBF16], 3918786560);
  EXPECT_EQ(elements[DType::kF8E4M3], 680571043840);
  EXPECT_EQ(elements[DType::kF32], 41555600);
}

TEST(DeepseekV3, DraftLayersAreInTheFileOnly) {
  const ModelSpec spec = Build(ExampleConfig("deepseek-v3"));
  int64_t draft = 0;
  for (const ModuleRow& row : spec.table.rows) {
    if (row.role != Role::kDraft) continue;
    ++draft;
    EXPECT_EQ(row.placement, Placement::kNotLoaded) << row.name;
    EXPECT_TRUE(row.optional) << row.name;
    EXPECT_TRUE(row.layers.Contains(61)) << row.name;
  }
  EXPECT_GT(draft, 10);
  Assumptions none;
  none.mtp = false;
  EXPECT_LT(Totals(Build(ExampleConfig("deepseek-v3"), none).table).tensors, 91'991);
}

TEST(DeepseekV3, KimiK2IsTheSameCodeWithOtherNumbers) {
  const Architecture a = Build(ExampleConfig("kimi-k2")).arch;
  EXPECT_EQ(a.family, "deepseek-v3");
  EXPECT_EQ(a.moe.experts, 384);
  EXPECT_EQ(a.moe.first_dense, 1);
  EXPECT_EQ(a.heads, 64);
  EXPECT_EQ(a.mtp_layers, 0);
}

TEST(DeepseekV3, TheBiasOfTheRouterDependsOnItsMethod) {
  const auto has_bias = [](const nlohmann::json& config) {
    for (const ModuleRow& row : Build(config).table.rows) {
      if (row.name.ends_with("e_score_correction_bias")) return true;
    }
    return false;
  };
  nlohmann::json config = ExampleConfig("deepseek-v3");
  EXPECT_TRUE(has_bias(config));
  config.erase("topk_method");
  EXPECT_TRUE(has_bias(config));
  config["topk_method"] = "greedy";
  EXPECT_FALSE(has_bias(config));
  config = ExampleConfig("deepseek-ai__DeepSeek-V2-Lite");
  EXPECT_FALSE(has_bias(config));
  config.erase("topk_method");
  EXPECT_FALSE(has_bias(config));
}

// The order in which vLLM creates them is the order in which they are offloaded.
TEST(DeepseekV3, PlainQueriesComeAfterTheLatent) {
  const ModelSpec spec = Build(ExampleConfig("deepseek-ai__DeepSeek-V2-Lite"));
  std::vector<std::string> names;
  for (const ModuleRow& row : spec.table.rows) {
    if (row.role == Role::kAttention) names.push_back(row.name.substr(row.name.rfind("attn.") + 5));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"kv_a_proj_with_mqa", "q_proj",
                                             "kv_a_layernorm.weight", "kv_b_proj", "o_proj"}));
}

TEST(DeepseekV3, UnquantizedCheckpointsHaveNoScales) {
  nlohmann::json config = ExampleConfig("deepseek-v3");
  config.erase("quantization_config");
  const TensorTotals totals = Totals(Build(config).table);
  EXPECT_EQ(totals.parameters, totals.elements);
  EXPECT_EQ(totals.parameters, 684489845504);
}

TEST(DeepseekV3, Refusals) {
  nlohmann::json config = ExampleConfig("deepseek-v3");
  config["quantization_config"] = {{"quant_method", "exl2"}};
  EXPECT_EQ(BuildError(config),
            "config.json: quantization method 'exl2' is not known; plan the unquantized "
            "checkpoint, or one in FP8, NVFP4, MXFP4, AWQ, GPTQ or compressed-tensors");
  config = ExampleConfig("deepseek-v3");
  config["first_k_dense_replace"] = 62;
  EXPECT_EQ(BuildError(config),
            "config.json: first_k_dense_replace: more dense layers than layers");
  config = ExampleConfig("deepseek-v3");
  config["num_experts_per_tok"] = 257;
  EXPECT_EQ(BuildError(config),
            "config.json: num_experts_per_tok: more experts a token than experts");
  config = ExampleConfig("deepseek-v3");
  config["moe_layer_freq"] = 2;
  EXPECT_EQ(BuildError(config),
            "config.json: moe_layer_freq: expected 1: every layer after the dense ones is MoE");
}

}  // namespace
}  // namespace shardplan
