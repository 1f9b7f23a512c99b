#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/vllm/context.h"
#include "shardplan/base/units.h"
#include "support/vllm_context.h"

namespace shardplan {
namespace {

using ::testing::Contains;
using ::testing::Not;
using ::testing::Pair;
using testing_support::VllmContext;

std::string ErrorOf(VllmContext* c) {
  const auto resolved = vllm::ResolveSettings(c->context, &c->defaults, &c->findings);
  return resolved ? "resolved" : resolved.error().ToString();
}

TEST(VllmResolve, DefaultsByCard) {
  struct Case {
    const char* name;
    int64_t gib;
    int64_t batched, seqs;
  };
  for (const Case& k :
       {Case{"NVIDIA B200", 179, 16384, 1024}, Case{"NVIDIA H100 80GB HBM3", 79, 8192, 1024},
        Case{"NVIDIA A100-SXM4-80GB", 80, 2048, 256}, Case{"NVIDIA L4", 22, 2048, 256}}) {
    VllmContext c("dense-70b");
    c.gpu().name = k.name;
    c.gpu().device_total.bytes = Range(Bytes(k.gib * kGiB));
    c.Resolve();
    EXPECT_EQ(c.context.resolved.max_num_batched_tokens, k.batched) << k.name;
    EXPECT_EQ(c.context.resolved.max_num_seqs, k.seqs) << k.name;
  }
}

TEST(VllmResolve, BatchedTokensAreCappedBySequencesAndWindow) {
  VllmContext c("dense-70b");
  c.context.settings.max_num_seqs = 4;
  c.context.settings.max_model_len = 100;
  c.Resolve();
  EXPECT_EQ(c.context.resolved.max_num_batched_tokens, 400);
  VllmContext few("dense-70b");
  few.context.settings.max_num_batched_tokens = 64;
  few.Resolve();
  EXPECT_EQ(few.context.resolved.max_num_seqs, 64);
}

TEST(VllmResolve, ListsWhatWasNotGiven) {
  VllmContext c("kimi-k3");
  c.context.settings.max_num_seqs = 1;
  c.context.settings.max_model_len = 524'288;
  c.Resolve();
  EXPECT_THAT(c.defaults, Contains(Pair("gpu-memory-utilization", "0.92")));
  EXPECT_THAT(c.defaults, Contains(Pair("mamba-cache-mode", "align")));
  EXPECT_THAT(c.defaults, Contains(Pair("max-num-batched-tokens", "8192")));
  EXPECT_THAT(c.defaults, Not(Contains(Pair("max-num-seqs", ::testing::_))));
}

TEST(VllmResolve, StateCacheModes) {
  struct Case {
    std::optional<bool> prefix;
    std::optional<std::string> mode;
    const char* want;
  };
  for (const Case& k : {Case{std::nullopt, std::nullopt, "align"}, Case{true, "none", "align"},
                        Case{true, "all", "align"}, Case{false, std::nullopt, "none"},
                        Case{false, "align", "none"}}) {
    VllmContext c("kimi-k3");
    c.context.settings.enable_prefix_caching = k.prefix;
    c.context.settings.mamba_cache_mode = k.mode;
    c.Resolve();
    EXPECT_EQ(c.context.resolved.mamba_cache_mode, k.want);
  }
  VllmContext dense("dense-70b");
  dense.Resolve();
  EXPECT_EQ(dense.context.resolved.mamba_cache_mode, "");
}

TEST(VllmResolve, BackendsByCardAndCache) {
  struct Case {
    int capability;
    const char* kv;
    const char* backend;
    int64_t block;
  };
  for (const Case& k : {Case{90, "auto", "FLASH_ATTN_MLA", 16}, Case{90, "fp8", "FLASHMLA", 64},
                        Case{100, "auto", "FLASHINFER_MLA", 32}, Case{80, "auto", "TRITON_MLA", 16},
                        Case{120, "auto", "TRITON_MLA", 16}}) {
    VllmContext c("deepseek-v3");
    c.gpu().capability = k.capability;
    c.context.settings.kv_cache_dtype = k.kv;
    c.Resolve();
    EXPECT_EQ(c.context.resolved.attention_backend, k.backend);
    EXPECT_EQ(c.context.resolved.block_size, k.block);
  }
}

TEST(VllmResolve, VisionTowerDividesOrIsReplicated) {
  for (const auto& [tp, sharded] : {std::pair(4, true), std::pair(8, false)}) {
    VllmContext c("kimi-k3");
    c.context.sizes.tp = tp;
    c.Resolve();
    EXPECT_TRUE(c.context.resolved.vision_on_device);
    EXPECT_EQ(c.context.resolved.vision_sharded, sharded) << tp;
  }
}

TEST(VllmResolve, HalvesFloat32Checkpoints) {
  VllmContext c("dense-70b");
  c.spec().arch.dtype = DType::kF32;
  c.Resolve();
  EXPECT_EQ(c.context.resolved.dtype, DType::kBF16);
  EXPECT_EQ(c.context.resolved.kv_element_bytes, 2);
}

TEST(VllmResolve, RefusesWhatTheEngineWould) {
  struct Case {
    void (*set)(EngineSettings*);
    const char* want;
  };
  const Case cases[] = {
      {[](EngineSettings* s) { s->gpu_memory_utilization = 1.5; },
       "--gpu-memory-utilization 1.5: expected a number above 0 and at most 1"},
      {[](EngineSettings* s) { s->max_num_seqs = 0; },
       "--max-num-seqs 0: expected a number from 1 to 2,147,483,648"},
      {[](EngineSettings* s) { s->dtype = "int8"; },
       "--dtype int8: expected auto, bfloat16, float16 or float32"},
      {[](EngineSettings* s) { s->kv_cache_dtype = "fp4"; },
       "--kv-cache-dtype fp4: expected auto, bfloat16, float16, fp8, fp8_e4m3 or fp8_e5m2"},
      {[](EngineSettings* s) { s->mamba_cache_mode = "some"; },
       "--mamba-cache-mode some: expected none, align or all"},
      {[](EngineSettings* s) { s->block_size = 24; },
       "--block-size 24: expected a multiple of 16, what FLASH_ATTN_MLA works in"},
      {[](EngineSettings* s) { s->mm_encoder_tp_mode = "x"; },
       "--mm-encoder-tp-mode x: expected weights or data"},
      {[](EngineSettings* s) { s->attention_backend = "X"; },
       "--attention-backend X: expected one of CUTLASS_MLA, FLASHINFER, FLASHINFER_MLA, "
       "FLASHINFER_MLA_SPARSE, FLASHINFER_MLA_SPARSE_SM120, FLASHMLA, FLASHMLA_SPARSE, "
       "FLASHMLA_SPARSE_DSV4, FLASH_ATTN, "
       "FLASH_ATTN_DIFFKV, FLASH_ATTN_MLA, FLASH_ATTN_MLA_SPARSE, TRITON_ATTN, "
       "TRITON_ATTN_DIFFKV or TRITON_MLA"},
  };
  for (const Case& k : cases) {
    VllmContext c("kimi-k3");
    k.set(&c.context.settings);
    EXPECT_EQ(ErrorOf(&c), k.want);
  }
}

TEST(VllmResolve, BackendsHaveToSuitTheAttention) {
  VllmContext mla("deepseek-v3");
  mla.context.settings.attention_backend = "FLASH_ATTN";
  EXPECT_EQ(ErrorOf(&mla),
            "--attention-backend FLASH_ATTN: this model's latent attention needs one of the MLA "
            "backends");
  VllmContext gqa("dense-70b");
  gqa.context.settings.attention_backend = "FLASHMLA";
  EXPECT_EQ(ErrorOf(&gqa),
            "--attention-backend FLASHMLA: an MLA backend cannot run this model's attention");
}

TEST(VllmResolve, ChecksOptionsThatHaveNoEffectHere) {
  VllmContext c("dense-70b");
  c.context.settings.moe_backend = "junk";
  EXPECT_EQ(ErrorOf(&c),
            "--moe-backend junk: expected one of auto, cutlass, deep_gemm, flashinfer_cutlass, "
            "flashinfer_trtllm, humming, marlin or triton");
  c.context.settings.moe_backend.reset();
  c.context.settings.mamba_cache_mode = "junk";
  EXPECT_EQ(ErrorOf(&c), "--mamba-cache-mode junk: expected none, align or all");
  c.context.settings.mamba_cache_mode = "align";
  c.context.sizes.expert_parallel = true;
  c.Resolve();
  ASSERT_EQ(c.findings.size(), 2u);
  EXPECT_EQ(c.findings[0].message, "has no effect: this model keeps no state");
  EXPECT_EQ(c.findings[1].message, "has no effect: this model has no routed experts");
}

TEST(VllmResolve, AWindowBeyondTheModelIsAnError) {
  VllmContext c("dense-70b");
  c.context.settings.max_model_len = 200'000;
  c.Resolve();
  ASSERT_EQ(c.findings.size(), 1u);
  EXPECT_EQ(c.findings[0].id, "window.max_positions");
  EXPECT_EQ(c.findings[0].severity, Severity::kError);
}

TEST(VllmResolve, SequencesBeyondTheBatchAreAnError) {
  VllmContext c("dense-70b");
  c.context.settings.max_num_seqs = 100;
  c.context.settings.max_num_batched_tokens = 50;
  c.Resolve();
  ASSERT_EQ(c.findings.size(), 1u);
  EXPECT_EQ(c.findings[0].message,
            "max_num_batched_tokens (50) must be greater than or equal to max_num_seqs (100).");
}

}  // namespace
}  // namespace shardplan
