#include "engine/vllm/resolve_cache.h"

#include <gtest/gtest.h>

#include "engine/vllm/kv_models.h"
#include "support/vllm_context.h"

namespace shardplan {
namespace {

using testing_support::VllmContext;

ModelSpec CacheNumbers(const std::string& name) {
  ModelSpec spec;
  spec.arch = *testing_support::NumbersOf(name);
  return spec;
}

std::string CacheError(VllmContext* c) {
  const auto resolved = vllm::ResolveSettings(c->context, &c->defaults, &c->findings);
  return resolved ? "resolved" : resolved.error().ToString();
}

// Heads a rank decide on Blackwell, the cache's dtype everywhere.
TEST(VllmResolveCache, SparseBackends) {
  struct Case {
    int capability;
    const char* kv;
    int64_t tp;
    const char* backend;
    const char* stored;
  };
  for (const Case& k : {Case{90, "auto", 8, "FLASH_ATTN_MLA_SPARSE", "bfloat16"},
                        Case{90, "fp8", 8, "FLASHMLA_SPARSE", "fp8_ds_mla"},
                        Case{100, "auto", 1, "FLASHMLA_SPARSE", "bfloat16"},
                        Case{100, "auto", 8, "FLASHINFER_MLA_SPARSE", "bfloat16"},
                        Case{100, "fp8", 1, "FLASHINFER_MLA_SPARSE", "fp8"},
                        Case{120, "fp8", 8, "FLASHINFER_MLA_SPARSE_SM120", "fp8_ds_mla"}}) {
    VllmContext c(CacheNumbers("deepseek-ai__DeepSeek-V3.2"));
    c.gpu().capability = k.capability;
    c.context.sizes.tp = k.tp;
    c.context.settings.kv_cache_dtype = k.kv;
    c.Resolve();
    EXPECT_EQ(c.context.resolved.attention_backend, k.backend);
    EXPECT_EQ(c.context.resolved.kv_stored_dtype, k.stored);
    EXPECT_EQ(c.context.resolved.block_size, 64);
    EXPECT_TRUE(c.findings.empty());
  }
}

TEST(VllmResolveCache, SparseAttentionNeedsACardThatHasIt) {
  VllmContext c(CacheNumbers("deepseek-ai__DeepSeek-V3.2"));
  c.gpu().capability = 89;
  c.Resolve();
  ASSERT_EQ(c.findings.size(), 1u);
  EXPECT_EQ(c.findings[0].id, "attention.no_backend");
  EXPECT_EQ(c.findings[0].message,
            "No valid attention backend found for cuda: sparse latent attention has none for SM "
            "8.9");
  VllmContext amd(CacheNumbers("deepseek-ai__DeepSeek-V3.2"));
  amd.gpu().capability = 0;
  amd.gpu().vendor = "amd";
  amd.Resolve();
  EXPECT_TRUE(amd.findings.empty());
}

TEST(VllmResolveCache, SparseBackendsAreForSparseAttention) {
  VllmContext sparse(CacheNumbers("deepseek-ai__DeepSeek-V3.2"));
  sparse.context.settings.attention_backend = "FLASHMLA";
  EXPECT_EQ(CacheError(&sparse),
            "--attention-backend FLASHMLA: this model's sparse attention needs one of the sparse "
            "backends");
  VllmContext dense("deepseek-v3");
  dense.context.settings.attention_backend = "FLASHMLA_SPARSE";
  EXPECT_EQ(CacheError(&dense),
            "--attention-backend FLASHMLA_SPARSE: this model's attention is not sparse");
}

// Values narrower than keys have a backend of their own, and MiMo a cache that ignores the option.
TEST(VllmResolveCache, MiMoKeepsItsDtype) {
  VllmContext c(CacheNumbers("XiaomiMiMo__MiMo-V2-Flash"));
  c.context.settings.kv_cache_dtype = "fp8";
  c.Resolve();
  EXPECT_EQ(c.context.resolved.attention_backend, "FLASH_ATTN_DIFFKV");
  EXPECT_EQ(c.context.resolved.kv_element_bytes, 2);
  EXPECT_EQ(c.context.resolved.kv_stored_dtype, "bfloat16");
  EXPECT_EQ(c.context.resolved.kv_cache_dtype, "fp8");
  ASSERT_EQ(c.findings.size(), 1u);
  EXPECT_EQ(c.findings[0].id, "kv.dtype_ignored");
  VllmContext quiet(CacheNumbers("XiaomiMiMo__MiMo-V2-Flash"));
  quiet.gpu().capability = 80;
  quiet.Resolve();
  EXPECT_TRUE(quiet.findings.empty());
  EXPECT_EQ(quiet.context.resolved.attention_backend, "TRITON_ATTN_DIFFKV");
}

TEST(VllmResolveCache, DeepSeekV4CachesInFp8) {
  VllmContext old(CacheNumbers("deepseek-ai__DeepSeek-V4-Flash"), "0.28.0");
  old.Resolve();
  ASSERT_EQ(old.findings.size(), 1u);
  EXPECT_EQ(old.findings[0].message,
            "DeepseekV4 fp8_ds_mla layout only supports fp8 kv-cache, got auto");
  VllmContext later(CacheNumbers("deepseek-ai__DeepSeek-V4-Flash"), "0.31.0");
  later.Resolve();
  EXPECT_TRUE(later.findings.empty());
  EXPECT_EQ(later.context.resolved.block_size, 256);
  EXPECT_EQ(later.context.resolved.attention_backend, "FLASHMLA_SPARSE_DSV4");
  VllmContext wide(CacheNumbers("deepseek-ai__DeepSeek-V4-Flash"), "0.31.0");
  wide.context.settings.kv_cache_dtype = "bfloat16";
  wide.Resolve();
  EXPECT_EQ(wide.findings.size(), 1u);
}

// Mamba keeps a state per chunk where it is asked to, delta attention cannot.
TEST(VllmResolveCache, ModeAllByKindOfState) {
  for (const auto& [model, mode] : {std::pair("nvidia__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "all"),
                                    std::pair("ai21labs__AI21-Jamba2-Mini", "all"),
                                    std::pair("Qwen__Qwen3-Next-80B-A3B-Instruct", "align"),
                                    std::pair("moonshotai__Kimi-Linear-48B-A3B", "align")}) {
    VllmContext c(CacheNumbers(model));
    c.context.settings.mamba_cache_mode = "all";
    c.Resolve();
    EXPECT_EQ(c.context.resolved.mamba_cache_mode, mode) << model;
    EXPECT_EQ(c.findings.size(), std::string(mode) == "all" ? 0u : 1u);
  }
}

TEST(VllmResolveCache, DtypesOfStates) {
  struct Case {
    const char* model;
    std::optional<std::string> convolution, state;
    DType want_convolution, want_state;
  };
  const char* next = "Qwen__Qwen3-Next-80B-A3B-Instruct";
  const char* later = "Qwen__Qwen3.5-27B";
  for (const Case& k : {Case{next, std::nullopt, std::nullopt, DType::kBF16, DType::kBF16},
                        Case{next, "float32", std::nullopt, DType::kF32, DType::kF32},
                        Case{next, std::nullopt, "float32", DType::kBF16, DType::kF32},
                        Case{next, "float32", "bfloat16", DType::kF32, DType::kBF16},
                        Case{later, std::nullopt, std::nullopt, DType::kBF16, DType::kF32},
                        Case{later, "auto", "float16", DType::kBF16, DType::kF16}}) {
    VllmContext c(CacheNumbers(k.model));
    c.context.settings.mamba_cache_dtype = k.convolution;
    c.context.settings.mamba_ssm_cache_dtype = k.state;
    c.Resolve();
    EXPECT_EQ(c.context.resolved.convolution_dtype, k.want_convolution);
    EXPECT_EQ(c.context.resolved.state_dtype, k.want_state);
  }
  VllmContext wrong(CacheNumbers(next));
  wrong.context.settings.mamba_ssm_cache_dtype = "fp8";
  EXPECT_EQ(CacheError(&wrong),
            "--mamba-ssm-cache-dtype fp8: expected auto, float32, float16 or bfloat16");
}

// The first runner has two batches under way without a pipeline and one a stage with it; the second
// one more than there are stages.
TEST(VllmResolveCache, BatchesUnderWay) {
  struct Case {
    const char* model;
    int64_t pp;
    std::optional<bool> async;
    int64_t batches;
  };
  const char* v1 = "openai__gpt-oss-20b";
  const char* v2 = "google__gemma-2-9b";
  for (const Case& k :
       {Case{v1, 1, {}, 2}, Case{v1, 2, {}, 2}, Case{v1, 4, {}, 4}, Case{v1, 1, false, 1},
        Case{v1, 2, false, 2}, Case{v2, 1, {}, 2}, Case{v2, 2, {}, 3}, Case{v2, 4, {}, 5},
        Case{v2, 1, false, 1}, Case{v2, 2, false, 2}}) {
    VllmContext c(CacheNumbers(k.model), "0.28.0");
    c.context.sizes.pp = k.pp;
    c.context.settings.async_scheduling = k.async;
    c.context.settings.max_num_batched_tokens = 2048;
    c.context.settings.max_num_seqs = 64;
    c.Resolve();
    EXPECT_EQ(c.context.resolved.in_flight_tokens, 2048 * k.batches) << k.model << k.pp;
  }
  // Later versions run everything on the second.
  VllmContext later(CacheNumbers(v1), "0.31.0");
  later.context.sizes.pp = 4;
  later.Resolve();
  EXPECT_EQ(later.context.resolved.in_flight_tokens,
            5 * later.context.resolved.max_num_batched_tokens);
}

TEST(VllmResolveCache, RunnerByModel) {
  for (const auto& [model, v2] :
       {std::pair("google__gemma-3-27b-it", true), std::pair("deepseek-ai__DeepSeek-V3.2", true),
        std::pair("zai-org__GLM-5", true), std::pair("Qwen__Qwen3.5-27B", false),
        std::pair("openai__gpt-oss-120b", false)}) {
    VllmContext c(CacheNumbers(model), "0.28.0");
    EXPECT_EQ(vllm::UsesV2Runner(c.context), v2) << model;
    VllmContext later(CacheNumbers(model), "0.31.0");
    EXPECT_TRUE(vllm::UsesV2Runner(later.context)) << model;
  }
  VllmContext v3("deepseek-v3", "0.28.0");
  EXPECT_FALSE(vllm::UsesV2Runner(v3.context));
  v3.context.settings.v2_model_runner = true;  // VLLM_USE_V2_MODEL_RUNNER=1
  EXPECT_TRUE(vllm::UsesV2Runner(v3.context));
  VllmContext v1("deepseek-v3", "0.31.0");
  v1.context.settings.v2_model_runner = false;
  EXPECT_FALSE(vllm::UsesV2Runner(v1.context));
}

TEST(VllmResolveCache, BlocksBeyondReasonAreRefused) {
  VllmContext c("dense-70b");
  c.context.settings.block_size = int64_t{1} << 40;
  EXPECT_EQ(CacheError(&c),
            "--block-size 1099511627776: expected a multiple of 16, what FLASH_ATTN works in");
}

}  // namespace
}  // namespace shardplan
