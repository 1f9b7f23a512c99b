// GLM-4.5, 4.6, 4.7 and Air: grouped-query attention with biases, dense layers first, routed and
// shared experts, MTP layers after the stack.
//
// Names and totals are the published checkpoints' (4.7: 44,691 tensors; 4.6 stores no embedding and
// head in its MTP layer: --assume mtp_embed=false); order and the fp32 router are vLLM's
// (models/glm4_moe.py, d29f7f5c).
#include "model/families/decoder_parts.h"

namespace shardplan::families {
namespace {

void AddMoe(TableBuilder& t, const std::string& p, const Architecture& a) {
  t.Linear(p + "mlp.gate", "mlp.gate", Role::kRouter, Split::kReplicated, a.moe.experts, a.hidden)
      .device_dtype = DType::kF32;
  AddCorrectionBias(t, p + "mlp.gate.", "mlp.gate.", a);
  // Divided even where the mixture runs sequence-parallel.
  AddGatedMlp(t, p + "mlp.shared_experts.", "mlp.shared_experts.", Role::kSharedExpert,
              Split::kColumn, Split::kRow, a.hidden, a.moe.shared_intermediate);
  AddExperts(t, p + "mlp.experts.", "mlp.experts.routed_experts", a);
}

}  // namespace

Result<ModelSpec> BuildGlm4Moe(ConfigReader& config, const Assumptions& assumptions) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const int64_t layers = ReadDecoder(config, &a);
  ReadGqa(config, layers, &a);
  ReadDenseThenMoe(config, layers, 1, &a);
  GqaOptions attention;
  attention.qkv_bias = config.BoolOr("attention_bias", false);
  if (config.BoolOr("use_qk_norm", false)) attention.q_norm = attention.k_norm = a.head_dim;
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "model.layers.{L}.";
  const std::string p = spec.table.layer_prefix;
  TableBuilder t(&spec.table, a.dtype);
  AddDenseThenMoe(
      t, p, a, assumptions, [&] { AddGqa(t, p, a, attention); }, [&] { AddMoe(t, p, a); });
  return spec;
}

}  // namespace shardplan::families
