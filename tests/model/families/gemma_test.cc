#include <gtest/gtest.h>

#include "support/example_model.h"
#include "support/model_rows.h"
#include "support/tiny_families.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::ExampleConfig;
using testing_support::RowEnding;
using testing_support::TinyGemma2;
using testing_support::TinyGemma3;
using testing_support::With;

TEST(Gemma, WindowsAndFullLayersTakeTurns) {
  const Architecture two = Build(ExampleConfig("gemma-2-27b")).arch;
  EXPECT_EQ(two.attention[0], AttentionKind::kSliding);
  EXPECT_EQ(two.attention[1], AttentionKind::kFull);
  EXPECT_EQ(two.window, 4096);
  EXPECT_EQ(two.rotary.other_dim, 0);
  const Architecture three = Build(ExampleConfig("gemma-3-27b")).arch;
  EXPECT_EQ(three.CountKind(AttentionKind::kSliding, 0, 62), 52);
  EXPECT_EQ(three.attention[5], AttentionKind::kFull);
  EXPECT_EQ(three.window, 1024);
  EXPECT_EQ(three.rotary.other_dim, 128);
}

TEST(Gemma, LayerTypesSayItWhereTheyAreThere) {
  nlohmann::json types = nlohmann::json::array();
  for (int i = 0; i < 5; ++i) types.push_back(i == 1 ? "full_attention" : "sliding_attention");
  const nlohmann::json config = With(TinyGemma2(), {{"layer_types", types}});
  EXPECT_EQ(Build(config).arch.attention[1], AttentionKind::kFull);
  EXPECT_EQ(Build(config).arch.attention[3], AttentionKind::kSliding);
  types.push_back("full_attention");
  EXPECT_EQ(BuildError(With(config, {{"layer_types", types}})),
            "config.json: layer_types: expected one entry a layer");
}

TEST(Gemma, NormsByGeneration) {
  EXPECT_EQ(RowEnding(Build(TinyGemma2()), "self_attn.q_norm.weight"), nullptr);
  EXPECT_NE(RowEnding(Build(TinyGemma3()), "self_attn.q_norm.weight"), nullptr);
  EXPECT_NE(RowEnding(Build(TinyGemma2()), "pre_feedforward_layernorm.weight"), nullptr);
  EXPECT_EQ(RowEnding(Build(TinyGemma2()), "lm_head.weight"), nullptr);
}

// The config class fills in what the smaller models' configs leave out.
TEST(Gemma, DefaultsOfTheConfigClass) {
  nlohmann::json config = TinyGemma3();
  for (const char* key : {"num_attention_heads", "num_key_value_heads", "head_dim", "vocab_size",
                          "max_position_embeddings"}) {
    config["text_config"].erase(key);
  }
  const Architecture a = Build(config).arch;
  EXPECT_EQ(a.heads, 8);
  EXPECT_EQ(a.kv_heads, 4);
  EXPECT_EQ(a.head_dim, 256);
  EXPECT_EQ(a.vocabulary, 262208);
  EXPECT_EQ(a.max_positions, 131072);
}

TEST(Gemma, TheTowerStandsBesideTheDecoder) {
  const ModelSpec spec = Build(TinyGemma3());
  EXPECT_EQ(spec.arch.vision.blocks, 2);
  EXPECT_EQ(spec.arch.vision.patches_per_token, 64 / 16);
  EXPECT_EQ(spec.table.layer_prefix, "language_model.model.layers.{L}.");
  EXPECT_EQ(RowEnding(spec, "position_embedding.weight")->shape, (Shape{64, 16}));
  EXPECT_EQ(RowEnding(spec, "mm_input_projection_weight")->role, Role::kProjector);
  EXPECT_FALSE(spec.table.aliases.empty());
}

TEST(Gemma, Refusals) {
  EXPECT_EQ(BuildError(With(TinyGemma2(), {{"tie_word_embeddings", false}})),
            "config.json: tie_word_embeddings: expected true");
  nlohmann::json headed = TinyGemma3();
  headed["vision_config"]["vision_use_head"] = true;
  EXPECT_EQ(BuildError(headed),
            "config.json: vision_config.vision_use_head: expected false: no pooling head is "
            "modelled");
}

}  // namespace
}  // namespace shardplan
