#include "model/families/draft_parts.h"

#include <utility>

#include "model/families/deepseek_parts.h"
#include "shardplan/base/bytes.h"

namespace shardplan::families {
namespace {

// dflash_config wins over eagle_config, which wins over the top level
// (models/qwen3_dflash.py:DFlashQwen3Model, main of August 2026).
template <typename Read>
auto FromDraftConfig(ConfigReader& config, std::string_view key, Read read) {
  for (const char* section : {"dflash_config", "eagle_config"}) {
    ConfigReader inner = config.ObjectOr(section);
    if (!inner.Has(key)) continue;
    const auto value = read(inner, key);
    config.Adopt(inner);
    return value;
  }
  return read(config, key);
}

// The layers of the target whose hidden states the draft sees; as many as it has layers where no
// list says which.
int64_t ReadFeatures(ConfigReader& config, int64_t layers) {
  const auto length = [&](ConfigReader& reader, std::string_view key) {
    return reader.Has(key) ? static_cast<int64_t>(reader.IntList(key, -1, kMaxLayers).size()) : 0;
  };
  for (const char* key : {"eagle_aux_hidden_state_layer_ids", "target_layer_ids",
                          "dspark_target_layer_ids", "aux_hidden_state_layer_ids"}) {
    if (const int64_t found = FromDraftConfig(config, key, length); found > 0) return found;
  }
  return layers;
}

// Windows as models/qwen3_dflash.py:_resolve_layer_attention reads them: by layer, or `use_swa` for
// every layer.
void ReadWindows(ConfigReader& config, Architecture* a) {
  ConfigReader inner = config.ObjectOr("dflash_config");
  const bool all = inner.BoolOr("use_swa", false);
  const std::vector<std::string> types = config.StringListOr("layer_types", {});
  bool any = false;
  for (size_t i = 0; i < types.size() && i < a->attention.size(); ++i) {
    if (types[i] != "sliding_attention") continue;
    a->attention[i] = AttentionKind::kSliding;
    any = true;
  }
  if (config.ok() && !types.empty() && types.size() != a->attention.size()) {
    config.Contradiction("layer_types", "expected one entry a layer");
  }
  if (all && !any) a->attention.assign(a->attention.size(), AttentionKind::kSliding);
  if (!all && !any) return config.Adopt(inner);
  constexpr int64_t kMost = int64_t{1} << 32;
  a->window = inner.Has("swa_window_size") ? inner.Int("swa_window_size", 1, kMost)
                                           : config.Int("sliding_window", 1, kMost);
  config.Adopt(inner);
}

}  // namespace

int64_t ReadDraftLayers(ConfigReader& config, DraftAttention attention, Architecture* arch) {
  const int64_t layers = ReadDecoder(config, arch);
  if (attention == DraftAttention::kLatent) {
    ReadMla(config, layers, arch);
  } else {
    ReadGqa(config, layers, arch);
  }
  arch->tied_embeddings = false;
  arch->dense_intermediate = config.Dim("intermediate_size");
  return layers;
}

DraftWords WordsOf(ConfigReader& config, const Architecture& a, DraftWords usual) {
  if (a.draft.target_hidden != a.hidden) return DraftWords::kOwn;
  if (!config.Has("speculators_config")) return usual;
  const bool trained = config.BoolOr("embed_requires_grad", false);
  return trained ? DraftWords::kOwn : DraftWords::kFrozenCopy;
}

void AddDraftEmbedding(TableBuilder& t, const Architecture& a, DraftWords words) {
  ModuleRow& row = t.At(Placement::kLastStage)
                       .Tensor("embed_tokens.weight", "model.embed_tokens.weight", Role::kEmbedding,
                               Split::kVocabulary, Shape{a.vocabulary, a.hidden});
  row.optional = true;
  row.left_out = words == DraftWords::kLeftOut;
  row.frozen_copy = words == DraftWords::kFrozenCopy;
}

void AddDraftHead(TableBuilder& t, const Architecture& a, int64_t words, bool left_out) {
  const auto may_be_absent = [&](ModuleRow& row) {
    row.optional = true;
    row.left_out = left_out;
  };
  may_be_absent(t.At(Placement::kLastStage)
                    .Tensor("lm_head.weight", "lm_head.weight", Role::kHead, Split::kVocabulary,
                            Shape{words, a.hidden}));
  ModuleRow& d2t =
      t.Tensor("d2t", "draft_id_to_target_id", Role::kHead, Split::kReplicated, Shape{words});
  d2t.dtype = d2t.device_dtype = DType::kI64;
  may_be_absent(d2t);
  ModuleRow& t2d =
      t.At(Placement::kNotLoaded)
          .Tensor("t2d", "t2d", Role::kLeftover, Split::kReplicated, Shape{a.vocabulary});
  t2d.dtype = t2d.device_dtype = DType::kBool;
  may_be_absent(t2d);
}

int64_t ReadJoined(ConfigReader& config) {
  constexpr int64_t kDefault = 3;
  if (config.Has("num_aux_hidden_states")) return config.Int("num_aux_hidden_states", 1, 1024);
  ConfigReader eagle = config.ObjectOr("eagle_config");
  constexpr const char* kLayers = "eagle_aux_hidden_state_layer_ids";
  const int64_t named =
      eagle.Has(kLayers) ? static_cast<int64_t>(eagle.IntList(kLayers, -1, kMaxLayers).size()) : 0;
  config.Adopt(eagle);
  return named > 0 ? named : kDefault;
}

std::vector<int64_t> ReadTargetLayers(ConfigReader& config) {
  struct Place {
    const char* section;  // empty: the top level
    const char* key;
    int64_t shift;
  };
  constexpr Place kPlaces[] = {{"", "eagle_aux_hidden_state_layer_ids", 0},
                               {"dflash_config", "target_layer_ids", 1},
                               {"", "dspark_target_layer_ids", 1},
                               {"", "target_layer_ids", 1},
                               {"dflash_config", "layer_ids", 0},
                               {"eagle_config", "layer_ids", 0},
                               {"eagle_config", "eagle_aux_hidden_state_layer_ids", 0}};
  const auto read = [&](ConfigReader& from, const Place& place) {
    std::vector<int64_t> layers;
    if (from.Has(place.key)) layers = from.IntList(place.key, -1, kMaxLayers);
    for (int64_t& layer : layers) layer += place.shift;
    return layers;
  };
  for (const Place& place : kPlaces) {
    std::vector<int64_t> layers;
    if (*place.section == '\0') {
      layers = read(config, place);
    } else {
      ConfigReader inner = config.ObjectOr(place.section);
      layers = read(inner, place);
      config.Adopt(inner);
    }
    if (!layers.empty()) return layers;
  }
  return {};
}

void AddEagle3Layers(TableBuilder& t, TensorTable* table, const Architecture& a, bool numbered,
                     const std::function<void(const std::string& prefix, bool first)>& add) {
  if (a.layers() == 1 && !numbered) {
    t.At(Placement::kLastStage);
    const size_t begin = table->rows.size();
    add("midlayer.", true);
    // A name without a number stands outside the stack; its parameters are the layer's.
    for (size_t i = begin; i < table->rows.size(); ++i) {
      table->rows[i].param = "model.layers.0." + table->rows[i].param;
    }
    return;
  }
  t.In(LayerSet::Range(0, 1));
  add("layers.{L}.", true);
  if (a.layers() == 1) return;
  t.In(LayerSet::Range(1, a.layers()));
  add("layers.{L}.", false);
}

void ReadDraftShape(ConfigReader& config, int64_t joined, Architecture* a) {
  a->draft.words = config.DimOr("draft_vocab_size", a->vocabulary);
  a->draft.target_hidden = config.DimOr("target_hidden_size", a->hidden);
  a->draft.joined = joined;
  a->draft.target_layers = ReadTargetLayers(config);
}

BlockDraft ReadBlockDraft(ConfigReader& config, Architecture* a) {
  const int64_t layers = ReadDraftLayers(config, DraftAttention::kGrouped, a);
  BlockDraft draft;
  draft.bias = config.BoolOr("attention_bias", false);
  const auto flag = [](bool absent) {
    return [absent](ConfigReader& r, std::string_view key) { return r.BoolOr(key, absent); };
  };
  if (FromDraftConfig(config, "use_aux_hidden_state", flag(true))) {
    draft.features = ReadFeatures(config, layers);
  }
  ReadDraftShape(config, draft.features, a);
  draft.words = a->draft.words;
  draft.target_hidden = a->draft.target_hidden;
  draft.embedding = WordsOf(config, *a, DraftWords::kLeftOut);
  draft.sinks = FromDraftConfig(config, "attention_sink_bias",
                                flag(config.BoolOr("add_swa_attention_sink_bias", false)));
  ReadWindows(config, a);
  return draft;
}

void AddBlockDraft(TableBuilder& t, TensorTable* table, const Architecture& a,
                   const BlockDraft& draft) {
  table->layer_prefix = "model.layers.{L}.";
  AddDraftEmbedding(t, a, draft.embedding);
  // Created whether or not the file has a mask of its own.
  t.Tensor("mask_embedding", "model.mask_embedding", Role::kDraft, Split::kReplicated,
           Shape{a.hidden})
      .stored = false;
  const std::string p = "layers.{L}.";
  t.In(LayerSet::Range(0, a.layers()));
  GqaOptions attention;
  attention.qkv_bias = attention.o_bias = draft.bias;
  attention.q_norm = attention.k_norm = a.head_dim;
  if (draft.sinks) {
    const std::string sinks = "self_attn.attention_sink_bias";
    t.Tensor(p + sinks, sinks, Role::kAttention, Split::kColumn, Shape{a.heads});
  }
  AddGqa(t, p, a, attention);
  for (const char* x : {"fused_k_weight", "fused_v_weight"}) {
    t.Tensor(p + x, x, Role::kAttention, Split::kKvHeads, Shape{a.kv_heads * a.head_dim, a.hidden})
        .stored = false;
  }
  AddGatedMlp(t, p + "mlp.", "mlp.", Role::kDenseMlp, Split::kColumn, Split::kRow, a.hidden,
              a.dense_intermediate);
  AddLayerNorms(t, p, a.hidden);
  t.At(Placement::kLastStage);
  if (draft.features > 0) {
    t.Linear("fc", "model.fc", Role::kDraft, Split::kReplicated, a.hidden,
             draft.features * draft.target_hidden);
  }
  t.Norm("hidden_norm", "model.hidden_norm", a.hidden);
  t.Norm("norm", "model.norm", a.hidden);
}

MarkovHead ReadMarkovHead(ConfigReader& config, const Architecture& a, int64_t words) {
  MarkovHead head;
  head.rank = config.Dim("markov_rank");
  head.words = words;
  if (config.BoolOr("enable_confidence_head", false)) {
    const bool with_markov = config.BoolOr("confidence_head_with_markov", false);
    head.confidence_inputs = a.hidden + (with_markov ? head.rank : 0);
  }
  return head;
}

void AddMarkovHead(TableBuilder& t, const Architecture& a, const MarkovHead& head) {
  constexpr Role kRole = Role::kDraft;
  const std::string name = "markov_head.";
  t.At(Placement::kLastStage)
      .Tensor(name + "markov_w1.weight", "model." + name + "markov_w1.weight", kRole,
              Split::kReplicated, Shape{a.vocabulary, head.rank});
  // A head without tensor parallelism: its rows are padded as any head's.
  t.Tensor(name + "markov_w2.weight", "model." + name + "markov_w2.weight", kRole,
           Split::kReplicated, Shape{head.words, head.rank})
      .device_shape = Shape{RoundUp(head.words, 64), head.rank};
  if (head.confidence_inputs == 0) return;
  const std::string proj = "confidence_head.proj.";
  const auto in_fp32 = [&](const std::string& tensor, Shape shape) {
    ModuleRow& row = t.Tensor(proj + tensor, "model." + proj + tensor, kRole, Split::kReplicated,
                              std::move(shape));
    row.device_dtype = DType::kF32;
    row.optional = true;
  };
  in_fp32("weight", Shape{1, head.confidence_inputs});
  in_fp32("bias", Shape{1});
}

}  // namespace shardplan::families
