// dots.llm1: full multi-head attention with norms on queries and keys, a dense layer first, then
// routed and shared experts with a routing bias.
//
// Names are the published code's; order is vLLM's (models/dots1.py, d29f7f5c), which divides the
// shared experts always.
#include "model/families/text_tower.h"

namespace shardplan::families {
namespace {

void AddMoe(TableBuilder& t, const std::string& p, const Architecture& a) {
  t.Linear(p + "mlp.gate", "mlp.gate", Role::kRouter, Split::kReplicated, a.moe.experts, a.hidden)
      .quantizable = false;
  // In the router's dtype, where other models keep it in fp32.
  AddCorrectionBias(t, p + "mlp.gate.", "mlp.gate.", a).device_dtype = a.dtype;
  if (a.moe.shared_intermediate > 0) {
    AddGatedMlp(t, p + "mlp.shared_experts.", "mlp.shared_experts.", Role::kSharedExpert,
                Split::kColumn, Split::kRow, a.hidden, a.moe.shared_intermediate);
  }
  AddExperts(t, p + "mlp.experts.", "mlp.experts.routed_experts", a);
}

}  // namespace

Result<ModelSpec> BuildDots1(ConfigReader& config, const Assumptions& assumptions) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const int64_t layers = ReadDecoder(config, &a);
  ReadGqa(config, layers, &a);
  ReadDenseThenMoe(config, layers, 0, &a);
  if (config.IntOr("moe_layer_freq", 1, kMaxLayers, 1) != 1) {
    config.Contradiction("moe_layer_freq", "expected 1: every layer after the dense ones is MoE");
  }
  if (config.Has("sliding_window")) {
    config.Contradiction("sliding_window", "sliding-window layers are not modelled");
  }
  GqaOptions attention;
  attention.qkv_bias = config.BoolOr("attention_bias", false);
  attention.q_norm = attention.k_norm = a.head_dim;
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "model.layers.{L}.";
  const std::string p = spec.table.layer_prefix;
  TableBuilder t(&spec.table, a.dtype);
  AddDenseThenMoe(
      t, p, a, assumptions, [&] { AddGqa(t, p, a, attention); }, [&] { AddMoe(t, p, a); });
  return spec;
}

}  // namespace shardplan::families
