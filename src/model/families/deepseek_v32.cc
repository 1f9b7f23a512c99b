// DeepSeek-V3.2: V3 with sparse attention, whose indexer chooses the keys of each query.
//
// Names and totals are the published checkpoints' (92,425 tensors, 685,396,921,376 elements); fused
// parameters and order are vLLM's (vllm/models/deepseek_v32, d29f7f5c).
#include "model/families/deepseek_parts.h"

namespace shardplan::families {

Result<ModelSpec> BuildDeepseekV32(ConfigReader& config, const Assumptions& assumptions) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  ReadDeepseek(config, &a);
  ReadIndexer(config, &a);
  const bool router_bias = ReadRouterBias(config, a);
  if (!config.ok()) return tl::unexpected(config.error());
  AddSparseDeepseek(&spec.table, a, router_bias, assumptions);
  return spec;
}

}  // namespace shardplan::families
