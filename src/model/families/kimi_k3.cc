// Kimi-K3: Kimi delta attention and multi-head latent attention in one stack, a latent mixture of
// experts, attention residuals, and a vision tower.
//
// Names, dtypes and shapes are the published checkpoint's (96 headers, read 2026-09-15); the fused
// parameters and their order are vLLM's (vllm/models/kimi_k3/nvidia/{kda,mla,model}.py, v0.28-dev).
#include <algorithm>

#include "model/families/decoder_parts.h"

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

LayerSet LayersOf(const Architecture& arch, AttentionKind kind) {
  std::vector<int64_t> layers;
  for (int64_t i = 0; i < arch.layers(); ++i) {
    if (arch.attention[static_cast<size_t>(i)] == kind) layers.push_back(i);
  }
  return LayerSet(std::move(layers));
}

void AddKda(TableBuilder& t, const std::string& p, const Architecture& a) {
  const int64_t width = a.kda.width();
  const int64_t hidden = a.hidden;
  const std::string attn = p + "self_attn.";
  constexpr Role kRole = Role::kLinearAttention;
  auto f32 = [](ModuleRow& row) { row.dtype = row.device_dtype = DType::kF32; };

  f32(t.Tensor(attn + "dt_bias", "self_attn.dt_bias", kRole, Split::kColumn, Shape{width}));
  // Stored with 128 entries, the last 32 of them zero padding; engines keep one per head.
  ModuleRow& a_log =
      t.Tensor(attn + "A_log", "self_attn.A_log", kRole, Split::kColumn, Shape{a.kda.head_dim});
  f32(a_log);
  a_log.device_shape = Shape{a.kda.heads};
  // One fused input projection; f_a is a replicated member of it, and the rows are padded to 16.
  const std::string in = "self_attn.in_proj_qkvgfab";
  for (const char* x : {"q", "k", "v", "g"}) {
    t.Linear(attn + x + "_proj", in, kRole, Split::kColumn, width, hidden).param_row_align = 16;
  }
  t.Linear(attn + "f_a_proj", in, kRole, Split::kReplicated, a.kda.head_dim, hidden);
  t.Linear(attn + "b_proj", in, kRole, Split::kColumn, a.kda.heads, hidden);
  t.Linear(attn + "f_b_proj", "self_attn.f_b_proj", kRole, Split::kColumn, width, a.kda.head_dim);
  for (const char* x : {"q", "k", "v"}) {
    f32(t.Tensor(attn + x + "_conv1d.weight", "self_attn.conv1d.weight", kRole, Split::kColumn,
                 Shape{width, 1, a.kda.conv_kernel}));
  }
  // F32 in the file, the model's dtype on the card.
  t.Norm(attn + "o_norm", "self_attn.o_norm", a.kda.head_dim, kRole).dtype = DType::kF32;
  t.Linear(attn + "o_proj", "self_attn.o_proj", kRole, Split::kRow, hidden, width);
}

void AddMoe(TableBuilder& t, const std::string& p, const Architecture& a) {
  const std::string moe = p + "block_sparse_moe.";
  const std::string out = "block_sparse_moe.";
  const int64_t latent = a.moe.latent;
  t.Linear(moe + "gate", out + "gate", Role::kRouter, Split::kReplicated, a.moe.experts, a.hidden);
  AddCorrectionBias(t, moe + "gate.", out + "gate.", a);
  AddGatedMlp(t, moe + "shared_experts.", out + "shared_experts.", Role::kSharedExpert,
              Split::kSharedColumn, Split::kSharedRow, a.hidden, a.moe.shared_intermediate);
  t.Linear(moe + "routed_expert_down_proj", out + "routed_expert_down_proj",
           Role::kLatentProjection, Split::kReplicated, latent, a.hidden)
      .quantizable = false;
  t.Norm(moe + "routed_expert_norm", out + "routed_expert_norm", latent, Role::kLatentProjection);
  t.Linear(moe + "routed_expert_up_proj", out + "routed_expert_up_proj", Role::kLatentProjection,
           Split::kReplicated, a.hidden, latent)
      .quantizable = false;
  AddExperts(t, moe + "experts.", out + "experts.routed_experts", a, {"w1", "w3", "w2"});
}

