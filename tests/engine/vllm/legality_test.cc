#include "engine/vllm/legality.h"

#include <gtest/gtest.h>

#include "engine/vllm/kv_models.h"
#include "support/vllm_context.h"

namespace shardplan {
namespace {

using testing_support::VllmContext;

std::vector<Finding> Check(VllmContext* c,
                           const std::optional<std::vector<int64_t>>& partition = std::nullopt) {
  const auto resolved = vllm::ResolveSettings(c->context, &c->defaults, &c->findings);
  EXPECT_TRUE(resolved.has_value());
  c->context.resolved = *resolved;
  return vllm::CheckLayout(c->context, partition);
}

TEST(VllmLegality, HeadsInTheEnginesWords) {
  VllmContext c("kimi-k3");
  c.context.sizes.tp = 7;
  const std::vector<Finding> findings = Check(&c);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].id, "layout.heads");
  EXPECT_EQ(findings[0].subject, "--tensor-parallel-size 7");
  EXPECT_EQ(findings[0].message,
            "Total number of attention heads (96) must be divisible by tensor parallel size (7).");
  EXPECT_EQ(findings[0].fix, "nearest legal tensor-parallel sizes: 4 or 8");
}

// 96 heads and a vocabulary of 163,840: 1, 2, 4, 8, 16, 32 and nothing between.
TEST(VllmLegality, TensorParallelSizesOfKimiK3) {
  for (int64_t tp = 1; tp <= 33; ++tp) {
    VllmContext c("kimi-k3");
    c.context.sizes.tp = tp;
    const bool power = (tp & (tp - 1)) == 0;
    EXPECT_EQ(Check(&c).empty(), power) << tp;
  }
}

// The layouts that vLLM itself refuses (d29f7f5c), and their nearest neighbours that it builds.
TEST(VllmLegality, WhatVllmRefusesOfModelsWithGroupsAndOddHeads) {
  struct Case {
    const char* model;
    int64_t tp;
    const char* id;  // empty: legal
  };
  const Case cases[] = {{"phi-4", 2, ""},
                        {"phi-4", 4, "layout.kv_heads"},
                        {"phi-4", 8, "layout.kv_heads"},
                        {"phi-4", 16, "layout.heads"},
                        {"nemotron-3-nano", 8, ""},
                        {"nemotron-3-nano", 16, "layout.mamba_groups"},
                        {"nemotron-3-ultra", 8, ""},
                        {"nemotron-3-ultra", 16, "layout.mamba_groups"},
                        {"nemotron-h-56b", 3, "layout.heads"},
                        {"llama-4-maverick", 8, ""},
                        {"llama-4-maverick", 16, "layout.heads"}};
  for (const Case& expected : cases) {
    SCOPED_TRACE(std::string(expected.model) + " tp " + std::to_string(expected.tp));
    VllmContext c(expected.model);
    c.context.sizes.tp = expected.tp;
    const std::vector<Finding> findings = Check(&c);
    if (*expected.id == '\0') {
      EXPECT_TRUE(findings.empty());
      continue;
    }
    ASSERT_FALSE(findings.empty());
    EXPECT_EQ(findings[0].id, expected.id);
  }
  VllmContext c("nemotron-3-nano");
  c.context.sizes.tp = 16;
  EXPECT_EQ(Check(&c)[0].message,
            "If tensor parallel world size does not divide num_groups, then num_groups must equal "
            "1.");
}

TEST(VllmLegality, Fp8BlocksOfExperts) {
  VllmContext c("deepseek-v3");
  c.context.sizes.tp = 32;
  const std::vector<Finding> findings = Check(&c);
  bool found = false;
  for (const Finding& finding : findings) {
    if (finding.id != "layout.fp8_block") continue;
    found = true;
    EXPECT_NE(finding.message.find("is not divisible by weight quantization block_n = 128."),
              std::string::npos)
        << finding.message;
  }
  EXPECT_TRUE(found);
}

TEST(VllmLegality, ExpertsKeepWholeUnderExpertParallelism) {
  VllmContext c("deepseek-v3");
  c.context.sizes.tp = 8;
  c.context.sizes.dp = 4;  // 2048 / 32 = 64: half a block
  const std::vector<Finding> sliced = Check(&c);
  ASSERT_EQ(sliced.size(), 1u);
  EXPECT_EQ(sliced[0].message,
            "mlp.experts.routed_experts: The output_size of gate's and up's weight = 64 is not "
            "divisible by weight quantization block_n = 128.");
  EXPECT_NE(sliced[0].fix.find("--enable-expert-parallel keeps experts whole"), std::string::npos);
  c.context.sizes.expert_parallel = true;
  EXPECT_TRUE(Check(&c).empty());
}

