// MiniMax-M2, M2.1, M2.5 and M2.7: grouped-query attention whose norms span all heads, 256 experts
// with a routing bias, FP8 blocks.
//
// Names and totals are the published checkpoints' (96,103 tensors; the announced MTP modules are
// not stored); order and the fp32 router are vLLM's (models/minimax_m2.py, d29f7f5c).
#include "model/families/decoder_parts.h"

namespace shardplan::families {

Result<ModelSpec> BuildMinimaxM2(ConfigReader& config, const Assumptions&) {
  ModelSpec spec;
  Architecture& a = spec.arch;
  const int64_t layers = ReadDecoder(config, &a);
  ReadGqa(config, layers, &a);
  ReadExperts(config, "num_local_experts", "intermediate_size", layers, &a);
  if (config.IntOr("shared_intermediate_size", 0, 1 << 24, 0) != 0) {
    config.Contradiction("shared_intermediate_size", "expected 0: no shared expert is modelled");
  }
  const bool norms = config.BoolOr("use_qk_norm", true);
  if (!config.ok()) return tl::unexpected(config.error());

  spec.table.layer_prefix = "model.layers.{L}.";
  const std::string p = spec.table.layer_prefix;
  TableBuilder t(&spec.table, a.dtype);
  AddEmbedding(t, a);
  t.In(LayerSet::Range(0, layers));
  GqaOptions attention;
  attention.q_norm = norms ? a.heads * a.head_dim : 0;
  attention.k_norm = norms ? a.kv_heads * a.head_dim : 0;
  AddGqa(t, p, a, attention);
  const std::string moe = "block_sparse_moe.";
  AddCorrectionBias(t, p + moe, moe, a);
  AddExperts(t, p + moe + "experts.", moe + "experts.routed_experts", a, {"w1", "w3", "w2"});
  t.Linear(p + moe + "gate", moe + "gate", Role::kRouter, Split::kReplicated, a.moe.experts,
           a.hidden)
      .device_dtype = DType::kF32;
  AddLayerNorms(t, p, a.hidden);
  AddHead(t, a);
  if (config.BoolOr("use_mtp", false)) {
    spec.findings.push_back({"model.mtp_absent", Severity::kNote, "use_mtp",
                             "the config announces multi-token-prediction modules, the published "
                             "checkpoints store none",
                             ""});
  }
  return spec;
}

}  // namespace shardplan::families
