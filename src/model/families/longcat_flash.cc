// LongCat-Flash: in each layer two latent attentions and two dense MLPs one after the other, and
// beside the second half a mixture with experts that compute nothing; one draft layer with an MLP.
//
// Names are the published code's, the total the hub's (LongCat-Flash-Chat: 561,862,880,256
// parameters, draft included); order is vLLM's (models/longcat_flash.py, longcat_flash_mtp.py,
// 055e47c2). No byte total is published: that routers are stored in fp32 is transformers' rule
// (models/longcat_flash, _keep_in_fp32_modules, 0469a353).
#include "model/families/deepseek_parts.h"

namespace shardplan::families {
namespace {

constexpr int64_t kHalves = 2;  // attentions and MLPs of a layer

// Experts that hand their input on have a row in the router and no weights.
void AddRouter(TableBuilder& t, const std::string& p, const Architecture& a, int64_t zero_experts,
               bool bias) {
  const int64_t choices = a.moe.experts + zero_experts;
  AddCorrectionBias(t, p + "mlp.router.", "mlp.router.", a).shape = Shape{choices};
  ModuleRow& router = t.Linear(p + "mlp.router.classifier", "mlp.router.classifier", Role::kRouter,
                               Split::kReplicated, choices, a.hidden);
  router.dtype = router.device_dtype = DType::kF32;
  router.bias = bias;
}

// Beside the stack; the names of its norms have a module of their own.
void AddDraft(TableBuilder& t, const Architecture& a, bool own_embedding) {
  const std::string p = "model.mtp.layers.{L}.";
  t.In(LayerSet::Range(0, a.mtp_layers)).AsDraft(true);
  if (own_embedding) {
    t.Tensor("model.mtp.embed_tokens.weight", "embed_tokens.weight", Role::kDraft,
             Split::kVocabulary, Shape{a.vocabulary, a.hidden});
  }
  for (const std::string norm : {"enorm", "hnorm"}) t.Norm(p + norm + ".m", norm, a.hidden);
  t.Linear(p + "eh_proj", "eh_proj", Role::kDraft, Split::kReplicated, a.hidden, 2 * a.hidden);
  AddMla(t, p, a);
  AddGatedMlp(t, p + "transformer_layer.mlp.", "mlp.", Role::kDraft, Split::kColumn, Split::kRow,
              a.hidden, a.dense_intermediate);
  AddLayerNorms(t, p, a.hidden);
  t.Norm("model.mtp.norm", "final_layernorm", a.hidden);
  t.AsDraft(false);
}

}  // namespace

Result<ModelSpec> BuildLongcatFlash(ConfigReader& config, const Assumptions& assumptions) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  // Files that transformers wrote count attentions, too, in num_hidden_layers.
  const int64_t layers = ReadDecoder(config, &a, "num_layers");
  ReadMla(config, layers, &a);
  a.attentions_per_layer = kHalves;
  a.dense_intermediate = config.Dim("ffn_hidden_size");
  ReadExperts(config, "n_routed_experts", "expert_ffn_hidden_size", layers, &a, "moe_topk");
  a.moe.dense_beside = true;
  const int64_t zero_experts = config.IntOr("zero_expert_num", 0, 100'000, 0);
  const bool router_bias = config.BoolOr("router_bias", false);
  // Configs don't announce the draft layer; vLLM takes it for granted (config/speculative.py).
  a.mtp_layers = config.IntOr("num_nextn_predict_layers", 0, 1, 1);
  if (config.BoolOr("attention_bias", false)) {
    config.Contradiction("attention_bias", "expected false: no bias is modelled");
  }
  if (!config.ok()) return tl::unexpected(config.error());
  if (config.Has("disable_quant_module")) {
    return Fail(ErrorCode::kUnsupported, config.subject(),
                "disable_quant_module: modules left out of the quantization are not modelled");
  }

  spec.table.layer_prefix = "model.layers.{L}.";
  const std::string p = spec.table.layer_prefix;
  TableBuilder t(&spec.table, a.dtype);
  const auto halves = [&](const char* module, const auto& add) {
    for (int64_t i = 0; i < kHalves; ++i) add(module + std::to_string(i));
  };
  AddEmbedding(t, a);
  t.In(LayerSet::Range(0, layers));
  halves("self_attn.", [&](const std::string& module) { AddMla(t, p, a, module); });
  for (const char* norms : {"input_layernorm.", "post_attention_layernorm."}) {
    halves(norms, [&](const std::string& norm) { t.Norm(p + norm, norm, a.hidden); });
  }
  halves("mlps.", [&](const std::string& mlp) {
    AddGatedMlp(t, p + mlp + ".", mlp + ".", Role::kDenseMlp, Split::kColumn, Split::kRow, a.hidden,
                a.dense_intermediate);
  });
  AddRouter(t, p, a, zero_experts, router_bias);
  AddExperts(t, p + "mlp.experts.", "mlp.experts.routed_experts", a);
  AddHead(t, a);
  if (a.mtp_layers > 0 && assumptions.mtp.value_or(true)) {
    AddDraft(t, a, assumptions.mtp_embed.value_or(true));
  }
  return spec;
}

}  // namespace shardplan::families
