// Qwen3.5 and its successors of the same classes (3.6, 3.8): the layers of Qwen3-Next, dense or
// mixed, behind the vision tower of Qwen3-VL; a text tower alone under the same class, too.
//
// Names and totals are the published checkpoints' (Qwen3.5-35B-A3B: 1,811 tensors; 3.6-35B-A3B:
// 1,045; 3.8-27B: 1,199; a pruned 25B export: 22,213, each expert by itself); order and placement
// are vLLM's (models/qwen3_5.py, d29f7f5c).
#include "model/families/qwen_hybrid.h"
#include "model/families/qwen_vision.h"

namespace shardplan::families {

Result<ModelSpec> BuildQwen35(ConfigReader& config, const Assumptions& assumptions) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const std::string name = ArchitectureName(config);
  const bool text_class = name.ends_with("ForCausalLM");
  // The text model of a multimodal class, saved by itself: its experts one by one, and no layers
  // for multi-token prediction, whatever the config announces (a published total).
  const bool saved_text = !text_class && !config.Has("text_config") &&
                          config.StringOr("model_type", "").ends_with("_text");
  ConfigReader text = TextConfig(config);
  ReadSizes(config, text, {}, &a);
  const int64_t layers = text.Int("num_hidden_layers", 1, kMaxLayers);
  ReadHybridAttention(text, layers, &a);
  if (name.starts_with("Qwen3_5Moe")) {
    ReadHybridExperts(text, layers, &a);
    if (text.Has("mlp_only_layers") && !text.IntList("mlp_only_layers", 0, layers).empty()) {
      text.Contradiction("mlp_only_layers", "expected none: every layer is a mixture");
    }
  } else {
    a.dense_intermediate = text.Dim("intermediate_size");
  }
  a.mtp_layers = text.IntOr("mtp_num_hidden_layers", 0, 64, 0);
  config.Adopt(text);
  QwenVision vision_shape;
  if (config.ok() && !text_class && config.Has("vision_config")) {
    ConfigReader vision = config.Object("vision_config");
    vision_shape = ReadQwenVision(vision, &a);
    config.Adopt(vision);
  }
  if (!config.ok()) return tl::unexpected(config.error());

  if (config.Has("text_config")) WarnOfAbsentTower(config, &spec);
  const TowerNames names = text_class ? TowerNames() : QwenTowerNames();
  spec.table.fp8_scale_dtype = DType::kBF16;
  spec.table.layer_prefix = names.layer_engine();
  TableBuilder t(&spec.table, a.dtype);
  HybridForm form;
  form.projections = DeltaProjections::kSeparate;
  form.experts = form.draft_experts = ExpertFormOf(assumptions, ExpertForm::kStacked);
  if (saved_text && !assumptions.stacked_experts) {
    form.experts = form.draft_experts = ExpertForm::kEach;
  }
  // Qwen3.5 stacks the experts of its layers and not those of its draft layer; 3.6 stacks both.
  if (assumptions.stacked_draft_experts) {
    form.draft_experts =
        *assumptions.stacked_draft_experts ? ExpertForm::kStacked : ExpertForm::kEach;
  }
  if (a.vision.present) AddQwenVision(t, vision_shape, a);
  // The embedding is built on every pipeline stage.
  AddEmbedding(t, a, names, Placement::kEveryStage);
  AddHybridLayers(t, names.layer_file(), a, form);
  AddHead(t, a, names);
  if (assumptions.mtp.value_or(!saved_text)) AddHybridDraft(t, &spec.table, a, form, a.mtp_layers);
  return spec;
}

}  // namespace shardplan::families
