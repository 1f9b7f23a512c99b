// EAGLE-3 heads of Llama's shape: one layer, or a few, that guess tokens ahead for another model.
//
// Names are the published heads' (yuhuili/EAGLE3-LLaMA3.1-Instruct-8B, SpecForge); what the engine
// makes of them is vLLM's (models/llama_eagle3.py, main of August 2026): the first layer attends to
// embedding and hidden state side by side, `fc` joins three hidden states of the target, and the
// head covers a vocabulary of its own.
#include "model/families/decoder_parts.h"

namespace shardplan::families {
namespace {

// The first layer sees twice the width. `p` and `param` are where its names begin.
void AddLayer(TableBuilder& t, const std::string& p, const std::string& param,
              const Architecture& a, bool first, bool bias, bool mlp_bias) {
  constexpr Role kRole = Role::kAttention;
  const int64_t in = first ? 2 * a.hidden : a.hidden;
  const std::string qkv = param + "self_attn.qkv_proj";
  const std::string attn = p + "self_attn.";
  t.Linear(attn + "q_proj", qkv, kRole, Split::kColumn, a.heads * a.head_dim, in).bias = bias;
  for (const char* x : {"k_proj", "v_proj"}) {
    t.Linear(attn + x, qkv, kRole, Split::kKvHeads, a.kv_heads * a.head_dim, in).bias = bias;
  }
  t.Linear(attn + "o_proj", param + "self_attn.o_proj", kRole, Split::kRow, a.hidden,
           a.heads * a.head_dim)
      .bias = bias;
  AddGatedMlp(t, p + "mlp.", param + "mlp.", Role::kDenseMlp, Split::kColumn, Split::kRow, a.hidden,
              a.dense_intermediate, mlp_bias);
  for (const char* x : {"input_layernorm", "post_attention_layernorm", "hidden_norm"}) {
    t.Norm(p + x, param + x, a.hidden);
  }
}

}  // namespace

Result<ModelSpec> BuildEagle3(ConfigReader& config, const Assumptions&) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const int64_t layers = ReadDecoder(config, &a);
  ReadGqa(config, layers, &a);
  a.tied_embeddings = false;
  a.dense_intermediate = config.Dim("intermediate_size");
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
  AddEmbedding(t, a);
  spec.table.rows.back().name = "embed_tokens.weight";
  spec.table.rows.back().optional = true;  // most heads take the target's
  if (layers == 1) {
    AddLayer(t.At(Placement::kLastStage), "midlayer.", "model.layers.0.", a, true, bias, mlp_bias);
  } else {
    AddLayer(t.In(LayerSet::Range(0, 1)), "layers.{L}.", "", a, true, bias, mlp_bias);
    AddLayer(t.In(LayerSet::Range(1, layers)), "layers.{L}.", "", a, false, bias, mlp_bias);
  }
  t.At(Placement::kLastStage);
  if (joins) {
    t.Linear("fc", "model.fc", Role::kDraft, Split::kReplicated, a.hidden, 3 * target);
  }
  t.Norm("norm", "model.norm", a.hidden);
  ModuleRow& head = t.Tensor("lm_head.weight", "lm_head.weight", Role::kHead, Split::kVocabulary,
                             Shape{words, a.hidden});
  head.optional = true;  // a head without one takes the target's
  // Which words of the target the head's vocabulary has, and the reverse, which is not loaded.
  ModuleRow& d2t =
      t.Tensor("d2t", "draft_id_to_target_id", Role::kHead, Split::kReplicated, Shape{words});
  d2t.dtype = d2t.device_dtype = DType::kI64;
  d2t.optional = true;
  t.At(Placement::kNotLoaded);
  ModuleRow& t2d = t.Tensor("t2d", "t2d", Role::kLeftover, Split::kReplicated, Shape{a.vocabulary});
  t2d.dtype = t2d.device_dtype = DType::kBool;
  t2d.optional = true;
  return spec;
}

}  // namespace shardplan::families
