// Qwen3-MoE: grouped-query attention with per-head norms, routed experts without a shared one, in
// BF16 or FP8 blocks; layers may have a dense MLP instead.
//
// Names and totals are the published checkpoints' (Qwen3-30B-A3B, 235B-A22B, Coder-480B-A35B and
// their FP8 twins, whose scales are BF16); order is vLLM's (models/qwen3_moe.py, d29f7f5c).
#include "model/families/qwen3_parts.h"

namespace shardplan::families {

Result<ModelSpec> BuildQwen3Moe(ConfigReader& config, const Assumptions& assumptions) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const int64_t layers = ReadDecoder(config, &a);
  ReadGqa(config, layers, &a);
  a.dense_intermediate = config.DimOr("intermediate_size", 0);
  ReadExperts(config, "num_experts", "moe_intermediate_size", layers, &a);
  ReadSparseStep(config, layers, &a);
  if (config.BoolOr("use_sliding_window", false)) {
    config.Contradiction("use_sliding_window", "sliding-window layers are not modelled");
  }
  spec.table.fp8_scale_dtype = DType::kBF16;
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "model.layers.{L}.";
  const std::string p = spec.table.layer_prefix;
  TableBuilder t(&spec.table, a.dtype);
  // Embedding, final norm and head are built on every pipeline stage.
  AddEmbedding(t, a, Placement::kEveryStage);
  GqaOptions attention;
  attention.q_norm = attention.k_norm = a.head_dim;
  const bool stacked = assumptions.stacked_experts.value_or(false);
  AddQwen3Layers(t, p, a, attention, stacked ? ExpertForm::kStacked : ExpertForm::kEach);
  AddHead(t, a, Placement::kEveryStage);
  return spec;
}

}  // namespace shardplan::families