TEST(VllmLegality, PartitionsInTheEnginesWords) {
  VllmContext c("kimi-k3");
  c.context.sizes.tp = 8;
  c.context.sizes.pp = 2;
  std::vector<Finding> findings = Check(&c, std::vector<int64_t>{48, 46});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message, "sum(partitions)=94 does not match num_hidden_layers=93.");
  EXPECT_EQ(findings[0].fix, "vLLM's own split is 47,46");
  findings = Check(&c, std::vector<int64_t>{31, 31, 31});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message, "len(partitions)=3 does not match pp_size=2.");
  EXPECT_TRUE(Check(&c, std::vector<int64_t>{48, 45}).empty());
}

TEST(VllmLegality, MoreStagesThanLayers) {
  VllmContext c("deepseek-v3");
  c.context.sizes.pp = 62;
  const std::vector<Finding> findings = Check(&c);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "layout.pipeline");
}

TEST(VllmLegality, DecodeContextParallelism) {
  VllmContext mla("deepseek-v3");
  mla.context.sizes.tp = 8;
  mla.context.sizes.dcp = 3;
  EXPECT_EQ(Check(&mla)[0].message, "tp_size=8 must be divisible by dcp_size=3.");
  mla.context.sizes.dcp = 8;
  EXPECT_TRUE(Check(&mla).empty());
  VllmContext gqa("dense-70b");
  gqa.context.sizes.tp = 8;
  gqa.context.sizes.dcp = 2;  // 8 KV heads already fill TP 8
  EXPECT_EQ(Check(&gqa)[0].id, "layout.dcp");
  gqa.context.sizes.tp = 16;
  EXPECT_TRUE(Check(&gqa).empty());
}

ModelSpec Numbers(const std::string& name) {
  ModelSpec spec;
  spec.arch = *testing_support::NumbersOf(name);
  return spec;
}

TEST(VllmLegality, ContextParallelismByKindOfCache) {
  struct Case {
    const char* model;
    const char* kv;
    const char* message;  // empty: legal
  };
  for (const Case& k :
       {Case{"openai__gpt-oss-20b", "auto", "DCP not support sliding window."},
        Case{"meta-llama__Llama-4-Scout-17B-16E-Instruct", "auto",
             "DCP not support chunked local attn now."},
        Case{"deepseek-ai__DeepSeek-V3.2", "auto",
             "DCP for FlashMLA sparse requires an fp8_ds_mla kv-cache; the bf16 sparse path is not "
             "supported under DCP."},
        Case{"deepseek-ai__DeepSeek-V3.2", "fp8", ""}}) {
    VllmContext c(Numbers(k.model));
    c.spec().arch.moe.experts = 0;
    c.context.sizes.tp = 8;
    c.context.sizes.dcp = 2;
    c.context.settings.kv_cache_dtype = k.kv;
    const std::vector<Finding> findings = Check(&c);
    EXPECT_EQ(findings.empty() ? "" : findings[0].message, k.message) << k.model;
  }
}

TEST(VllmLegality, StatesDivideByTheirOwnHeads) {
  struct Case {
    const char* model;
    int64_t tp;
    const char* message;
  };
  for (const Case& k :
       {Case{"Qwen__Qwen3-Next-80B-A3B-Instruct", 16, ""},
        Case{"nvidia__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 8, ""},
        Case{"nvidia__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 16,
             "If tensor parallel world size does not divide num_groups, then num_groups must equal "
             "1."}}) {
    VllmContext c(Numbers(k.model));
    c.spec().arch.moe.experts = 0;
    c.context.sizes.tp = k.tp;
    const std::vector<Finding> findings = Check(&c);
    EXPECT_EQ(findings.empty() ? "" : findings[0].message, k.message) << k.model << k.tp;
  }
  VllmContext odd(Numbers("Qwen__Qwen3-Next-80B-A3B-Instruct"));
  odd.spec().arch.moe.experts = 0;
  odd.spec().arch.gdn.v_heads = 36;
  odd.context.sizes.tp = 8;
  EXPECT_EQ(Check(&odd)[0].message, "36 linear-attention value heads are not divisible by 8");
}

// gpt-oss replicates no KV head.
TEST(VllmLegality, GptOssNeedsAKvHeadForEveryRank) {
  VllmContext c(Numbers("openai__gpt-oss-20b"));
  c.spec().arch.moe.experts = 0;
  c.context.sizes.tp = 8;
  EXPECT_TRUE(Check(&c).empty());
  c.context.sizes.tp = 16;
  const std::vector<Finding> findings = Check(&c);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "layout.kv_heads");
  EXPECT_EQ(findings[0].fix, "nearest legal tensor-parallel sizes: 8");
}

