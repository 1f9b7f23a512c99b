// Dense decoders with grouped-query attention: Llama, Mistral, Qwen2, Qwen3 and MiMo; BF16 or FP8
// blocks.
//
// Names are the published checkpoints'; fused parameters and order are vLLM's
// (model_executor/models/{llama,mistral,qwen2,qwen3,mimo}.py, v0.28).
#include <algorithm>

#include "model/families/text_tower.h"

namespace shardplan::families {
namespace {

// The window of Qwen2 and Qwen3: on the layers that layer_types names, or from max_window_layers
// on. Where these are all alike, vLLM takes the model's window for every layer, full ones included
// (layers/attention: cache_config.sliding_window, d29f7f5c).
void ReadWindow(ConfigReader& config, int64_t layers, Architecture* a) {
  if (!config.BoolOr("use_sliding_window", false) || !config.Has("sliding_window")) return;
  a->window = config.Int("sliding_window", 1, int64_t{1} << 32);
  if (!ReadLayerTypes(config, layers, a)) {
    const int64_t full = config.IntOr("max_window_layers", 0, kMaxLayers, 28);
    for (int64_t i = full; i < layers; ++i) {
      a->attention[static_cast<size_t>(i)] = AttentionKind::kSliding;
    }
  }
  if (!a->has_kind(AttentionKind::kSliding)) {
    std::fill(a->attention.begin(), a->attention.end(), AttentionKind::kSliding);
  }
}

// MiMo's drafts stand beside the stack, in a list of their own (models/mimo_mtp.py, d29f7f5c).
void AddMimoDraft(TableBuilder& t, const Architecture& a, const GqaOptions& attention) {
  const std::string p = "model.mtp_layers.{L}.";
  t.In(LayerSet::Range(0, a.mtp_layers)).AsDraft(true);
  for (const char* norm : {"token_layernorm", "hidden_layernorm"}) t.Norm(p + norm, norm, a.hidden);
  t.Linear(p + "input_proj", "input_proj", Role::kDraft, Split::kReplicated, a.hidden,
           2 * a.hidden);
  AddGqa(t, p, a, attention);
  AddGatedMlp(t, p + "mlp.", "mlp.", Role::kDraft, Split::kColumn, Split::kRow, a.hidden,
              a.dense_intermediate);
  AddLayerNorms(t, p, a.hidden);
  t.Norm(p + "final_layernorm", "final_layernorm", a.hidden);
  t.AsDraft(false);
}

}  // namespace

Result<ModelSpec> BuildDense(ConfigReader& config, const Assumptions& assumptions) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const int64_t layers = ReadDecoder(config, &a);
  ReadGqa(config, layers, &a);
  a.dense_intermediate = config.Dim("intermediate_size");
  const bool mimo = a.name == "MiMoForCausalLM";
  const bool qwen2 = a.name == "Qwen2ForCausalLM" || mimo;
  const bool qwen3 = a.name == "Qwen3ForCausalLM";
  GqaOptions attention;
  attention.qkv_bias = config.BoolOr("attention_bias", qwen2);
  attention.o_bias = attention.qkv_bias && !qwen2 && !qwen3;
  if (qwen3) attention.q_norm = attention.k_norm = a.head_dim;
  const bool mlp_bias = config.BoolOr("mlp_bias", false);
  const bool qwen = qwen2 || qwen3;
  if (!qwen && config.BoolOr("use_sliding_window", false)) {
    return Fail(ErrorCode::kUnsupported, config.subject(),
                "use_sliding_window: sliding-window layers are not modelled for this family");
  }
  if (qwen3) spec.table.fp8_scale_dtype = DType::kBF16;
  // Of Mistral and Llama the key says it alone; Qwen's have a switch beside it.
  if (qwen) {
    ReadWindow(config, layers, &a);
  } else {
    ReadSlidingWindow(config, layers, &a);
  }
  if (mimo) a.mtp_layers = config.IntOr("num_nextn_predict_layers", 0, 64, 0);
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
  if (a.mtp_layers > 0 && assumptions.mtp.value_or(true)) AddMimoDraft(t, a, attention);
  return spec;
}

}  // namespace shardplan::families
