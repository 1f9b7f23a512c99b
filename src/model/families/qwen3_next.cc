// Qwen3-Next and Qwen3-Coder-Next: gated delta nets, every fourth layer gated full attention, many
// small experts beside a shared one, and a draft layer.
//
// Names and totals are the published checkpoints' (80B-A3B: 75,944 tensors; Coder-Next has no draft
// layer: --assume mtp=false); order and placement are vLLM's (models/qwen3_next.py, d29f7f5c).
#include "model/families/qwen_hybrid.h"

namespace shardplan::families {

Result<ModelSpec> BuildQwen3Next(ConfigReader& config, const Assumptions& assumptions) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const int64_t layers = ReadDecoder(config, &a);
  ReadHybridAttention(config, layers, &a);
  ReadHybridExperts(config, layers, &a);
  ReadSparseStep(config, layers, &a);
  // The config announces no draft layer; the published checkpoints have one, or none.
  const int64_t draft = config.IntOr("mtp_num_hidden_layers", 0, 64, 1);
  if (a.tied_embeddings) {
    config.Contradiction("tie_word_embeddings", "expected false: the head is a tensor of its own");
  }
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.fp8_scale_dtype = DType::kBF16;
  spec.table.layer_prefix = "model.layers.{L}.";
  TableBuilder t(&spec.table, a.dtype);
  const HybridForm form = {DeltaProjections::kInterleaved, ExpertForm::kEach, ExpertForm::kEach};
  // Embedding and head are built on every pipeline stage, the norm on the last alone.
  AddEmbedding(t, a, Placement::kEveryStage);
  AddHybridLayers(t, spec.table.layer_prefix, a, form);
  t.At(Placement::kLastStage).Norm("model.norm", "model.norm", a.hidden);
  t.At(Placement::kEveryStage)
      .Tensor("lm_head.weight", "lm_head.weight", Role::kHead, Split::kVocabulary,
              Shape{a.vocabulary, a.hidden});
  if (assumptions.mtp.value_or(true)) AddHybridDraft(t, &spec.table, a, form, draft);
  return spec;
}

}  // namespace shardplan::families