void AddVision(TableBuilder& t, ConfigReader& v, const Architecture& a) {
  const int64_t hidden = a.vision.hidden;
  const int64_t qkv = v.Dim("qkv_hidden_size");
  const int64_t patch = v.Dim("patch_size");
  const int64_t merged = v.Dim("mm_hidden_size") * 4;
  const int64_t text = v.Dim("text_hidden_size");
  constexpr Role kRole = Role::kVision;
  t.Tensor("vision_tower.patch_embed.proj.weight", "vision_tower.patch_embed.proj.weight", kRole,
           Split::kReplicated, Shape{hidden, 3, patch, patch});
  t.Tensor("vision_tower.patch_embed.pos_emb.weight", "vision_tower.patch_embed.pos_emb.weight",
           kRole, Split::kReplicated,
           Shape{v.Dim("init_pos_emb_height"), v.Dim("init_pos_emb_width"), hidden});
  const std::string block = "vision_tower.encoder.blocks.{B}.";
  auto blocks = [&](ModuleRow& row) { row.blocks = a.vision.blocks; };
  for (const char* norm : {"norm0", "norm1"}) {
    blocks(t.Norm(block + norm, block + norm, hidden, kRole));
  }
  auto linear = [&](const char* name, Split split, int64_t out, int64_t in) {
    blocks(t.Linear(block + name, block + name, kRole, split, out, in));
  };
  linear("mlp.fc0", Split::kVisionColumn, a.vision.intermediate, hidden);
  linear("mlp.fc1", Split::kVisionRow, hidden, a.vision.intermediate);
  linear("wqkv", Split::kVisionColumn, 3 * qkv, hidden);
  linear("wo", Split::kVisionRow, hidden, qkv);
  t.Norm("vision_tower.encoder.final_layernorm", "vision_tower.encoder.final_layernorm", hidden,
         kRole);
  t.Linear("mm_projector.proj.0", "mm_projector.linear_1", Role::kProjector, Split::kReplicated,
           merged, merged);
  t.Linear("mm_projector.proj.2", "mm_projector.linear_2", Role::kProjector, Split::kReplicated,
           text, merged);
  t.Norm("mm_projector.post_norm", "mm_projector.post_norm", text, Role::kProjector);
}

}  // namespace

