#include "model/families/deepseek_parts.h"

#include <algorithm>

namespace shardplan::families {
namespace {

constexpr const char* kLayerPrefix = "model.layers.{L}.";

// Kimi-K2 stores its rotary frequencies; no engine loads them.
void AddInvFreq(TableBuilder& t, const std::string& p, const Assumptions& assumptions) {
  if (!assumptions.inv_freq) return;
  ModuleRow& row = t.Tensor(p + "self_attn.rotary_emb.inv_freq", "self_attn.rotary_emb.inv_freq",
                            Role::kLeftover, Split::kReplicated, Shape{*assumptions.inv_freq});
  row.placement = Placement::kNotLoaded;
  row.optional = true;
}

// Replicated on every rank. The key projection and the weights of the heads are one parameter, so
// that a quantized key projection is created plain; the norm of the keys is fp32.
void AddIndexer(TableBuilder& t, const std::string& p, const Architecture& a) {
  const IndexerShape& i = a.indexer;
  const std::string name = p + "self_attn.indexer.";
  const std::string param = "self_attn.indexer.";
  constexpr Role kRole = Role::kAttention;
  // Draft layers always have an indexer.
  const auto indexed = [&](ModuleRow& row) -> ModuleRow& {
    if (row.layers.Contains(0)) row.layers = LayerSet(a.indexer_layers);
    return row;
  };
  indexed(t.Linear(name + "wq_b", param + "wq_b", kRole, Split::kReplicated, i.heads * i.head_dim,
                   a.mla.q_lora_rank));
  indexed(t.Linear(name + "wk", param + "wk_weights_proj", kRole, Split::kReplicated, i.head_dim,
                   a.hidden))
      .device_quant = QuantFormat{};
  indexed(t.Linear(name + "weights_proj", param + "wk_weights_proj", kRole, Split::kReplicated,
                   i.heads, a.hidden))
      .quantizable = false;
  for (const char* x : {"k_norm.weight", "k_norm.bias"}) {
    indexed(t.Tensor(name + x, param + x, kRole, Split::kReplicated, Shape{i.head_dim}))
        .device_dtype = DType::kF32;
  }
}

// The engine walks kv_b_proj and the indexer before the other projections
// (vllm/models/deepseek_v32/attention.py, d29f7f5c).
void AddSparseMla(TableBuilder& t, const std::string& p, const Architecture& a) {
  const MlaShape& m = a.mla;
  const std::string attn = p + "self_attn.";
  constexpr Role kRole = Role::kAttention;
  AddAttentionScales(t, p, "self_attn.", AttentionScale::kMla);
  t.Linear(attn + "kv_b_proj", "self_attn.kv_b_proj", kRole, Split::kColumn,
           a.heads * (m.nope_head_dim + m.v_head_dim), m.kv_lora_rank);
  AddIndexer(t, p, a);
  const std::string down = "self_attn.fused_qkv_a_proj";
  t.Linear(attn + "q_a_proj", down, kRole, Split::kReplicated, m.q_lora_rank, a.hidden);
  t.Linear(attn + "kv_a_proj_with_mqa", down, kRole, Split::kReplicated, m.latent_width(),
           a.hidden);
  t.Norm(attn + "q_a_layernorm", "self_attn.q_a_layernorm", m.q_lora_rank, kRole);
  t.Linear(attn + "q_b_proj", "self_attn.q_b_proj", kRole, Split::kColumn,
           a.heads * (m.nope_head_dim + m.rope_head_dim), m.q_lora_rank);
  t.Norm(attn + "kv_a_layernorm", "self_attn.kv_a_layernorm", m.kv_lora_rank, kRole);
  t.Linear(attn + "o_proj", "self_attn.o_proj", kRole, Split::kRow, a.hidden,
           a.heads * m.v_head_dim);
}

// Layers with an indexer of their own as the engine counts them where the config has no list:
// every `index_topk_freq`-th from `index_skip_topk_offset` on, and all before it, or those that are
// no "S" in a pattern (vllm/models/deepseek_v32/attention.py, d29f7f5c).
std::vector<int64_t> IndexerLayersByFrequency(ConfigReader& config, int64_t layers) {
  std::vector<int64_t> out;
  if (config.Has("index_topk_pattern")) {
    const std::string pattern = config.StringOr("index_topk_pattern", "");
    for (int64_t layer = 0; layer < layers; ++layer) {
      const auto at = static_cast<size_t>(layer);
      if (at >= pattern.size() || pattern[at] != 'S') out.push_back(layer);
    }
    return out;
  }
  const int64_t frequency = config.IntOr("index_topk_freq", 1, kMaxLayers, 1);
  const int64_t offset = config.IntOr("index_skip_topk_offset", 0, kMaxLayers, 2);
  for (int64_t layer = 0; layer < layers; ++layer) {
    if (std::max<int64_t>(layer - offset + 1, 0) % frequency == 0) out.push_back(layer);
  }
  return out;
}

}  // namespace

void ReadMla(ConfigReader& config, int64_t layers, Architecture* a) {
  a->heads = config.Dim("num_attention_heads");
  a->kv_heads = config.DimOr("num_key_value_heads", a->heads);
  a->mla = {config.DimOr("q_lora_rank", 0), config.Dim("kv_lora_rank"),
            config.Dim("qk_nope_head_dim"), config.Dim("qk_rope_head_dim"),
            config.Dim("v_head_dim"),       false};
  a->head_dim = a->mla.nope_head_dim + a->mla.rope_head_dim;
  a->v_head_dim = a->mla.v_head_dim;
  a->rotary = ReadRotary(config, a->mla.rope_head_dim, a->max_positions);
  a->attention.assign(static_cast<size_t>(layers), AttentionKind::kMla);
}

void ReadDeepseek(ConfigReader& config, Architecture* a) {
  const int64_t layers = ReadDecoder(config, a);
  ReadMla(config, layers, a);
  ReadDenseThenMoe(config, layers, 0, a);
  if (config.IntOr("moe_layer_freq", 1, kMaxLayers, 1) != 1) {
    config.Contradiction("moe_layer_freq", "expected 1: every layer after the dense ones is MoE");
  }
}

bool ReadRouterBias(ConfigReader& config, const Architecture& a) {
  const char* absent = a.name == "DeepseekV2ForCausalLM" ? "greedy" : "noaux_tc";
  return config.StringOr("topk_method", absent) == "noaux_tc";
}

void AddDeepseekMoe(TableBuilder& t, const std::string& p, const Architecture& a,
                    bool router_bias) {
  t.Linear(p + "mlp.gate", "mlp.gate", Role::kRouter, Split::kReplicated, a.moe.experts, a.hidden);
  if (router_bias) AddCorrectionBias(t, p + "mlp.gate.", "mlp.gate.", a);
  if (a.moe.shared_intermediate > 0) {
    AddGatedMlp(t, p + "mlp.shared_experts.", "mlp.shared_experts.", Role::kSharedExpert,
                Split::kSharedColumn, Split::kSharedRow, a.hidden, a.moe.shared_intermediate);
  }
  AddExperts(t, p + "mlp.experts.", "mlp.experts.routed_experts", a);
}

void AddDeepseek(TensorTable* table, const Architecture& a, bool router_bias,
                 const Assumptions& assumptions) {
  table->layer_prefix = kLayerPrefix;
  const std::string p = kLayerPrefix;
  TableBuilder t(table, a.dtype);
  const auto attention = [&] {
    AddMla(t, p, a);
    AddInvFreq(t, p, assumptions);
  };
  AddDenseThenMoe(t, p, a, assumptions, attention, [&] { AddDeepseekMoe(t, p, a, router_bias); });
}

void ReadIndexer(ConfigReader& config, Architecture* a) {
  a->indexer = {config.Dim("index_n_heads"), config.Dim("index_head_dim"),
                config.Dim("index_topk")};
  if (config.ok() && a->mla.q_lora_rank == 0) {
    config.Contradiction("q_lora_rank", "an indexer needs compressed queries, found none");
  }
  const std::vector<std::string> types = config.StringListOr("indexer_types", {});
  if (types.empty()) {
    a->indexer_layers = IndexerLayersByFrequency(config, a->layers());
  } else if (config.ok() && static_cast<int64_t>(types.size()) != a->layers()) {
    config.Contradiction("indexer_types", "expected one entry per layer");
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] == "full") {
      a->indexer_layers.push_back(static_cast<int64_t>(i));
    } else if (types[i] != "shared") {
      config.Contradiction("indexer_types", "expected full or shared");
    }
  }
  if (config.ok() && (a->indexer_layers.empty() || a->indexer_layers.front() != 0)) {
    config.Contradiction("indexer_types", "the first layer has no indexer to share");
  }
  // Keys of the indexer are rotated in halves, those of the attention in pairs, unless told
  // otherwise: the engine then keeps two tables.
  if (!config.BoolOr("indexer_rope_interleave", false)) a->rotary.tables = 2;
}

void AddSparseDeepseek(TensorTable* table, const Architecture& a, bool router_bias,
                       const Assumptions& assumptions) {
  table->layer_prefix = kLayerPrefix;
  const std::string p = kLayerPrefix;
  TableBuilder t(table, a.dtype);
  AddDenseThenMoe(
      t, p, a, assumptions, [&] { AddSparseMla(t, p, a); },
      [&] { AddDeepseekMoe(t, p, a, router_bias); });
  // Unlike V3's, these dense layers stay whole where the mixture runs sequence-parallel.
  for (ModuleRow& row : table->rows) {
    if (row.role != Role::kDenseMlp) continue;
    row.split = row.split == Split::kColumn ? Split::kSharedColumn : Split::kSharedRow;
  }
}

void PrefixNames(TensorTable* table, const std::string& prefix) {
  table->layer_prefix = prefix + table->layer_prefix;
  for (ModuleRow& row : table->rows) {
    row.name = prefix + row.name;
    if (row.layers.empty()) row.param = prefix + row.param;
  }
}

}  // namespace shardplan::families
