// One tiny config per family: every dimension small enough to count elements one by one.
#ifndef SHARDPLAN_TESTS_SUPPORT_TINY_MODELS_H_
#define SHARDPLAN_TESTS_SUPPORT_TINY_MODELS_H_

#include <nlohmann/json.hpp>

#include "support/example_model.h"

namespace shardplan::testing_support {

inline nlohmann::json TinyDense() {
  nlohmann::json config = DenseConfig("LlamaForCausalLM", 32, 64, 5, 8, 2, 130);
  config["attention_bias"] = true;
  return config;
}

// Blocks of 4 × 4, so that a slice can be whole blocks or not.
inline nlohmann::json TinyDeepseek() {
  return {{"architectures", {"DeepseekV3ForCausalLM"}},
          {"hidden_size", 32},
          {"intermediate_size", 64},
          {"moe_intermediate_size", 32},
          {"num_hidden_layers", 5},
          {"num_nextn_predict_layers", 1},
          {"num_attention_heads", 8},
          {"num_key_value_heads", 8},
          {"q_lora_rank", 12},
          {"kv_lora_rank", 16},
          {"qk_nope_head_dim", 8},
          {"qk_rope_head_dim", 4},
          {"v_head_dim", 8},
          {"n_routed_experts", 10},
          {"num_experts_per_tok", 2},
          {"n_shared_experts", 1},
          {"first_k_dense_replace", 2},
          {"vocab_size", 130},
          {"max_position_embeddings", 4096},
          {"torch_dtype", "bfloat16"},
          {"quantization_config", {{"quant_method", "fp8"}, {"weight_block_size", {4, 4}}}}};
}

// An indexer on three of five layers.
inline nlohmann::json TinyDeepseekSparse() {
  nlohmann::json config = TinyDeepseek();
  config["architectures"] = {"DeepseekV32ForCausalLM"};
  config.update({{"index_n_heads", 4},
                 {"index_head_dim", 8},
                 {"index_topk", 16},
                 {"indexer_types", {"full", "full", "shared", "shared", "full"}}});
  return config;
}

// Two attentions and two MLPs a layer, experts without weights, a draft layer.
inline nlohmann::json TinyLongcatFlash() {
  return {{"architectures", {"LongcatFlashForCausalLM"}},
          {"hidden_size", 32},
          {"ffn_hidden_size", 64},
          {"expert_ffn_hidden_size", 24},
          {"num_layers", 5},
          {"num_attention_heads", 8},
          {"q_lora_rank", 12},
          {"kv_lora_rank", 16},
          {"qk_nope_head_dim", 8},
          {"qk_rope_head_dim", 4},
          {"v_head_dim", 8},
          {"n_routed_experts", 12},
          {"zero_expert_num", 4},
          {"moe_topk", 2},
          {"vocab_size", 130},
          {"max_position_embeddings", 4096},
          {"torch_dtype", "bfloat16"}};
}

// Every kind of layer: a window alone, entries of four tokens and of 128; two that route by token.
inline nlohmann::json TinyDeepseekV4() {
  return {{"architectures", {"DeepseekV4ForCausalLM"}},
          {"model_type", "deepseek_v4"},
          {"hidden_size", 32},
          {"moe_intermediate_size", 128},
          {"num_hidden_layers", 5},
          {"num_nextn_predict_layers", 1},
          {"num_attention_heads", 8},
          {"num_key_value_heads", 1},
          {"head_dim", 8},
          {"qk_rope_head_dim", 4},
          {"q_lora_rank", 12},
          {"o_lora_rank", 16},
          {"o_groups", 2},
          {"index_n_heads", 4},
          {"index_head_dim", 8},
          {"index_topk", 16},
          {"hc_mult", 2},
          {"compress_ratios", {0, 4, 128, 4, 0, 0}},
          {"sliding_window", 16},
          {"num_hash_layers", 2},
          {"n_routed_experts", 6},
          {"num_experts_per_tok", 2},
          {"n_shared_experts", 1},
          {"vocab_size", 130},
          {"max_position_embeddings", 4096},
          {"torch_dtype", "bfloat16"},
          {"expert_dtype", "fp4"},
          {"quantization_config", {{"quant_method", "fp8"}, {"weight_block_size", {4, 4}}}}};
}

// Ends of the stack on every stage, per-head norms, no shared expert.
inline nlohmann::json TinyQwen3Moe() {
  nlohmann::json config = DenseConfig("Qwen3MoeForCausalLM", 32, 64, 5, 8, 2, 130);
  config.update({{"head_dim", 8},
                 {"num_experts", 12},
                 {"num_experts_per_tok", 2},
                 {"moe_intermediate_size", 24}});
  return config;
}

// A dense layer first, a shared expert, and a draft layer.
inline nlohmann::json TinyGlm4Moe() {
  nlohmann::json config = DenseConfig("Glm4MoeForCausalLM", 32, 64, 4, 8, 2, 130);
  config.update({{"head_dim", 8},
                 {"attention_bias", true},
                 {"use_qk_norm", true},
                 {"n_routed_experts", 12},
                 {"n_shared_experts", 1},
                 {"num_experts_per_tok", 2},
                 {"moe_intermediate_size", 24},
                 {"first_k_dense_replace", 1},
                 {"num_nextn_predict_layers", 1}});
  return config;
}

// Norms over all heads, an FP32 router with a bias.
inline nlohmann::json TinyMinimaxM2() {
  nlohmann::json config = DenseConfig("MiniMaxM2ForCausalLM", 32, 48, 4, 8, 2, 130);
  config.update({{"head_dim", 8},
                 {"num_local_experts", 12},
                 {"num_experts_per_tok", 2},
                 {"use_qk_norm", true}});
  return config;
}

inline nlohmann::json TinyMixtral() {
  nlohmann::json config = DenseConfig("MixtralForCausalLM", 32, 48, 4, 8, 2, 130);
  config.update({{"num_local_experts", 8}, {"num_experts_per_tok", 2}});
  return config;
}

// Delta nets with heads of two kinds, gated attention in every second layer, one dense layer.
inline nlohmann::json TinyQwen3Next() {
  nlohmann::json config = DenseConfig("Qwen3NextForCausalLM", 32, 64, 5, 8, 2, 130);
  config.update({{"head_dim", 8},
                 {"full_attention_interval", 2},
                 {"linear_num_key_heads", 8},
                 {"linear_num_value_heads", 16},
                 {"linear_key_head_dim", 4},
                 {"linear_value_head_dim", 2},
                 {"linear_conv_kernel_dim", 4},
                 {"num_experts", 12},
                 {"num_experts_per_tok", 2},
                 {"moe_intermediate_size", 24},
                 {"shared_expert_intermediate_size", 16},
                 {"mlp_only_layers", {2}}});
  return config;
}

// A tower for a text of hidden size 32.
inline nlohmann::json TinyQwenVision() {
  return {{"hidden_size", 16},
          {"intermediate_size", 24},
          {"num_heads", 4},
          {"depth", 2},
          {"out_hidden_size", 32},
          {"patch_size", 2},
          {"spatial_merge_size", 2},
          {"temporal_patch_size", 2},
          {"num_position_embeddings", 16},
          {"deepstack_visual_indexes", nlohmann::json::array()}};
}

// The layers of Qwen3-Next, dense, behind a tower; the embedding is the head.
inline nlohmann::json TinyQwen35() {
  nlohmann::json text = TinyQwen3Next();
  for (const char* key : {"architectures", "num_experts", "mlp_only_layers"}) text.erase(key);
  text["mtp_num_hidden_layers"] = 1;
  text["tie_word_embeddings"] = true;
  return {{"architectures", {"Qwen3_5ForConditionalGeneration"}},
          {"text_config", text},
          {"vision_config", TinyQwenVision()}};
}

// Mixtures whose experts are stacked, and no tower.
inline nlohmann::json TinyQwen35Moe() {
  nlohmann::json config = TinyQwen3Next();
  config.erase("mlp_only_layers");
  config["architectures"] = {"Qwen3_5MoeForConditionalGeneration"};
  config["mtp_num_hidden_layers"] = 1;
  return config;
}

// Experts stacked the other way round, every second layer dense, a tower with deepstack.
inline nlohmann::json TinyQwen3VlMoe() {
  nlohmann::json text = TinyQwen3Moe();
  text.erase("architectures");
  text["decoder_sparse_step"] = 2;
  nlohmann::json vision = TinyQwenVision();
  vision["deepstack_visual_indexes"] = {0, 1};
  return {{"architectures", {"Qwen3VLMoeForConditionalGeneration"}},
          {"text_config", text},
          {"vision_config", vision}};
}

inline nlohmann::json TinyQwen3Vl() {
  nlohmann::json text = DenseConfig("Qwen3ForCausalLM", 32, 64, 4, 8, 2, 130);
  text.erase("architectures");
  text["head_dim"] = 8;
  nlohmann::json vision = TinyQwenVision();
  vision["deepstack_visual_indexes"] = {1};
  return {{"architectures", {"Qwen3VLForConditionalGeneration"}},
          {"text_config", text},
          {"vision_config", vision}};
}

inline nlohmann::json TinyKimiK3() {
  nlohmann::json text = {{"hidden_size", 64},
                         {"intermediate_size", 96},
                         {"moe_intermediate_size", 512},
                         {"routed_expert_hidden_size", 256},
                         {"num_hidden_layers", 6},
                         {"num_attention_heads", 8},
                         {"num_key_value_heads", 8},
                         {"q_lora_rank", 24},
                         {"kv_lora_rank", 32},
                         {"qk_nope_head_dim", 8},
                         {"qk_rope_head_dim", 4},
                         {"v_head_dim", 8},
                         {"mla_use_nope", true},
                         {"mla_use_output_gate", true},
                         {"attn_res_block_size", 2},
                         {"num_experts", 6},
                         {"num_experts_per_token", 2},
                         {"num_shared_experts", 2},
                         {"first_k_dense_replace", 1},
                         {"vocab_size", 192},
                         {"max_position_embeddings", 4096},
                         {"dtype", "bfloat16"},
                         {"quantization_config", Mxfp4Experts()},
                         {"linear_attn_config",
                          {{"num_heads", 8},
                           {"head_dim", 16},
                           {"short_conv_kernel_size", 4},
                           {"full_attn_layers", {3, 6}},
                           {"kda_layers", {1, 2, 4, 5}}}}};
  nlohmann::json vision = {
      {"vt_hidden_size", 16},      {"vt_intermediate_size", 32}, {"vt_num_attention_heads", 4},
      {"vt_num_hidden_layers", 2}, {"qkv_hidden_size", 16},      {"patch_size", 2},
      {"mm_hidden_size", 16},      {"text_hidden_size", 64},     {"init_pos_emb_height", 4},
      {"init_pos_emb_width", 4},   {"init_pos_emb_time", 4}};
  return {{"architectures", {"KimiK3ForConditionalGeneration"}},
          {"text_config", text},
          {"vision_config", vision}};
}

// Plain queries, a low-rank gate, experts of the model's width.
inline nlohmann::json TinyKimiLinear() {
  nlohmann::json linear = {{"num_heads", 8},
                           {"head_dim", 4},
                           {"short_conv_kernel_size", 4},
                           {"full_attn_layers", {3, 5}},
                           {"kda_layers", {1, 2, 4}}};
  return {{"architectures", {"KimiLinearForCausalLM"}},
          {"hidden_size", 32},
          {"intermediate_size", 48},
          {"moe_intermediate_size", 24},
          {"num_hidden_layers", 5},
          {"num_attention_heads", 8},
          {"num_key_value_heads", 8},
          {"kv_lora_rank", 16},
          {"qk_nope_head_dim", 8},
          {"qk_rope_head_dim", 4},
          {"v_head_dim", 8},
          {"mla_use_nope", true},
          {"num_experts", 12},
          {"num_experts_per_token", 2},
          {"num_shared_experts", 1},
          {"first_k_dense_replace", 1},
          {"vocab_size", 130},
          {"model_max_length", 4096},
          {"dtype", "bfloat16"},
          {"linear_attn_config", linear}};
}

// DeepSeek's language model behind a tower whose linears have biases.
inline nlohmann::json TinyKimiK25() {
  nlohmann::json text = TinyDeepseek();
  text.erase("quantization_config");
  text["num_nextn_predict_layers"] = 0;
  nlohmann::json vision = TinyKimiK3()["vision_config"];
  vision["text_hidden_size"] = 32;
  return {{"architectures", {"KimiK25ForConditionalGeneration"}},
          {"text_config", text},
          {"vision_config", vision}};
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_SUPPORT_TINY_MODELS_H_
