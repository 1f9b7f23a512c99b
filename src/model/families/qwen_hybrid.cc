#include "model/families/qwen_hybrid.h"

namespace shardplan::families {
namespace {

// layer_types, or every full_attention_interval-th layer full.
std::vector<AttentionKind> ReadKinds(ConfigReader& config, int64_t layers) {
  std::vector<AttentionKind> kinds(static_cast<size_t>(layers), AttentionKind::kGdn);
  if (!config.Has("layer_types")) {
    const int64_t interval = config.IntOr("full_attention_interval", 1, kMaxLayers, 4);
    for (int64_t i = interval - 1; i < layers; i += interval) {
      kinds[static_cast<size_t>(i)] = AttentionKind::kFull;
    }
    return kinds;
  }
  const std::vector<std::string> types = config.StringListOr("layer_types", {});
  if (config.ok() && types.size() != kinds.size()) {
    config.Contradiction("layer_types", "expected one entry per layer");
    return kinds;
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] == "full_attention") kinds[i] = AttentionKind::kFull;
    if (types[i] != "full_attention" && types[i] != "linear_attention") {
      config.Contradiction("layer_types", "expected linear_attention or full_attention");
    }
  }
  return kinds;
}

// Order and dtypes: vllm/model_executor/layers/mamba/gdn/qwen_gdn_linear_attn.py (d29f7f5c).
void AddDelta(TableBuilder& t, const std::string& p, const Architecture& a,
              DeltaProjections projections) {
  const GdnShape& g = a.gdn;
  const int64_t key = g.key_width();
  const int64_t value = g.value_width();
  const std::string attn = p + "linear_attn.";
  const std::string out = "linear_attn.";
  constexpr Role kRole = Role::kLinearAttention;
  t.Tensor(attn + "dt_bias", out + "dt_bias", kRole, Split::kColumn, Shape{g.v_heads});
  t.Tensor(attn + "A_log", out + "A_log", kRole, Split::kColumn, Shape{g.v_heads}).device_dtype =
      DType::kF32;
  t.Tensor(attn + "conv1d.weight", out + "conv1d.weight", kRole, Split::kColumn,
           Shape{2 * key + value, 1, g.conv_kernel});
  const auto in = [&](const char* name, const char* param, int64_t width) {
    t.Linear(attn + name, out + param, kRole, Split::kColumn, width, a.hidden);
  };
  if (projections == DeltaProjections::kInterleaved) {
    in("in_proj_qkvz", "in_proj_qkvz", 2 * key + 2 * value);
    in("in_proj_ba", "in_proj_ba", 2 * g.v_heads);
  } else {
    in("in_proj_qkv", "in_proj_qkvz", 2 * key + value);
    in("in_proj_z", "in_proj_qkvz", value);
    in("in_proj_b", "in_proj_ba", g.v_heads);
    in("in_proj_a", "in_proj_ba", g.v_heads);
  }
  t.Norm(attn + "norm", out + "norm", g.v_head_dim, kRole);
  t.Linear(attn + "out_proj", out + "out_proj", kRole, Split::kRow, a.hidden, value);
}

void AddAttention(TableBuilder& t, const std::string& p, const Architecture& a) {
  GqaOptions attention;
  attention.q_norm = attention.k_norm = a.head_dim;
  attention.output_gate = true;
  AddGqa(t, p, a, attention);
}

void AddDense(TableBuilder& t, const std::string& p, const Architecture& a) {
  AddGatedMlp(t, p + "mlp.", "mlp.", Role::kDenseMlp, Split::kColumn, Split::kRow, a.hidden,
              a.dense_intermediate);
}

