#include <gtest/gtest.h>

#include "support/example_model.h"
#include "support/model_rows.h"
#include "support/tiny_families.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::DecoderNumbers;
using testing_support::Multimodal;
using testing_support::RowEnding;
using testing_support::TinyGemma4;
using testing_support::With;

// The numbers of Gemma-4-26B-A4B.
nlohmann::json Moe26B() {
  nlohmann::json types = nlohmann::json::array();
  for (int i = 0; i < 30; ++i) types.push_back(i % 6 == 5 ? "full_attention" : "sliding_attention");
  const nlohmann::json text = {{"global_head_dim", 512},      {"num_global_key_value_heads", 2},
                               {"attention_k_eq_v", true},    {"sliding_window", 1024},
                               {"layer_types", types},        {"enable_moe_block", true},
                               {"num_experts", 128},          {"top_k_experts", 8},
                               {"moe_intermediate_size", 704}};
  const nlohmann::json vision = {{"hidden_size", 1152},       {"intermediate_size", 4304},
                                 {"num_attention_heads", 16}, {"num_hidden_layers", 27},
                                 {"patch_size", 16},          {"position_embedding_size", 10240},
                                 {"standardize", true}};
  return Multimodal("Gemma4ForConditionalGeneration",
                    With(DecoderNumbers("", 2816, 2112, 30, 16, 8, 256, 262144, 262144), text),
                    vision);
}

// 1,013 tensors are published, 356 of them the tower's and its projector's.
TEST(Gemma4, TensorsOfThePublishedCheckpoint) {
  const ModelSpec spec = Build(Moe26B());
  EXPECT_EQ(Totals(spec.table).tensors, 1013);
  TensorTable tower;
  for (const ModuleRow& row : spec.table.rows) {
    if (row.is_tower()) tower.rows.push_back(row);
  }
  EXPECT_EQ(Totals(tower).tensors, 356);
  EXPECT_EQ(Totals(tower).payload, Bytes(1'145'588'832));
  const ModuleRow* experts = RowEnding(spec, "experts.gate_up_proj");
  EXPECT_EQ(StoredTensors(*experts).front().shape, (Shape{128, 1408, 2816}));
}

TEST(Gemma4, FullLayersUseTheirKeysAsValues) {
  const ModelSpec spec = Build(TinyGemma4());
  EXPECT_EQ(spec.arch.kv_heads, 1);
  EXPECT_EQ(spec.arch.head_dim, 16);
  EXPECT_EQ(spec.arch.sliding_kv->kv_heads, 2);
  EXPECT_EQ(spec.arch.KvOf(0).head_dim, 8);
  EXPECT_EQ(spec.arch.KvOf(2).head_dim, 16);
  int values = 0;
  for (const ModuleRow& row : spec.table.rows) {
    if (!row.name.ends_with("self_attn.v_proj")) continue;
    ++values;
    EXPECT_EQ(row.stored, row.layers.Contains(0));
    EXPECT_EQ(row.stored, !row.layers.Contains(2));
  }
  EXPECT_EQ(values, 2);
}

TEST(Gemma4, ExpertsMayStandAlone) {
  Assumptions alone;
  alone.stacked_experts = false;
  EXPECT_NE(RowEnding(Build(TinyGemma4(), alone), "experts.{E}.gate_proj"), nullptr);
  EXPECT_EQ(RowEnding(Build(TinyGemma4()), "experts.{E}.gate_proj"), nullptr);
}

TEST(Gemma4, Refusals) {
  nlohmann::json config = TinyGemma4();
  config["text_config"]["hidden_size_per_layer_input"] = 256;
  EXPECT_EQ(BuildError(config),
            "config.json: text_config.hidden_size_per_layer_input: expected 0: per-layer "
            "embeddings are not modelled");
  config = TinyGemma4();
  config["text_config"]["num_kv_shared_layers"] = 2;
  EXPECT_EQ(BuildError(config),
            "config.json: text_config.num_kv_shared_layers: expected 0: shared caches are not "
            "modelled");
  config = TinyGemma4();
  config["audio_config"] = nlohmann::json::object();
  EXPECT_EQ(BuildError(config),
            "config.json: audio_config: expected none: audio towers are not modelled");
}

}  // namespace
}  // namespace shardplan
