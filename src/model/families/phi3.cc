// Phi-3 and Phi-4: a dense decoder whose file stores q, k, v and gate, up fused.
//
// Names and totals are the published checkpoint's (Phi-4: 243 tensors, 14,659,507,200 elements);
// vLLM builds them as Llama does (models/phi3.py, d29f7f5c).
#include "model/families/text_tower.h"

namespace shardplan::families {

Result<ModelSpec> BuildPhi3(ConfigReader& config, const Assumptions&) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const int64_t layers = ReadDecoder(config, &a);
  ReadGqa(config, layers, &a);
  a.dense_intermediate = config.Dim("intermediate_size");
  ReadSlidingWindow(config, layers, &a);
  ConfigReader scaling = config.ObjectOr("rope_scaling");
  const std::string type =
      scaling.StringOr(scaling.Has("rope_type") ? "rope_type" : "type", "default");
  config.Adopt(scaling);
  if (type == "longrope" || type == "su") {
    // A table for the short positions stands before the long one
    // (layers/rotary_embedding/phi3_long_rope_scaled_rope.py, d29f7f5c).
    a.rotary.positions += config.Int("original_max_position_embeddings", 1, int64_t{1} << 32);
  }
  if (config.BoolOr("attention_bias", false)) {
    config.Contradiction("attention_bias", "expected false: no bias is modelled");
  }
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "model.layers.{L}.";
  const std::string p = spec.table.layer_prefix;
  TableBuilder t(&spec.table, a.dtype);
  AddEmbedding(t, a);
  t.In(LayerSet::Range(0, layers));
  AddFusedQkv(t, p + "self_attn.qkv_proj", "self_attn.qkv_proj", a);
  t.Linear(p + "self_attn.o_proj", "self_attn.o_proj", Role::kAttention, Split::kRow, a.hidden,
           a.heads * a.head_dim);
  AddFusedHalves(t, p + "mlp.gate_up_proj", "mlp.gate_up_proj", Role::kDenseMlp, a.hidden,
                 a.dense_intermediate);
  t.Linear(p + "mlp.down_proj", "mlp.down_proj", Role::kDenseMlp, Split::kRow, a.hidden,
           a.dense_intermediate);
  AddLayerNorms(t, p, a.hidden);
  AddHead(t, a);
  return spec;
}

}  // namespace shardplan::families