Result<ModelSpec> BuildKimiK3(ConfigReader& config, const Assumptions&) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  ConfigReader text = config.Object("text_config");
  ConfigReader linear = text.Object("linear_attn_config");
  ConfigReader vision = config.Object("vision_config");

  a.name = ArchitectureName(config);
  a.dtype = ModelDType(text);
  a.trust_remote_code = config.Has("auto_map");
  a.hidden = text.Dim("hidden_size");
  a.vocabulary = text.Dim("vocab_size");
  a.max_positions = text.Int("max_position_embeddings", 1, int64_t{1} << 32);
  a.tied_embeddings = text.BoolOr("tie_word_embeddings", false);
  a.heads = text.Dim("num_attention_heads");
  a.kv_heads = text.Dim("num_key_value_heads");
  a.dense_intermediate = text.Dim("intermediate_size");
  a.attn_res_block = text.Dim("attn_res_block_size");
  a.mtp_layers = text.IntOr("num_nextn_predict_layers", 0, 64, 0);
  const int64_t layers = text.Int("num_hidden_layers", 1, kMaxLayers);

  a.mla = {text.Dim("q_lora_rank"),      text.Dim("kv_lora_rank"),
           text.Dim("qk_nope_head_dim"), text.Dim("qk_rope_head_dim"),
           text.Dim("v_head_dim"),       text.BoolOr("mla_use_output_gate", false)};
  a.head_dim = a.mla.nope_head_dim + a.mla.rope_head_dim;
  a.v_head_dim = a.mla.v_head_dim;
  if (!text.BoolOr("mla_use_nope", false)) {
    a.rotary = {a.mla.rope_head_dim, a.max_positions, false};
  }
  a.kda = {linear.Dim("num_heads"), linear.Dim("head_dim"),
           linear.Int("short_conv_kernel_size", 1, 64)};
  a.attention =
      linear.ok() && text.ok() ? AttentionOf(linear, layers) : std::vector<AttentionKind>();
  a.moe.experts = text.Int("num_experts", 1, 100'000);
  a.moe.top_k = text.Int("num_experts_per_token", 1, 100'000);
  a.moe.intermediate = text.Dim("moe_intermediate_size");
  a.moe.shared_experts = text.Int("num_shared_experts", 1, 1024);
  a.moe.shared_intermediate = a.moe.intermediate * a.moe.shared_experts;
  a.moe.latent = text.Dim("routed_expert_hidden_size");
  a.moe.first_dense = text.Int("first_k_dense_replace", 0, kMaxLayers);

  a.vision.present = true;
  a.vision.hidden = vision.Dim("vt_hidden_size");
  a.vision.intermediate = vision.Dim("vt_intermediate_size");
  a.vision.heads = vision.Dim("vt_num_attention_heads");
  a.vision.blocks = vision.Int("vt_num_hidden_layers", 1, kMaxLayers);
  a.vision.time_positions = vision.IntOr("init_pos_emb_time", 0, 1 << 16, 0);
  a.vision.patches_per_token = 4 * std::max<int64_t>(a.vision.time_positions, 1);

  if (text.IntOr("moe_layer_freq", 1, 1, 1) != 1 || !text.BoolOr("latent_moe_use_norm", true)) {
    text.Contradiction("latent_moe_use_norm", "expected true: the latent norm is always stored");
  }
  for (const ConfigReader* child : {&text, &linear, &vision}) {
    config.Adopt(*child);
  }
  if (!config.ok()) return tl::unexpected(config.error());
  if (a.moe.first_dense > layers) {
    text.Contradiction("first_k_dense_replace", "more dense layers than layers");
    return tl::unexpected(text.error());
  }
  if (a.moe.top_k > a.moe.experts) {
    text.Contradiction("num_experts_per_token", "more experts a token than experts");
    return tl::unexpected(text.error());
  }

  spec.table.layer_prefix = "language_model.model.layers.{L}.";
  spec.table.shard_rule = ShardRule::kLayerPerShard;
  const std::string p = spec.table.layer_prefix;
  TableBuilder t(&spec.table, a.dtype);
  const LayerSet all = LayerSet::Range(0, layers);

  t.At(Placement::kFirstStage)
      .Tensor("language_model.model.embed_tokens.weight",
              "language_model.model.embed_tokens.weight", Role::kEmbedding, Split::kVocabulary,
              Shape{a.vocabulary, a.hidden});
  AddKda(t.In(LayersOf(a, AttentionKind::kKda)), p, a);
  AddMla(t.In(LayersOf(a, AttentionKind::kMla)), p, a);
  t.In(LayerSet::Range(0, a.moe.first_dense));
  if (a.moe.first_dense > 0) {
    AddGatedMlp(t, p + "mlp.", "mlp.", Role::kDenseMlp, Split::kSharedColumn, Split::kSharedRow,
                a.hidden, a.dense_intermediate);
  }
  if (a.moe.first_dense < layers) {
    AddMoe(t.In(LayerSet::Range(a.moe.first_dense, layers)), p, a);
  }
  t.In(all);
  AddLayerNorms(t, p, a.hidden);
  for (const char* norm : {"self_attention_res_norm", "mlp_res_norm"}) {
    t.Norm(p + norm, norm, a.hidden, Role::kAttentionResidual);
  }
  for (const char* proj : {"self_attention_res_proj", "mlp_res_proj"}) {
    t.Linear(p + proj, proj, Role::kAttentionResidual, Split::kReplicated, 1, a.hidden)
        .quantizable = false;
  }
  t.At(Placement::kLastStage);
  const std::string model = "language_model.model.";
  t.Norm(model + "norm", model + "norm", a.hidden);
  t.Norm(model + "output_attn_res_norm", model + "output_attn_res_norm", a.hidden,
         Role::kAttentionResidual);
  t.Linear(model + "output_attn_res_proj", model + "output_attn_res_proj", Role::kAttentionResidual,
           Split::kReplicated, 1, a.hidden)
      .quantizable = false;
  t.Tensor("language_model.lm_head.weight", "language_model.lm_head.weight", Role::kHead,
           Split::kVocabulary, Shape{a.vocabulary, a.hidden});
  AddVision(t.At(Placement::kEveryStage), vision, a);
  if (!vision.ok()) return tl::unexpected(vision.error());
  return spec;
}

}  // namespace shardplan::families
