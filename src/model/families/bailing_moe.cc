// Ling-lite and Ling-plus (BailingMoe): q, k and v in one stored projection, routed and shared
// experts.
//
// Names are the published code's; order is vLLM's (models/bailing_moe.py, d29f7f5c), whose router
// is a plain linear.
#include "model/families/text_tower.h"

namespace shardplan::families {
namespace {

void AddMoe(TableBuilder& t, const std::string& p, const Architecture& a, bool fp32_router) {
  ModuleRow& gate = t.Linear(p + "mlp.gate", "mlp.gate", Role::kRouter, Split::kReplicated,
                             a.moe.experts, a.hidden);
  gate.quantizable = false;
  if (fp32_router) gate.device_dtype = DType::kF32;
  if (a.moe.shared_intermediate > 0) {
    AddGatedMlp(t, p + "mlp.shared_experts.", "mlp.shared_experts.", Role::kSharedExpert,
                Split::kColumn, Split::kRow, a.hidden, a.moe.shared_intermediate);
  }
  AddExperts(t, p + "mlp.experts.", "mlp.experts.routed_experts", a);
}

}  // namespace

Result<ModelSpec> BuildBailingMoe(ConfigReader& config, const Assumptions&) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const int64_t layers = ReadDecoder(config, &a);
  ReadGqa(config, layers, &a);
  a.dense_intermediate = config.Dim("intermediate_size");
  a.moe.first_dense = config.IntOr("first_k_dense_replace", 0, kMaxLayers, 0);
  ReadExperts(config, "num_experts", "moe_intermediate_size", layers, &a);
  a.moe.shared_experts = config.IntOr("num_shared_experts", 0, 1024, 0);
  a.moe.shared_intermediate =
      a.moe.shared_experts *
      config.DimOr("moe_shared_expert_intermediate_size", a.moe.intermediate);
  const bool fp32_router = config.StringOr("router_dtype", "") == "fp32";
  const bool qkv_bias = config.BoolOr("use_qkv_bias", false);
  if (config.BoolOr("use_bias", false)) {
    config.Contradiction("use_bias", "expected false: no bias is modelled");
  }
  if (config.BoolOr("use_qk_norm", false) ||
      config.BoolOr("moe_router_enable_expert_bias", false)) {
    config.Contradiction("use_qk_norm", "expected false, and no expert bias: that is version 2");
  }
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "model.layers.{L}.";
  const std::string p = spec.table.layer_prefix;
  TableBuilder t(&spec.table, a.dtype);
  t.At(Placement::kFirstStage)
      .Tensor("model.word_embeddings.weight", "model.word_embeddings.weight", Role::kEmbedding,
              Split::kVocabulary, Shape{a.vocabulary, a.hidden});
  t.In(LayerSet::Range(0, layers));
  t.Norm(p + "input_layernorm", "input_layernorm", a.hidden);
  AddFusedQkv(t, p + "attention.query_key_value", "attention.query_key_value", a).bias = qkv_bias;
  t.Linear(p + "attention.dense", "attention.dense", Role::kAttention, Split::kRow, a.hidden,
           a.heads * a.head_dim);
  t.Norm(p + "post_attention_layernorm", "post_attention_layernorm", a.hidden);
  InLayers(t, MoeLayers(a, false), [&] {
    AddGatedMlp(t, p + "mlp.", "mlp.", Role::kDenseMlp, Split::kColumn, Split::kRow, a.hidden,
                a.dense_intermediate);
  });
  InLayers(t, MoeLayers(a, true), [&] { AddMoe(t, p, a, fp32_router); });
  AddHead(t, a);
  return spec;
}

}  // namespace shardplan::families
