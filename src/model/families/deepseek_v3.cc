// DeepSeek-V2, V3, R1, V3.1 and Kimi-K2: multi-head latent attention, a mixture of experts with
// shared experts, FP8 in 128 × 128 blocks, multi-token-prediction layers after the stack.
//
// Names and dtypes are the published checkpoints' (DeepSeek-V3: 91,991 tensors, 684,531,386,000
// elements); fused parameters and order are vLLM's (model_executor/models/deepseek_v2.py, v0.28).
#include "model/families/decoder_parts.h"

namespace shardplan::families {
namespace {

void AddAttention(TableBuilder& t, const std::string& p, const Architecture& a,
                  const Assumptions& assumptions) {
  AddMla(t, p, a);
  // Kimi-K2 stores its rotary frequencies; no engine loads them.
  if (assumptions.inv_freq) {
    ModuleRow& row = t.Tensor(p + "self_attn.rotary_emb.inv_freq", "self_attn.rotary_emb.inv_freq",
                              Role::kLeftover, Split::kReplicated, Shape{*assumptions.inv_freq});
    row.placement = Placement::kNotLoaded;
    row.optional = true;
  }
}

// A router with a bias balances without an auxiliary loss ("noaux_tc").
void AddMoe(TableBuilder& t, const std::string& p, const Architecture& a, bool has_bias) {
  t.Linear(p + "mlp.gate", "mlp.gate", Role::kRouter, Split::kReplicated, a.moe.experts, a.hidden);
  if (has_bias) AddCorrectionBias(t, p + "mlp.gate.", "mlp.gate.", a);
  if (a.moe.shared_intermediate > 0) {
    AddGatedMlp(t, p + "mlp.shared_experts.", "mlp.shared_experts.", Role::kSharedExpert,
                Split::kSharedColumn, Split::kSharedRow, a.hidden, a.moe.shared_intermediate);
  }
  AddExperts(t, p + "mlp.experts.", "mlp.experts.routed_experts", a);
}

}  // namespace

Result<ModelSpec> BuildDeepseekV3(ConfigReader& config, const Assumptions& assumptions) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const int64_t layers = ReadDecoder(config, &a);
  a.heads = config.Dim("num_attention_heads");
  a.kv_heads = config.DimOr("num_key_value_heads", a.heads);
  a.mla = {config.DimOr("q_lora_rank", 0), config.Dim("kv_lora_rank"),
           config.Dim("qk_nope_head_dim"), config.Dim("qk_rope_head_dim"),
           config.Dim("v_head_dim"),       false};
  a.head_dim = a.mla.nope_head_dim + a.mla.rope_head_dim;
  a.v_head_dim = a.mla.v_head_dim;
  a.rotary = ReadRotary(config, a.mla.rope_head_dim, a.max_positions);
  a.attention.assign(static_cast<size_t>(layers), AttentionKind::kMla);
  ReadDenseThenMoe(config, layers, 0, &a);
  if (config.IntOr("moe_layer_freq", 1, kMaxLayers, 1) != 1) {
    config.Contradiction("moe_layer_freq", "expected 1: every layer after the dense ones is MoE");
  }
  const bool has_bias =
      config.StringOr("topk_method", a.name == "DeepseekV2ForCausalLM" ? "greedy" : "noaux_tc") ==
      "noaux_tc";
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "model.layers.{L}.";
  const std::string p = spec.table.layer_prefix;
  TableBuilder t(&spec.table, a.dtype);
  AddDenseThenMoe(
      t, p, a, assumptions, [&] { AddAttention(t, p, a, assumptions); },
      [&] { AddMoe(t, p, a, has_bias); });
  return spec;
}

}  // namespace shardplan::families
