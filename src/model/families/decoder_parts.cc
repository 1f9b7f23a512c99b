#include "model/families/decoder_parts.h"

#include <utility>

#include "shardplan/base/file.h"

namespace shardplan::families {

int64_t ReadDecoder(ConfigReader& config, Architecture* a, std::string_view layers_key) {
  a->name = ArchitectureName(config);
  a->dtype = ModelDType(config);
  a->trust_remote_code = config.Has("auto_map");
  a->hidden = config.Dim("hidden_size");
  a->vocabulary = config.Dim("vocab_size");
  a->max_positions = config.Int("max_position_embeddings", 1, int64_t{1} << 32);
  a->tied_embeddings = config.BoolOr("tie_word_embeddings", false);
  return config.Int(layers_key, 1, kMaxLayers);
}

namespace {

ConfigReader RopeObject(ConfigReader& config) {
  return config.ObjectOr(config.Has("rope_scaling") ? "rope_scaling" : "rope_parameters");
}

}  // namespace

Rotary ReadRotary(ConfigReader& config, int64_t dim, int64_t positions) {
  ConfigReader scaling = RopeObject(config);
  const std::string type =
      scaling.StringOr(scaling.Has("rope_type") ? "rope_type" : "type", "default");
  config.Adopt(scaling);
  // M-RoPE makes room for the time positions of videos: four times the table
  // (vllm/model_executor/layers/rotary_embedding/mrope.py, d29f7f5c).
  if (scaling.Has("mrope_section")) positions *= 4;
  return {dim, positions, type == "yarn"};
}

void ReadGqa(ConfigReader& config, int64_t layers, Architecture* a) {
  a->heads = config.Dim("num_attention_heads");
  a->kv_heads = config.DimOr("num_key_value_heads", a->heads);
  if (config.ok() && !config.Has("head_dim") && a->hidden % a->heads != 0) {
    config.Contradiction("num_attention_heads",
                         "does not divide hidden_size, and there is no head_dim");
  }
  if (config.ok() && a->heads % a->kv_heads != 0) {
    config.Contradiction("num_key_value_heads", "does not divide num_attention_heads");
  }
  a->head_dim = config.DimOr("head_dim", config.ok() ? a->hidden / a->heads : 1);
  a->v_head_dim = a->head_dim;
  a->attention.assign(static_cast<size_t>(layers), AttentionKind::kFull);
  ConfigReader rope = RopeObject(config);
  const double factor = config.NumberOr("partial_rotary_factor", 0, 1,
                                        rope.NumberOr("partial_rotary_factor", 0, 1, 1));
  config.Adopt(rope);
  const int64_t partial = static_cast<int64_t>(static_cast<double>(a->head_dim) * factor);
  a->rotary = ReadRotary(config, config.DimOr("rotary_dim", partial), a->max_positions);
}

void ReadExperts(ConfigReader& config, std::string_view experts_key,
                 std::string_view intermediate_key, int64_t layers, Architecture* a,
                 std::string_view top_k_key) {
  a->moe.experts = config.Int(experts_key, 1, 100'000);
  a->moe.top_k = config.Int(top_k_key, 1, 100'000);
  a->moe.intermediate = config.Dim(intermediate_key);
  CheckMoe(config, top_k_key, layers, a->moe);
}

void ReadDenseThenMoe(ConfigReader& config, int64_t layers, int64_t least_shared, Architecture* a) {
  constexpr std::string_view kShared = "n_shared_experts";
  a->dense_intermediate = config.Dim("intermediate_size");
  a->mtp_layers = config.IntOr("num_nextn_predict_layers", 0, 64, 0);
  a->moe.first_dense = config.Int("first_k_dense_replace", 0, kMaxLayers);
  ReadExperts(config, "n_routed_experts", "moe_intermediate_size", layers, a);
  a->moe.shared_experts = least_shared > 0 ? config.Int(kShared, least_shared, 1024)
                                           : config.IntOr(kShared, 0, 1024, 0);
  a->moe.shared_intermediate = a->moe.intermediate * a->moe.shared_experts;
}

void CheckMoe(ConfigReader& config, std::string_view top_k_key, int64_t layers,
              const MoeShape& moe) {
  if (moe.first_dense > layers) {
    config.Contradiction("first_k_dense_replace", "more dense layers than layers");
  }
  if (moe.top_k > moe.experts) {
    config.Contradiction(top_k_key, "more experts a token than experts");
  }
}

void AddEmbedding(TableBuilder& t, const Architecture& a, Placement placement) {
  t.At(placement).Tensor("model.embed_tokens.weight", "model.embed_tokens.weight", Role::kEmbedding,
                         Split::kVocabulary, Shape{a.vocabulary, a.hidden});
}

void AddHead(TableBuilder& t, const Architecture& a, Placement placement) {
  t.At(placement).Norm("model.norm", "model.norm", a.hidden);
  if (a.tied_embeddings) return;
  t.Tensor("lm_head.weight", "lm_head.weight", Role::kHead, Split::kVocabulary,
           Shape{a.vocabulary, a.hidden});
}

// Created beside the projections by some quantization methods, filled from checkpoints that
// calibrate the cache.
void AddAttentionScales(TableBuilder& t, const std::string& prefix, const std::string& param,
                        AttentionScale kind) {
  for (const char* x : {"q", "k", "v", "prob"}) {
    const std::string name = param + x + "_scale";
    ModuleRow& row = t.Tensor(prefix + name, name, Role::kAttention, Split::kReplicated, Shape{});
    row.stored = false;
    row.attention_scale = kind;
  }
}

void AddGqa(TableBuilder& t, const std::string& prefix, const Architecture& a,
            const GqaOptions& options) {
  const std::string attn = prefix + "self_attn.";
  const std::string qkv = "self_attn.qkv_proj";
  constexpr Role kRole = Role::kAttention;
  t.Linear(attn + "q_proj", qkv, kRole, Split::kColumn,
           a.heads * a.head_dim * (options.output_gate ? 2 : 1), a.hidden)
      .bias = options.qkv_bias;
  for (const char* x : {"k", "v"}) {
    t.Linear(attn + x + "_proj", qkv, kRole, Split::kKvHeads, a.kv_heads * a.head_dim, a.hidden)
        .bias = options.qkv_bias;
  }
  t.Linear(attn + "o_proj", "self_attn.o_proj", kRole, Split::kRow, a.hidden, a.heads * a.head_dim)
      .bias = options.o_bias;
  AddAttentionScales(t, prefix, "self_attn.attn.", AttentionScale::kGqa);
  // A norm over all heads is divided with them, one over a single head is not.
  const auto norm = [&](const char* name, int64_t width, Split split) {
    if (width == 0) return;
    t.Norm(attn + name, std::string("self_attn.") + name, width, kRole).split =
        width == a.head_dim ? Split::kReplicated : split;
  };
  norm("q_norm", options.q_norm, Split::kColumn);
  norm("k_norm", options.k_norm, Split::kKvHeads);
}

void AddMla(TableBuilder& t, const std::string& prefix, const Architecture& a,
            const std::string& module) {
  const MlaShape& m = a.mla;
  const int64_t queries = a.heads * (m.nope_head_dim + m.rope_head_dim);
  const std::string own = module + ".";
  const std::string attn = prefix + own;
  constexpr Role kRole = Role::kAttention;
  // Compressed queries share one projection with the latent; plain ones stand alone.
  std::string down = own + "kv_a_proj_with_mqa";
  if (m.q_lora_rank > 0) {
    down = own + "fused_qkv_a_proj";
    t.Linear(attn + "q_a_proj", down, kRole, Split::kReplicated, m.q_lora_rank, a.hidden);
  }
  t.Linear(attn + "kv_a_proj_with_mqa", down, kRole, Split::kReplicated, m.latent_width(),
           a.hidden);
  if (m.q_lora_rank > 0) {
    t.Norm(attn + "q_a_layernorm", own + "q_a_layernorm", m.q_lora_rank, kRole);
    t.Linear(attn + "q_b_proj", own + "q_b_proj", kRole, Split::kColumn, queries, m.q_lora_rank);
  } else {
    t.Linear(attn + "q_proj", own + "q_proj", kRole, Split::kColumn, queries, a.hidden);
  }
  t.Norm(attn + "kv_a_layernorm", own + "kv_a_layernorm", m.kv_lora_rank, kRole);
  t.Linear(attn + "kv_b_proj", own + "kv_b_proj", kRole, Split::kColumn,
           a.heads * (m.nope_head_dim + m.v_head_dim), m.kv_lora_rank);
  if (m.output_gate) {
    t.Linear(attn + "g_proj", own + "g_proj", kRole, Split::kColumn, a.heads * m.v_head_dim,
             a.hidden);
  }
  t.Linear(attn + "o_proj", own + "o_proj", kRole, Split::kRow, a.hidden, a.heads * m.v_head_dim);
  AddAttentionScales(t, prefix, own + "mla_attn.mla_attn.", AttentionScale::kMla);
}

void AddGatedMlp(TableBuilder& t, const std::string& name, const std::string& param, Role role,
                 Split column, Split row, int64_t hidden, int64_t intermediate, bool bias) {
  for (const char* x : {"gate", "up"}) {
    t.Linear(name + x + "_proj", param + "gate_up_proj", role, column, intermediate, hidden).bias =
        bias;
  }
  t.Linear(name + "down_proj", param + "down_proj", role, row, hidden, intermediate).bias = bias;
}

void AddExperts(TableBuilder& t, const std::string& name, const std::string& param,
                const Architecture& a, ExpertNames names) {
  const int64_t width = a.moe.latent > 0 ? a.moe.latent : a.hidden;
  const auto add = [&](const char* projection, Split split, int64_t out, int64_t in) {
    t.Linear(name + "{E}." + projection, param, Role::kRoutedExpert, split, out, in).experts =
        a.moe.experts;
  };
  if (*names.gate) add(names.gate, Split::kExpertGate, a.moe.intermediate, width);
  add(names.up, Split::kExpertUp, a.moe.intermediate, width);
  add(names.down, Split::kExpertDown, width, a.moe.intermediate);
}

ModuleRow& AddCorrectionBias(TableBuilder& t, const std::string& name, const std::string& param,
                             const Architecture& a) {
  constexpr const char* kBias = "e_score_correction_bias";
  ModuleRow& bias = t.Tensor(name + kBias, param + kBias, Role::kRouter, Split::kReplicated,
                             Shape{a.moe.experts});
  bias.dtype = bias.device_dtype = DType::kF32;
  // Whoever exports in half precision casts it with the rest.
  if (a.dtype == DType::kF16) bias.dtype = DType::kF16;
  return bias;
}

void AddDenseThenMoe(TableBuilder& t, const std::string& p, const Architecture& a,
                     const Assumptions& assumptions, const std::function<void()>& attention,
                     const std::function<void()>& moe) {
  const int64_t layers = a.layers();
  AddEmbedding(t, a);
  t.In(LayerSet::Range(0, layers));
  attention();
  if (a.moe.first_dense > 0) {
    t.In(LayerSet::Range(0, a.moe.first_dense));
    AddGatedMlp(t, p + "mlp.", "mlp.", Role::kDenseMlp, Split::kColumn, Split::kRow, a.hidden,
                a.dense_intermediate);
  }
  if (a.moe.first_dense < layers) {
    t.In(LayerSet::Range(a.moe.first_dense, layers));
    moe();
  }
  t.In(LayerSet::Range(0, layers));
  AddLayerNorms(t, p, a.hidden);
  AddHead(t, a);
  if (a.mtp_layers == 0 || !assumptions.mtp.value_or(true)) return;
  t.In(LayerSet::Range(layers, layers + a.mtp_layers)).AsDraft(true);
  AddDraftParts(t, p, a, assumptions.mtp_embed.value_or(true));
  attention();
  moe();
  AddLayerNorms(t, p, a.hidden);
}

void AddDraftParts(TableBuilder& t, const std::string& prefix, const Architecture& a,
                   bool own_embeddings) {
  const Shape table{a.vocabulary, a.hidden};
  if (own_embeddings) {
    t.Tensor(prefix + "embed_tokens.weight", "embed_tokens.weight", Role::kDraft,
             Split::kVocabulary, table);
  }
  t.Norm(prefix + "enorm", "enorm", a.hidden);
  t.Norm(prefix + "hnorm", "hnorm", a.hidden);
  t.Linear(prefix + "eh_proj", "eh_proj", Role::kDraft, Split::kReplicated, a.hidden, 2 * a.hidden)
      .quantizable = false;
  t.Norm(prefix + "shared_head.norm", "shared_head.norm", a.hidden);
  if (own_embeddings) {
    t.Tensor(prefix + "shared_head.head.weight", "shared_head.head.weight", Role::kDraft,
             Split::kVocabulary, table);
  }
}

void AddLayerNorms(TableBuilder& t, const std::string& prefix, int64_t hidden) {
  for (const char* norm : {"input_layernorm", "post_attention_layernorm"}) {
    t.Norm(prefix + norm, norm, hidden);
  }
}

}  // namespace shardplan::families
