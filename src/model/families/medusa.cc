// Medusa heads: one small residual block and one word table for each token ahead, no attention.
//
// Names are those that vLLM's class loads, the config's defaults and synonyms are its own too
// (models/medusa.py 01dbb081, transformers_utils/configs/medusa.py): blocks are whole on every
// rank, word tables divided by rows. Some checkpoints hold one table for all heads.
#include "model/families/draft_parts.h"

namespace shardplan::families {
namespace {

// Any key with "num" and "heads", or "layers", in it is the number of them.
int64_t ReadCount(ConfigReader& config, const char* what, int64_t most, int64_t absent) {
  int64_t out = absent;
  for (const auto& [key, value] : config.json().items()) {
    if (key.find("num") == std::string::npos || key.find(what) == std::string::npos) continue;
    out = config.Int(key, 1, most);
  }
  return out;
}

}  // namespace

Result<ModelSpec> BuildMedusa(ConfigReader& config, const Assumptions&) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  a.name = "MedusaModel";
  a.dtype = ModelDType(config);
  a.hidden = config.DimOr("hidden_size", 4096);
  a.vocabulary = config.DimOr("vocab_size", 32001);
  a.max_positions = int64_t{1} << 20;
  const int64_t heads = ReadCount(config, "heads", 1024, 5);
  const int64_t layers = ReadCount(config, "layers", 1024, 1);
  const int64_t words = config.DimOr("truncated_vocab_size", a.vocabulary);
  const bool bias = config.BoolOr("medusa_fc_bias", false);
  const bool one_table = config.BoolOr("original_lm_head", false);
  a.draft.target_hidden = a.hidden;
  // Old heads don't say how many: vLLM takes the target's.
  a.draft.words = config.Has("vocab_size") || words != a.vocabulary ? words : 0;
  if (!config.ok()) return tl::unexpected(config.error());
  a.mtp_layers = heads;
  a.attention = {AttentionKind::kNone};

  spec.table.layer_prefix = "layers.{L}.";
  TableBuilder t(&spec.table, a.dtype);
  t.At(Placement::kLastStage);
  for (int64_t i = 0; i < layers; ++i) {
    const std::string name = "blocks.{B}.layers." + std::to_string(i);
    ModuleRow& row = t.Linear(name, name, Role::kDraft, Split::kReplicated, a.hidden, a.hidden);
    row.blocks = heads;
    row.bias = bias;
    row.quantizable = false;
  }
  const std::string table = one_table ? "lm_head.weight" : "lm_heads.{B}.weight";
  t.Tensor(table, table, Role::kHead, Split::kVocabulary, Shape{words, a.hidden}).blocks =
      one_table ? 0 : heads;
  return spec;
}

}  // namespace shardplan::families
