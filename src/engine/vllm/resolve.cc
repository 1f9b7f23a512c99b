#include <fmt/format.h>

#include <set>

#include "engine/vllm/all2all.h"
#include "engine/vllm/batch_defaults.h"
#include "engine/vllm/context.h"
#include "engine/vllm/resolve_cache.h"
#include "engine/vllm/resolve_graphs.h"
#include "engine/vllm/settings_check.h"
#include "engine/vllm/speculative.h"
#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"
#include "shardplan/base/units.h"

namespace shardplan::vllm {
namespace {

bool Is10x(int capability) { return capability >= 100 && capability < 120; }

// Which kernel runs the routed experts. Source: fused_moe/oracle/{mxfp4,nvfp4,fp8}.py (d29f7f5c);
// for FP8 on Hopper the choice that public logs from v0.19 on show.
std::string DefaultMoeBackend(const Architecture& arch, int capability, const Profile& profile) {
  if (arch.moe.experts == 0) return "";
  if (arch.quantization == "nvfp4") return Is10x(capability) ? "flashinfer_trtllm" : "marlin";
  if (arch.quantization == "awq" || arch.quantization == "gptq" || arch.quantization == "int4") {
    return "marlin";
  }
  // gpt-oss has Triton kernels of its own on Hopper (golden rows of capability 9.0).
  if (arch.family == "gpt-oss" && capability == 90) return "triton";
  if (arch.quantization == "mxfp4") return Is10x(capability) ? "flashinfer_trtllm" : "marlin";
  if (arch.quantization == "fp8") {
    if (capability < 89) return "marlin";
    if (Is10x(capability)) return "flashinfer_trtllm";
    return capability == 90 ? profile.hopper_fp8_moe : "triton";
  }
  return "triton";
}

Result<std::pair<DType, std::string>> ResolveDType(const Context& c) {
  const std::string name = c.settings.dtype.value_or("auto");
  if (name == "bfloat16") return std::pair(DType::kBF16, name);
  if (name == "float16" || name == "half") return std::pair(DType::kF16, std::string("float16"));
  if (name == "float32" || name == "float") return std::pair(DType::kF32, std::string("float32"));
  if (name != "auto") {
    return Fail(ErrorCode::kUsage, "--dtype " + Printable(name),
                "expected auto, bfloat16, float16 or float32");
  }
  // auto: float32 checkpoints are loaded in half precision (vllm/config/model.py).
  if (c.arch->dtype == DType::kF16) return std::pair(DType::kF16, std::string("float16"));
  if (c.arch->dtype == DType::kF32 && c.gpu->capability > 0 && c.gpu->capability < 80) {
    return std::pair(DType::kF16, std::string("float16"));
  }
  return std::pair(DType::kBF16, std::string("bfloat16"));
}

// Requests and tokens of a batch.
Status ResolveBatch(const Context& c, Resolved* r, std::vector<OptionValue>* defaults,
                    std::vector<Finding>* findings) {
  const EngineSettings& s = c.settings;
  BatchFlags flags{s.max_num_seqs, s.max_num_batched_tokens, r->max_model_len,
                   s.enable_chunked_prefill.value_or(true)};
  SHARDPLAN_ASSIGN_OR_RETURN(flags.mode, ParsePerformanceMode(s.performance_mode));
  BatchLimits card = DefaultsForCard(c.gpu->device_total.bytes.central, c.gpu->name, *c.profile);
  if (TakesBatches(r->all2all_backend, c.sizes)) {
    card.max_num_batched_tokens = kBatchedExpertsTokens;
  }
  const BatchLimits limits = LimitBatch(card, flags);
  r->max_num_seqs = limits.max_num_seqs;
  r->max_num_batched_tokens = limits.max_num_batched_tokens;
  if (!s.max_num_batched_tokens) {
    defaults->emplace_back("max-num-batched-tokens", std::to_string(limits.max_num_batched_tokens));
  }
  if (!s.max_num_seqs) {
    defaults->emplace_back("max-num-seqs", std::to_string(limits.max_num_seqs));
  }
  if (auto refusal = CheckBatch(limits, flags)) findings->push_back(*std::move(refusal));
  return {};
}

}  // namespace

Result<Resolved> ResolveSettings(const Context& c, std::vector<OptionValue>* defaults,
                                 std::vector<Finding>* findings) {
  Resolved r;
  const EngineSettings& s = c.settings;
  auto note = [&](const char* option, std::string value) {
    defaults->emplace_back(option, std::move(value));
  };
  SHARDPLAN_RETURN_IF_ERROR(CheckNumbers(s));
  ResolveSpeculation(c, &r, findings);

  r.gpu_memory_utilization = s.gpu_memory_utilization.value_or(c.profile->gpu_memory_utilization);
  if (!s.gpu_memory_utilization) {
    note("gpu-memory-utilization", fmt::format("{}", r.gpu_memory_utilization));
  }
  r.max_model_len = s.max_model_len.value_or(c.arch->max_positions);
  if (!s.max_model_len && !s.max_model_len_auto) {
    note("max-model-len", std::to_string(r.max_model_len));
  }
  if (r.max_model_len > c.arch->max_positions) {
    findings->push_back(
        {"window.max_positions", Severity::kError,
         fmt::format("--max-model-len {}", r.max_model_len),
         fmt::format("User-specified max_model_len ({}) is greater than the derived max_model_len "
                     "(max_position_embeddings={})",
                     r.max_model_len, c.arch->max_positions),
         fmt::format("ask for at most {}", FormatCount(c.arch->max_positions))});
  }

  SHARDPLAN_ASSIGN_OR_RETURN(r.all2all_backend, ResolveAll2All(s.all2all_backend));
  SHARDPLAN_RETURN_IF_ERROR(ResolveBatch(c, &r, defaults, findings));

  SHARDPLAN_ASSIGN_OR_RETURN(const auto dtype, ResolveDType(c));
  r.dtype = dtype.first;
  if (!s.dtype) note("dtype", dtype.second);
  SHARDPLAN_RETURN_IF_ERROR(ResolveCache(c, &r, findings));
  if (r.mamba_cache_mode == "align" && !s.enable_chunked_prefill.value_or(true)) {
    findings->push_back({"kv.mamba_mode", Severity::kError, "--no-enable-chunked-prefill",
                         "Chunked prefill is required for mamba cache mode 'align'.",
                         "--no-enable-prefix-caching, or chunked prefill"});
  }
  if (!s.kv_cache_dtype)
    note("kv-cache-dtype",
         "auto (" +
             (c.arch->fp8_cache ? "fp8, as the checkpoint says" : std::string(NameOf(r.dtype))) +
             ")");
  if (!s.attention_backend) note("attention-backend", r.attention_backend);
  if (!s.block_size) note("block-size", std::to_string(r.block_size));
  if (!s.enable_prefix_caching) note("enable-prefix-caching", "true");
  if (!r.mamba_cache_mode.empty() && !s.mamba_cache_mode) {
    note("mamba-cache-mode", r.mamba_cache_mode);
  }

  const std::string moe = s.moe_backend.value_or("auto");
  static const std::set<std::string> backends = {"auto",    "triton",
                                                 "cutlass", "deep_gemm",
                                                 "marlin",  "flashinfer_trtllm",
                                                 "humming", "flashinfer_cutlass"};
  if (!backends.contains(moe)) {
    return Fail(ErrorCode::kUsage, "--moe-backend " + Printable(moe),
                "expected one of " + JoinWithOr({backends.begin(), backends.end()}));
  }
  if (c.arch->moe.experts > 0) {
    r.moe_backend = moe == "auto" ? DefaultMoeBackend(*c.arch, c.gpu->capability, *c.profile) : moe;
    if (!s.moe_backend) note("moe-backend", "auto (" + r.moe_backend + ")");
    if (!s.all2all_backend && UsesAll2All(c.sizes)) note("all2all-backend", r.all2all_backend);
  } else if (c.sizes.expert_parallel) {
    findings->push_back({"layout.no_experts", Severity::kNote, "--enable-expert-parallel",
                         "has no effect: this model has no routed experts", ""});
  }

  r.vision_on_device = c.arch->vision.present && !s.language_model_only;
  const std::string encoder = s.mm_encoder_tp_mode.value_or("weights");
  if (encoder != "weights" && encoder != "data") {
    return Fail(ErrorCode::kUsage, "--mm-encoder-tp-mode " + Printable(encoder),
                "expected weights or data");
  }
  r.vision_sharded = r.vision_on_device && encoder == "weights" && c.sizes.tp > 1 &&
                     c.arch->vision.heads % c.sizes.tp == 0;
  // Sequence-parallel MoE keeps shared experts whole on every rank. Kimi's class decides by itself,
  // whatever the backend, and only without PP. Sources: vllm/config/parallel.py:
  // use_sequence_parallel_moe (d29f7f5c), vllm/models/kimi_k3/nvidia/model.py:KimiDecoderLayer
  // (ed51064c).
  r.sequence_parallel =
      UsesAll2All(c.sizes) && c.sizes.tp > 1 &&
      (IsKimiClass(*c.arch) ? c.sizes.pp == 1 : SplitsSequences(r.all2all_backend));
  r.replicate_shared = r.sequence_parallel && !SlicesShared(c);
  SHARDPLAN_RETURN_IF_ERROR(ResolveGraphs(c, &r, findings));
  return r;
}

}  // namespace shardplan::vllm
