// EAGLE-3 heads of DeepSeek's attention: one dense layer of latent attention, or a few, that guess
// for Kimi-K2 and DeepSeek-V3.
//
// Names and parts are vLLM's (models/deepseek_eagle3.py, 03590193): the first layer attends to
// embedding and hidden state side by side, `fc` joins hidden states of the target, three unless the
// config says otherwise, and the MLP is never a mixture.
#include "model/families/deepseek_parts.h"
#include "model/families/draft_parts.h"

namespace shardplan::families {
Result<ModelSpec> BuildEagle3Mla(ConfigReader& config, const Assumptions& assumptions) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  ReadDraftLayers(config, DraftAttention::kLatent, &a);
  const int64_t joined = ReadJoined(config);
  const bool fc_norm = config.BoolOr("fc_norm", false);
  ReadDraftShape(config, joined, &a);
  const DraftWords embedding = WordsOf(config, a, DraftWords::kFrozenCopy);
  const bool numbered =
      assumptions.numbered_draft_layers.value_or(config.Has("speculators_config"));
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "model.layers.{L}.";
  TableBuilder t(&spec.table, a.dtype);
  AddDraftEmbedding(t, a, embedding);
  AddEagle3Layers(t, &spec.table, a, numbered, [&](const std::string& p, bool first) {
    const size_t begin = spec.table.rows.size();
    AddMla(t, p, a);
    for (size_t i = begin; first && i < spec.table.rows.size(); ++i) {
      ModuleRow& row = spec.table.rows[i];
      const bool down = row.name.ends_with(".q_a_proj") || row.name.ends_with(".q_proj") ||
                        row.name.ends_with(".kv_a_proj_with_mqa");
      if (down) row.shape.dims[1] = 2 * a.hidden;
    }
    AddGatedMlp(t, p + "mlp.", "mlp.", Role::kDenseMlp, Split::kColumn, Split::kRow, a.hidden,
                a.dense_intermediate);
    AddLayerNorms(t, p, a.hidden);
    t.Norm(p + "hidden_norm", "hidden_norm", a.hidden);
  });
  t.At(Placement::kLastStage);
  t.Linear("fc", "model.fc", Role::kDraft, Split::kReplicated, a.hidden,
           joined * a.draft.target_hidden);
  for (int64_t i = 0; fc_norm && i < joined; ++i) {
    const std::string norm = "fc_norm." + std::to_string(i);
    t.Norm(norm, "model." + norm, a.draft.target_hidden);
  }
  t.Norm("norm", "model.norm", a.hidden);
  AddDraftHead(t, a, a.draft.words);
  return spec;
}

}  // namespace shardplan::families
