// Mistral-Small-3.1 and 3.2 and their kin: a Mistral decoder and a Pixtral tower.
//
// Names and total are the published checkpoint's (Mistral-Small-3.2: 24,011,361,280 elements);
// order is vLLM's (models/{mistral3,pixtral}.py, d29f7f5c).
#include "model/families/text_tower.h"
#include "model/families/vision_parts.h"

namespace shardplan::families {
namespace {

void AddTower(TableBuilder& t, ConfigReader& config, ConfigReader& vision, const Architecture& a) {
  const int64_t hidden = a.vision.hidden;
  const int64_t merge = config.IntOr("spatial_merge_size", 1, 64, 2);
  const bool bias = config.BoolOr("multimodal_projector_bias", false);
  t.At(Placement::kEveryStage);
  AddPixtral(t, vision, a.vision, "vision_tower.");
  TowerRows projector(t, "multi_modal_projector.");
  projector.As(Role::kProjector);
  projector.Norm("norm", hidden, false);
  projector.Linear("patch_merger.merging_layer", Split::kReplicated, hidden, merge * merge * hidden,
                   false);
  projector.Quantizable(true);
  projector.Linear("linear_1", Split::kVisionColumn, a.hidden, hidden, bias);
  projector.Linear("linear_2", Split::kVisionRow, a.hidden, a.hidden, bias);
}

}  // namespace

Result<ModelSpec> BuildMistral3(ConfigReader& config, const Assumptions&) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  ConfigReader text = TextConfig(config);
  ConfigReader vision = config.Object("vision_config");
  ReadSizes(config, text, {}, &a);
  const int64_t layers = text.Int("num_hidden_layers", 1, kMaxLayers);
  ReadGqa(text, layers, &a);
  ReadSlidingWindow(text, layers, &a);
  a.dense_intermediate = text.Dim("intermediate_size");
  a.vision = ReadVision(vision);
  const int64_t merge = config.IntOr("spatial_merge_size", 1, 64, 2);
  a.vision.patches_per_token = merge * merge;
  a.vision.gated_mlp = true;
  a.vision.heads_must_divide = true;  // models/pixtral.py:PixtralHFAttention
  if (config.IntOr("vision_feature_layer", -kMaxLayers, kMaxLayers, -1) != -1) {
    config.Contradiction("vision_feature_layer", "expected -1: the whole tower");
  }

  const TowerNames names = LanguageModelNames();
  spec.table.layer_prefix = names.layer_engine();
  spec.table.aliases = NewerTowerSpellings();
  const std::string p = names.layer_file();
  TableBuilder t(&spec.table, a.dtype);
  AddTower(t, config, vision, a);
  config.Adopt(text);
  config.Adopt(vision);
  if (!config.ok()) return tl::unexpected(config.error());

  AddEmbedding(t, a, names);
  t.In(LayerSet::Range(0, layers));
  AddGqa(t, p, a, {});
  AddGatedMlp(t, p + "mlp.", "mlp.", Role::kDenseMlp, Split::kColumn, Split::kRow, a.hidden,
              a.dense_intermediate);
  AddLayerNorms(t, p, a.hidden);
  AddHead(t, a, names);
  return spec;
}

}  // namespace shardplan::families
