#include "engine/sglang/weights.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/sglang/parallel.h"
#include "sharding/weight_cache.h"

namespace shardplan::sglang {
namespace {

bool IsKimiK3(const Architecture& a) { return a.kda.heads > 0 && a.moe.latent > 0; }
bool HasMxfp4Experts(const Architecture& a) {
  return a.moe.experts > 0 && a.quantization == "mxfp4";
}

int64_t CountMoe(const Architecture& a, const StageRange& stage) {
  int64_t count = 0;
  for (int64_t layer = stage.first; layer < stage.end(); ++layer) count += a.is_moe(layer);
  return count;
}

bool ExpertsHaveBias(const TensorTable& table) {
  return std::any_of(table.rows.begin(), table.rows.end(), [](const ModuleRow& row) {
    return row.role == Role::kRoutedExpert && row.bias;
  });
}

class ExtraList {
 public:
  void Add(std::string name, int64_t bytes, std::string rule, std::string source,
           bool post_load = false) {
    if (bytes > 0) {
      out_.push_back(
          {std::move(name), Bytes(bytes), std::move(rule), std::move(source), post_load});
    }
  }
  std::vector<ExtraBytes> Take() { return std::move(out_); }

 private:
  std::vector<ExtraBytes> out_;
};

// The up-projections of MLA once more, per head, as attention absorbs them; under decode context
// parallelism the queries' projection stands whole on every rank.
void AddMlaCopies(const Context& c, const StageRange& stage, ExtraList* out) {
  const Architecture& a = *c.arch;
  if (!a.compress_ratio.empty()) return;
  const int64_t layers =
      a.CountKind(AttentionKind::kMla, stage.first, stage.count) * a.attentions_per_layer;
  const int64_t tp = AttentionTp(c.args);
  const int64_t heads = a.heads / tp;
  const int64_t element = BitsOf(a.dtype) / 8;
  out->Add("w_kc, w_vc",
           layers * heads * (a.mla.nope_head_dim + a.mla.v_head_dim) * a.mla.kv_lora_rank * element,
           fmt::format("{} MLA layers × {} heads × ({} + {}) × {} × {} B", layers, heads,
                       a.mla.nope_head_dim, a.mla.v_head_dim, a.mla.kv_lora_rank, element),
           "models/deepseek_v2.py (0bda0b168): a copy of kv_b_proj", true);
  if (c.args.dcp_size > 1 && IsKimiK3(a)) {
    const int64_t width = a.mla.nope_head_dim + a.mla.rope_head_dim;
    out->Add("replicated q_b_proj",
             layers * (a.heads - heads) * width * a.mla.q_lora_rank * element,
             fmt::format("{} MLA layers × {} more heads × {} × {} × {} B", layers, a.heads - heads,
                         width, a.mla.q_lora_rank, element),
             "--dcp-replicate-q-proj, on by default under DCP (0bda0b168)");
  }
}

// On CUDA the MXFP4 method makes room for biases whether or not the model has any; FlashInfer keeps
// them in fp32.
void AddExpertBiases(const Context& c, const StageRange& stage, ExtraList* out) {
  const std::string runner = ResolveMoeRunner(c);
  if (!HasMxfp4Experts(*c.arch) || runner == "aiter" || runner == "upcast" || IsHip(*c.gpu)) return;
  const ShardingRules rules = RulesFor(c);
  const int64_t stored = ExpertsHaveBias(*c.table) ? 2 : 0;
  const int64_t element = (runner == "flashinfer_mxfp4" ? 4 : 2) - stored;
  const int64_t values = 2 * rules.expert_intermediate + rules.expert_width;
  const int64_t layers = CountMoe(*c.arch, stage);
  out->Add("expert biases", layers * rules.local_experts * values * element,
           fmt::format("{} MoE layers × {} experts × {} × {} B", layers, rules.local_experts,
                       FormatCount(values), element),
           "layers/quantization/mxfp4.py create_weights (0bda0b168)");
}

}  // namespace

std::string ResolveMoeRunner(const Context& c) {
  const Architecture& a = *c.arch;
  if (a.moe.experts == 0) return "";
  if (c.args.moe_runner_backend != "auto") return c.args.moe_runner_backend;
  if (!HasMxfp4Experts(a)) return "auto";
  if (c.args.moe_a2a_backend == "megamoe") return "megamoe";
  if (IsHip(*c.gpu)) return "aiter";
  const int capability = c.gpu->capability;
  if (capability == 100 || capability == 103) return "flashinfer_mxfp4";
  if (a.family == "gpt-oss") return "triton_kernel";
  // DeepSeek-V4 has a method of its own, which was not read.
  return a.compress_ratio.empty() ? "upcast" : "auto";
}

std::vector<Finding> CheckRunner(const Context& c) {
  std::vector<Finding> findings;
  const std::string runner = ResolveMoeRunner(c);
  if (runner == "auto" && HasMxfp4Experts(*c.arch)) {
    findings.push_back(
        {"sglang.expert_runner", Severity::kWarning, "--moe-runner-backend auto",
         "what becomes of FP4 experts on this card is not known here: planned as they are stored",
         "--moe-runner-backend marlin or flashinfer_mxfp4, as the recipes for Hopper have it"});
  }
  if (runner != "upcast") return findings;
  findings.push_back(
      {"sglang.expert_upcast", Severity::kWarning, "--moe-runner-backend auto",
       "no kernel for MXFP4 experts is chosen on this card: SGLang turns them into BF16 while "
       "loading, 3.8 times their bytes, and says nothing",
       "--moe-runner-backend marlin keeps them as they are"});
  return findings;
}

RunnerTile TileOf(const Context& c, const std::string& runner) {
  if (!HasMxfp4Experts(*c.arch)) {
    const bool trtllm = runner == "flashinfer_trtllm" && c.arch->quantization != "nvfp4";
    return {trtllm ? 128 : 1, 1};
  }
  if (runner == "marlin") return {128, 256};
  if (runner == "flashinfer_mxfp4") {
    const bool sm100 = c.gpu->capability == 100 || c.gpu->capability == 103;
    return {128, sm100 ? 256 : 128};
  }
  if (runner == "triton" || runner == "triton_kernel") return {64, 1};
  if (runner == "aiter") return {c.args.aiter_k3_opt ? 128 : 256, 256};
  return {1, 1};  // deep_gemm, megamoe, and what is upcast
}

ShardingRules RulesFor(const Context& c) {
  const Architecture& a = *c.arch;
  const ServerArgs& args = c.args;
  ShardingRules rules;
  rules.sizes.tp = args.tp_size;
  rules.sizes.pp = args.pp_size;
  rules.vocabulary_multiple = 64;
  const int64_t attention = AttentionTp(args);
  rules.part_tp.attention = attention;
  // Kimi-Linear divides its delta attention by all of TP.
  rules.part_tp.linear_attention = a.kda.heads > 0 && !IsKimiK3(a) ? args.tp_size : attention;
  rules.part_tp.embedding = attention;
  rules.part_tp.head = args.enable_dp_lm_head ? attention : args.tp_size;
  const bool whole_dense = args.moe_dense_tp_size == 1 && a.moe.experts > 0 && !IsKimiK3(a);
  rules.part_tp.dense_mlp = whole_dense ? 1 : args.tp_size;
  rules.part_tp.shared_experts = SpansAllRanks(args.moe_a2a_backend) ? 1 : args.tp_size;
  rules.vision_on_device = !args.language_only;
  // Kimi's towers stand whole on every rank.
  rules.vision_sharded = a.vision.present && !a.family.starts_with("kimi") &&
                         a.vision.heads % std::max<int64_t>(attention, 1) == 0;
  if (a.moe.experts > 0) {
    const int64_t ep = ExpertParallel(args);
    const RunnerTile tile = TileOf(c, ResolveMoeRunner(c));
    rules.sizes.expert_parallel = ep > 1;
    rules.expert_groups = ep;
    rules.local_experts = (a.moe.experts + args.redundant_experts) / ep;
    rules.expert_intermediate = RoundUp(a.moe.intermediate / MoeTp(args), tile.intermediate);
    rules.expert_width = RoundUp(a.moe.latent > 0 ? a.moe.latent : a.hidden, tile.width);
  }
  return rules;
}

TensorTable TableFor(const Context& c) {
  TensorTable table = *c.table;
  if (ResolveMoeRunner(c) != "upcast") return table;
  for (ModuleRow& row : table.rows) {
    if (row.role != Role::kRoutedExpert) continue;
    row.device_quant = QuantFormat();
    row.device_dtype = DType::kBF16;
  }
  return table;
}

std::vector<ExtraBytes> Extras(const Context& c, const StageRange& stage) {
  const Architecture& a = *c.arch;
  ExtraList out;
  AddMlaCopies(c, stage, &out);
  AddExpertBiases(c, stage, &out);
  if (a.rotary.dim > 0) {
    // Unlike vLLM's, in fp32 whatever the model is.
    const int64_t dim = a.rotary.tables * a.rotary.dim + a.rotary.other_dim;
    out.Add("rotary_emb.cos_sin_cache", a.rotary.positions * dim * 4,
            fmt::format("{} positions × {} × 4 B", FormatCount(a.rotary.positions), dim),
            "layers/rotary_embedding.py: kept in fp32 on CUDA");
  }
  if (a.attn_res_block > 0) {
    out.Add("attention-residual weights", stage.count * 2 * a.hidden * 6,
            fmt::format("{} layers × 2 × {} × (4 + 2) B, cached", stage.count, a.hidden),
            "models/kimi_k3.py (0bda0b168)");
  }
  return out.Take();
}

std::shared_ptr<const DeviceWeights> WeightsOn(const Context& c, const ShardingRules& rules) {
  const bool upcast = ResolveMoeRunner(c) == "upcast";
  const int variant = 2 * static_cast<int>(c.dtype) + (upcast ? 1 : 0);
  if (!upcast) return WeightsFrom(c.weights, *c.arch, *c.table, variant, rules);
  return WeightsFrom(c.weights, *c.arch, TableFor(c), variant, rules);
}

std::vector<Bytes> WeightsByStage(const Context& c, const std::vector<StageRange>& stages) {
  const auto weights = WeightsOn(c, RulesFor(c));
  std::vector<Bytes> out;
  for (size_t i = 0; i < stages.size(); ++i) {
    Bytes bytes = weights->StageBytes(stages[i], i == 0, i + 1 == stages.size());
    for (const ExtraBytes& extra : Extras(c, stages[i])) bytes += extra.bytes;
    out.push_back(bytes);
  }
  return out;
}

}  // namespace shardplan::sglang
