#include <gtest/gtest.h>

#include "support/model_rows.h"
#include "support/tiny_models.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::ExampleConfig;
using testing_support::RowNamed;
using testing_support::TinyQwen3Vl;
using testing_support::TinyQwen3VlMoe;

TEST(Qwen3Vl, DenseArchitecture) {
  const ModelSpec spec = Build(ExampleConfig("Qwen__Qwen3-VL-32B-Instruct"));
  EXPECT_EQ(spec.arch.family, "qwen3-vl");
  EXPECT_EQ(spec.arch.moe.experts, 0);
  EXPECT_EQ(spec.arch.rotary.positions, 4 * 262144);  // the config has M-RoPE's sections
  EXPECT_EQ(spec.arch.vision.deepstack_levels, 3);
  EXPECT_EQ(RowNamed(spec, "model.language_model.embed_tokens.weight")->placement,
            Placement::kFirstStage);
  EXPECT_EQ(RowNamed(spec, "lm_head.weight")->placement, Placement::kLastStage);
}

TEST(Qwen3Vl, SmallOnesTieTheirEmbedding) {
  const ModelSpec spec = Build(ExampleConfig("Qwen__Qwen3-VL-2B-Instruct"));
  EXPECT_TRUE(spec.arch.tied_embeddings);
  EXPECT_EQ(RowNamed(spec, "lm_head.weight"), nullptr);
}

TEST(Qwen3Vl, MixturesStackTheirExpertsInputFirst) {
  const ModelSpec spec = Build(ExampleConfig("Qwen__Qwen3-VL-30B-A3B-Instruct"));
  const std::string experts = "model.language_model.layers.{L}.mlp.experts.";
  EXPECT_EQ(StoredTensors(*RowNamed(spec, experts + "gate_up_proj")).front().shape,
            (Shape{128, 2048, 1536}));
  EXPECT_EQ(StoredTensors(*RowNamed(spec, experts + "down_proj")).front().shape,
            (Shape{128, 768, 2048}));
  for (const ModuleRow& row : spec.table.rows) {
    if (row.layers.empty()) {
      EXPECT_EQ(row.placement, Placement::kEveryStage) << row.name;
    }
  }
}

TEST(Qwen3Vl, DenseLayersBetweenMixtures) {
  const ModelSpec spec = Build(TinyQwen3VlMoe());
  EXPECT_EQ(spec.arch.moe.layer_is_moe, (std::vector<bool>{false, true, false, true, false}));
  EXPECT_EQ(RowNamed(spec, "model.language_model.layers.{L}.mlp.gate_proj")->layers.layers(),
            (std::vector<int64_t>{0, 2, 4}));
}

TEST(Qwen3Vl, Refusals) {
  nlohmann::json config = TinyQwen3Vl();
  config["vision_config"]["out_hidden_size"] = 31;
  EXPECT_EQ(BuildError(config),
            "config.json: vision_config.out_hidden_size: expected the hidden_size of the text "
            "tower");
  config = TinyQwen3Vl();
  config.erase("vision_config");
  EXPECT_EQ(BuildError(config), "config.json: vision_config: expected an object, found nothing");
}

}  // namespace
}  // namespace shardplan
