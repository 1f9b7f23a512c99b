// Models whose configs may not be copied here: the numbers that their families read, and no more.
#ifndef SHARDPLAN_TESTS_SUPPORT_LITERAL_CONFIGS_H_
#define SHARDPLAN_TESTS_SUPPORT_LITERAL_CONFIGS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace shardplan::testing_support {

// What every decoder says; a head dimension of zero is left out.
inline nlohmann::json DecoderNumbers(const std::string& architecture, int64_t hidden,
                                     int64_t intermediate, int64_t layers, int64_t heads,
                                     int64_t kv_heads, int64_t head_dim, int64_t vocabulary,
                                     int64_t positions) {
  nlohmann::json config = {
      {"architectures", {architecture}},   {"hidden_size", hidden},
      {"intermediate_size", intermediate}, {"num_hidden_layers", layers},
      {"num_attention_heads", heads},      {"num_key_value_heads", kv_heads},
      {"vocab_size", vocabulary},          {"max_position_embeddings", positions},
      {"torch_dtype", "bfloat16"}};
  if (head_dim > 0) config["head_dim"] = head_dim;
  return config;
}

inline nlohmann::json NemotronNumbers(int64_t hidden, int64_t heads, int64_t kv_heads,
                                      int64_t mamba_heads, int64_t state,
                                      const std::string& pattern) {
  nlohmann::json config =
      DecoderNumbers("NemotronHForCausalLM", hidden, 0, static_cast<int64_t>(pattern.size()), heads,
                     kv_heads, 128, 131072, 262144);
  config.update({{"hybrid_override_pattern", pattern},
                 {"mamba_num_heads", mamba_heads},
                 {"mamba_head_dim", 64},
                 {"n_groups", 8},
                 {"ssm_state_size", state},
                 {"conv_kernel", 4},
                 {"chunk_size", 128}});
  return config;
}

inline nlohmann::json NemotronMoeNumbers(nlohmann::json config, int64_t experts, int64_t top_k,
                                         int64_t intermediate, int64_t shared, int64_t latent) {
  config.update({{"n_routed_experts", experts},
                 {"num_experts_per_tok", top_k},
                 {"moe_intermediate_size", intermediate},
                 {"n_shared_experts", 1},
                 {"moe_shared_expert_intermediate_size", shared}});
  if (latent > 0) config["moe_latent_size"] = latent;
  return config;
}

