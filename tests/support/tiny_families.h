// Tiny configs of the families that keep state, slide, stack experts or have towers, and of those
// that store projections fused: every dimension small enough to count elements one by one.
#ifndef SHARDPLAN_TESTS_SUPPORT_TINY_FAMILIES_H_
#define SHARDPLAN_TESTS_SUPPORT_TINY_FAMILIES_H_

#include <nlohmann/json.hpp>
#include <string>

#include "support/literal_configs.h"

namespace shardplan::testing_support {

inline nlohmann::json TinyDecoder(const std::string& architecture, int64_t layers = 5) {
  return DecoderNumbers(architecture, 32, 64, layers, 8, 2, 8, 130, 4096);
}

inline nlohmann::json With(nlohmann::json config, const nlohmann::json& changes) {
  config.merge_patch(changes);
  return config;
}

inline nlohmann::json TinyPhi3() { return TinyDecoder("Phi3ForCausalLM"); }

inline nlohmann::json TinyGemma2() {
  return With(TinyDecoder("Gemma2ForCausalLM"), {{"sliding_window", 16}});
}

inline nlohmann::json TinySiglip() {
  return {{"hidden_size", 16},       {"intermediate_size", 24}, {"num_attention_heads", 4},
          {"num_hidden_layers", 2},  {"patch_size", 2},         {"image_size", 16},
          {"vision_use_head", false}};
}

// A text config below a multimodal class.
inline nlohmann::json Multimodal(const std::string& architecture, nlohmann::json text,
                                 nlohmann::json vision) {
  text.erase("architectures");
  return {{"architectures", {architecture}},
          {"text_config", std::move(text)},
          {"vision_config", std::move(vision)}};
}

inline nlohmann::json TinyGemma3() {
  return With(Multimodal("Gemma3ForConditionalGeneration",
                         With(TinyDecoder("", 7), {{"sliding_window", 16}}), TinySiglip()),
              {{"mm_tokens_per_image", 16}});
}

inline nlohmann::json TinyGemma4() {
  const nlohmann::json text = {{"global_head_dim", 16},
                               {"num_global_key_value_heads", 1},
                               {"attention_k_eq_v", true},
                               {"sliding_window", 16},
                               {"layer_types",
                                {"sliding_attention", "sliding_attention", "full_attention",
                                 "sliding_attention", "full_attention"}},
                               {"enable_moe_block", true},
                               {"num_experts", 12},
                               {"top_k_experts", 2},
                               {"moe_intermediate_size", 24}};
  const nlohmann::json vision = {{"hidden_size", 16},        {"intermediate_size", 24},
                                 {"num_attention_heads", 4}, {"num_hidden_layers", 2},
                                 {"patch_size", 2},          {"position_embedding_size", 10},
                                 {"pooling_kernel_size", 3}, {"standardize", true}};
  return Multimodal("Gemma4ForConditionalGeneration", With(TinyDecoder(""), text), vision);
}

inline nlohmann::json TinyLlama4() {
  const nlohmann::json text = {{"intermediate_size", 24},        {"intermediate_size_mlp", 64},
                               {"num_local_experts", 12},        {"num_experts_per_tok", 1},
                               {"interleave_moe_layer_step", 2}, {"attention_chunk_size", 16}};
  const nlohmann::json vision = {
      {"hidden_size", 16},          {"intermediate_size", 24},   {"num_attention_heads", 4},
      {"num_hidden_layers", 2},     {"patch_size", 2},           {"image_size", 8},
      {"pixel_shuffle_ratio", 0.5}, {"projector_input_dim", 16}, {"projector_output_dim", 16},
      {"vision_output_dim", 16}};
  return Multimodal("Llama4ForConditionalGeneration", With(TinyDecoder(""), text), vision);
}

inline nlohmann::json TinyMistral3() {
  const nlohmann::json vision = {{"hidden_size", 16},        {"intermediate_size", 24},
                                 {"num_attention_heads", 4}, {"num_hidden_layers", 2},
                                 {"patch_size", 2},          {"image_size", 8}};
  return With(Multimodal("Mistral3ForConditionalGeneration", TinyDecoder(""), vision),
              {{"spatial_merge_size", 2}, {"vision_feature_layer", -1}});
}

// Every kind of block, a latent mixture and a draft. Groups of B and C are fewer than heads.
inline nlohmann::json TinyNemotronH() {
  nlohmann::json config = TinyDecoder("NemotronHForCausalLM", 6);
  config.update({{"hybrid_override_pattern", "ME*-ME"},
                 {"mamba_num_heads", 8},
                 {"mamba_head_dim", 4},
                 {"n_groups", 2},
                 {"ssm_state_size", 4},
                 {"conv_kernel", 4},
                 {"n_routed_experts", 12},
                 {"num_experts_per_tok", 2},
                 {"moe_intermediate_size", 24},
                 {"n_shared_experts", 1},
                 {"moe_shared_expert_intermediate_size", 48},
                 {"moe_latent_size", 16},
                 {"num_nextn_predict_layers", 1},
                 {"mtp_hybrid_override_pattern", "*E"}});
  return config;
}

inline nlohmann::json TinyNemotronNas() {
  nlohmann::json config = TinyDecoder("DeciLMForCausalLM", 3);
  config.erase("num_key_value_heads");
  config.erase("intermediate_size");
  const nlohmann::json attends = {{"n_heads_in_group", 4}, {"no_op", false}};
  const nlohmann::json no_op = {{"no_op", true}};
  config["block_configs"] = {{{"attention", attends}, {"ffn", {{"ffn_mult", 2.0}}}},
                             {{"attention", no_op}, {"ffn", {{"intermediate_size", 64}}}},
                             {{"attention", attends}, {"ffn", no_op}}};
  return config;
}

inline nlohmann::json TinyJamba() {
  nlohmann::json config = TinyDecoder("JambaForCausalLM", 6);
  config.update({{"attn_layer_period", 4},
                 {"attn_layer_offset", 2},
                 {"expert_layer_period", 2},
                 {"expert_layer_offset", 1},
                 {"num_experts", 12},
                 {"num_experts_per_tok", 2},
                 {"intermediate_size", 48},
                 {"mamba_expand", 2},
                 {"mamba_d_state", 4},
                 {"mamba_d_conv", 4},
                 {"mamba_dt_rank", "auto"}});
  return config;
}

// Sliding layers with twice the KV heads, keys wider than values.
inline nlohmann::json TinyMimoV2Flash() {
  nlohmann::json config = TinyDecoder("MiMoV2FlashForCausalLM");
  config.update({{"v_head_dim", 4},
                 {"swa_num_key_value_heads", 4},
                 {"sliding_window", 16},
                 {"add_swa_attention_sink_bias", true},
                 {"hybrid_layer_pattern", {0, 1, 1, 0, 1}},
                 {"moe_layer_freq", {0, 1, 1, 1, 1}},
                 {"n_routed_experts", 12},
                 {"num_experts_per_tok", 2},
                 {"moe_intermediate_size", 24}});
  return config;
}

inline nlohmann::json TinyBailingMoe() {
  nlohmann::json config = TinyDecoder("BailingMoeForCausalLM");
  config.update({{"first_k_dense_replace", 1},
                 {"num_experts", 12},
                 {"num_shared_experts", 2},
                 {"num_experts_per_tok", 2},
                 {"moe_intermediate_size", 24},
                 {"use_qkv_bias", true}});
  return config;
}

inline nlohmann::json TinyGraniteMoe() {
  nlohmann::json config = TinyDecoder("GraniteMoeForCausalLM");
  config.update({{"num_local_experts", 12},
                 {"num_experts_per_tok", 2},
                 {"intermediate_size", 24},
                 {"tie_word_embeddings", true}});
  return config;
}

inline nlohmann::json TinyDots1() {
  nlohmann::json config = TinyDecoder("Dots1ForCausalLM");
  config.update({{"first_k_dense_replace", 1},
                 {"n_routed_experts", 12},
                 {"n_shared_experts", 2},
                 {"num_experts_per_tok", 2},
                 {"moe_intermediate_size", 24}});
  return config;
}

inline nlohmann::json TinyGrok1() {
  nlohmann::json config = TinyDecoder("Grok1ModelForCausalLM");
  config.update({{"num_experts", 8},
                 {"num_experts_per_tok", 2},
                 {"intermediate_size", 48},
                 {"tie_word_embeddings", true}});
  return config;
}

inline nlohmann::json TinyQwen() {
  nlohmann::json config = TinyDecoder("QWenLMHeadModel");
  config.erase("num_key_value_heads");
  return config;
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_SUPPORT_TINY_FAMILIES_H_
