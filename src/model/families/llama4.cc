// Llama-4 (Scout, Maverick): attention inside chunks with a full layer every few, dense layers and
// mixtures in turn, one shared expert, a vision tower.
//
// The files stack the experts of a layer in one tensor, transposed; quantized ones store each by
// itself. Totals are the published checkpoint's (Scout: 108,641,793,536 elements); order is vLLM's
// (models/{llama4,mllama4}.py, d29f7f5c).
#include "model/families/text_tower.h"
#include "model/families/vision_parts.h"

namespace shardplan::families {
namespace {

// Which layers see everything: no_rope_layers says zero for them; by default every fourth.
void ReadAttention(ConfigReader& text, int64_t layers, Architecture* a) {
  a->window = text.IntOr("attention_chunk_size", 1, int64_t{1} << 32, 0);
  const int64_t interval = text.IntOr("no_rope_layer_interval", 1, kMaxLayers, 4);
  std::vector<int64_t> rope;
  if (text.Has("no_rope_layers")) rope = text.IntList("no_rope_layers", 0, 1);
  if (!rope.empty() && static_cast<int64_t>(rope.size()) != layers) {
    text.Contradiction("no_rope_layers", "expected one entry a layer");
    return;
  }
  for (int64_t i = 0; i < layers; ++i) {
    const bool rotates = rope.empty() ? (i + 1) % interval != 0 : rope[static_cast<size_t>(i)] != 0;
    if (rotates && a->window > 0) a->attention[static_cast<size_t>(i)] = AttentionKind::kChunked;
  }
}

void AddMoe(TableBuilder& t, const std::string& p, const Architecture& a, bool stacked) {
  const std::string ff = "feed_forward.";
  t.Linear(p + ff + "router", ff + "router", Role::kRouter, Split::kReplicated, a.moe.experts,
           a.hidden)
      .quantizable = false;
  AddGatedMlp(t, p + ff + "shared_expert.", ff + "shared_expert.", Role::kSharedExpert,
              Split::kSharedColumn, Split::kSharedRow, a.hidden, a.moe.shared_intermediate);
  const std::string experts = ff + "experts.routed_experts";
  if (!stacked) {
    AddExperts(t, p + ff + "experts.", experts, a);
    return;
  }
  const auto stack = [&](const char* name, Split split, int64_t out, int64_t in) {
    ModuleRow& row =
        t.Linear(p + ff + "experts." + name, experts, Role::kRoutedExpert, split, out, in);
    row.form = Form::kStacked;
    row.transposed = true;
    row.experts = a.moe.experts;
  };
  stack("gate_up_proj", Split::kExpertGate, 2 * a.moe.intermediate, a.hidden);
  stack("down_proj", Split::kExpertDown, a.hidden, a.moe.intermediate);
}

}  // namespace

Result<ModelSpec> BuildLlama4(ConfigReader& config, const Assumptions& assumptions) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  ConfigReader text = TextConfig(config);
  ReadSizes(config, text, {}, &a);
  const int64_t layers = text.Int("num_hidden_layers", 1, kMaxLayers);
  ReadGqa(text, layers, &a);
  ReadAttention(text, layers, &a);
  a.dense_intermediate = text.Dim("intermediate_size_mlp");
  ReadExperts(text, "num_local_experts", "intermediate_size", layers, &a);
  a.moe.shared_experts = 1;
  a.moe.shared_intermediate = a.moe.intermediate;
  const int64_t step = text.IntOr("interleave_moe_layer_step", 0, kMaxLayers, 1);
  for (int64_t i = 0; i < layers; ++i) {
    a.moe.layer_is_moe.push_back(step > 0 && (i + 1) % step == 0);
  }
  if (text.BoolOr("attention_bias", false)) {
    text.Contradiction("attention_bias", "expected false: no bias is modelled");
  }
  const bool tower = config.Has("vision_config");
  ConfigReader vision = config.ObjectOr("vision_config");
  if (tower) a.vision = ReadVision(vision);
  // Four patches to a token, folded by the pixel shuffle.
  const double ratio = vision.NumberOr("pixel_shuffle_ratio", 0.01, 1, 0.5);
  a.vision.patches_per_token = static_cast<int64_t>(1 / (ratio * ratio) + 0.5);
  const bool quantized = config.Has("quantization_config");

  const bool nested = config.Has("text_config");
  const TowerNames names = nested ? LanguageModelNames() : TowerNames{};
  spec.table.layer_prefix = names.layer_engine();
  const std::string p = names.layer_file();
  TableBuilder t(&spec.table, a.dtype);
  if (tower) {
    t.At(Placement::kEveryStage);
    AddLlama4Vision(t, vision, a.vision, "vision_model.");
    TowerRows(t, "multi_modal_projector.")
        .As(Role::kProjector)
        .Linear("linear_1", Split::kVisionColumn, a.hidden, vision.Dim("vision_output_dim"), false);
  }
  config.Adopt(text);
  config.Adopt(vision);
  if (!config.ok()) return tl::unexpected(config.error());
  WarnOfAbsentTower(config, &spec);

  AddEmbedding(t, a, names);
  t.In(LayerSet::Range(0, layers));
  AddGqa(t, p, a, {});
  InLayers(t, MoeLayers(a, false), [&] {
    AddGatedMlp(t, p + "feed_forward.", "feed_forward.", Role::kDenseMlp, Split::kColumn,
                Split::kRow, a.hidden, a.dense_intermediate);
  });
  InLayers(t, MoeLayers(a, true),
           [&] { AddMoe(t, p, a, assumptions.stacked_experts.value_or(!quantized)); });
  t.In(LayerSet::Range(0, layers));
  AddLayerNorms(t, p, a.hidden);
  AddHead(t, a, names);
  return spec;
}

}  // namespace shardplan::families
