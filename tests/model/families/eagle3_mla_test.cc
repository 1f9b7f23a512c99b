#include <gtest/gtest.h>

#include "support/example_model.h"
#include "support/model_rows.h"
#include "support/tiny_drafts.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::DecoderNumbers;
using testing_support::RowNamed;
using testing_support::TinyEagle3Mla;
using testing_support::With;

// A published head for Kimi-K2.7-Code (k-l-lambda/kimi-k2.7-code-eagle3-mla): the hub counts 2B
// parameters, with the whole embedding and a head of 32,000 words.
TEST(Eagle3Mla, AHeadOfKimiK2) {
  const nlohmann::json config =
      With(DecoderNumbers("Eagle3DeepseekV2ForCausalLM", 7168, 18432, 1, 64, 64, 0, 163840, 262144),
           {{"q_lora_rank", 1536},
            {"kv_lora_rank", 512},
            {"qk_nope_head_dim", 128},
            {"qk_rope_head_dim", 64},
            {"v_head_dim", 128},
            {"draft_vocab_size", 32000}});
  const ModelSpec spec = Build(config);
  EXPECT_EQ(spec.arch.family, "eagle3-mla");
  EXPECT_EQ(spec.arch.attention, std::vector<AttentionKind>{AttentionKind::kMla});
  const int64_t h = 7168;
  const int64_t attention =
      (1536 + 576) * 2 * h + 1536 + 512 + 64 * 192 * 1536 + 64 * 256 * 512 + h * 64 * 128;
  int64_t parameters = 0;
  for (const ModuleRow& row : spec.table.rows) {
    if (!row.stored || row.name == "d2t" || row.name == "t2d") continue;
    for (const StoredTensor& tensor : StoredTensors(row)) parameters += tensor.parameters;
  }
  EXPECT_EQ(parameters, attention + 3 * 18432 * h + 3 * h + 3 * h * h + h + (163840 + 32000) * h);
  EXPECT_EQ((parameters + 500'000'000) / 1'000'000'000, 2);
}

TEST(Eagle3Mla, TheFirstLayerSeesTwiceTheWidth) {
  const ModelSpec one = Build(TinyEagle3Mla());
  EXPECT_EQ(RowNamed(one, "midlayer.self_attn.q_a_proj")->shape, (Shape{24, 64}));
  EXPECT_EQ(RowNamed(one, "midlayer.self_attn.kv_a_proj_with_mqa")->shape, (Shape{20, 64}));
  EXPECT_EQ(RowNamed(one, "midlayer.self_attn.q_a_proj")->param,
            "model.layers.0.self_attn.fused_qkv_a_proj");
  EXPECT_EQ(RowNamed(one, "midlayer.self_attn.o_proj")->shape, (Shape{32, 64}));
  EXPECT_EQ(RowNamed(one, "lm_head.weight")->shape, (Shape{100, 32}));
  const ModelSpec two = Build(With(TinyEagle3Mla(2), {{"q_lora_rank", nullptr}}));
  std::vector<int64_t> widths;
  for (const ModuleRow& row : two.table.rows) {
    if (row.name == "layers.{L}.self_attn.q_proj") widths.push_back(row.shape.dims[1]);
  }
  EXPECT_EQ(widths, (std::vector<int64_t>{64, 32}));
}

TEST(Eagle3Mla, HiddenStatesThatFcJoins) {
  EXPECT_EQ(RowNamed(Build(TinyEagle3Mla()), "fc")->shape, (Shape{32, 96}));
  nlohmann::json config = TinyEagle3Mla();
  config["eagle_config"] = {{"eagle_aux_hidden_state_layer_ids", {2, 30, 58, 59}}};
  EXPECT_EQ(RowNamed(Build(config), "fc")->shape, (Shape{32, 128}));
  config["num_aux_hidden_states"] = 2;
  config["fc_norm"] = true;
  EXPECT_EQ(RowNamed(Build(config), "fc")->shape, (Shape{32, 64}));
  EXPECT_NE(RowNamed(Build(config), "fc_norm.1.weight"), nullptr);
  EXPECT_EQ(RowNamed(Build(config), "fc_norm.2.weight"), nullptr);
}

}  // namespace
}  // namespace shardplan
