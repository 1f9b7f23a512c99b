// Parts of decoders that stand below a prefix, share a config with a tower, or store projections
// fused.
#ifndef SHARDPLAN_MODEL_FAMILIES_TEXT_TOWER_H_
#define SHARDPLAN_MODEL_FAMILIES_TEXT_TOWER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "model/families/decoder_parts.h"

namespace shardplan::families {

// Where a decoder stands, in the file and in the engine; all end in a dot.
struct TowerNames {
  std::string file = "model.";
  std::string engine = "model.";
  std::string file_head;  // before "lm_head"
  std::string engine_head;

  std::string layer_file() const { return file + "layers.{L}."; }
  std::string layer_engine() const { return engine + "layers.{L}."; }
};

// "language_model." before everything, in the file as in the engine.
TowerNames LanguageModelNames();
// The spellings that transformers writes since v4.52, as `names` of LanguageModelNames.
std::vector<NameAlias> NewerTowerSpellings();

// text_config where there is one, else the config itself; `config` has to adopt it.
ConfigReader TextConfig(ConfigReader& config);

// What the config class fills in where a config leaves it out; 0: nothing.
struct SizeDefaults {
  int64_t vocabulary = 0;
  int64_t positions = 0;
  bool tied = false;
};

// Name, dtype, hidden size, vocabulary, positions and tied embeddings: from `text`, with the name,
// and what it lacks of dtype and tying, from `config`.
void ReadSizes(ConfigReader& config, ConfigReader& text, const SizeDefaults& defaults,
               Architecture* arch);

// kSliding and kFull layers from layer_types, and the window; false where there is no such list.
bool ReadLayerTypes(ConfigReader& config, int64_t layers, Architecture* arch);

// As ReadLayerTypes; without the list, a sliding_window that is set holds for every layer, which is
// what vLLM makes of it (config/model.py:get_sliding_window, d29f7f5c).
void ReadSlidingWindow(ConfigReader& config, int64_t layers, Architecture* arch);

// A multimodal class without a vision_config: planned without its tower, which is worth a warning.
void WarnOfAbsentTower(const ConfigReader& config, ModelSpec* spec);

// The layers of [0, layers) that `belongs` accepts.
LayerSet LayersWhere(int64_t layers, const std::function<bool(int64_t)>& belongs);
LayerSet LayersOfKind(const Architecture& arch, AttentionKind kind);
// The mixtures, or all the others.
LayerSet MoeLayers(const Architecture& arch, bool moe);

// `add`'s rows, in `layers`; none where there are no such layers.
template <typename Add>
void InLayers(TableBuilder& t, LayerSet layers, Add add) {
  if (layers.empty()) return;
  t.In(std::move(layers));
  add();
}

void AddEmbedding(TableBuilder& t, const Architecture& arch, const TowerNames& names,
                  Placement placement = Placement::kFirstStage);
void AddHead(TableBuilder& t, const Architecture& arch, const TowerNames& names,
             Placement placement = Placement::kLastStage);

// One stored projection of q, k and v, sliced part by part.
ModuleRow& AddFusedQkv(TableBuilder& t, const std::string& name, const std::string& param,
                       const Architecture& arch);

// Gate and up, or any two halves that the engine slices alike, in one stored projection.
ModuleRow& AddFusedHalves(TableBuilder& t, const std::string& name, const std::string& param,
                          Role role, int64_t hidden, int64_t half);

}  // namespace shardplan::families

#endif  // SHARDPLAN_MODEL_FAMILIES_TEXT_TOWER_H_
