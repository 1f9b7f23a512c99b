#include "model/families/text_tower.h"

#include <utility>

namespace shardplan::families {

TowerNames LanguageModelNames() {
  const std::string model = "language_model.model.";
  return {model, model, "language_model.", "language_model."};
}

std::vector<NameAlias> NewerTowerSpellings() {
  // vLLM's own mapping (models/{gemma3_mm,mistral3}.py:hf_to_vllm_mapper, d29f7f5c).
  return {{"model.language_model.", "language_model.model."},
          {"model.vision_tower.", "vision_tower."},
          {"model.multi_modal_projector.", "multi_modal_projector."},
          {"lm_head.", "language_model.lm_head."}};
}

ConfigReader TextConfig(ConfigReader& config) {
  if (config.Has("text_config")) return config.Object("text_config");
  return ConfigReader(config.json(), config.subject());
}

void ReadSizes(ConfigReader& config, ConfigReader& text, const SizeDefaults& defaults,
               Architecture* a) {
  a->name = ArchitectureName(config);
  a->dtype = ModelDType(text.Has("dtype") || text.Has("torch_dtype") ? text : config);
  a->trust_remote_code = config.Has("auto_map");
  a->hidden = text.Dim("hidden_size");
  a->vocabulary = defaults.vocabulary > 0 ? text.DimOr("vocab_size", defaults.vocabulary)
                                          : text.Dim("vocab_size");
  constexpr std::string_view kPositions = "max_position_embeddings";
  constexpr int64_t kMost = int64_t{1} << 32;
  a->max_positions = defaults.positions > 0 ? text.IntOr(kPositions, 1, kMost, defaults.positions)
                                            : text.Int(kPositions, 1, kMost);
  constexpr std::string_view kTied = "tie_word_embeddings";
  a->tied_embeddings = text.BoolOr(kTied, config.BoolOr(kTied, defaults.tied));
}

bool ReadLayerTypes(ConfigReader& config, int64_t layers, Architecture* a) {
  constexpr std::string_view kKey = "layer_types";
  if (!config.Has(kKey)) return false;
  const std::vector<std::string> types = config.StringListOr(kKey, {});
  if (!config.ok()) return true;
  if (static_cast<int64_t>(types.size()) != layers) {
    config.Contradiction(kKey, "expected one entry a layer");
    return true;
  }
  a->attention.clear();
  for (const std::string& type : types) {
    const bool sliding = type == "sliding_attention";
    if (!sliding && type != "full_attention") {
      config.Contradiction(kKey, "expected full_attention and sliding_attention");
      return true;
    }
    a->attention.push_back(sliding ? AttentionKind::kSliding : AttentionKind::kFull);
  }
  if (a->has_kind(AttentionKind::kSliding)) {
    a->window = config.Int("sliding_window", 1, int64_t{1} << 32);
  }
  return true;
}

void ReadSlidingWindow(ConfigReader& config, int64_t layers, Architecture* a) {
  if (ReadLayerTypes(config, layers, a) || !config.Has("sliding_window")) return;
  a->window = config.Int("sliding_window", 1, int64_t{1} << 32);
  a->attention.assign(static_cast<size_t>(layers), AttentionKind::kSliding);
}

void WarnOfAbsentTower(const ConfigReader& config, ModelSpec* spec) {
  if (config.Has("vision_config") || !spec->arch.name.ends_with("ForConditionalGeneration")) return;
  spec->findings.push_back({"model.tower_absent", Severity::kWarning, "vision_config",
                            "the class has a vision tower and the config says nothing of it: "
                            "planned without one",
                            "plan with the publisher's whole config.json"});
}

LayerSet LayersWhere(int64_t layers, const std::function<bool(int64_t)>& belongs) {
  std::vector<int64_t> members;
  for (int64_t layer = 0; layer < layers; ++layer) {
    if (belongs(layer)) members.push_back(layer);
  }
  return LayerSet(std::move(members));
}

LayerSet LayersOfKind(const Architecture& a, AttentionKind kind) {
  return LayersWhere(
      a.layers(), [&](int64_t layer) { return a.attention[static_cast<size_t>(layer)] == kind; });
}

LayerSet MoeLayers(const Architecture& a, bool moe) {
  return LayersWhere(a.layers(), [&](int64_t layer) { return a.is_moe(layer) == moe; });
}

void AddEmbedding(TableBuilder& t, const Architecture& a, const TowerNames& names,
                  Placement placement) {
  const std::string embed = "embed_tokens.weight";
  t.At(placement).Tensor(names.file + embed, names.engine + embed, Role::kEmbedding,
                         Split::kVocabulary, Shape{a.vocabulary, a.hidden});
}

void AddHead(TableBuilder& t, const Architecture& a, const TowerNames& names, Placement placement) {
  t.At(placement).Norm(names.file + "norm", names.engine + "norm", a.hidden);
  if (a.tied_embeddings) return;
  const std::string head = "lm_head.weight";
  t.Tensor(names.file_head + head, names.engine_head + head, Role::kHead, Split::kVocabulary,
           Shape{a.vocabulary, a.hidden});
}

ModuleRow& AddFusedQkv(TableBuilder& t, const std::string& name, const std::string& param,
                       const Architecture& a) {
  const int64_t q = a.heads * a.head_dim;
  const int64_t k = a.kv_heads * a.head_dim;
  const int64_t v = a.kv_heads * a.v_head_dim;
  ModuleRow& row = t.Linear(name, param, Role::kAttention, Split::kColumn, q + k + v, a.hidden);
  row.parts = {{Split::kColumn, q}, {Split::kKvHeads, k}, {Split::kKvHeads, v}};
  return row;
}

ModuleRow& AddFusedHalves(TableBuilder& t, const std::string& name, const std::string& param,
                          Role role, int64_t hidden, int64_t half) {
  ModuleRow& row = t.Linear(name, param, role, Split::kColumn, 2 * half, hidden);
  row.parts = {{Split::kColumn, half}, {Split::kColumn, half}};
  return row;
}

}  // namespace shardplan::families
