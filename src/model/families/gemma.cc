// Gemma-2 and Gemma-3: windows and full layers in turn, four norms a layer, tied embeddings; in
// Gemma-3 norms on queries and keys and a SigLIP tower.
//
// Names and totals are the published checkpoints' (Gemma-2-9B: 9,241,705,984 elements, 27B:
// 27,227,128,320, Gemma-3-27B with its tower: 27,432,406,640); order is vLLM's
// (models/{gemma2,gemma3,gemma3_mm}.py, d29f7f5c).
#include "model/families/text_tower.h"
#include "model/families/vision_parts.h"

namespace shardplan::families {
namespace {

// What Gemma3TextConfig fills in (transformers): configs of the smaller models leave much out.
struct HeadDefaults {
  int64_t heads, kv_heads, head_dim;
};

void ReadHeads(ConfigReader& text, const HeadDefaults& defaults, Architecture* a) {
  a->heads = text.DimOr("num_attention_heads", defaults.heads);
  a->kv_heads = text.DimOr("num_key_value_heads", defaults.kv_heads);
  a->head_dim = a->v_head_dim = text.DimOr("head_dim", defaults.head_dim);
  if (text.ok() && a->heads % a->kv_heads != 0) {
    text.Contradiction("num_key_value_heads", "does not divide num_attention_heads");
  }
}

// Every `period`-th layer is full, or in Gemma-2 every other, beginning with a window.
void ReadWindows(ConfigReader& text, int64_t layers, bool gemma2, Architecture* a) {
  a->attention.assign(static_cast<size_t>(layers), AttentionKind::kFull);
  if (ReadLayerTypes(text, layers, a)) return;
  a->window = text.IntOr("sliding_window", 1, int64_t{1} << 32, 4096);
  const char* key =
      text.Has("_sliding_window_pattern") ? "_sliding_window_pattern" : "sliding_window_pattern";
  const int64_t period = gemma2 ? 2 : text.IntOr(key, 1, kMaxLayers, 6);
  for (int64_t i = 0; i < layers; ++i) {
    if ((i + 1) % period != 0) a->attention[static_cast<size_t>(i)] = AttentionKind::kSliding;
  }
}

void AddTower(TableBuilder& t, ConfigReader& vision, const Architecture& a) {
  t.At(Placement::kEveryStage);
  AddSiglip(t, vision, a.vision, "vision_tower.vision_model.");
  TowerRows projector(t, "multi_modal_projector.");
  projector.As(Role::kProjector);
  projector.Tensor("mm_input_projection_weight", Split::kReplicated,
                   Shape{a.vision.hidden, a.hidden});
  projector.Norm("mm_soft_emb_norm", a.vision.hidden, false);
}

}  // namespace

Result<ModelSpec> BuildGemma(ConfigReader& config, const Assumptions&) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  ConfigReader text = TextConfig(config);
  const bool gemma2 = ArchitectureName(config) == "Gemma2ForCausalLM";
  ReadSizes(config, text,
            gemma2 ? SizeDefaults{256000, 8192, true} : SizeDefaults{262208, 131072, true}, &a);
  const int64_t layers = text.Int("num_hidden_layers", 1, kMaxLayers);
  ReadHeads(text, {8, 4, 256}, &a);
  ReadWindows(text, layers, gemma2, &a);
  a.dense_intermediate = text.Dim("intermediate_size");
  a.rotary = {a.head_dim, a.max_positions, false};
  if (!gemma2) a.rotary.other_dim = a.head_dim;  // local layers have a base of their own
  const bool bias = text.BoolOr("attention_bias", false);
  if (!a.tied_embeddings) text.Contradiction("tie_word_embeddings", "expected true");
  const bool tower = config.Has("vision_config");
  ConfigReader vision = config.ObjectOr("vision_config");
  if (tower) {
    a.vision = ReadVision(vision);
    if (vision.BoolOr("vision_use_head", false)) {
      vision.Contradiction("vision_use_head", "expected false: no pooling head is modelled");
    }
    // Average pooling leaves mm_tokens_per_image tokens of an image.
    const int64_t patch = vision.Dim("patch_size");
    const int64_t side = vision.ok() ? vision.Dim("image_size") / patch : 0;
    const int64_t tokens = config.IntOr("mm_tokens_per_image", 1, 1 << 20, 256);
    a.vision.patches_per_token = std::max<int64_t>(side * side / tokens, 1);
    a.vision.item_tokens = tokens;
    a.vision.heads_must_divide = true;  // models/siglip.py: divide(num_heads, tp_size)
  }

  const TowerNames names = config.Has("text_config") ? LanguageModelNames() : TowerNames{};
  if (config.Has("text_config")) spec.table.aliases = NewerTowerSpellings();
  spec.table.layer_prefix = names.layer_engine();
  const std::string p = names.layer_file();
  TableBuilder t(&spec.table, a.dtype);
  if (tower) AddTower(t, vision, a);
  config.Adopt(text);
  config.Adopt(vision);
  if (!config.ok()) return tl::unexpected(config.error());
  WarnOfAbsentTower(config, &spec);

  // Embedding and final norm are built on every pipeline stage.
  AddEmbedding(t, a, names, Placement::kEveryStage);
  t.In(LayerSet::Range(0, layers));
  GqaOptions attention;
  attention.qkv_bias = attention.o_bias = bias;
  if (!gemma2) attention.q_norm = attention.k_norm = a.head_dim;
  AddGqa(t, p, a, attention);
  AddGatedMlp(t, p + "mlp.", "mlp.", Role::kDenseMlp, Split::kColumn, Split::kRow, a.hidden,
              a.dense_intermediate);
  AddLayerNorms(t, p, a.hidden);
  for (const char* norm : {"pre_feedforward_layernorm", "post_feedforward_layernorm"}) {
    t.Norm(p + norm, norm, a.hidden);
  }
  AddHead(t, a, names, Placement::kEveryStage);
  return spec;
}

}  // namespace shardplan::families
