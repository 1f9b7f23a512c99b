// Gemma-4 (31B, 26B-A4B): windows and full layers whose heads differ, full layers that use their
// keys as values, in the 26B a mixture beside every MLP, and a vision tower.
//
// Names are the published checkpoint's (26B-A4B: 1,013 tensors, 356 of them the tower's
// 1,145,588,832 bytes); order is vLLM's (models/{gemma4,gemma4_mm}.py, d29f7f5c), whose fused
// projection has a slot for the values that the full layers' files leave out.
#include "model/families/text_tower.h"
#include "model/families/vision_parts.h"

namespace shardplan::families {
namespace {

void AddAttention(TableBuilder& t, const std::string& p, const Architecture& a, const KvShape& kv,
                  bool stored_values) {
  constexpr Role kRole = Role::kAttention;
  const std::string attn = "self_attn.";
  const std::string qkv = attn + "qkv_proj";
  t.Linear(p + attn + "q_proj", qkv, kRole, Split::kColumn, a.heads * kv.head_dim, a.hidden);
  for (const char* name : {"k_proj", "v_proj"}) {
    ModuleRow& row =
        t.Linear(p + attn + name, qkv, kRole, Split::kKvHeads, kv.kv_heads * kv.head_dim, a.hidden);
    row.kv_heads = kv.kv_heads;
    row.stored = stored_values || name[0] == 'k';
  }
  t.Linear(p + attn + "o_proj", attn + "o_proj", kRole, Split::kRow, a.hidden,
           a.heads * kv.head_dim);
  for (const char* norm : {"q_norm", "k_norm"}) {
    t.Norm(p + attn + norm, attn + norm, kv.head_dim, kRole);
  }
}

void AddMoe(TableBuilder& t, const std::string& p, const Architecture& a, bool stacked) {
  const auto tensor = [&](const char* name, const char* param, Role role, Shape shape) {
    t.Tensor(p + name, param, role, Split::kReplicated, std::move(shape));
  };
  tensor("router.scale", "router.scale", Role::kRouter, Shape{a.hidden});
  t.Linear(p + "router.proj", "router.proj", Role::kRouter, Split::kReplicated, a.moe.experts,
           a.hidden)
      .quantizable = false;
  tensor("router.per_expert_scale", "moe.per_expert_scale", Role::kRouter, Shape{a.moe.experts});
  const std::string experts = "moe.experts.routed_experts";
  if (!stacked) {
    AddExperts(t, p + "experts.", experts, a);
  } else {
    const auto stack = [&](const char* name, Split split, int64_t out, int64_t in) {
      ModuleRow& row =
          t.Linear(p + "experts." + name, experts, Role::kRoutedExpert, split, out, in);
      row.form = Form::kStacked;
      row.experts = a.moe.experts;
    };
    stack("gate_up_proj", Split::kExpertGate, 2 * a.moe.intermediate, a.hidden);
    stack("down_proj", Split::kExpertDown, a.hidden, a.moe.intermediate);
  }
  for (const char* norm : {"post_feedforward_layernorm_1", "post_feedforward_layernorm_2",
                           "pre_feedforward_layernorm_2"}) {
    t.Norm(p + norm, norm, a.hidden);
  }
}

// What the smaller models have and this table does not.
void RefuseSmallerModels(ConfigReader& config, ConfigReader& text) {
  if (text.IntOr("hidden_size_per_layer_input", 0, 1 << 24, 0) != 0) {
    text.Contradiction("hidden_size_per_layer_input",
                       "expected 0: per-layer embeddings are not modelled");
  }
  if (text.IntOr("num_kv_shared_layers", 0, kMaxLayers, 0) != 0) {
    text.Contradiction("num_kv_shared_layers", "expected 0: shared caches are not modelled");
  }
  if (config.Has("audio_config")) {
    config.Contradiction("audio_config", "expected none: audio towers are not modelled");
  }
}

}  // namespace

Result<ModelSpec> BuildGemma4(ConfigReader& config, const Assumptions& assumptions) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  ConfigReader text = TextConfig(config);
  ReadSizes(config, text, {0, 0, true}, &a);
  const int64_t layers = text.Int("num_hidden_layers", 1, kMaxLayers);
  RefuseSmallerModels(config, text);
  a.heads = text.Dim("num_attention_heads");
  const bool keys_as_values = text.BoolOr("attention_k_eq_v", false);
  const int64_t kv_heads = text.Dim("num_key_value_heads");
  const int64_t head_dim = text.Dim("head_dim");
  a.kv_heads = keys_as_values ? text.DimOr("num_global_key_value_heads", kv_heads) : kv_heads;
  a.head_dim = a.v_head_dim = text.DimOr("global_head_dim", head_dim);
  a.sliding_kv = KvShape{kv_heads, head_dim, head_dim};
  if (text.ok() && (a.heads % a.kv_heads != 0 || a.heads % kv_heads != 0)) {
    text.Contradiction("num_key_value_heads", "does not divide num_attention_heads");
  }
  a.attention.assign(static_cast<size_t>(layers), AttentionKind::kFull);
  if (!ReadLayerTypes(text, layers, &a)) text.Contradiction("layer_types", "expected a list");
  // Two tables as wide as the heads: the part of a head that doesn't turn is padded with zeros
  // (layers/rotary_embedding/gemma4_rope.py, d29f7f5c).
  a.rotary = {a.head_dim, a.max_positions, false, head_dim};
  a.dense_intermediate = text.Dim("intermediate_size");
  const bool moe = text.BoolOr("enable_moe_block", false);
  if (moe) {
    a.moe.experts = text.Int("num_experts", 1, 100'000);
    a.moe.top_k = text.Int("top_k_experts", 1, 100'000);
    a.moe.intermediate = text.Dim("moe_intermediate_size");
    a.moe.dense_beside = true;
    CheckMoe(text, "top_k_experts", layers, a.moe);
  }
  if (text.BoolOr("attention_bias", false)) {
    text.Contradiction("attention_bias", "expected false: no bias is modelled");
  }
  if (!a.tied_embeddings) text.Contradiction("tie_word_embeddings", "expected true");
  const bool tower = config.Has("vision_config");
  ConfigReader vision = config.ObjectOr("vision_config");
  if (tower) {
    a.vision = ReadVision(vision);
    if (vision.BoolOr("use_clipped_linears", false)) {
      vision.Contradiction("use_clipped_linears", "expected false: bounds are not modelled");
    }
    const int64_t pool = vision.IntOr("pooling_kernel_size", 1, 64, 1);
    a.vision.patches_per_token = pool * pool;
    a.vision.item_tokens = vision.IntOr("default_output_length", 1, 1 << 20, 280);
  }
  const bool quantized = config.Has("quantization_config");

  const TowerNames names = {"model.language_model.", "language_model.model.", "",
                            "language_model."};
  spec.table.layer_prefix = names.layer_engine();
  const std::string p = names.layer_file();
  TableBuilder t(&spec.table, a.dtype);
  if (tower) {
    t.At(Placement::kEveryStage);
    AddGemma4Vision(t, vision, a.vision, "model.vision_tower.", "vision_tower.");
    TowerRows(t, "model.embed_vision.", "embed_vision.")
        .As(Role::kProjector)
        .Linear("embedding_projection", Split::kReplicated, a.hidden, a.vision.hidden, false);
  }
  config.Adopt(text);
  config.Adopt(vision);
  if (!config.ok()) return tl::unexpected(config.error());
  WarnOfAbsentTower(config, &spec);

  // Embedding and final norm are built on every pipeline stage.
  AddEmbedding(t, a, names, Placement::kEveryStage);
  InLayers(t, LayersOfKind(a, AttentionKind::kSliding),
           [&] { AddAttention(t, p, a, *a.sliding_kv, true); });
  InLayers(t, LayersOfKind(a, AttentionKind::kFull), [&] {
    AddAttention(t, p, a, {a.kv_heads, a.head_dim, a.head_dim}, !keys_as_values);
  });
  t.In(LayerSet::Range(0, layers));
  AddGatedMlp(t, p + "mlp.", "mlp.", Role::kDenseMlp, Split::kColumn, Split::kRow, a.hidden,
              a.dense_intermediate);
  AddLayerNorms(t, p, a.hidden);
  for (const char* norm : {"pre_feedforward_layernorm", "post_feedforward_layernorm"}) {
    t.Norm(p + norm, norm, a.hidden);
  }
  if (moe) AddMoe(t, p, a, assumptions.stacked_experts.value_or(!quantized));
  t.Tensor(p + "layer_scalar", "layer_scalar", Role::kNorm, Split::kReplicated, Shape{1});
  AddHead(t, a, names, Placement::kEveryStage);
  return spec;
}

}  // namespace shardplan::families
