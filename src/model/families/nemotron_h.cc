// Nemotron-H and Nemotron-3: blocks of one mixer each, a Mamba-2, an attention, an MLP or a
// mixture; ungated experts with squared ReLU, in the larger models behind a latent projection.
//
// Names and totals are the published checkpoints' (Nemotron-3-Nano and Super); order is vLLM's
// (models/{nemotron_h,nemotron_h_mtp}.py, layers/mamba/mamba_mixer2.py; d29f7f5c).
#include <string>

#include "model/families/text_tower.h"

namespace shardplan::families {
namespace {

// The letters of the pattern, one a block: M(amba), * (attention), E(xperts), - (MLP).
std::string ReadPattern(ConfigReader& config, std::string_view letters_key,
                        std::string_view names_key) {
  if (!config.Has(letters_key)) {
    std::string pattern;
    for (const std::string& name : config.StringListOr(names_key, {})) {
      pattern += name == "mamba"       ? 'M'
                 : name == "attention" ? '*'
                 : name == "moe"       ? 'E'
                 : name == "mlp"       ? '-'
                                       : '?';
    }
    if (pattern.empty() || pattern.size() > static_cast<size_t>(kMaxLayers) ||
        pattern.find('?') != std::string::npos) {
      config.Contradiction(names_key, "expected mamba, attention, moe and mlp, one a block");
    }
    return pattern;
  }
  std::string pattern = config.StringOr(letters_key, "");
  if (config.ok() && (pattern.empty() || pattern.size() > static_cast<size_t>(kMaxLayers) ||
                      pattern.find_first_not_of("M*E-") != std::string::npos)) {
    config.Contradiction(letters_key, "expected the letters M, *, E and -, one a block");
  }
  return pattern;
}

LayerSet BlocksOf(const std::string& pattern, char letter) {
  return LayersWhere(static_cast<int64_t>(pattern.size()),
                     [&](int64_t i) { return pattern[static_cast<size_t>(i)] == letter; });
}

AttentionKind KindOf(char letter) {
  if (letter == 'M') return AttentionKind::kMamba2;
  return letter == '*' ? AttentionKind::kFull : AttentionKind::kNone;
}

struct Biases {
  bool conv = true;
  bool mamba = false;
  bool mlp = false;
};

// The streams of in_proj are z, x, B, C and dt, those of the convolution x, B and C. B and C come
// in groups, which split as KV heads do.
void AddMamba(TableBuilder& t, const std::string& p, const Architecture& a, const Biases& biases) {
  const MambaShape& m = a.mamba;
  constexpr Role kRole = Role::kLinearAttention;
  const std::string mixer = "mixer.";
  const RowPart x = {Split::kColumn, m.width};
  const RowPart group = {Split::kKvHeads, m.groups * m.state, m.groups};
  const RowPart dt = {Split::kColumn, m.heads};
  const int64_t conv = m.width + 2 * m.groups * m.state;
  const auto tensor = [&](const char* name, const char* param, Shape shape) -> ModuleRow& {
    return t.Tensor(p + mixer + name, mixer + param, kRole, Split::kColumn, std::move(shape));
  };
  // A = -exp(A_log), kept in fp32.
  tensor("A_log", "A", Shape{m.heads}).device_dtype = DType::kF32;
  tensor("D", "D", Shape{m.heads});
  tensor("dt_bias", "dt_bias", Shape{m.heads});
  tensor("conv1d.weight", "conv1d.weight", Shape{conv, 1, m.conv_kernel}).parts = {x, group, group};
  if (biases.conv) tensor("conv1d.bias", "conv1d.bias", Shape{conv}).parts = {x, group, group};
  ModuleRow& in = t.Linear(p + mixer + "in_proj", mixer + "in_proj", kRole, Split::kColumn,
                           m.width + conv + m.heads, a.hidden);
  in.parts = {x, x, group, group, dt};
  in.bias = biases.mamba;
  t.Linear(p + mixer + "out_proj", mixer + "out_proj", kRole, Split::kRow, a.hidden, m.width).bias =
      biases.mamba;
  t.Norm(p + mixer + "norm", mixer + "norm", m.width, kRole).split = Split::kColumn;
}

void AddAttention(TableBuilder& t, const std::string& p, const Architecture& a) {
  const auto add = [&](const char* name, Split split, int64_t heads) {
    t.Linear(p + "mixer." + name, "mixer.qkv_proj", Role::kAttention, split, heads * a.head_dim,
             a.hidden);
  };
  add("q_proj", Split::kColumn, a.heads);
  add("k_proj", Split::kKvHeads, a.kv_heads);
  add("v_proj", Split::kKvHeads, a.kv_heads);
  t.Linear(p + "mixer.o_proj", "mixer.o_proj", Role::kAttention, Split::kRow, a.hidden,
           a.heads * a.head_dim);
}

void AddUngatedMlp(TableBuilder& t, const std::string& p, const std::string& mlp, Role role,
                   Split column, Split row, int64_t hidden, int64_t intermediate, bool bias) {
  t.Linear(p + mlp + "up_proj", mlp + "up_proj", role, column, intermediate, hidden).bias = bias;
  t.Linear(p + mlp + "down_proj", mlp + "down_proj", role, row, hidden, intermediate).bias = bias;
}

void AddMoe(TableBuilder& t, const std::string& p, const Architecture& a) {
  const std::string mixer = "mixer.";
  t.Linear(p + mixer + "gate", mixer + "gate", Role::kRouter, Split::kReplicated, a.moe.experts,
           a.hidden)
      .quantizable = false;
  AddCorrectionBias(t, p + mixer + "gate.", mixer + "gate.", a);
  if (a.moe.shared_intermediate > 0) {
    AddUngatedMlp(t, p, mixer + "shared_experts.", Role::kSharedExpert, Split::kSharedColumn,
                  Split::kSharedRow, a.hidden, a.moe.shared_intermediate, false);
  }
  if (a.moe.latent > 0) {
    t.Linear(p + mixer + "fc1_latent_proj", mixer + "fc1_latent_proj", Role::kLatentProjection,
             Split::kReplicated, a.moe.latent, a.hidden);
    t.Linear(p + mixer + "fc2_latent_proj", mixer + "fc2_latent_proj", Role::kLatentProjection,
             Split::kReplicated, a.hidden, a.moe.latent);
  }
  AddExperts(t, p + mixer + "experts.", mixer + "experts.routed_experts", a,
             {"", "up_proj", "down_proj"});
}

void ReadMoe(ConfigReader& config, const std::string& pattern, Architecture* a) {
  const int64_t layers = static_cast<int64_t>(pattern.size());
  ReadExperts(config, "n_routed_experts", "moe_intermediate_size", layers, a);
  a->moe.shared_experts = config.IntOr("n_shared_experts", 0, 1024, 0);
  if (a->moe.shared_experts > 0) {
    a->moe.shared_intermediate =
        config.Dim("moe_shared_expert_intermediate_size") * a->moe.shared_experts;
  }
  a->moe.latent = config.DimOr("moe_latent_size", 0);
  for (const char letter : pattern) a->moe.layer_is_moe.push_back(letter == 'E');
}

// The draft: the pattern's blocks, the first of which fuses the next token in.
void AddDraft(TableBuilder& t, const Architecture& a, const std::string& pattern) {
  const std::string p = "mtp.layers.{L}.";
  const auto length = static_cast<int64_t>(pattern.size());
  std::string all;
  for (int64_t i = 0; i < a.mtp_layers; ++i) all += pattern;
  const auto blocks = static_cast<int64_t>(all.size());
  t.AsDraft(true);
  t.In(LayersWhere(blocks, [&](int64_t i) { return i % length == 0; }));
  for (const char* norm : {"enorm", "hnorm"}) t.Norm(p + norm, norm, a.hidden);
  // Gathered after a column-parallel product (models/nemotron_h_mtp.py).
  t.Linear(p + "eh_proj", "eh_proj", Role::kDraft, Split::kColumn, a.hidden, 2 * a.hidden);
  InLayers(t, BlocksOf(all, '*'), [&] { AddAttention(t, p, a); });
  InLayers(t, BlocksOf(all, 'E'), [&] { AddMoe(t, p, a); });
  t.In(LayerSet::Range(0, blocks)).Norm(p + "norm", "norm", a.hidden);
  t.In(LayersWhere(blocks, [&](int64_t i) { return i % length == length - 1; }));
  t.Norm(p + "final_layernorm", "final_layernorm", a.hidden);
  t.AsDraft(false);
}

}  // namespace

Result<ModelSpec> BuildNemotronH(ConfigReader& config, const Assumptions& assumptions) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  ReadSizes(config, config, {}, &a);
  const std::string pattern = ReadPattern(config, "hybrid_override_pattern", "layers_block_type");
  const auto layers = static_cast<int64_t>(pattern.size());
  if (config.IntOr("num_hidden_layers", 1, kMaxLayers, layers) != layers && config.ok()) {
    config.Contradiction("num_hidden_layers", "is not the number of blocks in the pattern");
  }
  ReadGqa(config, layers, &a);
  a.head_dim = a.v_head_dim =
      config.DimOr("head_dim", config.DimOr("attention_head_dim", a.head_dim));
  a.rotary = {};
  for (size_t i = 0; i < pattern.size(); ++i) a.attention[i] = KindOf(pattern[i]);
  a.mamba.heads = config.Dim("mamba_num_heads");
  a.mamba.head_dim = config.Dim("mamba_head_dim");
  a.mamba.width = a.mamba.heads * a.mamba.head_dim;
  a.mamba.groups = config.Dim("n_groups");
  a.mamba.state = config.Dim("ssm_state_size");
  a.mamba.conv_kernel = config.Int("conv_kernel", 2, 64);
  a.mamba.chunk = config.IntOr(config.Has("mamba_chunk_size") ? "mamba_chunk_size" : "chunk_size",
                               1, 1 << 20, 0);
  // vLLM's default for this class, config key or not (models/config.py, d29f7f5c).
  const std::string state = config.StringOr("mamba_ssm_cache_dtype", "float32");
  if (state == "float32") a.mamba.state_dtype = DType::kF32;
  const Biases biases = {config.BoolOr("use_conv_bias", true), config.BoolOr("use_bias", false),
                         config.BoolOr("mlp_bias", false)};
  if (pattern.find('-') != std::string::npos)
    a.dense_intermediate = config.Dim("intermediate_size");
  const bool moe = pattern.find('E') != std::string::npos;
  if (moe) ReadMoe(config, pattern, &a);
  if (moe && biases.mlp) config.Contradiction("mlp_bias", "expected false beside experts");
  if (config.BoolOr("attention_bias", false)) {
    config.Contradiction("attention_bias", "expected false: no bias is modelled");
  }
  if (config.Has("sliding_window")) {
    config.Contradiction("sliding_window", "sliding-window layers are not modelled");
  }
  a.mtp_layers = config.IntOr("num_nextn_predict_layers", 0, 64, 0);
  std::string draft;
  if (a.mtp_layers > 0) {
    draft = ReadPattern(config, "mtp_hybrid_override_pattern", "mtp_layers_block_type");
    if (config.ok() && draft.find_first_of("M-") != std::string::npos) {
      config.Contradiction("mtp_hybrid_override_pattern", "expected attention and experts alone");
    }
  }
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "model.layers.{L}.";
  const std::string p = "backbone.layers.{L}.";
  TableBuilder t(&spec.table, a.dtype);
  // Embedding, final norm and head are built on every pipeline stage.
  t.At(Placement::kEveryStage)
      .Tensor("backbone.embeddings.weight", "model.embed_tokens.weight", Role::kEmbedding,
              Split::kVocabulary, Shape{a.vocabulary, a.hidden});
  InLayers(t, BlocksOf(pattern, 'M'), [&] { AddMamba(t, p, a, biases); });
  InLayers(t, BlocksOf(pattern, '*'), [&] { AddAttention(t, p, a); });
  InLayers(t, BlocksOf(pattern, '-'), [&] {
    AddUngatedMlp(t, p, "mixer.", Role::kDenseMlp, Split::kColumn, Split::kRow, a.hidden,
                  a.dense_intermediate, biases.mlp);
  });
  InLayers(t, BlocksOf(pattern, 'E'), [&] { AddMoe(t, p, a); });
  t.In(LayerSet::Range(0, layers)).Norm(p + "norm", "norm", a.hidden);
  t.At(Placement::kEveryStage).Norm("backbone.norm_f", "model.norm_f", a.hidden);
  if (!a.tied_embeddings) {
    t.Tensor("lm_head.weight", "lm_head.weight", Role::kHead, Split::kVocabulary,
             Shape{a.vocabulary, a.hidden});
  }
  if (a.mtp_layers > 0 && assumptions.mtp.value_or(true)) AddDraft(t, a, draft);
  return spec;
}

}  // namespace shardplan::families
