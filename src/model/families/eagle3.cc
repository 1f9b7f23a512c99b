// EAGLE-3 heads of Llama's shape: one layer, or a few, that guess tokens ahead for another model.
//
// Names are the published heads' (yuhuili/EAGLE3-LLaMA3.1-Instruct-8B, SpecForge); what the engine
// makes of them is vLLM's (models/llama_eagle3.py, main of August 2026): the first layer attends to
// embedding and hidden state side by side, `fc` joins three hidden states of the target, and the
// head covers a vocabulary of its own.
#include "model/families/draft_parts.h"

namespace shardplan::families {
namespace {

void AddLayer(TableBuilder& t, const std::string& p, const Architecture& a, bool first, bool bias,
              bool mlp_bias) {
  constexpr Role kRole = Role::kAttention;
  const int64_t in = first ? 2 * a.hidden : a.hidden;
  const std::string qkv = "self_attn.qkv_proj";
  const std::string attn = p + "self_attn.";
  t.Linear(attn + "q_proj", qkv, kRole, Split::kColumn, a.heads * a.head_dim, in).bias = bias;
  for (const char* x : {"k_proj", "v_proj"}) {
    t.Linear(attn + x, qkv, kRole, Split::kKvHeads, a.kv_heads * a.head_dim, in).bias = bias;
  }
  t.Linear(attn + "o_proj", "self_attn.o_proj", kRole, Split::kRow, a.hidden, a.heads * a.head_dim)
      .bias = bias;
  AddGatedMlp(t, p + "mlp.", "mlp.", Role::kDenseMlp, Split::kColumn, Split::kRow, a.hidden,
              a.dense_intermediate, mlp_bias);
  for (const char* x : {"input_layernorm", "post_attention_layernorm", "hidden_norm"}) {
    t.Norm(p + x, x, a.hidden);
  }
}

}  // namespace

Result<ModelSpec> BuildEagle3(ConfigReader& config, const Assumptions&) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  ReadDraftLayers(config, DraftAttention::kGrouped, &a);
  const int64_t words = config.DimOr("draft_vocab_size", a.vocabulary);
  const int64_t target = config.DimOr("target_hidden_size", a.hidden);
  const bool bias = config.BoolOr("attention_bias", false);
  const bool mlp_bias = config.BoolOr("mlp_bias", false);
  ConfigReader eagle = config.ObjectOr("eagle_config");
  const bool joins = eagle.BoolOr("use_aux_hidden_state", true);
  config.Adopt(eagle);
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "model.layers.{L}.";
  TableBuilder t(&spec.table, a.dtype);
  AddDraftEmbedding(t, a);
  AddEagle3Layers(t, &spec.table, a, [&](const std::string& p, bool first) {
    AddLayer(t, p, a, first, bias, mlp_bias);
  });
  t.At(Placement::kLastStage);
  if (joins) {
    t.Linear("fc", "model.fc", Role::kDraft, Split::kReplicated, a.hidden, 3 * target);
  }
  t.Norm("norm", "model.norm", a.hidden);
  AddDraftHead(t, a, words);
  return spec;
}

}  // namespace shardplan::families
