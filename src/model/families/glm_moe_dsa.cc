// GLM-5, 5.1 and 5.2: DeepSeek-V3.2's code with other numbers. In 5.2 most layers share the keys
// that an indexer before them chose, and store none of their own.
//
// Names and totals are the published checkpoints' (GLM-5: 59,870 tensors, 753,864,139,008
// parameters; the MTP layer stores neither embedding nor head); vLLM builds the class of
// DeepSeek-V3.2 (vllm/models/deepseek_v32, d29f7f5c).
#include "model/families/deepseek_parts.h"

namespace shardplan::families {

Result<ModelSpec> BuildGlmMoeDsa(ConfigReader& config, const Assumptions& assumptions) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  ReadDeepseek(config, &a);
  ReadIndexer(config, &a);
  if (!config.ok()) return tl::unexpected(config.error());
  Assumptions known = assumptions;
  if (!known.mtp_embed) known.mtp_embed = false;
  AddSparseDeepseek(&spec.table, a, /*router_bias=*/true, known);
  return spec;
}

}  // namespace shardplan::families
