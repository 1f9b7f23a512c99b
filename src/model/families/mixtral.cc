// Mixtral: grouped-query attention and eight experts named w1, w2, w3.
//
// Names and totals are the published checkpoints' (8x7B, 8x22B); order is vLLM's
// (models/mixtral.py, d29f7f5c).
#include "model/families/decoder_parts.h"

namespace shardplan::families {

Result<ModelSpec> BuildMixtral(ConfigReader& config, const Assumptions&) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const int64_t layers = ReadDecoder(config, &a);
  ReadGqa(config, layers, &a);
  ReadExperts(config, "num_local_experts", "intermediate_size", layers, &a);
  if (config.Has("sliding_window")) {
    config.Contradiction("sliding_window", "sliding-window layers are not modelled");
  }
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "model.layers.{L}.";
  const std::string p = spec.table.layer_prefix;
  TableBuilder t(&spec.table, a.dtype);
  // Embedding, final norm and head are built on every pipeline stage.
  AddEmbedding(t, a, Placement::kEveryStage);
  t.In(LayerSet::Range(0, layers));
  GqaOptions attention;
  AddGqa(t, p, a, attention);
  const std::string moe = "block_sparse_moe.";
  t.Linear(p + moe + "gate", moe + "gate", Role::kRouter, Split::kReplicated, a.moe.experts,
           a.hidden);
  AddExperts(t, p + moe + "experts.", moe + "experts.routed_experts", a, {"w1", "w3", "w2"});
  AddLayerNorms(t, p, a.hidden);
  AddHead(t, a, Placement::kEveryStage);
  return spec;
}

}  // namespace shardplan::families
