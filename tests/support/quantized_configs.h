// Quantized twins of the example models: the published model's numbers under another quantization.
#ifndef SHARDPLAN_TESTS_SUPPORT_QUANTIZED_CONFIGS_H_
#define SHARDPLAN_TESTS_SUPPORT_QUANTIZED_CONFIGS_H_

#include <nlohmann/json.hpp>
#include <string>

namespace shardplan::testing_support {

// What ModelOpt writes into a config, for an algorithm and a list of modules left out.
inline nlohmann::json ModelOpt(const std::string& algorithm,
                               const std::vector<std::string>& ignore) {
  return {{"quant_method", "modelopt"},
          {"quant_algo", algorithm},
          {"ignore", ignore},
          {"kv_cache_scheme", {{"dynamic", false}, {"num_bits", 8}, {"type", "float"}}}};
}

inline nlohmann::json Awq(bool zero_point) {
  return {{"quant_method", "awq"},
          {"bits", 4},
          {"group_size", 128},
          {"version", "gemm"},
          {"zero_point", zero_point}};
}

// compressed-tensors as Kimi-K3 has it, with nothing but what is read.
inline nlohmann::json Mxfp4Experts() {
  return {{"quant_method", "compressed-tensors"},
          {"format", "mxfp4-pack-quantized"},
          {"config_groups",
           {{"group_0",
             {{"targets", {"Linear"}},
              {"weights",
               {{"num_bits", 4}, {"group_size", 32}, {"type", "float"}, {"strategy", "group"}}}}}}},
          {"ignore",
           {"re:.*self_attn.*", "re:.*shared_experts.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*",
            "re:.*lm_head.*", "re:.*vision_tower.*", "re:.*mm_projector.*"}}};
}

// As Kimi-K2.5 and K2.6 have it: the routed experts in packed integers.
inline nlohmann::json Int4Experts() {
  return {{"quant_method", "compressed-tensors"},
          {"format", "pack-quantized"},
          {"config_groups",
           {{"group_0",
             {{"targets", {"Linear"}},
              {"weights",
               {{"num_bits", 4}, {"group_size", 32}, {"type", "int"}, {"strategy", "group"}}}}}}},
          {"ignore",
           {"lm_head", "re:.*self_attn.*", "re:.*shared_experts.*",
            "re:.*mlp\\.(gate|up|gate_up|down)_proj.*"}}};
}

// The quantization_config behind a suffix of an example's name ("deepseek-v3+nvfp4"). The lists of
// what is left out are those of the published exports (nvidia/DeepSeek-V3.1-NVFP4,
// MiniMax-M2.5-NVFP4, Qwen3-235B-A22B-NVFP4, Qwen3.5-397B-A17B-NVFP4), written as patterns.
inline nlohmann::json QuantizationOf(const std::string& suffix) {
  if (suffix == "nvfp4") {
    return ModelOpt(
        "NVFP4",
        {"lm_head", "model.layers.*.mlp.gate", "model.layers.61*",
         "model.layers.*.self_attn.q_a_proj", "model.layers.*.self_attn.q_b_proj",
         "model.layers.*.self_attn.kv_a_proj_with_mqa", "model.layers.*.self_attn.kv_b_proj"});
  }
  if (suffix == "nvfp4-all") return ModelOpt("NVFP4", {"lm_head", "model.layers.*.mlp.gate"});
  if (suffix == "nvfp4-experts") {
    return ModelOpt("NVFP4", {"lm_head", "*.self_attn*", "*.block_sparse_moe.gate"});
  }
  if (suffix == "int4-experts") return Int4Experts();
  if (suffix == "nvfp4-routed") {  // nvidia/Kimi-K2.6-NVFP4
    return ModelOpt("NVFP4",
                    {"language_model.lm_head", "language_model.model.layers.0*",
                     "*.mlp.shared_experts*", "*.self_attn*", "vision_tower*", "mm_projector*"});
  }
  if (suffix == "nvfp4-qwen3-5") {
    return ModelOpt("NVFP4", {"lm_head", "*.mlp.shared_expert*", "*.linear_attn*", "*.self_attn*",
                              "model.visual*", "mtp.layers.0*"});
  }
  if (suffix == "modelopt-fp8") return ModelOpt("FP8", {"lm_head"});
  if (suffix == "awq") return Awq(true);
  if (suffix == "awq-symmetric") return Awq(false);
  return nullptr;
}

}  // namespace shardplan::testing_support

#endif  // SHARDPLAN_TESTS_SUPPORT_QUANTIZED_CONFIGS_H_
