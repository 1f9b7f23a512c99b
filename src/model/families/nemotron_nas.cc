// Llama-Nemotron Super and Ultra: Llama after a search that took attention or MLPs out of some
// layers and gave the MLPs widths of their own.
//
// Names are Llama's, less what a layer lacks; widths and order are vLLM's
// (models/nemotron_nas.py, d29f7f5c).
#include <map>
#include <nlohmann/json.hpp>

#include "model/families/text_tower.h"

namespace shardplan::families {
namespace {

// Width of an MLP from its multiplier: two thirds of it, rounded up to 256
// (models/nemotron_nas.py:_ffn_mult_to_intermediate_size, d29f7f5c).
int64_t WidthOf(double multiplier, int64_t hidden) {
  const auto width = static_cast<int64_t>(2 * multiplier * static_cast<double>(hidden) / 3);
  return CeilDiv(width, 256) * 256;
}

struct Blocks {
  std::vector<bool> attends;
  std::vector<int64_t> widths;  // 0: no MLP
};

void RefuseLinear(ConfigReader& part) {
  if (part.BoolOr("replace_with_linear", false)) {
    part.Contradiction("replace_with_linear", "expected false: vLLM has no such layers");
  }
}

// block_configs, one entry a layer; sets the KV heads, which are the same in all.
Blocks ReadBlocks(ConfigReader& config, Architecture* a) {
  Blocks blocks;
  constexpr const char* kKey = "block_configs";
  const auto list = config.json().find(kKey);
  if (list == config.json().end() || !list->is_array()) {
    config.Contradiction(kKey, "expected a list with one entry a layer");
    return blocks;
  }
  for (size_t i = 0; i < list->size() && config.ok(); ++i) {
    const std::string path = std::string(kKey) + "[" + std::to_string(i) + "].";
    if (!(*list)[i].is_object()) {
      config.Contradiction(kKey, "expected a list of objects");
      break;
    }
    ConfigReader block((*list)[i], config.subject(), path);
    ConfigReader attention = block.Object("attention");
    ConfigReader ffn = block.Object("ffn");
    const bool attends = !attention.BoolOr("no_op", false);
    blocks.attends.push_back(attends);
    if (attends) {
      const int64_t group = attention.Int("n_heads_in_group", 1, 1 << 16);
      const int64_t kv_heads = a->heads / group;
      if (a->kv_heads != 0 && a->kv_heads != kv_heads) {
        attention.Contradiction("n_heads_in_group", "expected the same in every layer");
      }
      a->kv_heads = kv_heads;
    }
    const bool has_mlp = !ffn.BoolOr("no_op", false);
    const double multiplier = has_mlp ? ffn.NumberOr("ffn_mult", 0, 1 << 10, 0) : 0;
    int64_t width = 0;
    if (has_mlp) {
      width = multiplier > 0 ? WidthOf(multiplier, a->hidden) : ffn.Dim("intermediate_size");
    }
    blocks.widths.push_back(width);
    RefuseLinear(attention);
    RefuseLinear(ffn);
    for (const ConfigReader* part : {&block, &attention, &ffn}) config.Adopt(*part);
  }
  return blocks;
}

}  // namespace

Result<ModelSpec> BuildNemotronNas(ConfigReader& config, const Assumptions&) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const int64_t layers = ReadDecoder(config, &a);
  a.heads = config.Dim("num_attention_heads");
  const Blocks blocks = ReadBlocks(config, &a);
  if (config.ok() && static_cast<int64_t>(blocks.widths.size()) != layers) {
    config.Contradiction("block_configs", "expected one entry a layer");
  }
  if (config.ok() && (a.kv_heads == 0 || a.heads % a.kv_heads != 0)) {
    config.Contradiction("block_configs", "expected n_heads_in_group to divide the heads");
  }
  if (!config.Has("head_dim") && config.ok() && a.hidden % a.heads != 0) {
    config.Contradiction("num_attention_heads", "does not divide hidden_size");
  }
  a.head_dim = a.v_head_dim = config.DimOr("head_dim", config.ok() ? a.hidden / a.heads : 1);
  a.rotary = ReadRotary(config, a.head_dim, a.max_positions);
  const bool bias = config.BoolOr("attention_bias", false);
  const bool mlp_bias = config.BoolOr("mlp_bias", false);
  if (!config.ok()) return tl::unexpected(config.error());
  std::map<int64_t, std::vector<int64_t>> by_width;
  for (int64_t i = 0; i < layers; ++i) {
    const auto at = static_cast<size_t>(i);
    a.attention.push_back(blocks.attends[at] ? AttentionKind::kFull : AttentionKind::kNone);
    by_width[blocks.widths[at]].push_back(i);
    a.dense_intermediate = std::max(a.dense_intermediate, blocks.widths[at]);
  }

  spec.table.layer_prefix = "model.layers.{L}.";
  const std::string p = spec.table.layer_prefix;
  TableBuilder t(&spec.table, a.dtype);
  AddEmbedding(t, a);
  InLayers(t, LayersOfKind(a, AttentionKind::kFull), [&] {
    GqaOptions attention;
    attention.qkv_bias = attention.o_bias = bias;
    AddGqa(t, p, a, attention);
    t.Norm(p + "input_layernorm", "input_layernorm", a.hidden);
  });
  for (const auto& [width, members] : by_width) {
    if (width == 0) continue;
    t.In(LayerSet(members));
    AddGatedMlp(t, p + "mlp.", "mlp.", Role::kDenseMlp, Split::kColumn, Split::kRow, a.hidden,
                width, mlp_bias);
    t.Norm(p + "post_attention_layernorm", "post_attention_layernorm", a.hidden);
  }
  AddHead(t, a);
  return spec;
}

}  // namespace shardplan::families
