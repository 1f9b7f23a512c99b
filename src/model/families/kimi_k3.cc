// Kimi-K3: Kimi delta attention and multi-head latent attention in one stack, a latent mixture of
// experts, attention residuals, and a vision tower.
//
// Names, dtypes and shapes are the published checkpoint's (96 headers, read 2026-09-15); the fused
// parameters and their order are vLLM's (vllm/models/kimi_k3/nvidia/{kda,mla,model}.py, v0.28-dev).
#include "model/families/kimi_parts.h"

namespace shardplan::families {

Result<ModelSpec> BuildKimiK3(ConfigReader& config, const Assumptions&) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  ConfigReader text = config.Object("text_config");
  ConfigReader linear = text.Object("linear_attn_config");
  ConfigReader vision = config.Object("vision_config");

  a.name = ArchitectureName(config);
  a.trust_remote_code = config.Has("auto_map");
  const int64_t layers = ReadKimiText(text, linear, &a);
  a.moe.latent = text.Dim("routed_expert_hidden_size");
  a.attn_res_block = text.Dim("attn_res_block_size");
  ReadKimiVision(vision, &a);

  if (text.IntOr("moe_layer_freq", 1, 1, 1) != 1 || !text.BoolOr("latent_moe_use_norm", true)) {
    text.Contradiction("latent_moe_use_norm", "expected true: the latent norm is always stored");
  }
  for (const ConfigReader* child : {&text, &linear, &vision}) {
    config.Adopt(*child);
  }
  if (!config.ok()) return tl::unexpected(config.error());
  CheckKimiText(text, a);
  if (!text.ok()) return tl::unexpected(text.error());

  spec.table.layer_prefix = "language_model.model.layers.{L}.";
  spec.table.shard_rule = ShardRule::kLayerPerShard;
  const std::string p = spec.table.layer_prefix;
  TableBuilder t(&spec.table, a.dtype);
  const LayerSet all = LayerSet::Range(0, layers);

  t.At(Placement::kFirstStage)
      .Tensor("language_model.model.embed_tokens.weight",
              "language_model.model.embed_tokens.weight", Role::kEmbedding, Split::kVocabulary,
              Shape{a.vocabulary, a.hidden});
  // Stored with 128 entries, the last 32 of them zero padding; the input rows are padded to 16.
  AddKda(t.In(LayersOf(a, AttentionKind::kKda)), p, a,
         {true, Shape{a.kda.head_dim}, DType::kF32, 16});
  AddMla(t.In(LayersOf(a, AttentionKind::kMla)), p, a);
  t.In(LayerSet::Range(0, a.moe.first_dense));
  if (a.moe.first_dense > 0) {
    AddGatedMlp(t, p + "mlp.", "mlp.", Role::kDenseMlp, Split::kSharedColumn, Split::kSharedRow,
                a.hidden, a.dense_intermediate);
  }
  if (a.moe.first_dense < layers) {
    AddKimiMoe(t.In(LayerSet::Range(a.moe.first_dense, layers)), p, a);
  }
  t.In(all);
  AddLayerNorms(t, p, a.hidden);
  for (const char* norm : {"self_attention_res_norm", "mlp_res_norm"}) {
    t.Norm(p + norm, norm, a.hidden, Role::kAttentionResidual);
  }
  for (const char* proj : {"self_attention_res_proj", "mlp_res_proj"}) {
    t.Linear(p + proj, proj, Role::kAttentionResidual, Split::kReplicated, 1, a.hidden)
        .quantizable = false;
  }
  t.At(Placement::kLastStage);
  const std::string model = "language_model.model.";
  t.Norm(model + "norm", model + "norm", a.hidden);
  t.Norm(model + "output_attn_res_norm", model + "output_attn_res_norm", a.hidden,
         Role::kAttentionResidual);
  t.Linear(model + "output_attn_res_proj", model + "output_attn_res_proj", Role::kAttentionResidual,
           Split::kReplicated, 1, a.hidden)
      .quantizable = false;
  t.Tensor("language_model.lm_head.weight", "language_model.lm_head.weight", Role::kHead,
           Split::kVocabulary, Shape{a.vocabulary, a.hidden});
  AddKimiVision(t, vision, a, {vision.Dim("qkv_hidden_size"), false, true});
  if (!vision.ok()) return tl::unexpected(vision.error());
  return spec;
}

}  // namespace shardplan::families
