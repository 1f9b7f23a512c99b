// Dense decoders with grouped-query attention: Llama, Mistral, Qwen2 and Qwen3; BF16 or FP8 blocks.
//
// Names are the published checkpoints'; fused parameters and order are vLLM's
// (model_executor/models/{llama,mistral,qwen2,qwen3}.py, v0.28).
#include "model/families/decoder_parts.h"

namespace shardplan::families {

Result<ModelSpec> BuildDense(ConfigReader& config, const Assumptions& assumptions) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const int64_t layers = ReadDecoder(config, &a);
  ReadGqa(config, layers, &a);
  a.dense_intermediate = config.Dim("intermediate_size");
  const bool qwen2 = a.name == "Qwen2ForCausalLM";
  const bool qwen3 = a.name == "Qwen3ForCausalLM";
  GqaOptions attention;
  attention.qkv_bias = config.BoolOr("attention_bias", qwen2);
  attention.o_bias = attention.qkv_bias && !qwen2 && !qwen3;
  if (qwen3) attention.q_norm = attention.k_norm = a.head_dim;
  const bool mlp_bias = config.BoolOr("mlp_bias", false);
  if (config.BoolOr("use_sliding_window", false)) {
    return Fail(ErrorCode::kUnsupported, config.subject(),
                "use_sliding_window: sliding-window layers are not modelled for this family");
  }
  // Mistral's own key says it alone; the others have a switch beside it, and it is off.
  if (a.name == "MistralForCausalLM" && config.Has("sliding_window")) {
    return Fail(ErrorCode::kUnsupported, config.subject(),
                "sliding_window: sliding-window layers are not modelled for this family");
  }
  if (qwen3) spec.table.fp8_scale_dtype = DType::kBF16;
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "model.layers.{L}.";
  const std::string p = spec.table.layer_prefix;
  TableBuilder t(&spec.table, a.dtype);
  AddEmbedding(t, a);
  t.In(LayerSet::Range(0, layers));
  AddGqa(t, p, a, attention);
  if (assumptions.inv_freq) {  // early Llama conversions store the buffer
    ModuleRow& row = t.Tensor(p + "self_attn.rotary_emb.inv_freq", "self_attn.rotary_emb.inv_freq",
                              Role::kLeftover, Split::kReplicated, Shape{*assumptions.inv_freq});
    row.dtype = DType::kF32;
    row.placement = Placement::kNotLoaded;
    row.optional = true;
  }
  AddGatedMlp(t, p + "mlp.", "mlp.", Role::kDenseMlp, Split::kColumn, Split::kRow, a.hidden,
              a.dense_intermediate, mlp_bias);
  AddLayerNorms(t, p, a.hidden);
  AddHead(t, a);
  return spec;
}

}  // namespace shardplan::families
