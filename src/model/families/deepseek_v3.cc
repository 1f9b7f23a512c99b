// DeepSeek-V2, V3, R1, V3.1 and Kimi-K2: multi-head latent attention, a mixture of experts with
// shared experts, FP8 in 128 × 128 blocks, multi-token-prediction layers after the stack.
//
// Names and dtypes are the published checkpoints' (DeepSeek-V3: 91,991 tensors, 684,531,386,000
// elements); fused parameters and order are vLLM's (model_executor/models/deepseek_v2.py, v0.28).
#include "model/families/deepseek_parts.h"

namespace shardplan::families {

Result<ModelSpec> BuildDeepseekV3(ConfigReader& config, const Assumptions& assumptions) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  ReadDeepseek(config, &a);
  const bool router_bias = ReadRouterBias(config, a);
  if (!config.ok()) return tl::unexpected(config.error());
  AddDeepseek(&spec.table, a, router_bias, assumptions);
  return spec;
}

}  // namespace shardplan::families
