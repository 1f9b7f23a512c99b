// EAGLE-3 heads of Llama's shape: one layer, or a few, that guess tokens ahead for another model.
//
// Names are the published heads' (yuhuili/EAGLE3-LLaMA3.1-Instruct-8B, SpecForge); what the engine
// makes of them is vLLM's (models/llama_eagle3.py, main of November 2026): the first layer attends
// to embedding and hidden state side by side, `fc` joins hidden states of the target, three unless
// the config says otherwise, after a norm of all or of each, and the head covers a vocabulary of
// its own. Heads of Qwen3's layers (qwen3_eagle3.py) norm queries and keys.
#include "model/families/draft_parts.h"

namespace shardplan::families {
namespace {

struct HeadOptions {
  bool bias = false;
  bool mlp_bias = false;
  bool qk_norms = false;
};

void AddLayer(TableBuilder& t, const std::string& p, const Architecture& a, bool first,
              const HeadOptions& options) {
  constexpr Role kRole = Role::kAttention;
  const int64_t in = first ? 2 * a.hidden : a.hidden;
  const std::string qkv = "self_attn.qkv_proj";
  const std::string attn = p + "self_attn.";
  t.Linear(attn + "q_proj", qkv, kRole, Split::kColumn, a.heads * a.head_dim, in).bias =
      options.bias;
  for (const char* x : {"k_proj", "v_proj"}) {
    t.Linear(attn + x, qkv, kRole, Split::kKvHeads, a.kv_heads * a.head_dim, in).bias =
        options.bias;
  }
  for (const char* x : {"q_norm", "k_norm"}) {
    if (options.qk_norms) t.Norm(attn + x, std::string("self_attn.") + x, a.head_dim);
  }
  t.Linear(attn + "o_proj", "self_attn.o_proj", kRole, Split::kRow, a.hidden, a.heads * a.head_dim)
      .bias = options.bias;
  AddGatedMlp(t, p + "mlp.", "mlp.", Role::kDenseMlp, Split::kColumn, Split::kRow, a.hidden,
              a.dense_intermediate, options.mlp_bias);
  for (const char* x : {"input_layernorm", "post_attention_layernorm", "hidden_norm"}) {
    t.Norm(p + x, x, a.hidden);
  }
}

}  // namespace

Result<ModelSpec> BuildEagle3(ConfigReader& config, const Assumptions& assumptions) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  ReadDraftLayers(config, DraftAttention::kGrouped, &a);
  HeadOptions options;
  options.bias = config.BoolOr("attention_bias", false);
  options.mlp_bias = config.BoolOr("mlp_bias", false);
  options.qk_norms = ArchitectureName(config).find("Qwen3ForCausalLM") != std::string::npos;
  ConfigReader eagle = config.ObjectOr("eagle_config");
  const bool joins = eagle.BoolOr("use_aux_hidden_state", true);
  const bool one_norm = eagle.BoolOr("norm_before_fc", config.BoolOr("norm_before_fc", false));
  config.Adopt(eagle);
  const bool norms = config.BoolOr("fc_norm", false);
  const int64_t joined = joins ? ReadJoined(config) : 0;
  ReadDraftShape(config, joined, &a);
  const DraftWords embedding = WordsOf(config, a, DraftWords::kLeftOut);
  const bool numbered =
      assumptions.numbered_draft_layers.value_or(config.Has("speculators_config"));
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "model.layers.{L}.";
  TableBuilder t(&spec.table, a.dtype);
  AddDraftEmbedding(t, a, embedding);
  AddEagle3Layers(t, &spec.table, a, numbered,
                  [&](const std::string& p, bool first) { AddLayer(t, p, a, first, options); });
  t.At(Placement::kLastStage);
  if (joins) {
    if (one_norm) t.Norm("input_norm", "model.input_norm", joined * a.draft.target_hidden);
    for (int64_t i = 0; norms && i < joined; ++i) {
      const std::string norm = "fc_norm." + std::to_string(i);
      t.Norm(norm, "model." + norm, a.draft.target_hidden);
    }
    t.Linear("fc", "model.fc", Role::kDraft, Split::kReplicated, a.hidden,
             joined * a.draft.target_hidden);
  }
  t.Norm("norm", "model.norm", a.hidden);
  AddDraftHead(t, a, a.draft.words);
  return spec;
}

}  // namespace shardplan::families