// Router and the shared expert's gate are never quantized
// (vllm/model_executor/models/qwen3_next.py, d29f7f5c).
void AddMixture(TableBuilder& t, const std::string& p, const Architecture& a, ExpertForm form) {
  t.Linear(p + "mlp.gate", "mlp.gate", Role::kRouter, Split::kReplicated, a.moe.experts, a.hidden)
      .quantizable = false;
  t.Linear(p + "mlp.shared_expert_gate", "mlp.shared_expert_gate", Role::kSharedExpert,
           Split::kReplicated, 1, a.hidden)
      .quantizable = false;
  AddGatedMlp(t, p + "mlp.shared_expert.", "mlp.shared_expert.", Role::kSharedExpert,
              Split::kSharedColumn, Split::kSharedRow, a.hidden, a.moe.shared_intermediate);
  AddQwenExperts(t, p, a, form);
}

}  // namespace

void ReadHybridAttention(ConfigReader& config, int64_t layers, Architecture* a) {
  ReadGqa(config, layers, a);
  a->attention = ReadKinds(config, layers);
  a->gdn.k_heads = config.Dim("linear_num_key_heads");
  a->gdn.v_heads = config.Dim("linear_num_value_heads");
  a->gdn.k_head_dim = config.Dim("linear_key_head_dim");
  a->gdn.v_head_dim = config.Dim("linear_value_head_dim");
  a->gdn.conv_kernel = config.Int("linear_conv_kernel_dim", 1, 64);
  if (config.StringOr("mamba_ssm_dtype", "") == "float32") a->gdn.state_dtype = DType::kF32;
  if (config.ok() && a->gdn.v_heads % a->gdn.k_heads != 0) {
    config.Contradiction("linear_num_key_heads", "does not divide linear_num_value_heads");
  }
  if (config.BoolOr("attention_bias", false) || config.BoolOr("qkv_bias", false)) {
    config.Contradiction("attention_bias", "expected none: biases are not modelled here");
  }
  if (!config.BoolOr("attn_output_gate", true)) {
    config.Contradiction("attn_output_gate", "expected true: ungated attention is not modelled");
  }
}

void ReadHybridExperts(ConfigReader& config, int64_t layers, Architecture* a) {
  ReadExperts(config, "num_experts", "moe_intermediate_size", layers, a);
  a->moe.shared_experts = 1;
  a->moe.shared_intermediate = config.Dim("shared_expert_intermediate_size");
}

void AddHybridLayers(TableBuilder& t, const std::string& p, const Architecture& a,
                     const HybridForm& form) {
  InLayers(t, LayersOfKind(a, AttentionKind::kGdn), [&] { AddDelta(t, p, a, form.projections); });
  InLayers(t, LayersOfKind(a, AttentionKind::kFull), [&] { AddAttention(t, p, a); });
  InLayers(t, MoeLayers(a, false), [&] { AddDense(t, p, a); });
  InLayers(t, MoeLayers(a, true), [&] { AddMixture(t, p, a, form.experts); });
  AddLayerNorms(t.In(LayerSet::Range(0, a.layers())), p, a.hidden);
}

void AddHybridDraft(TableBuilder& t, TensorTable* table, const Architecture& a,
                    const HybridForm& form, int64_t layers) {
  if (layers == 0) return;
  t.At(Placement::kNotLoaded).AsDraft(true);
  // Gathered after a column-parallel product (models/qwen3_next_mtp.py).
  t.Linear("mtp.fc", "mtp.fc", Role::kDraft, Split::kColumn, a.hidden, 2 * a.hidden).quantizable =
      false;
  const size_t before = table->rows.size();
  const std::string p = "mtp.layers.{B}.";
  AddAttention(t, p, a);
  if (a.moe.experts > 0) {
    AddMixture(t, p, a, form.draft_experts);
  } else {
    AddDense(t, p, a);
  }
  AddLayerNorms(t, p, a.hidden);
  for (size_t i = before; i < table->rows.size(); ++i) table->rows[i].blocks = layers;
  for (const char* norm : {"norm", "pre_fc_norm_embedding", "pre_fc_norm_hidden"}) {
    t.Norm(std::string("mtp.") + norm, std::string("mtp.") + norm, a.hidden);
  }
  t.AsDraft(false);
}

}  // namespace shardplan::families
