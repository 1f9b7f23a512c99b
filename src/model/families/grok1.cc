// Grok-1: eight experts of three plain linears, norms before and after both halves of a layer, tied
// embeddings.
//
// Names are the published code's (norms are called scale); order is vLLM's (models/grok1.py,
// d29f7f5c).
#include "model/families/text_tower.h"

namespace shardplan::families {

Result<ModelSpec> BuildGrok1(ConfigReader& config, const Assumptions&) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const int64_t layers = ReadDecoder(config, &a);
  ReadGqa(config, layers, &a);
  ReadExperts(config, "num_experts", "intermediate_size", layers, &a);
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "model.layers.{L}.";
  const std::string p = spec.table.layer_prefix;
  TableBuilder t(&spec.table, a.dtype);
  const auto norm = [&](const std::string& name, const std::string& param) {
    t.Tensor(name + ".scale", param + ".weight", Role::kNorm, Split::kReplicated, Shape{a.hidden});
  };
  const auto attention = [&](const char* name, const char* param, Split split, int64_t out,
                             int64_t in) {
    t.Linear(p + "attn." + name, std::string("attn.") + param, Role::kAttention, split, out, in);
  };
  // Embedding, final norm and head are built on every pipeline stage.
  AddEmbedding(t, a, Placement::kEveryStage);
  t.In(LayerSet::Range(0, layers));
  attention("q_proj", "qkv_proj", Split::kColumn, a.heads * a.head_dim, a.hidden);
  attention("k_proj", "qkv_proj", Split::kKvHeads, a.kv_heads * a.head_dim, a.hidden);
  attention("v_proj", "qkv_proj", Split::kKvHeads, a.kv_heads * a.head_dim, a.hidden);
  attention("o_proj", "o_proj", Split::kRow, a.hidden, a.heads * a.head_dim);
  t.Linear(p + "moe_block.gate", "moe_block.gate", Role::kRouter, Split::kReplicated, a.moe.experts,
           a.hidden)
      .quantizable = false;
  AddExperts(t, p + "moe_block.experts.", "moe_block.experts.routed_experts", a,
             {"linear", "linear_v", "linear_1"});
  for (const char* name : {"pre_attn_norm", "post_attn_norm", "pre_moe_norm", "post_moe_norm"}) {
    norm(p + name, name);
  }
  t.At(Placement::kEveryStage);
  norm("model.norm", "model.norm");
  if (!a.tied_embeddings) {
    t.Tensor("lm_head.weight", "lm_head.weight", Role::kHead, Split::kVocabulary,
             Shape{a.vocabulary, a.hidden});
  }
  return spec;
}

}  // namespace shardplan::families
