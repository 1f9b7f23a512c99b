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
using testing_support::TinyLlama4;
using testing_support::With;

TEST(Llama4, ChunksAndFullLayers) {
  const Architecture a = Build(ExampleConfig("llama-4-maverick")).arch;
  EXPECT_EQ(a.CountKind(AttentionKind::kChunked, 0, 48), 36);
  EXPECT_EQ(a.attention[3], AttentionKind::kFull);
  EXPECT_EQ(a.window, 8192);
  EXPECT_FALSE(a.is_moe(0));
  EXPECT_TRUE(a.is_moe(1));
  EXPECT_TRUE(Build(ExampleConfig("llama-4-scout")).arch.is_moe(0));
}

TEST(Llama4, ThePatternMayBeGiven) {
  nlohmann::json config = TinyLlama4();
  config["text_config"]["no_rope_layers"] = {0, 1, 1, 0, 1};
  const Architecture a = Build(config).arch;
  EXPECT_EQ(a.attention[0], AttentionKind::kFull);
  EXPECT_EQ(a.attention[1], AttentionKind::kChunked);
  EXPECT_EQ(a.attention[3], AttentionKind::kFull);
  config["text_config"]["no_rope_layers"] = {0, 1};
  EXPECT_EQ(BuildError(config),
            "config.json: text_config.no_rope_layers: expected one entry a layer");
  // An empty list is the default, every fourth.
  config["text_config"]["no_rope_layers"] = nlohmann::json::array();
  EXPECT_EQ(Build(config).arch.CountKind(AttentionKind::kFull, 0, 5), 1);
}

TEST(Llama4, ExpertsAreStackedAndTransposed) {
  const ModelSpec spec = Build(TinyLlama4());
  const ModuleRow* experts = RowEnding(spec, "experts.gate_up_proj");
  ASSERT_NE(experts, nullptr);
  EXPECT_EQ(StoredTensors(*experts).front().shape, (Shape{12, 32, 48}));
  EXPECT_EQ(StoredTensors(*RowEnding(spec, "experts.down_proj")).front().shape,
            (Shape{12, 24, 32}));
  Assumptions alone;
  alone.stacked_experts = false;
  EXPECT_EQ(Totals(Build(TinyLlama4(), alone).table).elements, Totals(spec.table).elements);
  EXPECT_NE(RowEnding(Build(TinyLlama4(), alone), "experts.{E}.up_proj"), nullptr);
}

TEST(Llama4, TheDecoderAlone) {
  nlohmann::json config = TinyLlama4()["text_config"];
  config["architectures"] = {"Llama4ForCausalLM"};
  const ModelSpec spec = Build(config);
  EXPECT_FALSE(spec.arch.vision.present);
  EXPECT_EQ(spec.table.layer_prefix, "model.layers.{L}.");
  EXPECT_NE(RowEnding(spec, "lm_head.weight"), nullptr);
}

}  // namespace
}  // namespace shardplan
