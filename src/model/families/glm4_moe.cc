// GLM-4.5, 4.6, 4.7 and Air: grouped-query attention with biases, dense layers first, routed and
// shared experts, MTP layers after the stack.
//
// Names and totals are the published checkpoints' (4.7: 44,691 tensors; 4.6 stores no embedding and
// head in its MTP layer: --assume mtp_embed=false); order and the fp32 router are vLLM's
// (models/glm4_moe.py, d29f7f5c).
#include "model/families/decoder_parts.h"

namespace shardplan::families {
namespace {

void AddMoe(TableBuilder& t, const std::string& p, const Architecture& a, QuantFormat quant) {
  t.Linear(p + "mlp.gate", "mlp.gate", Role::kRouter, Split::kReplicated, a.moe.experts, a.hidden)
      .device_dtype = DType::kF32;
  ModuleRow& bias =
      t.Tensor(p + "mlp.gate.e_score_correction_bias", "mlp.gate.e_score_correction_bias",
               Role::kRouter, Split::kReplicated, Shape{a.moe.experts});
  bias.dtype = bias.device_dtype = DType::kF32;
  // Divided even where the mixture runs sequence-parallel.
  AddGatedMlp(t, p + "mlp.shared_experts.", "mlp.shared_experts.", Role::kSharedExpert,
              Split::kColumn, Split::kRow, a.hidden, a.moe.shared_intermediate, quant);
  AddExperts(t, p + "mlp.experts.", "mlp.experts.routed_experts", a, quant);
}

}  // namespace

Result<ModelSpec> BuildGlm4Moe(ConfigReader& config, const Assumptions& assumptions) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const int64_t layers = ReadDecoder(config, &a);
  ReadGqa(config, layers, &a);
  a.dense_intermediate = config.Dim("intermediate_size");
  a.mtp_layers = config.IntOr("num_nextn_predict_layers", 0, 64, 0);
  a.moe.first_dense = config.Int("first_k_dense_replace", 0, kMaxLayers);
  ReadExperts(config, "n_routed_experts", "moe_intermediate_size", layers, &a);
  a.moe.shared_experts = config.Int("n_shared_experts", 1, 1024);
  a.moe.shared_intermediate = a.moe.intermediate * a.moe.shared_experts;
  GqaOptions attention;
  attention.qkv_bias = config.BoolOr("attention_bias", false);
  if (config.BoolOr("use_qk_norm", false)) attention.q_norm = attention.k_norm = a.head_dim;
  SHARDPLAN_ASSIGN_OR_RETURN(attention.quant, ReadFp8Blocks(config, "glm4-moe", &a));
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "model.layers.{L}.";
  const std::string p = spec.table.layer_prefix;
  TableBuilder t(&spec.table, a.dtype);
  AddEmbedding(t, a);
  t.In(LayerSet::Range(0, layers));
  AddGqa(t, p, a, attention);
  if (a.moe.first_dense > 0) {
    t.In(LayerSet::Range(0, a.moe.first_dense));
    AddGatedMlp(t, p + "mlp.", "mlp.", Role::kDenseMlp, Split::kColumn, Split::kRow, a.hidden,
                a.dense_intermediate, attention.quant);
  }
  if (a.moe.first_dense < layers) {
    t.In(LayerSet::Range(a.moe.first_dense, layers));
    AddMoe(t, p, a, attention.quant);
  }
  t.In(LayerSet::Range(0, layers));
  AddLayerNorms(t, p, a.hidden);
  AddHead(t, a);
  if (a.mtp_layers > 0 && assumptions.mtp.value_or(true)) {
    t.In(LayerSet::Range(layers, layers + a.mtp_layers)).AsDraft(true);
    AddDraftParts(t, p, a, assumptions.mtp_embed.value_or(true));
    AddGqa(t, p, a, attention);
    AddMoe(t, p, a, attention.quant);
    AddLayerNorms(t, p, a.hidden);
  }
  return spec;
}

}  // namespace shardplan::families
