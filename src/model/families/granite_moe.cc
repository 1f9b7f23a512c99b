// Granite-3 MoE: small experts, all of a layer stacked in two tensors, tied embeddings.
//
// Names and total are the published checkpoint's (granite-3.1-1b-a400m: 218 tensors); order is
// vLLM's (models/granitemoe.py, d29f7f5c).
#include "model/families/text_tower.h"

namespace shardplan::families {

Result<ModelSpec> BuildGraniteMoe(ConfigReader& config, const Assumptions&) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const int64_t layers = ReadDecoder(config, &a);
  ReadGqa(config, layers, &a);
  ReadExperts(config, "num_local_experts", "intermediate_size", layers, &a);
  if (config.BoolOr("attention_bias", false)) {
    config.Contradiction("attention_bias", "expected false: no bias is modelled");
  }
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "model.layers.{L}.";
  const std::string p = spec.table.layer_prefix;
  const std::string moe = "block_sparse_moe.";
  TableBuilder t(&spec.table, a.dtype);
  // Embedding, final norm and head are built on every pipeline stage.
  AddEmbedding(t, a, Placement::kEveryStage);
  t.In(LayerSet::Range(0, layers));
  AddGqa(t, p, a, {});
  t.Linear(p + moe + "router.layer", moe + "gate", Role::kRouter, Split::kReplicated, a.moe.experts,
           a.hidden)
      .quantizable = false;
  const auto stack = [&](const char* name, Split split, int64_t out, int64_t in) {
    ModuleRow& row = t.Linear(p + moe + name, moe + "experts.routed_experts", Role::kRoutedExpert,
                              split, out, in);
    row.form = Form::kStacked;
    row.experts = a.moe.experts;
  };
  stack("input_linear.weight", Split::kExpertGate, 2 * a.moe.intermediate, a.hidden);
  stack("output_linear.weight", Split::kExpertDown, a.hidden, a.moe.intermediate);
  AddLayerNorms(t, p, a.hidden);
  AddHead(t, a, Placement::kEveryStage);
  return spec;
}

}  // namespace shardplan::families
