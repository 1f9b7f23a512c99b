// MiMo-V2-Flash: full and sliding-window layers whose heads differ, keys wider than values, 256
// experts with a routing bias, FP8 blocks.
//
// Order, the fp32 router and the sink biases are vLLM's (models/mimo_v2_flash.py, d29f7f5c). The
// files have several MTP layers beside the stack, of which vLLM loads the first: a dense layer with
// the heads of the sliding ones (models/mimo_v2_mtp.py, 037951aa).
#include "model/families/text_tower.h"

namespace shardplan::families {
namespace {

struct Layers {
  LayerSet layers;
  int64_t heads = 0;
  KvShape kv;
  bool sinks = false;
};

void AddAttention(TableBuilder& t, const std::string& p, const Architecture& a, const Layers& l,
                  bool bias) {
  constexpr Role kRole = Role::kAttention;
  const std::string attn = "self_attn.";
  if (l.sinks) {
    const std::string sinks = attn + "attention_sink_bias";
    t.Tensor(p + sinks, sinks, kRole, Split::kColumn, Shape{l.heads});
  }
  const std::string qkv = attn + "qkv_proj";
  const auto kv = [&](const char* name, int64_t width) {
    ModuleRow& row =
        t.Linear(p + attn + name, qkv, kRole, Split::kKvHeads, l.kv.kv_heads * width, a.hidden);
    row.kv_heads = l.kv.kv_heads;
    row.bias = bias;
  };
  t.Linear(p + attn + "q_proj", qkv, kRole, Split::kColumn, l.heads * l.kv.head_dim, a.hidden)
      .bias = bias;
  kv("k_proj", l.kv.head_dim);
  kv("v_proj", l.kv.v_head_dim);
  t.Linear(p + attn + "o_proj", attn + "o_proj", kRole, Split::kRow, a.hidden,
           l.heads * l.kv.v_head_dim);
  AddAttentionScales(t, p, "self_attn.attn.", AttentionScale::kGqa);
}

void AddDraft(TableBuilder& t, const Architecture& a, const Layers& sliding, bool bias) {
  const std::string p = "model.mtp.layers.{L}.";
  t.In(LayerSet::Range(0, a.mtp_layers)).AsDraft(true);
  for (const char* norm : {"enorm", "hnorm"}) t.Norm(p + norm, norm, a.hidden);
  t.Linear(p + "eh_proj", "eh_proj", Role::kDraft, Split::kReplicated, a.hidden, 2 * a.hidden)
      .quantizable = false;
  AddAttention(t, p, a, sliding, bias);
  AddGatedMlp(t, p + "mlp.", "mlp.", Role::kDraft, Split::kColumn, Split::kRow, a.hidden,
              a.dense_intermediate);
  for (const char* norm : {"input_layernorm", "pre_mlp_layernorm", "final_layernorm"}) {
    t.Norm(p + norm, norm, a.hidden);
  }
  t.AsDraft(false);
}

std::vector<int64_t> ReadPattern(ConfigReader& config, std::string_view key, int64_t layers) {
  std::vector<int64_t> pattern = config.IntList(key, 0, 1);
  if (config.ok() && static_cast<int64_t>(pattern.size()) != layers) {
    config.Contradiction(key, "expected one entry a layer");
  }
  pattern.resize(static_cast<size_t>(layers));
  return pattern;
}

}  // namespace

Result<ModelSpec> BuildMimoV2Flash(ConfigReader& config, const Assumptions& assumptions) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const int64_t layers = ReadDecoder(config, &a);
  ReadGqa(config, layers, &a);
  a.v_head_dim = config.DimOr("v_head_dim", a.head_dim);
  a.rotary.other_dim = a.rotary.dim;  // a base of its own for the sliding layers
  a.dense_intermediate = config.Dim("intermediate_size");
  ReadExperts(config, "n_routed_experts", "moe_intermediate_size", layers, &a);
  if (config.IntOr("n_shared_experts", 0, 1024, 0) != 0) {
    config.Contradiction("n_shared_experts", "expected none: no shared expert is modelled");
  }
  const int64_t swa_dim = config.DimOr("swa_head_dim", a.head_dim);
  a.sliding_kv = KvShape{config.DimOr("swa_num_key_value_heads", a.kv_heads), swa_dim,
                         config.DimOr("swa_v_head_dim", swa_dim)};
  const int64_t swa_heads = config.DimOr("swa_num_attention_heads", a.heads);
  if (swa_heads != a.heads) {
    config.Contradiction("swa_num_attention_heads", "expected as many as num_attention_heads");
  }
  if (config.ok() && swa_heads % a.sliding_kv->kv_heads != 0) {
    config.Contradiction("swa_num_key_value_heads", "does not divide swa_num_attention_heads");
  }
  a.window =
      config.Int(config.Has("sliding_window_size") ? "sliding_window_size" : "sliding_window", 1,
                 int64_t{1} << 32);
  const std::vector<int64_t> sliding = ReadPattern(config, "hybrid_layer_pattern", layers);
  const std::vector<int64_t> moe = ReadPattern(config, "moe_layer_freq", layers);
  for (size_t i = 0; i < static_cast<size_t>(layers); ++i) {
    if (sliding[i] == 1) a.attention[i] = AttentionKind::kSliding;
    a.moe.layer_is_moe.push_back(moe[i] == 1);
  }
  a.mtp_layers = 1;
  a.mtp_attention = AttentionKind::kSliding;
  const bool bias = config.BoolOr("attention_bias", false);
  const bool sinks = config.BoolOr("add_swa_attention_sink_bias", false);
  if (config.BoolOr("add_full_attention_sink_bias", false)) {
    config.Contradiction("add_full_attention_sink_bias", "expected false: vLLM has none there");
  }
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "model.layers.{L}.";
  const std::string p = spec.table.layer_prefix;
  TableBuilder t(&spec.table, a.dtype);
  AddEmbedding(t, a);
  const Layers swa{LayersOfKind(a, AttentionKind::kSliding), swa_heads, *a.sliding_kv, sinks};
  for (const Layers& l : {Layers{LayersOfKind(a, AttentionKind::kFull),
                                 a.heads,
                                 {a.kv_heads, a.head_dim, a.v_head_dim},
                                 false},
                          swa}) {
    InLayers(t, l.layers, [&] { AddAttention(t, p, a, l, bias); });
  }
  InLayers(t, MoeLayers(a, false), [&] {
    AddGatedMlp(t, p + "mlp.", "mlp.", Role::kDenseMlp, Split::kColumn, Split::kRow, a.hidden,
                a.dense_intermediate);
  });
  InLayers(t, MoeLayers(a, true), [&] {
    ModuleRow& gate = t.Linear(p + "mlp.gate", "mlp.gate", Role::kRouter, Split::kReplicated,
                               a.moe.experts, a.hidden);
    gate.quantizable = false;
    gate.device_dtype = DType::kF32;
    AddCorrectionBias(t, p + "mlp.gate.", "mlp.gate.", a);
    AddExperts(t, p + "mlp.experts.", "mlp.experts.routed_experts", a);
  });
  t.In(LayerSet::Range(0, layers));
  AddLayerNorms(t, p, a.hidden);
  AddHead(t, a);
  if (assumptions.mtp.value_or(true)) AddDraft(t, a, swa, bias);
  return spec;
}

}  // namespace shardplan::families
