// Qwen3-VL, dense and mixed: the decoders of Qwen3 behind a vision tower whose intermediate blocks
// feed the first decoder layers (deepstack).
//
// Names, order and placement are vLLM's (models/{qwen3_vl,qwen3_vl_moe}.py, d29f7f5c); published
// checkpoints stack the experts of a layer, input dimension first.
#include "model/families/qwen3_parts.h"
#include "model/families/qwen_vision.h"

namespace shardplan::families {

Result<ModelSpec> BuildQwen3Vl(ConfigReader& config, const Assumptions& assumptions) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  ConfigReader text = config.Object("text_config");
  ConfigReader vision = config.Object("vision_config");
  ReadSizes(config, text, {}, &a);
  const int64_t layers = text.Int("num_hidden_layers", 1, kMaxLayers);
  ReadGqa(text, layers, &a);
  const bool moe = a.name == "Qwen3VLMoeForConditionalGeneration";
  if (moe) {
    ReadExperts(text, "num_experts", "moe_intermediate_size", layers, &a);
    ReadSparseStep(text, layers, &a);
  } else {
    a.dense_intermediate = text.Dim("intermediate_size");
  }
  GqaOptions attention;
  attention.q_norm = attention.k_norm = a.head_dim;
  attention.qkv_bias = text.BoolOr("attention_bias", false);
  const QwenVision vision_shape = ReadQwenVision(vision, &a);
  config.Adopt(text);
  config.Adopt(vision);
  if (!config.ok()) return tl::unexpected(config.error());

  const TowerNames names = QwenTowerNames();
  spec.table.fp8_scale_dtype = DType::kBF16;
  spec.table.layer_prefix = names.layer_engine();
  TableBuilder t(&spec.table, a.dtype);
  AddQwenVision(t, vision_shape, a);
  // The mixtures build embedding, norm and head on every pipeline stage, as Qwen3-MoE does.
  AddEmbedding(t, a, names, moe ? Placement::kEveryStage : Placement::kFirstStage);
  AddQwen3Layers(t, names.layer_file(), a, attention,
                 ExpertFormOf(assumptions, ExpertForm::kStackedTransposed));
  AddHead(t, a, names, moe ? Placement::kEveryStage : Placement::kLastStage);
  return spec;
}

}  // namespace shardplan::families
