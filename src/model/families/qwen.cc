// Qwen, the first generation (QWenLMHeadModel): q, k and v of all heads in one stored projection,
// MLPs of half the configured width.
//
// Names and total are the published checkpoint's (Qwen-72B: 643 tensors, 144,575,840,256 bytes);
// order is vLLM's (models/qwen.py, d29f7f5c).
#include "model/families/text_tower.h"

namespace shardplan::families {

Result<ModelSpec> BuildQwen(ConfigReader& config, const Assumptions&) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const int64_t layers = ReadDecoder(config, &a);
  ReadGqa(config, layers, &a);
  a.kv_heads = a.heads;
  const int64_t width = config.Dim("intermediate_size");
  if (config.ok() && width % 2 != 0) config.Contradiction("intermediate_size", "expected even");
  a.dense_intermediate = width / 2;
  if (!config.BoolOr("no_bias", true)) {
    config.Contradiction("no_bias", "expected true: biases of the MLP are not modelled");
  }
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "transformer.h.{L}.";
  const std::string p = spec.table.layer_prefix;
  TableBuilder t(&spec.table, a.dtype);
  // Embedding, final norm and head are built on every pipeline stage.
  t.At(Placement::kEveryStage)
      .Tensor("transformer.wte.weight", "transformer.wte.weight", Role::kEmbedding,
              Split::kVocabulary, Shape{a.vocabulary, a.hidden});
  t.In(LayerSet::Range(0, layers));
  t.Norm(p + "ln_1", "ln_1", a.hidden);
  AddFusedQkv(t, p + "attn.c_attn", "attn.c_attn", a).bias = true;
  t.Linear(p + "attn.c_proj", "attn.c_proj", Role::kAttention, Split::kRow, a.hidden,
           a.heads * a.head_dim);
  t.Norm(p + "ln_2", "ln_2", a.hidden);
  // w2 is the gate, w1 the up projection.
  for (const char* x : {"w2", "w1"}) {
    t.Linear(p + "mlp." + x, "mlp.gate_up_proj", Role::kDenseMlp, Split::kColumn,
             a.dense_intermediate, a.hidden);
  }
  t.Linear(p + "mlp.c_proj", "mlp.c_proj", Role::kDenseMlp, Split::kRow, a.hidden,
           a.dense_intermediate);
  t.At(Placement::kEveryStage).Norm("transformer.ln_f", "transformer.ln_f", a.hidden);
  if (!a.tied_embeddings) {
    t.Tensor("lm_head.weight", "lm_head.weight", Role::kHead, Split::kVocabulary,
             Shape{a.vocabulary, a.hidden});
  }
  return spec;
}

}  // namespace shardplan::families
