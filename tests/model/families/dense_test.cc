#include <gtest/gtest.h>

#include "support/example_model.h"
#include "support/model_rows.h"

namespace shardplan {
namespace {

using testing_support::Build;
using testing_support::BuildError;
using testing_support::DenseConfig;
using testing_support::RowEnding;

nlohmann::json Small(const std::string& architecture) {
  return DenseConfig(architecture, 64, 128, 2, 4, 2, 1000);
}

TEST(Dense, BiasesByArchitecture) {
  const ModelSpec llama = Build(Small("LlamaForCausalLM"));
  EXPECT_FALSE(RowEnding(llama, "q_proj")->bias);
  const ModelSpec qwen2 = Build(Small("Qwen2ForCausalLM"));
  EXPECT_TRUE(RowEnding(qwen2, "q_proj")->bias);
  EXPECT_TRUE(RowEnding(qwen2, "v_proj")->bias);
  EXPECT_FALSE(RowEnding(qwen2, "o_proj")->bias);
  nlohmann::json biased = Small("LlamaForCausalLM");
  biased["attention_bias"] = true;
  EXPECT_TRUE(RowEnding(Build(biased), "o_proj")->bias);
  EXPECT_EQ(RowEnding(llama, "q_norm.weight"), nullptr);
  EXPECT_NE(RowEnding(Build(Small("Qwen3ForCausalLM")), "q_norm.weight"), nullptr);
}

TEST(Dense, TiedEmbeddingsHaveNoHead) {
  nlohmann::json tied = Small("Qwen3ForCausalLM");
  tied["tie_word_embeddings"] = true;
  EXPECT_EQ(RowEnding(Build(tied), "lm_head.weight"), nullptr);
}

TEST(Dense, HeadDimensionMayBeItsOwn) {
  nlohmann::json config = Small("LlamaForCausalLM");
  EXPECT_EQ(Build(config).arch.head_dim, 16);
  config["head_dim"] = 40;
  EXPECT_EQ(RowEnding(Build(config), "q_proj")->shape, (Shape{160, 64}));
}

TEST(Dense, Fp8BlocksCoverTheProjections) {
  nlohmann::json config = Small("Qwen3ForCausalLM");
  config["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {16, 16}}};
  const ModelSpec spec = Build(config);
  for (const char* name : {"q_proj", "v_proj", "o_proj", "gate_proj", "down_proj"}) {
    EXPECT_EQ(RowEnding(spec, name)->quant.scheme, QuantScheme::kFp8Block) << name;
  }
  EXPECT_EQ(RowEnding(spec, "q_norm.weight")->quant.scheme, QuantScheme::kPlain);
  EXPECT_EQ(RowEnding(spec, "lm_head.weight")->quant.scheme, QuantScheme::kPlain);
  // Qwen stores its scales in BF16.
  EXPECT_EQ(RowEnding(spec, "o_proj")->quant.scale_dtype, DType::kBF16);
}

std::vector<AttentionKind> Kinds(const nlohmann::json& changes) {
  nlohmann::json config = DenseConfig("Qwen2ForCausalLM", 64, 128, 3, 4, 2, 1000);
  config["sliding_window"] = 512;
  config.update(changes);
  return Build(config).arch.attention;
}

TEST(Dense, WindowsOfQwen) {
  constexpr AttentionKind kFull = AttentionKind::kFull;
  constexpr AttentionKind kSliding = AttentionKind::kSliding;
  const std::vector<AttentionKind> full(3, kFull);
  const std::vector<AttentionKind> sliding(3, kSliding);
  EXPECT_EQ(Kinds({{"use_sliding_window", false}}), full);
  EXPECT_EQ(Kinds({{"use_sliding_window", true}, {"sliding_window", nullptr}}), full);
  EXPECT_EQ(Kinds({{"use_sliding_window", true}, {"max_window_layers", 0}}), sliding);
  EXPECT_EQ(Kinds({{"use_sliding_window", true}, {"max_window_layers", 1}}),
            (std::vector<AttentionKind>{kFull, kSliding, kSliding}));
  EXPECT_EQ(Kinds({{"use_sliding_window", true},
                   {"layer_types", {"sliding_attention", "full_attention", "sliding_attention"}}}),
            (std::vector<AttentionKind>{kSliding, kFull, kSliding}));
  // No layer is named: vLLM gives the window to all of them.
  EXPECT_EQ(Kinds({{"use_sliding_window", true}, {"max_window_layers", 3}}), sliding);
  EXPECT_EQ(Kinds({{"use_sliding_window", true}}), sliding);

  nlohmann::json config = Small("Qwen3ForCausalLM");
  config.update({{"use_sliding_window", true}, {"sliding_window", 512}, {"max_window_layers", 0}});
  EXPECT_EQ(Build(config).arch.window, 512);
  config["layer_types"] = {"full_attention"};
  EXPECT_EQ(BuildError(config), "config.json: layer_types: expected one entry a layer");
}

// Mistral's window holds for every layer, Qwen's key stands beside a switch that is off.
TEST(Dense, SlidingWindows) {
  nlohmann::json config = Small("MistralForCausalLM");
  EXPECT_EQ(Build(config).arch.attention[1], AttentionKind::kFull);
  config["sliding_window"] = 4096;
  EXPECT_EQ(Build(config).arch.attention[1], AttentionKind::kSliding);
  EXPECT_EQ(Build(config).arch.window, 4096);
  config = Small("Qwen2ForCausalLM");
  config["sliding_window"] = 4096;
  EXPECT_EQ(Build(config).arch.attention[1], AttentionKind::kFull);
}

TEST(Dense, MimoIsQwen2WithADraftBeside) {
  nlohmann::json config = Small("MiMoForCausalLM");
  config["num_nextn_predict_layers"] = 1;
  const ModelSpec spec = Build(config);
  EXPECT_TRUE(RowEnding(spec, "model.layers.{L}.self_attn.k_proj")->bias);
  const ModuleRow* draft = RowEnding(spec, "mtp_layers.{L}.input_proj");
  ASSERT_NE(draft, nullptr);
  EXPECT_EQ(draft->shape, (Shape{64, 128}));
  EXPECT_EQ(draft->placement, Placement::kNotLoaded);
  EXPECT_TRUE(RowEnding(spec, "mtp_layers.{L}.self_attn.k_proj")->bias);
  Assumptions none;
  none.mtp = false;
  EXPECT_EQ(RowEnding(Build(config, none), "mtp_layers.{L}.input_proj"), nullptr);
}

TEST(Dense, Contradictions) {
  nlohmann::json config = Small("LlamaForCausalLM");
  config["num_attention_heads"] = 5;
  EXPECT_EQ(BuildError(config),
            "config.json: num_attention_heads: does not divide hidden_size, and there is no "
            "head_dim");
  config = Small("LlamaForCausalLM");
  config["num_key_value_heads"] = 3;
  EXPECT_EQ(BuildError(config),
            "config.json: num_key_value_heads: does not divide num_attention_heads");
  config = Small("LlamaForCausalLM");
  config["use_sliding_window"] = true;
  EXPECT_EQ(BuildError(config),
            "config.json: use_sliding_window: sliding-window layers are not modelled for this "
            "family");
  config = Small("LlamaForCausalLM");
  config["quantization_config"] = {{"bits", 3}, {"group_size", 32}};
  EXPECT_EQ(BuildError(config),
            "config.json: a quantization_config without a quant_method is not known; plan the "
            "unquantized checkpoint, or one in FP8, NVFP4, MXFP4, AWQ, GPTQ or compressed-tensors");
  config = Small("LlamaForCausalLM");
  config["torch_dtype"] = "int8";
  EXPECT_EQ(BuildError(config), "config.json: torch_dtype: expected bfloat16, float16 or float32");
}

}  // namespace
}  // namespace shardplan
