#include "engine/vllm/legality.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "engine/vllm/eplb.h"
#include "engine/vllm/kv_groups.h"
#include "engine/vllm/marlin_tiles.h"
#include "engine/vllm/settings_check.h"
#include "engine/vllm/weights.h"
#include "sharding/weight_cache.h"
#include "shardplan/base/suggest.h"
#include "shardplan/base/units.h"

namespace shardplan::vllm {
namespace {

// The same for a group of a packed format.
// Sources: quantization/awq.py, auto_gptq.py, utils/marlin_utils.py:verify_marlin_supports_shape,
// modelopt.py (d29f7f5c).
std::string GroupWords(const Indivisible& p) {
  const char* side = p.output ? "output" : "input";
  switch (p.scheme) {
    case QuantScheme::kAwq:
      return fmt::format(
          "The {} size is not aligned with the quantized weight shape. This can be caused by too "
          "large tensor parallel size. ({} is not a multiple of {})",
          side, p.local, p.block);
    case QuantScheme::kGptq:
    case QuantScheme::kIntPacked:
      return fmt::format(
          "Weight {}_size_per_partition = {} is not divisible by {} = {}. Consider reducing "
          "tensor_parallel_size or running with --quantization gptq.",
          side, p.local, p.output ? "pack_factor" : "group_size", p.block);
    case QuantScheme::kNvfp4:
      return fmt::format(
          "Unsupported model when in features size is not multiple of {}: {} on each rank", p.block,
          p.local);
    default:
      return fmt::format("{} is not divisible by the {} that share a scale", p.local, p.block);
  }
}

// vLLM's sentence for a dimension that does not divide.
// Sources: config/model.py:verify_with_parallel_config; distributed/utils.py:divide;
// quantization/utils/fp8_utils.py:validate_fp8_block_shape; fused_moe fp8.py create_weights
// (d29f7f5c).
std::string EngineWords(const Indivisible& p) {
  if (p.block > 0 && p.scheme != QuantScheme::kFp8Block) return GroupWords(p);
  if (p.block > 0 && p.expert) {
    return p.output ? fmt::format(
                          "The output_size of gate's and up's weight = {} is not divisible "
                          "by weight quantization block_n = {}.",
                          p.local, p.block)
                    : fmt::format(
                          "The input_size of down's weight = {} is not divisible by weight "
                          "quantization block_k = {}.",
                          p.local, p.block);
  }
  if (p.block > 0) {
    return p.output ? fmt::format(
                          "Weight output_partition_size = {} is not divisible by weight "
                          "quantization block_n = {}.",
                          p.local, p.block)
                    : fmt::format(
                          "Weight input_size_per_partition = {} is not divisible by weight "
                          "quantization block_k = {}.",
                          p.local, p.block);
  }
  return fmt::format("{} is not divisible by {}", p.dimension, p.divisor);
}

// Layers that keep states are divided by their own heads. Texts: MambaMixer2 of
// vllm/model_executor/layers/mamba/mamba_mixer2.py, and distributed/utils.py:divide (d29f7f5c).
template <typename Report>
void CheckStates(const Context& c, Report error) {
  const Architecture& a = *c.arch;
  const int64_t tp = c.sizes.tp;
  const auto divides = [&](const char* what, int64_t count) {
    if (count % tp == 0) return;
    error("layout.linear_heads", fmt::format("{} {} are not divisible by {}", count, what, tp));
  };
  divides("linear-attention heads", a.kda.heads);
  divides("linear-attention key heads", a.gdn.k_heads);
  divides("linear-attention value heads", a.gdn.v_heads);
  divides("Mamba channels", a.mamba.width);
  if (!a.has_kind(AttentionKind::kMamba2)) return;
  if (a.mamba.heads % tp != 0) {
    error("layout.mamba_heads", "Tensor parallel world size must divide num heads.");
  } else if (a.mamba.groups != 1 && a.mamba.groups % tp != 0) {
    error("layout.mamba_groups",
          "If tensor parallel world size does not divide num_groups, then num_groups must equal "
          "1.");
  }
}

// Everything about TP that depends on sizes alone: used for the layout itself and its neighbours.
std::vector<Finding> CheckDivisibility(const Context& c) {
  std::vector<Finding> findings;
  const int64_t tp = c.sizes.tp;
  const std::string subject = fmt::format("--tensor-parallel-size {}", tp);
  auto error = [&](std::string id, std::string message) {
    findings.push_back({std::move(id), Severity::kError, subject, std::move(message), ""});
  };
  if (c.arch->heads % tp != 0) {
    error("layout.heads",
          fmt::format("Total number of attention heads ({}) must be divisible by tensor parallel "
                      "size ({}).",
                      c.arch->heads, tp));
  }
  CheckStates(c, error);
  // Towers that are not replicated instead: models/qwen2_5_vl.py:Qwen2_5_VisionAttention
  // (d29f7f5c).
  const VisionShape& vision = c.arch->vision;
  const bool sharded = c.settings.mm_encoder_tp_mode.value_or("weights") != "data";
  if (c.resolved.vision_on_device && vision.heads_must_divide && sharded &&
      vision.heads % tp != 0) {
    error("layout.vision_heads",
          fmt::format("visual.blocks.*.attn: {} is not divisible by {}", vision.heads, tp));
  }
  // gpt-oss divides its KV heads without replicating them.
  if (c.arch->name == "GptOssForCausalLM" && tp > c.arch->kv_heads) {
    error("layout.kv_heads",
          fmt::format("{} KV heads are fewer than the tensor parallel size ({}): vLLM stops with "
                      "'integer modulo by zero'",
                      c.arch->kv_heads, tp));
  }
  std::set<std::string> said;
  for (const Indivisible& problem : ProblemsFrom(c.weights, *c.arch, *c.table, RulesFor(c, 0))) {
    // One dimension that fails tends to fail in every projection; the first tells it all.
    if (c.arch->heads % tp != 0 && !problem.expert) break;
    if (!said.insert(problem.id).second) continue;
    std::string id = "layout." + problem.id.substr(problem.id.find('.') + 1);
    std::string param = problem.param;
    if (const size_t block = param.find("{B}"); block != std::string::npos) {
      param.replace(block, 3, "*");
    }
    error(std::move(id), fmt::format("{}: {}", param, EngineWords(problem)));
  }
  if (c.arch->moe.experts > 0 && c.sizes.expert_parallel && c.arch->moe.experts < c.sizes.ep()) {
    error("layout.experts", fmt::format("{} experts are fewer than the {} expert-parallel ranks",
                                        c.arch->moe.experts, c.sizes.ep()));
  }
  return findings;
}

bool DividesWith(const Context& context, int64_t tp, bool expert_parallel) {
  Context trial = context;
  trial.sizes.tp = tp;
  trial.sizes.expert_parallel = expert_parallel;
  // The vision tower is replicated where its heads don't divide, so it never makes a TP illegal.
  trial.resolved.vision_sharded = false;
  return CheckDivisibility(trial).empty();
}

// "4 and 8 are the nearest legal sizes", and expert parallelism where that alone mends it.
std::string LegalNeighbours(const Context& c) {
  std::string below, above;
  for (int64_t tp = c.sizes.tp - 1; tp >= 1 && below.empty(); --tp) {
    if (DividesWith(c, tp, c.sizes.expert_parallel)) below = std::to_string(tp);
  }
  const int64_t limit = std::min<int64_t>(4 * c.sizes.tp, 1024);
  for (int64_t tp = c.sizes.tp + 1; tp <= limit && above.empty(); ++tp) {
    if (DividesWith(c, tp, c.sizes.expert_parallel)) above = std::to_string(tp);
  }
  std::string text;
  if (!below.empty() || !above.empty()) {
    std::vector<std::string> sizes;
    if (!below.empty()) sizes.push_back(below);
    if (!above.empty()) sizes.push_back(above);
    text = fmt::format("nearest legal tensor-parallel sizes: {}", JoinWithOr(sizes));
  }
  if (c.arch->moe.experts > 0 && !c.sizes.expert_parallel && DividesWith(c, c.sizes.tp, true)) {
    text +=
        (text.empty() ? "" : "; ") + std::string("--enable-expert-parallel keeps experts whole");
  }
  return text;
}

std::optional<TileMiss> TileMissWith(const Context& context, int64_t tp) {
  if (tp == context.sizes.tp)
    return FindTileMiss(context, *WeightsOn(context, RulesFor(context, 0)));
  Context trial = context;
  trial.sizes.tp = tp;
  return FindTileMiss(trial, *WeightsOn(trial, RulesFor(trial, 0)));
}

// Divides, and leaves a slice that no kernel takes.
void CheckTiles(const Context& c, std::vector<Finding>* findings) {
  const std::optional<TileMiss> miss = TileMissWith(c, c.sizes.tp);
  if (!miss) return;
  int64_t below = c.sizes.tp - 1;
  while (below >= 1 &&
         !(DividesWith(c, below, c.sizes.expert_parallel) && !TileMissWith(c, below))) {
    --below;
  }
  findings->push_back({"layout.tiles", Severity::kError,
                       fmt::format("--tensor-parallel-size {}", c.sizes.tp), TileWords(*miss),
                       below >= 1
                           ? fmt::format("nearest legal tensor-parallel size below: {}", below)
                           : "--dtype float16 has a kernel without tiles"});
}

void CheckPipeline(const Context& c, const std::optional<std::vector<int64_t>>& partition,
                   std::vector<Finding>* findings) {
  const int64_t layers = c.arch->layers();
  if (c.sizes.pp > layers) {
    findings->push_back({"layout.pipeline", Severity::kError,
                         fmt::format("--pipeline-parallel-size {}", c.sizes.pp),
                         fmt::format("more stages than the model's {} layers", layers),
                         fmt::format("use at most {}", layers)});
    return;
  }
  if (!partition) return;
  const int64_t sum = std::accumulate(partition->begin(), partition->end(), int64_t{0});
  const std::string subject = "--pp-partition " + FormatPartition(PartitionFrom(*partition));
  const std::string fix =
      fmt::format("vLLM's own split is {}", FormatPartition(DefaultPartition(layers, c.sizes.pp)));
  // Both texts: vllm/distributed/utils.py:get_pp_indices (d29f7f5c).
  if (static_cast<int64_t>(partition->size()) != c.sizes.pp) {
    findings->push_back({"layout.partition", Severity::kError, subject,
                         fmt::format("len(partitions)={} does not match pp_size={}.",
                                     partition->size(), c.sizes.pp),
                         fix});
  } else if (sum != layers) {
    findings->push_back(
        {"layout.partition", Severity::kError, subject,
         fmt::format("sum(partitions)={} does not match num_hidden_layers={}.", sum, layers), fix});
  }
}

// Deepstack features are added on the first stage alone
// (vllm/model_executor/models/qwen3_vl.py, d29f7f5c).
void CheckDeepstack(const Context& c, const std::optional<std::vector<int64_t>>& partition,
                    std::vector<Finding>* findings) {
  const int64_t levels = c.arch->vision.deepstack_levels;
  if (levels == 0 || c.sizes.pp == 1) return;
  const std::vector<StageRange> stages =
      partition ? PartitionFrom(*partition) : DefaultPartition(c.arch->layers(), c.sizes.pp);
  if (stages.front().count >= levels) return;
  findings->push_back(
      {"layout.deepstack", Severity::kError, fmt::format("--pipeline-parallel-size {}", c.sizes.pp),
       "start_layer should be greater than or equal to len(deepstack_visual_indexes)",
       fmt::format("leave stage 0 at least {} layers with --pp-partition", levels)});
}

// models/qwen2.py:Qwen2Model, which Qwen3 inherits (d29f7f5c).
void CheckWindows(const Context& c, std::vector<Finding>* findings) {
  const bool qwen = c.arch->name == "Qwen2ForCausalLM" || c.arch->name == "Qwen3ForCausalLM";
  const int64_t layers = c.arch->layers();
  const int64_t full = c.arch->CountKind(AttentionKind::kFull, 0, layers);
  if (!qwen || full == 0 || full == layers) return;
  findings->push_back(
      {"engine.sliding_window", Severity::kError, "use_sliding_window",
       fmt::format("Sliding window for some but all layers is not supported. This model uses "
                   "sliding window but `max_window_layers` = {} is less than `num_hidden_layers` = "
                   "{}. Please open an issue to discuss this feature.",
                   full, layers),
       "set use_sliding_window to false in config.json: every layer then attends to all tokens"});
}

void CheckDcp(const Context& c, std::vector<Finding>* findings) {
  const int64_t dcp = c.sizes.dcp;
  if (dcp == 1) return;
  if (auto refusal = DcpRefusal(c.sizes)) return findings->push_back(*std::move(refusal));
  const std::string subject = fmt::format("--decode-context-parallel-size {}", dcp);
  // Texts: vllm/v1/kv_cache_interface.py, vllm/v1/core/single_type_kv_cache_manager.py and
  // vllm/v1/attention/backends/mla/flashmla_sparse.py (d29f7f5c).
  const auto refuse = [&](std::string message, std::string fix) {
    findings->push_back(
        {"layout.dcp", Severity::kError, subject, std::move(message), std::move(fix)});
  };
  if (c.arch->has_kind(AttentionKind::kSliding)) {
    return refuse("DCP not support sliding window.", "leave it at 1");
  }
  if (c.arch->has_kind(AttentionKind::kChunked)) {
    return refuse("DCP not support chunked local attn now.", "leave it at 1");
  }
  if (c.arch->has_kind(AttentionKind::kMla)) {
    if (c.arch->indexer.heads > 0 && !c.resolved.fp8_ds_mla) {
      refuse(
          "DCP for FlashMLA sparse requires an fp8_ds_mla kv-cache; the bf16 sparse path is not "
          "supported under DCP.",
          "--kv-cache-dtype fp8, or leave it at 1");
    }
    return;
  }
  if (c.arch->kv_heads == 0) return;  // no attention at all
  const int64_t most = c.sizes.tp / c.arch->kv_heads;
  if (c.sizes.tp <= c.arch->kv_heads || dcp > most) {
    findings->push_back(
        {"layout.dcp", Severity::kError, subject,
         fmt::format("tensor parallel size {} must be greater than total num kv heads {} when "
                     "enable decode context parallel for GQA/MQA, and dcp at most their ratio",
                     c.sizes.tp, c.arch->kv_heads),
         most > 1 ? fmt::format("use at most {}", most) : "leave it at 1"});
  }
}

// Caches that cannot share a pool. Texts: vllm/v1/core/kv_cache_utils.py (d29f7f5c).
void CheckCache(const Context& c, std::vector<Finding>* findings) {
  if (HasError(*findings)) return;
  const bool one_type = c.settings.disable_hybrid_kv_cache_manager;
  const KvGrouping grouping = GroupCaches(CollectCaches(c, AlignBlocks(c)), one_type);
  if (grouping.arrangement != KvArrangement::kRefused) return;
  if (one_type) {
    findings->push_back({"kv.one_type", Severity::kError, "--disable-hybrid-kv-cache-manager",
                         "Failed to promote local KV cache specs to one unified type.",
                         "leave it out"});
    return;
  }
  findings->push_back({"kv.pages", Severity::kError, c.arch->name,
                       "page size is not divisible by the maximum page size and cannot be padded.",
                       "another --block-size or --kv-cache-dtype"});
}

}  // namespace

std::vector<Finding> CheckLayout(const Context& context,
                                 const std::optional<std::vector<int64_t>>& partition) {
  std::vector<Finding> findings = CheckDivisibility(context);
  if (!findings.empty()) {
    const std::string fix = LegalNeighbours(context);
    for (Finding& finding : findings) {
      finding.fix = finding.id != "layout.vision_heads"
                        ? fix
                        : "--mm-encoder-tp-mode data keeps the tower whole; " + fix;
    }
  }
  if (findings.empty()) CheckTiles(context, &findings);
  const size_t indivisible = findings.size();
  CheckPipeline(context, partition, &findings);
  if (findings.size() == indivisible) CheckDeepstack(context, partition, &findings);
  CheckWindows(context, &findings);
  CheckDcp(context, &findings);
  for (Finding& finding : CheckEplb(context)) findings.push_back(std::move(finding));
  CheckCache(context, &findings);
  return findings;
}

}  // namespace shardplan::vllm
