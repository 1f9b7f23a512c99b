// Kimi-Linear: Kimi delta attention and multi-head latent attention without positions in one stack,
// routed and shared experts after a dense layer.
//
// Names and the total are the published checkpoint's (20,493 tensors, 49,122,681,728 parameters);
// the fused parameters are vLLM's, which builds the text model of Kimi-K3 (vllm/models/kimi_k3,
// d29f7f5c).
#include <utility>

#include "model/families/kimi_parts.h"

namespace shardplan::families {

Result<ModelSpec> BuildKimiLinear(ConfigReader& config, const Assumptions&) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  ConfigReader linear = config.Object("linear_attn_config");
  a.name = ArchitectureName(config);
  a.trust_remote_code = config.Has("auto_map");
  const int64_t layers = ReadKimiText(config, linear, &a);
  if (config.IntOr("moe_layer_freq", 1, kMaxLayers, 1) != 1) {
    config.Contradiction("moe_layer_freq", "expected 1: every layer after the dense ones is MoE");
  }
  config.Adopt(linear);
  if (config.ok()) CheckKimiText(config, a);
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "model.layers.{L}.";
  const std::string p = spec.table.layer_prefix;
  TableBuilder t(&spec.table, a.dtype);
  AddEmbedding(t, a);
  const LayerSet delta = LayersOf(a, AttentionKind::kKda);
  const LayerSet latent = LayersOf(a, AttentionKind::kMla);
  if (!delta.empty()) {
    AddKda(t.In(delta), p, a, {false, Shape{1, 1, a.kda.heads, 1}, a.dtype, 1});
  }
  if (!latent.empty()) {
    const size_t first = spec.table.rows.size();
    AddMla(t.In(latent), p, a);
    // Kimi's own class creates plain queries before the latent, unlike DeepSeek's.
    if (a.mla.q_lora_rank == 0) std::swap(spec.table.rows[first], spec.table.rows[first + 1]);
  }
  if (a.moe.first_dense > 0) {
    AddGatedMlp(t.In(LayerSet::Range(0, a.moe.first_dense)), p + "mlp.", "mlp.", Role::kDenseMlp,
                Split::kSharedColumn, Split::kSharedRow, a.hidden, a.dense_intermediate);
  }
  if (a.moe.first_dense < layers) {
    AddKimiMoe(t.In(LayerSet::Range(a.moe.first_dense, layers)), p, a);
  }
  AddLayerNorms(t.In(LayerSet::Range(0, layers)), p, a.hidden);
  AddHead(t, a);
  return spec;
}

}  // namespace shardplan::families
