#include "model/families/unknown_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace shardplan::families {
namespace {

std::vector<SeenTensor> Seen() {
  std::vector<SeenTensor> seen;
  const auto add = [&](const char* pattern, Shape shape) {
    seen.push_back({*ReadName(pattern), DType::kF16, std::move(shape)});
  };
  add("model.embed_tokens.weight", {100, 64});
  add("lm_head.weight", {100, 64});
  add("model.layers.{}.self_attn.q_proj.weight", {64, 64});
  add("model.layers.{}.self_attn.k_proj.weight", {16, 64});
  add("model.layers.{}.self_attn.q_norm.weight", {8});
  return seen;
}

UnknownNumbers ReadUnknown(const nlohmann::json& json) {
  ConfigReader config(json, "config.json");
  UnknownNumbers numbers = ReadUnknownNumbers(config, Seen());
  EXPECT_TRUE(config.ok());
  return numbers;
}

TEST(ReadUnknownNumbers, EveryUsualNameCounts) {
  const UnknownNumbers n = ReadUnknown({{"architectures", {"NewModel"}},
                                        {"n_embd", 64},
                                        {"n_layer", 3},
                                        {"n_head", 8},
                                        {"n_kv_heads", 2},
                                        {"vocab_size", 90},
                                        {"n_positions", 2048},
                                        {"moe_num_experts", 4},
                                        {"moe_topk", 2},
                                        {"torch_dtype", "float16"}});
  EXPECT_EQ(n.arch.name, "NewModel");
  EXPECT_EQ(n.arch.hidden, 64);
  EXPECT_EQ(n.layers, 3);
  EXPECT_EQ(n.arch.heads, 8);
  EXPECT_EQ(n.arch.kv_heads, 2);
  EXPECT_EQ(n.arch.head_dim, 8);
  EXPECT_EQ(n.arch.vocabulary, 100);  // the rows there are
  EXPECT_EQ(n.arch.max_positions, 2048);
  EXPECT_EQ(n.arch.moe.experts, 4);
  EXPECT_EQ(n.arch.moe.top_k, 2);
  EXPECT_EQ(n.arch.dtype, DType::kF16);
  EXPECT_FALSE(n.arch.tied_embeddings);
  EXPECT_TRUE(n.from.empty());
}

TEST(ReadUnknownNumbers, ShapesTellWhatTheConfigDoesNot) {
  const UnknownNumbers n = ReadUnknown({{"architectures", {"NewModel"}}});
  EXPECT_EQ(n.arch.hidden, 64);
  EXPECT_EQ(n.arch.heads, 8);
  EXPECT_EQ(n.arch.kv_heads, 2);
  EXPECT_EQ(n.arch.head_dim, 8);
  EXPECT_EQ(n.layers, 0);
  EXPECT_EQ(n.from, (std::vector<std::string>{
                        "dtype F16 from the embedding", "hidden_size 64 from shapes",
                        "vocab_size 100 from shapes", "max_position_embeddings 32,768 assumed",
                        "num_attention_heads 8 from shapes", "num_key_value_heads 2 from shapes"}));
}

TEST(ReadUnknownNumbers, StrangeValuesCountAsMissing) {
  const UnknownNumbers n = ReadUnknown({{"architectures", {"NewModel"}},
                                        {"hidden_size", "64"},
                                        {"num_hidden_layers", -3},
                                        {"num_attention_heads", {8, 8}},
                                        {"vocab_size", 1e300},
                                        {"torch_dtype", "int3"},
                                        {"rope_scaling", 7},
                                        {"text_config", "no object"},
                                        {"vision_config", 5},
                                        {"layer_types", 3}});
  EXPECT_EQ(n.arch.hidden, 64);
  EXPECT_EQ(n.layers, 0);
  EXPECT_EQ(n.arch.heads, 8);
  EXPECT_TRUE(n.layer_types.empty());
}

TEST(ReadUnknownNumbers, TheDecoderMayStandInAnObjectOfItsOwn) {
  const UnknownNumbers n =
      ReadUnknown({{"architectures", {"NewModel"}},
                   {"text_config",
                    {{"hidden_size", 64},
                     {"num_hidden_layers", 2},
                     {"kv_lora_rank", 16},
                     {"qk_nope_head_dim", 8},
                     {"qk_rope_head_dim", 4},
                     {"v_head_dim", 8},
                     {"num_attention_heads", 8}}},
                   {"vision_config", {{"hidden_size", 32}, {"num_heads", 4}, {"depth", 6}}}});
  EXPECT_EQ(n.layers, 2);
  EXPECT_EQ(n.arch.mla.latent_width(), 20);
  EXPECT_EQ(n.arch.head_dim, 12);
  EXPECT_EQ(n.arch.rotary.dim, 4);
  EXPECT_EQ(n.arch.vision.heads, 4);
  EXPECT_EQ(n.arch.vision.blocks, 6);
}

}  // namespace
}  // namespace shardplan::families
