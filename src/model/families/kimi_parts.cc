#include "model/families/kimi_parts.h"

#include <algorithm>

namespace shardplan::families {
namespace {

// The layers of each attention kind. The config counts them from one and must name each once.
std::vector<AttentionKind> AttentionOf(ConfigReader& linear, int64_t layers) {
  std::vector<AttentionKind> kinds(static_cast<size_t>(layers), AttentionKind::kFull);
  auto mark = [&](std::string_view key, AttentionKind kind) {
    for (const int64_t one_based : linear.IntList(key, 1, layers)) {
      AttentionKind& slot = kinds[static_cast<size_t>(one_based - 1)];
      if (slot != AttentionKind::kFull) {
        linear.Contradiction(key, "layer " + std::to_string(one_based) +
                                      " is listed twice among full_attn_layers and kda_layers");
        return;
      }
      slot = kind;
    }
  };
  mark("full_attn_layers", AttentionKind::kMla);
  mark("kda_layers", AttentionKind::kKda);
  const auto gap = std::find(kinds.begin(), kinds.end(), AttentionKind::kFull);
  if (linear.ok() && gap != kinds.end()) {
    linear.Contradiction("kda_layers", "layer " + std::to_string(gap - kinds.begin() + 1) +
                                           " is in neither full_attn_layers nor kda_layers");
  }
  return kinds;
}

// Kimi-Linear has the tokenizer's word for it, and copies of its config neither; the published
// model has a million positions.
int64_t ReadPositions(ConfigReader& text, const Architecture& a) {
  constexpr int64_t kMost = int64_t{1} << 32;
  const char* key = "max_position_embeddings";
  if (!text.Has(key) && text.Has("model_max_length")) key = "model_max_length";
  if (!text.Has(key) && a.name == "KimiLinearForCausalLM") return int64_t{1} << 20;
  return text.Int(key, 1, kMost);
}

}  // namespace

int64_t ReadKimiText(ConfigReader& text, ConfigReader& linear, Architecture* a) {
  a->dtype = ModelDType(text);
  a->hidden = text.Dim("hidden_size");
  a->vocabulary = text.Dim("vocab_size");
  a->max_positions = ReadPositions(text, *a);
  a->tied_embeddings = text.BoolOr("tie_word_embeddings", false);
  a->heads = text.Dim("num_attention_heads");
  a->kv_heads = text.Dim("num_key_value_heads");
  a->dense_intermediate = text.Dim("intermediate_size");
  a->mtp_layers = text.IntOr("num_nextn_predict_layers", 0, 64, 0);
  const int64_t layers = text.Int("num_hidden_layers", 1, kMaxLayers);

  a->mla = {text.DimOr("q_lora_rank", 0), text.Dim("kv_lora_rank"),
            text.Dim("qk_nope_head_dim"), text.Dim("qk_rope_head_dim"),
            text.Dim("v_head_dim"),       text.BoolOr("mla_use_output_gate", false)};
  a->head_dim = a->mla.nope_head_dim + a->mla.rope_head_dim;
  a->v_head_dim = a->mla.v_head_dim;
  if (!text.BoolOr("mla_use_nope", false)) {
    a->rotary = {a->mla.rope_head_dim, a->max_positions, false};
  }
  a->kda = {linear.Dim("num_heads"), linear.Dim("head_dim"),
            linear.Int("short_conv_kernel_size", 1, 64)};
  a->attention =
      linear.ok() && text.ok() ? AttentionOf(linear, layers) : std::vector<AttentionKind>();
  a->moe.experts = text.Int("num_experts", 1, 100'000);
  a->moe.top_k = text.Int("num_experts_per_token", 1, 100'000);
  a->moe.intermediate = text.Dim("moe_intermediate_size");
  a->moe.shared_experts = text.Int("num_shared_experts", 1, 1024);
  a->moe.shared_intermediate = a->moe.intermediate * a->moe.shared_experts;
  a->moe.first_dense = text.Int("first_k_dense_replace", 0, kMaxLayers);
  return layers;
}

void CheckKimiText(ConfigReader& text, const Architecture& a) {
  CheckMoe(text, "num_experts_per_token", a.layers(), a.moe);
}

LayerSet LayersOf(const Architecture& arch, AttentionKind kind) {
  std::vector<int64_t> layers;
  for (int64_t i = 0; i < arch.layers(); ++i) {
    if (arch.attention[static_cast<size_t>(i)] == kind) layers.push_back(i);
  }
  return LayerSet(std::move(layers));
}

void AddKda(TableBuilder& t, const std::string& p, const Architecture& a, const KdaStyle& style) {
  const int64_t width = a.kda.width();
  const int64_t rank = a.kda.head_dim;
  const int64_t hidden = a.hidden;
  const std::string attn = p + "self_attn.";
  constexpr Role kRole = Role::kLinearAttention;

  ModuleRow& dt_bias =
      t.Tensor(attn + "dt_bias", "self_attn.dt_bias", kRole, Split::kColumn, Shape{width});
  dt_bias.dtype = dt_bias.device_dtype = DType::kF32;
  ModuleRow& a_log =
      t.Tensor(attn + "A_log", "self_attn.A_log", kRole, Split::kColumn, style.a_log);
  a_log.dtype = a_log.device_dtype = DType::kF32;
  a_log.device_shape = Shape{a.kda.heads};
  // One fused input projection; f_a is a replicated member of it.
  const std::string in = "self_attn.in_proj_qkvgfab";
  const auto column = [&](const char* name, const std::string& param, int64_t out,
                          int64_t width_in) {
    t.Linear(attn + name, param, kRole, Split::kColumn, out, width_in);
  };
  for (const char* x : {"q_proj", "k_proj", "v_proj"}) column(x, in, width, hidden);
  if (style.full_rank_gate) column("g_proj", in, width, hidden);
  t.Linear(attn + "f_a_proj", in, kRole, Split::kReplicated, rank, hidden).param_row_align =
      style.input_row_align;
  column("b_proj", in, a.kda.heads, hidden);
  column("f_b_proj", "self_attn.f_b_proj", width, rank);
  for (const char* x : {"q", "k", "v"}) {
    ModuleRow& conv = t.Tensor(attn + x + "_conv1d.weight", "self_attn.conv1d.weight", kRole,
                               Split::kColumn, Shape{width, 1, a.kda.conv_kernel});
    conv.dtype = style.dtype;
    conv.device_dtype = DType::kF32;
  }
  if (!style.full_rank_gate) {
    t.Linear(attn + "g_a_proj", "self_attn.g_a_proj", kRole, Split::kReplicated, rank, hidden);
    column("g_b_proj", "self_attn.g_b_proj", width, rank);
  }
  // The model's dtype on the card.
  t.Norm(attn + "o_norm", "self_attn.o_norm", rank, kRole).dtype = style.dtype;
  t.Linear(attn + "o_proj", "self_attn.o_proj", kRole, Split::kRow, hidden, width);
}

void AddKimiMoe(TableBuilder& t, const std::string& p, const Architecture& a) {
  const std::string moe = p + "block_sparse_moe.";
  const std::string out = "block_sparse_moe.";
  const int64_t latent = a.moe.latent;
  t.Linear(moe + "gate", out + "gate", Role::kRouter, Split::kReplicated, a.moe.experts, a.hidden);
  AddCorrectionBias(t, moe + "gate.", out + "gate.", a);
  AddGatedMlp(t, moe + "shared_experts.", out + "shared_experts.", Role::kSharedExpert,
              Split::kSharedColumn, Split::kSharedRow, a.hidden, a.moe.shared_intermediate);
  if (latent > 0) {
    t.Linear(moe + "routed_expert_down_proj", out + "routed_expert_down_proj",
             Role::kLatentProjection, Split::kReplicated, latent, a.hidden)
        .quantizable = false;
    t.Norm(moe + "routed_expert_norm", out + "routed_expert_norm", latent, Role::kLatentProjection);
    t.Linear(moe + "routed_expert_up_proj", out + "routed_expert_up_proj", Role::kLatentProjection,
             Split::kReplicated, a.hidden, latent)
        .quantizable = false;
  }
  AddExperts(t, moe + "experts.", out + "experts.routed_experts", a, {"w1", "w3", "w2"});
}

void ReadKimiVision(ConfigReader& vision, Architecture* a) {
  a->vision.present = true;
  a->vision.hidden = vision.Dim("vt_hidden_size");
  a->vision.intermediate = vision.Dim("vt_intermediate_size");
  a->vision.heads = vision.Dim("vt_num_attention_heads");
  a->vision.blocks = vision.Int("vt_num_hidden_layers", 1, kMaxLayers);
  a->vision.time_positions = vision.IntOr("init_pos_emb_time", 0, 1 << 16, 0);
  a->vision.patches_per_token = 4 * std::max<int64_t>(a->vision.time_positions, 1);
}

void AddKimiVision(TableBuilder& t, ConfigReader& v, const Architecture& a,
                   const VisionStyle& style) {
  const int64_t hidden = a.vision.hidden;
  const int64_t patch = v.Dim("patch_size");
  const int64_t tower = v.Dim("mm_hidden_size");
  const int64_t merged = 4 * tower;  // two by two patches
  const int64_t text = v.Dim("text_hidden_size");
  constexpr Role kRole = Role::kVision;
  t.At(Placement::kEveryStage);
  const auto tensor = [&](const std::string& name, Role role, Shape shape, int64_t blocks = 0) {
    t.Tensor(name, name, role, Split::kReplicated, std::move(shape)).blocks = blocks;
  };
  const auto norm = [&](const std::string& name, Role role, int64_t width, int64_t blocks = 0) {
    tensor(name + ".weight", role, Shape{width}, blocks);
    if (style.biases) tensor(name + ".bias", role, Shape{width}, blocks);
  };
  tensor("vision_tower.patch_embed.proj.weight", kRole, Shape{hidden, 3, patch, patch});
  if (style.biases) tensor("vision_tower.patch_embed.proj.bias", kRole, Shape{hidden});
  tensor("vision_tower.patch_embed.pos_emb.weight", kRole,
         Shape{v.Dim("init_pos_emb_height"), v.Dim("init_pos_emb_width"), hidden});
  const std::string block = "vision_tower.encoder.blocks.{B}.";
  for (const char* name : {"norm0", "norm1"}) norm(block + name, kRole, hidden, a.vision.blocks);
  const auto linear = [&](const char* name, Split split, int64_t out, int64_t in) {
    ModuleRow& row = t.Linear(block + name, block + name, kRole, split, out, in);
    row.bias = style.biases;
    row.blocks = a.vision.blocks;
  };
  linear("mlp.fc0", Split::kVisionColumn, a.vision.intermediate, hidden);
  linear("mlp.fc1", Split::kVisionRow, hidden, a.vision.intermediate);
  linear("wqkv", Split::kVisionColumn, 3 * style.qkv, hidden);
  linear("wo", Split::kVisionRow, hidden, style.qkv);
  norm("vision_tower.encoder.final_layernorm", kRole, hidden);
  if (!style.norm_last) norm("mm_projector.pre_norm", Role::kProjector, tower);
  t.Linear("mm_projector.proj.0", "mm_projector.linear_1", Role::kProjector, Split::kReplicated,
           merged, merged)
      .bias = style.biases;
  t.Linear("mm_projector.proj.2", "mm_projector.linear_2", Role::kProjector, Split::kReplicated,
           text, merged)
      .bias = style.biases;
  if (style.norm_last) norm("mm_projector.post_norm", Role::kProjector, text);
}

}  // namespace shardplan::families
