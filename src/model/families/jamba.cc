// Jamba: Mamba layers with an attention layer every few, dense MLPs and mixtures in turn, no
// rotary embedding.
//
// Names are the published checkpoints' (Jamba-v0.1, Jamba2-Mini); order is vLLM's
// (models/jamba.py, layers/mamba/mamba_mixer.py; d29f7f5c), which builds the Mamba projections
// without a quantization.
#include <nlohmann/json.hpp>

#include "model/families/text_tower.h"

namespace shardplan::families {
namespace {

MambaShape ReadMamba(ConfigReader& config, int64_t hidden) {
  MambaShape m;
  m.width = config.Int("mamba_expand", 1, 64) * hidden;
  m.state = config.Int("mamba_d_state", 1, 1 << 16);
  m.conv_kernel = config.Int("mamba_d_conv", 2, 64);
  constexpr std::string_view kRank = "mamba_dt_rank";
  const auto rank = config.json().find(kRank);
  const bool automatic = rank != config.json().end() && *rank == "auto";
  m.time_step_rank = automatic ? CeilDiv(hidden, 16) : config.Dim(kRank);
  return m;
}

void AddMamba(TableBuilder& t, const std::string& p, const Architecture& a, bool conv_bias,
              bool bias) {
  const MambaShape& m = a.mamba;
  constexpr Role kRole = Role::kLinearAttention;
  const std::string mixer = "mamba.";
  const auto linear = [&](const char* name, Split split, int64_t out, int64_t in) -> ModuleRow& {
    ModuleRow& row = t.Linear(p + mixer + name, mixer + name, kRole, split, out, in);
    row.quantizable = false;
    return row;
  };
  // A = -exp(A_log), kept in fp32.
  t.Tensor(p + mixer + "A_log", mixer + "A", kRole, Split::kColumn, Shape{m.width, m.state})
      .device_dtype = DType::kF32;
  t.Tensor(p + mixer + "D", mixer + "D", kRole, Split::kColumn, Shape{m.width});
  const std::string conv = mixer + "conv1d.weight";
  t.Tensor(p + conv, conv, kRole, Split::kColumn, Shape{m.width, 1, m.conv_kernel});
  if (conv_bias) {
    const std::string name = mixer + "conv1d.bias";
    t.Tensor(p + name, name, kRole, Split::kColumn, Shape{m.width});
  }
  ModuleRow& in =
      AddFusedHalves(t, p + mixer + "in_proj", mixer + "in_proj", kRole, a.hidden, m.width);
  in.quantizable = false;
  in.bias = bias;
  linear("x_proj", Split::kRow, m.time_step_rank + 2 * m.state, m.width);
  linear("dt_proj", Split::kColumn, m.width, m.time_step_rank).bias = true;
  linear("out_proj", Split::kRow, a.hidden, m.width).bias = bias;
  t.Norm(p + mixer + "dt_layernorm", mixer + "dt_layernorm", m.time_step_rank, kRole);
  for (const char* norm : {"b_layernorm", "c_layernorm"}) {
    t.Norm(p + mixer + norm, mixer + norm, m.state, kRole);
  }
}

void AddAttention(TableBuilder& t, const std::string& p, const Architecture& a) {
  const auto add = [&](const char* name, const char* param, Split split, int64_t out, int64_t in) {
    t.Linear(p + "self_attn." + name, param, Role::kAttention, split, out, in);
  };
  add("q_proj", "qkv_proj", Split::kColumn, a.heads * a.head_dim, a.hidden);
  add("k_proj", "qkv_proj", Split::kKvHeads, a.kv_heads * a.head_dim, a.hidden);
  add("v_proj", "qkv_proj", Split::kKvHeads, a.kv_heads * a.head_dim, a.hidden);
  add("o_proj", "o_proj", Split::kRow, a.hidden, a.heads * a.head_dim);
}

}  // namespace

Result<ModelSpec> BuildJamba(ConfigReader& config, const Assumptions&) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const int64_t layers = ReadDecoder(config, &a);
  ReadGqa(config, layers, &a);
  a.rotary = {};
  a.dense_intermediate = config.Dim("intermediate_size");
  ReadExperts(config, "num_experts", "intermediate_size", layers, &a);
  a.mamba = ReadMamba(config, a.hidden);
  // Which layers attend and which are mixtures (transformers, configuration_jamba.py).
  const int64_t attention_period = config.Int("attn_layer_period", 1, kMaxLayers);
  const int64_t attention_offset = config.Int("attn_layer_offset", 0, kMaxLayers);
  const int64_t expert_period = config.Int("expert_layer_period", 1, kMaxLayers);
  const int64_t expert_offset = config.Int("expert_layer_offset", 0, kMaxLayers);
  const bool conv_bias = config.BoolOr("mamba_conv_bias", true);
  const bool bias = config.BoolOr("mamba_proj_bias", false);
  if (config.Has("sliding_window")) {
    config.Contradiction("sliding_window", "sliding-window layers are not modelled");
  }
  if (!config.ok()) return tl::unexpected(config.error());
  if (a.moe.experts == 1) a.moe = {};
  for (int64_t i = 0; i < layers; ++i) {
    const bool attends = i % attention_period == attention_offset;
    a.attention[static_cast<size_t>(i)] = attends ? AttentionKind::kFull : AttentionKind::kMamba1;
    if (a.moe.experts > 0) a.moe.layer_is_moe.push_back(i % expert_period == expert_offset);
  }

  spec.table.layer_prefix = "model.layers.{L}.";
  const std::string p = spec.table.layer_prefix;
  const std::string ff = "feed_forward.";
  TableBuilder t(&spec.table, a.dtype);
  // Embedding, final norm and head are built on every pipeline stage.
  AddEmbedding(t, a, Placement::kEveryStage);
  InLayers(t, LayersOfKind(a, AttentionKind::kMamba1), [&] { AddMamba(t, p, a, conv_bias, bias); });
  InLayers(t, LayersOfKind(a, AttentionKind::kFull), [&] { AddAttention(t, p, a); });
  InLayers(t, MoeLayers(a, false), [&] {
    AddGatedMlp(t, p + ff, ff, Role::kDenseMlp, Split::kColumn, Split::kRow, a.hidden,
                a.dense_intermediate);
  });
  InLayers(t, MoeLayers(a, true), [&] {
    t.Linear(p + ff + "router", ff + "router", Role::kRouter, Split::kReplicated, a.moe.experts,
             a.hidden)
        .quantizable = false;
    AddExperts(t, p + ff + "experts.", ff + "experts.routed_experts", a);
  });
  t.In(LayerSet::Range(0, layers));
  for (const char* norm : {"input_layernorm", "pre_ff_layernorm"}) {
    t.Norm(p + norm, norm, a.hidden);
  }
  t.At(Placement::kEveryStage).Norm("model.final_layernorm", "model.final_layernorm", a.hidden);
  if (!a.tied_embeddings) {
    t.Tensor("lm_head.weight", "lm_head.weight", Role::kHead, Split::kVocabulary,
             Shape{a.vocabulary, a.hidden});
  }
  return spec;
}

}  // namespace shardplan::families
