// EAGLE heads of Llama's shape, the first kind: a layer, or a few, that see embedding and last
// hidden state through one projection.
//
// Names are the published heads' (yuhuili/EAGLE-LLaMA3-Instruct-8B); what the engine makes of them
// is vLLM's (models/llama_eagle.py): no norm before the first layer, none after the last, and no
// head but the target's. The embedding that the files store is a frozen copy of the target's.
#include "model/families/draft_parts.h"

namespace shardplan::families {

Result<ModelSpec> BuildEagle(ConfigReader& config, const Assumptions&) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const int64_t layers = ReadDraftLayers(config, DraftAttention::kGrouped, &a);
  GqaOptions attention;
  attention.qkv_bias = attention.o_bias = config.BoolOr("attention_bias", false);
  const bool mlp_bias = config.BoolOr("mlp_bias", false);
  const bool normed = config.BoolOr("add_para_norm", false);  // of HASS
  const bool fc_bias = config.BoolOr("bias", false);
  a.draft.target_hidden = a.hidden;  // both go into `fc`, side by side
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "model.layers.{L}.";
  TableBuilder t(&spec.table, a.dtype);
  AddDraftEmbedding(t, a, DraftWords::kFrozenCopy);
  const std::string p = "layers.{L}.";
  t.In(LayerSet::Range(0, layers));
  AddGqa(t, p, a, attention);
  AddGatedMlp(t, p + "mlp.", "mlp.", Role::kDenseMlp, Split::kColumn, Split::kRow, a.hidden,
              a.dense_intermediate, mlp_bias);
  if (layers > 1) {
    t.In(LayerSet::Range(1, layers)).Norm(p + "input_layernorm", "input_layernorm", a.hidden);
  }
  t.In(LayerSet::Range(0, layers))
      .Norm(p + "post_attention_layernorm", "post_attention_layernorm", a.hidden);
  t.At(Placement::kLastStage);
  t.Linear("fc", "model.fc", Role::kDraft, Split::kReplicated, a.hidden, 2 * a.hidden).bias =
      fc_bias;
  if (normed) {
    for (const char* norm : {"embedding_layernorm", "hidden_states_layernorm"}) {
      t.Norm(norm, std::string("model.") + norm, a.hidden);
    }
  }
  return spec;
}

}  // namespace shardplan::families
