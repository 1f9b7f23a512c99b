// DSpark drafts: DFlash's one pass over a block, then a small head that walks it token by token.
//
// Two shapes are published as files of their own. Qwen3's is DFlash's backbone with the heads
// (vLLM's models/qwen3_dspark.py, 0302ff40; RadixArk/Kimi-K3-DSpark). Kimi-K3's has latent
// attention, takes embedding and head from the target, and keeps the latent projections of all
// layers once more as one matrix (vllm/models/kimi_k3/common/dspark_mla.py, 811a1717;
// Inferact/Kimi-K3-DSpark).
#include "model/families/deepseek_parts.h"
#include "model/families/draft_parts.h"

namespace shardplan::families {
namespace {

Result<ModelSpec> BuildQwen3(ConfigReader& config) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const BlockDraft draft = ReadBlockDraft(config, &a);
  const MarkovHead markov = ReadMarkovHead(config, a, draft.words);
  if (!config.ok()) return tl::unexpected(config.error());
  TableBuilder t(&spec.table, a.dtype);
  AddBlockDraft(t, &spec.table, a, draft);
  AddMarkovHead(t, a, markov);
  AddDraftHead(t, a, draft.words, draft.LeavesHeadOut(a));
  return spec;
}

Result<ModelSpec> BuildKimiK3(ConfigReader& config) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const int64_t layers = ReadDraftLayers(config, DraftAttention::kLatent, &a);
  const int64_t features = config.Int("num_target_layers", 1, kMaxLayers);
  ReadDraftShape(config, features, &a);
  const MarkovHead markov = ReadMarkovHead(config, a, a.draft.words);
  // Variants of the config that the class passes over would change its shape.
  if (config.BoolOr("mla_use_output_gate", false)) {
    config.Contradiction("mla_use_output_gate", "expected false: vLLM's draft has no output gate");
  }
  if (config.ok() && a.mla.q_lora_rank == 0) {
    config.Contradiction("q_lora_rank", "vLLM's draft needs compressed queries, found none");
  }
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "model.layers.{L}.";
  TableBuilder t(&spec.table, a.dtype);
  t.At(Placement::kLastStage);
  t.Linear("context_proj", "model.context_proj", Role::kDraft, Split::kReplicated, a.hidden,
           features * a.draft.target_hidden);
  t.Norm("context_norm", "model.context_norm", a.hidden);
  const std::string p = "layers.{L}.";
  t.In(LayerSet::Range(0, layers));
  AddMla(t, p, a);
  AddGatedMlp(t, p + "mlp.", "mlp.", Role::kDenseMlp, Split::kColumn, Split::kRow, a.hidden,
              a.dense_intermediate);
  AddLayerNorms(t, p, a.hidden);
  t.At(Placement::kLastStage)
      .Tensor("context_kv_proj.weight", "model.context_kv_proj.weight", Role::kAttention,
              Split::kReplicated, Shape{layers * a.mla.latent_width(), a.hidden})
      .stored = false;
  t.Norm("final_norm", "model.final_norm", a.hidden);
  AddMarkovHead(t, a, markov);
  // In some of the files, and never loaded: the target's stand for them.
  t.At(Placement::kNotLoaded);
  for (const char* x : {"embed_tokens.weight", "lm_head.weight"}) {
    t.Tensor(x, x, Role::kLeftover, Split::kReplicated, Shape{a.vocabulary, a.hidden}).optional =
        true;
  }
  return spec;
}

}  // namespace

Result<ModelSpec> BuildDspark(ConfigReader& config, const Assumptions&) {
  const bool kimi = ArchitectureName(config) == "K3DSparkModel";
  return kimi ? BuildKimiK3(config) : BuildQwen3(config);
}

}  // namespace shardplan::families
