#include <gtest/gtest.h>

#include "support/model_rows.h"
#include "support/tiny_models.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::ExampleConfig;
using testing_support::RowNamed;
using testing_support::TinyQwen35;
using testing_support::TinyQwen35Moe;

TEST(Qwen35, DenseArchitecture) {
  const Architecture a = Build(ExampleConfig("Qwen__Qwen3.5-27B")).arch;
  EXPECT_EQ(a.family, "qwen3-5");
  EXPECT_EQ(a.name, "Qwen3_5ForConditionalGeneration");
  EXPECT_EQ(a.moe.experts, 0);
  EXPECT_EQ(a.dense_intermediate, 17408);
  EXPECT_EQ(a.CountKind(AttentionKind::kFull, 0, 64), 16);
  EXPECT_EQ(a.gdn.state_dtype, DType::kF32);
  EXPECT_EQ(a.mtp_layers, 1);
  EXPECT_EQ(a.rotary.dim, 64);
  EXPECT_EQ(a.rotary.positions, 4 * 262144);  // M-RoPE
  EXPECT_TRUE(a.vision.present);
  EXPECT_EQ(a.vision.heads, 16);
  EXPECT_EQ(a.vision.patches_per_token, 4);
  EXPECT_EQ(a.vision.rotary_dim, 36);
  EXPECT_EQ(a.vision.deepstack_levels, 0);
}

TEST(Qwen35, StacksExpertsUnlessToldOtherwise) {
  const std::string experts = "model.language_model.layers.{L}.mlp.experts.";
  const ModelSpec stacked = Build(TinyQwen35Moe());
  ASSERT_NE(RowNamed(stacked, experts + "gate_up_proj"), nullptr);
  const StoredTensor tensor = StoredTensors(*RowNamed(stacked, experts + "gate_up_proj")).front();
  EXPECT_EQ(tensor.shape, (Shape{12, 48, 32}));
  EXPECT_EQ(RowNamed(stacked, experts + "{E}.gate_proj"), nullptr);
  Assumptions each;
  each.stacked_experts = false;
  const ModelSpec single = Build(TinyQwen35Moe(), each);
  EXPECT_EQ(RowNamed(single, experts + "gate_up_proj"), nullptr);
  EXPECT_NE(RowNamed(single, experts + "{E}.gate_proj"), nullptr);
  EXPECT_EQ(Totals(stacked.table).payload, Totals(single.table).payload);
}

TEST(Qwen35, ATextTowerAlone) {
  const ModelSpec multimodal_class = Build(TinyQwen35Moe());
  EXPECT_FALSE(multimodal_class.arch.vision.present);
  EXPECT_NE(RowNamed(multimodal_class, "model.language_model.embed_tokens.weight"), nullptr);
  EXPECT_EQ(multimodal_class.table.layer_prefix, "language_model.model.layers.{L}.");
  nlohmann::json config = TinyQwen35Moe();
  config["architectures"] = {"Qwen3_5MoeForCausalLM"};
  const ModelSpec text_class = Build(config);
  EXPECT_NE(RowNamed(text_class, "model.embed_tokens.weight"), nullptr);
  EXPECT_EQ(text_class.table.layer_prefix, "model.layers.{L}.");
}

TEST(Qwen35, EmbeddingOnEveryStageHeadOnTheLast) {
  const ModelSpec spec = Build(ExampleConfig("Qwen__Qwen3.5-27B"));
  EXPECT_EQ(RowNamed(spec, "model.language_model.embed_tokens.weight")->placement,
            Placement::kEveryStage);
  EXPECT_EQ(RowNamed(spec, "model.language_model.norm.weight")->placement, Placement::kLastStage);
  EXPECT_EQ(RowNamed(spec, "lm_head.weight")->placement, Placement::kLastStage);
  EXPECT_EQ(RowNamed(spec, "lm_head.weight")->param, "language_model.lm_head.weight");
  EXPECT_EQ(RowNamed(Build(TinyQwen35()), "lm_head.weight"), nullptr);  // tied
}

TEST(Qwen35, Refusals) {
  nlohmann::json config = TinyQwen35Moe();
  config["mlp_only_layers"] = {1};
  EXPECT_EQ(BuildError(config),
            "config.json: mlp_only_layers: expected none: every layer is a mixture");
  config = TinyQwen35();
  config["text_config"]["hidden_size"] = nullptr;
  EXPECT_EQ(BuildError(config),
            "config.json: text_config.hidden_size: expected an integer from 1 to 16,777,216, found "
            "nothing");
  config = TinyQwen35();
  config["vision_config"]["depth"] = 0;
  EXPECT_EQ(BuildError(config),
            "config.json: vision_config.depth: expected an integer from 1 to 4,096, found 0");
}

}  // namespace
}  // namespace shardplan