inline std::string Repeat(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

inline nlohmann::json Llama4Numbers(int64_t experts, int64_t step, int64_t positions) {
  nlohmann::json text = DecoderNumbers("", 5120, 8192, 48, 40, 8, 128, 202048, positions);
  text.erase("architectures");
  text.update({{"intermediate_size_mlp", 16384},
               {"num_local_experts", experts},
               {"num_experts_per_tok", 1},
               {"interleave_moe_layer_step", step},
               {"attention_chunk_size", 8192}});
  return {{"architectures", {"Llama4ForConditionalGeneration"}}, {"text_config", text}};
}

inline nlohmann::json MimoV2FlashNumbers() {
  nlohmann::json config =
      DecoderNumbers("MiMoV2FlashForCausalLM", 4096, 16384, 48, 64, 4, 192, 152576, 262144);
  nlohmann::json sliding = nlohmann::json::array();
  nlohmann::json moe = nlohmann::json::array();
  for (int layer = 0; layer < 48; ++layer) {
    sliding.push_back(layer == 0 || layer % 6 == 5 ? 0 : 1);
    moe.push_back(layer == 0 ? 0 : 1);
  }
  config.update(
      {{"v_head_dim", 128},
       {"swa_num_attention_heads", 64},
       {"swa_num_key_value_heads", 8},
       {"swa_head_dim", 192},
       {"swa_v_head_dim", 128},
       {"sliding_window", 128},
       {"partial_rotary_factor", 0.334},
       {"add_swa_attention_sink_bias", true},
       {"hybrid_layer_pattern", sliding},
       {"moe_layer_freq", moe},
       {"n_routed_experts", 256},
       {"num_experts_per_tok", 8},
       {"moe_intermediate_size", 2048},
       {"quantization_config", {{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}}}});
  return config;
}

inline nlohmann::json JambaNumbers() {
  nlohmann::json config =
      DecoderNumbers("JambaForCausalLM", 4096, 14336, 32, 32, 8, 0, 65536, 262144);
  config.update({{"attn_layer_period", 8},
                 {"attn_layer_offset", 4},
                 {"expert_layer_period", 2},
                 {"expert_layer_offset", 1},
                 {"num_experts", 16},
                 {"num_experts_per_tok", 2},
                 {"mamba_expand", 2},
                 {"mamba_d_state", 16},
                 {"mamba_d_conv", 4},
                 {"mamba_dt_rank", 256}});
  return config;
}

// A model by the name it has in the golden files; nothing for one that is copied.
inline std::optional<nlohmann::json> LiteralConfig(const std::string& name) {
  if (name == "phi-4") {
    return DecoderNumbers("Phi3ForCausalLM", 5120, 17920, 40, 40, 10, 0, 100352, 16384);
  }
  if (name == "llama-3.1-8b") {
    return DecoderNumbers("LlamaForCausalLM", 4096, 14336, 32, 32, 8, 0, 128256, 131072);
  }
  if (name == "mistral-large") {
    return DecoderNumbers("MistralForCausalLM", 12288, 28672, 88, 96, 8, 0, 32768, 32768);
  }
  if (name == "gemma-2-27b") {
    return DecoderNumbers("Gemma2ForCausalLM", 4608, 36864, 46, 32, 16, 128, 256000, 8192);
  }
  if (name == "gemma-3-27b") {
    nlohmann::json config =
        DecoderNumbers("Gemma3ForCausalLM", 5376, 21504, 62, 32, 16, 128, 262208, 131072);
    config["sliding_window"] = 1024;
    return config;
  }
  if (name == "nemotron-3-nano") {
    return NemotronMoeNumbers(
        NemotronNumbers(2688, 32, 2, 64, 128, Repeat("MEMEM*E", 5) + "MEMEMEM*EMEMEMEME"), 128, 6,
        1856, 3712, 0);
  }
  if (name == "nemotron-3-super") {
    nlohmann::json config = NemotronMoeNumbers(
        NemotronNumbers(4096, 32, 2, 128, 128,
                        Repeat("MEMEMEM*E", 3) + Repeat("MEMEMEMEM*E", 4) + "MEMEMEM*EMEMEMEME"),
        512, 22, 2688, 5376, 1024);
    config.update({{"num_nextn_predict_layers", 1}, {"mtp_hybrid_override_pattern", "*E"}});
    return config;
  }
  if (name == "nemotron-3-ultra") {
    const std::string pattern = Repeat("MEMEMEM*EMEMEM*EMEMEMEM*E", 4) + "MEMEMEME";
    return NemotronMoeNumbers(NemotronNumbers(8192, 64, 2, 256, 128, pattern), 512, 22, 5120, 10240,
                              2048);
  }
  if (name == "nemotron-h-56b") {
    nlohmann::json config = NemotronNumbers(8192, 64, 8, 256, 256,
                                            "M-M-M-M*-" + Repeat("M-M-M-M-M*-", 9) + "M-M-M-M-M-");
    config.update({{"intermediate_size", 32768}, {"max_position_embeddings", 8192}});
    return config;
  }
  if (name == "jamba2-mini") return JambaNumbers();
  if (name == "llama-4-maverick") return Llama4Numbers(128, 2, 1048576);
  if (name == "llama-4-scout") return Llama4Numbers(16, 1, 10485760);
  if (name == "mimo-v2-flash") return MimoV2FlashNumbers();
  return std::nullopt;
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_SUPPORT_LITERAL_CONFIGS_H_