TEST(VllmLegality, CachesHaveToShareAPool) {
  VllmContext states(Numbers("Qwen__Qwen3.5-27B"));
  states.context.settings.disable_hybrid_kv_cache_manager = true;
  std::vector<Finding> findings = Check(&states);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message, "Failed to promote local KV cache specs to one unified type.");
  VllmContext windows(Numbers("openai__gpt-oss-20b"));
  windows.spec().arch.moe.experts = 0;
  windows.context.settings.disable_hybrid_kv_cache_manager = true;
  EXPECT_TRUE(Check(&windows).empty());
  // An indexer's pages cannot be padded to those of a state.
  VllmContext sparse(Numbers("deepseek-ai__DeepSeek-V3.2"));
  sparse.spec().arch.moe.experts = 0;
  sparse.spec().arch.kda = {32, 128, 4};
  sparse.spec().arch.attention[0] = AttentionKind::kKda;
  findings = Check(&sparse);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "kv.pages");
}

TEST(VllmLegality, KvHeadsReplicateOrDivide) {
  for (const auto& [tp, legal] : {std::pair(4, true), std::pair(8, true), std::pair(16, true),
                                  std::pair(32, true), std::pair(64, true)}) {
    VllmContext c("dense-70b");
    c.context.sizes.tp = tp;
    EXPECT_EQ(Check(&c).empty(), legal) << tp;
  }
}

// Golden row w0825.
TEST(VllmLegality, HeadsOfAHybrid) {
  VllmContext c("Qwen__Qwen3.5-27B");
  c.context.settings.language_model_only = true;
  c.context.sizes.tp = 16;
  const std::vector<Finding> findings = Check(&c);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message,
            "Total number of attention heads (24) must be divisible by tensor parallel size (16).");
  EXPECT_EQ(findings[0].fix, "nearest legal tensor-parallel sizes: 8");
}

TEST(VllmLegality, KeyHeadsOfDeltaNets) {
  VllmContext c("Qwen__Qwen3.5-397B-A17B");
  c.context.settings.language_model_only = true;
  c.context.sizes.tp = 16;
  EXPECT_TRUE(Check(&c).empty());
  c.context.sizes.tp = 32;  // divides the value heads alone
  const std::vector<Finding> findings = Check(&c);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "layout.linear_heads");
  EXPECT_EQ(findings[0].message, "16 linear-attention key heads are not divisible by 32");
}

TEST(VllmLegality, QwensTowerIsNotReplicatedUnasked) {
  VllmContext c("Qwen__Qwen3-VL-235B-A22B-Instruct");
  c.context.sizes.tp = 32;
  std::vector<Finding> findings = Check(&c);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "layout.vision_heads");
  EXPECT_EQ(findings[0].message, "visual.blocks.*.attn: 16 is not divisible by 32");
  EXPECT_EQ(findings[0].fix,
            "--mm-encoder-tp-mode data keeps the tower whole; nearest legal tensor-parallel sizes: "
            "16");
  c.context.settings.mm_encoder_tp_mode = "data";
  EXPECT_TRUE(Check(&c).empty());
  c.context.settings.mm_encoder_tp_mode = std::nullopt;
  c.context.settings.language_model_only = true;
  EXPECT_TRUE(Check(&c).empty());
}

TEST(VllmLegality, DeepstackStaysOnTheFirstStage) {
  VllmContext c("Qwen__Qwen3-VL-2B-Instruct");  // 28 layers, three levels
  c.context.sizes.pp = 14;
  const std::vector<Finding> findings = Check(&c);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "layout.deepstack");
  EXPECT_EQ(findings[0].fix, "leave stage 0 at least 3 layers with --pp-partition");
  c.context.sizes.pp = 2;
  EXPECT_TRUE(Check(&c).empty());
  EXPECT_EQ(Check(&c, std::vector<int64_t>{2, 26}).size(), 1u);
  EXPECT_TRUE(Check(&c, std::vector<int64_t>{3, 25}).empty());
}

TEST(VllmLegality, QwenWindowsOnSomeLayers) {
  VllmContext c("Qwen__Qwen3-8B");
  c.spec().arch.attention.assign(36, AttentionKind::kSliding);
  EXPECT_TRUE(Check(&c).empty());
  c.spec().arch.attention[0] = AttentionKind::kFull;
  const std::vector<Finding> findings = Check(&c);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "engine.sliding_window");
  EXPECT_NE(findings[0].message.find("`max_window_layers` = 1 is less than `num_hidden_layers` = "
                                     "36."),
            std::string::npos)
      << findings[0].message;
}

}  // namespace
}  // namespace shardplan
