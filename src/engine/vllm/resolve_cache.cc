#include "engine/vllm/resolve_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "engine/vllm/kv_compressed.h"
#include "engine/vllm/speculative.h"
#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"
#include "shardplan/base/units.h"

namespace shardplan::vllm {
namespace {

bool Is10x(int capability) { return capability >= 100 && capability < 120; }
bool IsHopper(int capability) { return capability >= 90 && capability < 100; }

std::string_view TorchName(DType dtype) {
  if (dtype == DType::kF16) return "float16";
  return dtype == DType::kF32 ? "float32" : "bfloat16";
}

bool IsSparse(const Architecture& a) {
  return a.indexer.heads > 0 && a.has_kind(AttentionKind::kMla);
}

// A backend and the block it prefers. The first usable of vLLM's priority list.
// Source: vllm/platforms/cuda.py and v1/attention/backends (d29f7f5c), checked against the backends
// that its own functions report for SM 9.0 and 10.0.
struct Backend {
  const char* name;
  int64_t block;
};

Backend DefaultLatentBackend(int capability, bool fp8) {
  if (Is10x(capability)) return {"FLASHINFER_MLA", 32};
  if (IsHopper(capability)) return fp8 ? Backend{"FLASHMLA", 64} : Backend{"FLASH_ATTN_MLA", 16};
  return {"TRITON_MLA", 16};
}

// Sparse latent attention: null where no backend serves the card.
const char* DefaultSparseBackend(int capability, bool fp8, int64_t heads) {
  if (IsHopper(capability)) return fp8 ? "FLASHMLA_SPARSE" : "FLASH_ATTN_MLA_SPARSE";
  // Few heads a rank suit FlashInfer's kernel, many FlashMLA's.
  if (Is10x(capability)) return fp8 || heads <= 16 ? "FLASHINFER_MLA_SPARSE" : "FLASHMLA_SPARSE";
  return capability >= 120 ? "FLASHINFER_MLA_SPARSE_SM120" : nullptr;
}

Backend DefaultBackend(const Context& c, const Resolved& r, std::vector<Finding>* findings) {
  const Architecture& a = *c.arch;
  const int capability = c.gpu->capability;
  const bool fp8 = r.kv_element_bytes == 1;
  if (!a.compress_ratio.empty()) return {"FLASHMLA_SPARSE_DSV4", kCompressedBlock};
  if (IsSparse(a)) {
    const char* name = DefaultSparseBackend(capability, fp8, a.heads / c.sizes.tp);
    if (name == nullptr) {
      name = "FLASHMLA_SPARSE";
      if (c.gpu->vendor == "amd") return {name, 64};  // has backends of its own
      findings->push_back({"attention.no_backend", Severity::kError, a.name,
                           fmt::format("No valid attention backend found for cuda: sparse latent "
                                       "attention has none for SM {}.{}",
                                       capability / 10, capability % 10),
                           "Hopper or later"});
    }
    return {name, 64};
  }
  if (a.has_kind(AttentionKind::kMla)) return DefaultLatentBackend(capability, fp8);
  // Values narrower than keys. Source: vllm/model_executor/models/mimo_v2_flash.py (d29f7f5c).
  if (a.v_head_dim != a.head_dim) {
    const bool flash = IsHopper(capability) || Is10x(capability);
    return {flash ? "FLASH_ATTN_DIFFKV" : "TRITON_ATTN_DIFFKV", 16};
  }
  return {Is10x(capability) ? "FLASHINFER" : "FLASH_ATTN", 16};
}

Result<Backend> FindBackend(const std::string& name) {
  static const std::vector<Backend> known = {{"CUTLASS_MLA", 128},
                                             {"FLASHINFER", 16},
                                             {"FLASHINFER_MLA", 32},
                                             {"FLASHINFER_MLA_SPARSE", 64},
                                             {"FLASHINFER_MLA_SPARSE_SM120", 64},
                                             {"FLASHMLA", 64},
                                             {"FLASHMLA_SPARSE", 64},
                                             {"FLASHMLA_SPARSE_DSV4", kCompressedBlock},
                                             {"FLASH_ATTN", 16},
                                             {"FLASH_ATTN_DIFFKV", 16},
                                             {"FLASH_ATTN_MLA", 16},
                                             {"FLASH_ATTN_MLA_SPARSE", 64},
                                             {"TRITON_ATTN", 16},
                                             {"TRITON_ATTN_DIFFKV", 16},
                                             {"TRITON_MLA", 16}};
  std::vector<std::string> names;
  for (const Backend& backend : known) {
    if (name == backend.name) return backend;
    names.emplace_back(backend.name);
  }
  return Fail(ErrorCode::kUsage, "--attention-backend " + Printable(name),
              "expected one of " + JoinWithOr(names));
}

// Models whose layers are built without the cache's configuration: their cache has the model's
// dtype whatever is asked for. Source: vllm/model_executor/models/mimo_v2_flash.py (d29f7f5c).
bool IgnoresCacheDType(const Architecture& a) { return a.name.starts_with("MiMoV2"); }

Status ResolveCacheDType(const Context& c, Resolved* r, std::vector<Finding>* findings) {
  r->kv_cache_dtype = c.settings.kv_cache_dtype.value_or("auto");
  const std::string& name = r->kv_cache_dtype;
  static const std::set<std::string> fp8 = {"fp8", "fp8_e4m3", "fp8_e5m2"};
  if (name == "auto" && c.arch->fp8_cache) {
    // The checkpoint says so itself; seen in public logs of NVFP4 exports.
    r->kv_element_bytes = 1;
    r->kv_stored_dtype = "fp8";
  } else if (name == "auto") {
    r->kv_element_bytes = BitsOf(r->dtype) / 8;
    r->kv_stored_dtype = TorchName(r->dtype);
  } else if (name == "bfloat16" || name == "float16") {
    r->kv_element_bytes = 2;
    r->kv_stored_dtype = name;
  } else if (fp8.contains(name)) {
    r->kv_element_bytes = 1;
    r->kv_stored_dtype = name;
  } else {
    return Fail(ErrorCode::kUsage, "--kv-cache-dtype " + Printable(name),
                "expected auto, bfloat16, float16, fp8, fp8_e4m3 or fp8_e5m2");
  }
  if (IgnoresCacheDType(*c.arch) && name != "auto") {
    r->kv_element_bytes = BitsOf(r->dtype) / 8;
    r->kv_stored_dtype = TorchName(r->dtype);
    findings->push_back({"kv.dtype_ignored", Severity::kWarning, "--kv-cache-dtype " + name,
                         fmt::format("has no effect: vLLM builds this model's attention without it "
                                     "and caches in {}",
                                     r->kv_stored_dtype),
                         ""});
  }
  if (!c.arch->compress_ratio.empty() && r->kv_element_bytes != 1) {
    if (name == "auto" && c.profile->compressed_cache_is_fp8) {
      r->kv_element_bytes = 1;
    } else {
      findings->push_back({"kv.dtype", Severity::kError, "--kv-cache-dtype " + name,
                           fmt::format("DeepseekV4 fp8_ds_mla layout only supports fp8 kv-cache, "
                                       "got {}",
                                       name),
                           "--kv-cache-dtype fp8"});
    }
  }
  return {};
}

Status ResolveAttention(const Context& c, Resolved* r, std::vector<Finding>* findings) {
  const bool mla = c.arch->has_kind(AttentionKind::kMla);
  Backend backend{nullptr, 0};
  if (c.settings.attention_backend) {
    SHARDPLAN_ASSIGN_OR_RETURN(backend, FindBackend(*c.settings.attention_backend));
    const bool for_mla = std::string_view(backend.name).find("MLA") != std::string_view::npos;
    if (for_mla != mla) {
      return Fail(ErrorCode::kUsage, std::string("--attention-backend ") + backend.name,
                  mla ? "this model's latent attention needs one of the MLA backends"
                      : "an MLA backend cannot run this model's attention");
    }
    const bool for_sparse = std::string_view(backend.name).find("SPARSE") != std::string_view::npos;
    if (mla && for_sparse != IsSparse(*c.arch)) {
      return Fail(ErrorCode::kUsage, std::string("--attention-backend ") + backend.name,
                  for_sparse ? "this model's attention is not sparse"
                             : "this model's sparse attention needs one of the sparse backends");
    }
  } else {
    backend = DefaultBackend(c, *r, findings);
  }
  r->attention_backend = backend.name;
  r->kernel_block = backend.block;
  r->block_size = c.settings.block_size.value_or(backend.block);
  constexpr int64_t kHighest = int64_t{1} << 31;
  if (r->block_size < 1 || r->block_size > kHighest || r->block_size % backend.block != 0) {
    return Fail(
        ErrorCode::kUsage, fmt::format("--block-size {}", r->block_size),
        fmt::format("expected a multiple of {}, what {} works in", backend.block, backend.name));
  }
  // FlashMLA's sparse kernels, and FlashInfer's for SM 12.0, pack FP8 latents with their scales;
  // FlashInfer's for SM 10.0 takes them plain.
  r->fp8_ds_mla =
      r->kv_element_bytes == 1 && (r->attention_backend.starts_with("FLASHMLA_SPARSE") ||
                                   r->attention_backend == "FLASHINFER_MLA_SPARSE_SM120");
  if (r->fp8_ds_mla) r->kv_stored_dtype = "fp8_ds_mla";
  return {};
}

Result<DType> ReadStateDType(const char* flag, const std::optional<std::string>& given,
                             DType automatic) {
  const std::string name = given.value_or("auto");
  if (name == "auto") return automatic;
  if (name == "float32") return DType::kF32;
  if (name == "float16") return DType::kF16;
  if (name == "bfloat16") return DType::kBF16;
  return Fail(ErrorCode::kUsage, fmt::format("{} {}", flag, Printable(name)),
              "expected auto, float32, float16 or bfloat16");
}

// The recurrent states' dtype, where the config names one: "mamba_ssm_dtype" of Qwen3.5,
// "mamba_ssm_cache_dtype" of Nemotron.
std::optional<DType> ConfiguredStates(const Architecture& a) {
  return a.has_kind(AttentionKind::kGdn) ? a.gdn.state_dtype : a.mamba.state_dtype;
}

// Mamba's kernels can keep a state per chunk; delta attention's cannot.
bool KeepsAllStates(const Architecture& a) {
  return a.has_kind(AttentionKind::kMamba2) || a.has_kind(AttentionKind::kMamba1);
}

Status ResolveStates(const Context& c, Resolved* r, std::vector<Finding>* findings) {
  r->prefix_caching = c.settings.enable_prefix_caching.value_or(!c.arch->has_state() ||
                                                                c.profile->hybrid_prefix_caching);
  std::string mode = c.settings.mamba_cache_mode.value_or("none");
  if (mode != "none" && mode != "align" && mode != "all") {
    return Fail(ErrorCode::kUsage, "--mamba-cache-mode " + Printable(mode),
                "expected none, align or all");
  }
  SHARDPLAN_ASSIGN_OR_RETURN(
      r->convolution_dtype,
      ReadStateDType("--mamba-cache-dtype", c.settings.mamba_cache_dtype, r->dtype));
  SHARDPLAN_ASSIGN_OR_RETURN(
      r->state_dtype, ReadStateDType("--mamba-ssm-cache-dtype", c.settings.mamba_ssm_cache_dtype,
                                     ConfiguredStates(*c.arch).value_or(r->convolution_dtype)));
  if (!c.arch->has_state()) {
    if (c.settings.mamba_cache_mode) {
      findings->push_back({"kv.mamba_mode", Severity::kNote, "--mamba-cache-mode " + mode,
                           "has no effect: this model keeps no state", ""});
    }
    return {};
  }
  if (!r->prefix_caching) {
    if (mode != "none") {
      findings->push_back({"kv.mamba_mode", Severity::kWarning, "--mamba-cache-mode " + mode,
                           "has no effect without prefix caching; vLLM uses none",
                           "drop one of the two flags"});
    }
    mode = "none";
  } else if (mode == "all" && !KeepsAllStates(*c.arch)) {
    findings->push_back({"kv.mamba_mode", Severity::kNote, "--mamba-cache-mode all",
                         c.arch->name + " does not support it; vLLM falls back to align", ""});
    mode = "align";
  } else if (mode == "none") {
    mode = "align";  // prefix caching turns none into align for hybrids
  }
  r->mamba_cache_mode = mode;
  return {};
}

// Batches that the scheduler may have under way: what a window has to outlast.
// Source: VllmConfig.max_concurrent_batches (d29f7f5c).
int64_t ConcurrentBatches(const Context& c, bool v2_runner) {
  if (c.profile->windows_in_flight == WindowsInFlight::kOneBatch) return 1;
  const int64_t pp = c.sizes.pp;
  if (!c.settings.async_scheduling.value_or(true) || DraftsOnHost(c.settings)) return pp;
  if (v2_runner) return pp + 1;
  return pp == 1 ? 2 : pp;
}

}  // namespace

bool UsesV2Runner(const Context& c) {
  if (c.settings.v2_model_runner) return *c.settings.v2_model_runner;  // VLLM_USE_V2_MODEL_RUNNER
  if (const std::optional<bool> v2 = RunnerOfDrafter(c)) return *v2;
  static const std::set<std::string> listed = {
      "DeepseekV2ForCausalLM", "DeepseekV32ForCausalLM", "DeepseekV4ForCausalLM",
      "GlmMoeDsaForCausalLM",  "GraniteMoeForCausalLM",  "KimiK3ForConditionalGeneration",
      "Qwen2MoeForCausalLM"};
  const std::string& name = c.arch->name;
  const bool dense = c.arch->moe.experts == 0 && !c.arch->is_hybrid();
  switch (c.profile->v2_runner) {
    case V2Runner::kNone:
      return false;
    case V2Runner::kQwen3Dense:
      return name == "Qwen3ForCausalLM";
    case V2Runner::kQwen3LlamaMistralDense:
      return name == "Qwen3ForCausalLM" || name == "LlamaForCausalLM" ||
             name == "MistralForCausalLM";
    case V2Runner::kDense:
      return dense;
    case V2Runner::kDenseAndListed:
      return dense || listed.contains(name);
    case V2Runner::kAll:
      break;
  }
  return true;
}

Status ResolveCache(const Context& c, Resolved* r, std::vector<Finding>* findings) {
  SHARDPLAN_RETURN_IF_ERROR(ResolveCacheDType(c, r, findings));
  SHARDPLAN_RETURN_IF_ERROR(ResolveAttention(c, r, findings));
  SHARDPLAN_RETURN_IF_ERROR(ResolveStates(c, r, findings));
  r->v2_runner = UsesV2Runner(c);
  r->in_flight_tokens =
      internal::CheckedMul(ConcurrentBatches(c, r->v2_runner), r->max_num_batched_tokens);
  return {};
}

}  // namespace shardplan::vllm
