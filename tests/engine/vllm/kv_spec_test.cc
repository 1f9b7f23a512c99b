#include "engine/vllm/kv_spec.h"

#include <gtest/gtest.h>

#include "engine/vllm/kv_models.h"
#include "support/vllm_context.h"

namespace shardplan {
namespace {

using testing_support::NumbersOf;
using testing_support::VllmContext;
using vllm::KvBucket;
using vllm::KvKind;
using vllm::KvSpec;

ModelSpec SpecNumbers(const std::string& name) {
  ModelSpec spec;
  spec.arch = *NumbersOf(name);
  return spec;
}

std::vector<KvBucket> Caches(const VllmContext& c) {
  return vllm::CollectCaches(c.context, vllm::AlignBlocks(c.context));
}

TEST(VllmKvSpec, BlocksOfARequest) {
  KvSpec full;
  full.block_tokens = 16;
  EXPECT_EQ(full.BlocksFor(0), 0);
  EXPECT_EQ(full.BlocksFor(16), 1);
  EXPECT_EQ(full.BlocksFor(17), 2);
  EXPECT_EQ(full.BlocksFor(int64_t{1} << 31), int64_t{1} << 27);
  KvSpec window = full;
  window.reach = 127 + 16'384;
  window.extra_blocks = 1;
  EXPECT_EQ(window.BlocksFor(100), 8);
  EXPECT_EQ(window.BlocksFor(1 << 20), 1033);
  KvSpec state;
  state.extra_blocks = 2;
  EXPECT_EQ(state.BlocksFor(1), 2);
  EXPECT_EQ(state.BlocksFor(1 << 20), 2);
}

// State, attention block and page of one rank; the recurrent state in the config's dtype.
TEST(VllmKvSpec, StatesOfEveryKind) {
  struct Case {
    const char* model;
    int64_t tp;
    int64_t state, block, page;
  };
  for (const Case& k :
       {Case{"Qwen__Qwen3-Next-80B-A3B-Instruct", 1, 1'097'728, 544, 1'114'112},
        Case{"Qwen__Qwen3.5-27B", 2, 1'603'584, 784, 1'605'632},
        Case{"nvidia__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 8, 266'752, 528, 270'336},
        Case{"ai21labs__AI21-Jamba2-Mini", 1, 311'296, 80, 327'680},
        Case{"moonshotai__Kimi-Linear-48B-A3B", 8, 271'360, 256, 294'912}}) {
    VllmContext c(SpecNumbers(k.model), "0.28.0");
    c.context.sizes.tp = k.tp;
    c.Resolve();
    const vllm::KvBlocks blocks = vllm::AlignBlocks(c.context);
    EXPECT_EQ(blocks.state.count(), k.state) << k.model;
    EXPECT_EQ(blocks.attention, k.block) << k.model;
    EXPECT_EQ(blocks.state_page.count(), k.page) << k.model;
  }
}

// A single group is not divided but given to every rank: 4,096 ÷ 4 channels and 2 × 1 × 128.
TEST(VllmKvSpec, ASingleMambaGroupIsOnEveryRank) {
  VllmContext c(SpecNumbers("nvidia__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"));
  c.spec().arch.mamba.groups = 1;
  c.context.sizes.tp = 4;
  c.Resolve();
  EXPECT_EQ(vllm::AlignBlocks(c.context).state.count(),
            3 * (1024 + 2 * 128) * 2 + 16 * 64 * 128 * 4);
}

TEST(VllmKvSpec, DraftTokensLengthenTheConvolution) {
  VllmContext c(SpecNumbers("Qwen__Qwen3-Next-80B-A3B-Instruct"));
  c.Resolve();
  const Bytes before = vllm::AlignBlocks(c.context).state;
  c.context.resolved.draft_tokens = 2;
  EXPECT_EQ(vllm::AlignBlocks(c.context).state - before, Bytes(2 * 8192 * 2));
}

TEST(VllmKvSpec, AModelOfStatesAloneKeepsThemUnpadded) {
  VllmContext c(SpecNumbers("ai21labs__AI21-Jamba2-Mini"));
  for (AttentionKind& kind : c.spec().arch.attention) kind = AttentionKind::kMamba1;
  c.Resolve();
  const std::vector<KvBucket> caches = Caches(c);
  ASSERT_EQ(caches.size(), 1u);
  EXPECT_EQ(caches[0].spec.page, Bytes(311'296));
  EXPECT_EQ(caches[0].spec.kind, KvKind::kState);
}

TEST(VllmKvSpec, IndexersCacheKeysOfTheirOwn) {
  VllmContext c(SpecNumbers("deepseek-ai__DeepSeek-V3.2"));
  c.spec().arch.indexer_layers = {0, 3, 60};
  c.Resolve();
  const std::vector<KvBucket> caches = Caches(c);
  ASSERT_EQ(caches.size(), 2u);
  EXPECT_EQ(caches[0].spec.kind, KvKind::kIndexer);
  EXPECT_EQ(caches[0].layers, (std::vector<int64_t>{0, 3, 60}));
  EXPECT_EQ(caches[0].spec.page, Bytes(64 * 132));
  EXPECT_EQ(caches[1].spec.kind, KvKind::kLatent);
  EXPECT_EQ(caches[1].layers.size(), 61u);
  EXPECT_EQ(caches[1].spec.page, Bytes(64 * 1152));
  // FP8 packs latents with their scales; the indexer's keys are FP8 anyway.
  c.context.settings.kv_cache_dtype = "fp8";
  c.Resolve();
  EXPECT_EQ(Caches(c)[0].spec.page, Bytes(64 * 132));
  EXPECT_EQ(Caches(c)[1].spec.page, Bytes(64 * 656));
}

// Two latents in each of LongCat-Flash's layers, on the stage of their layer; one in its draft.
TEST(VllmKvSpec, EveryAttentionOfALayerHasACache) {
  VllmContext c("meituan-longcat__LongCat-Flash-Chat");
  c.context.sizes.pp = 2;
  c.Resolve();
  const std::vector<KvBucket> caches = Caches(c);
  ASSERT_EQ(caches.size(), 1u);
  EXPECT_EQ(caches[0].spec.kind, KvKind::kLatent);
  EXPECT_EQ(caches[0].layers.size(), 56u);
  EXPECT_EQ(caches[0].CountIn(c.context.stages[0]), 28);
  EXPECT_EQ(vllm::AttentionLayers(*c.context.arch, c.context.stages[1]), 28);
  c.context.resolved.draft_layers = {AttentionKind::kMla};
  EXPECT_EQ(Caches(c)[0].CountIn(c.context.stages[1]), 29);
}

TEST(VllmKvSpec, LayersThatReadAnotherCacheHaveNone) {
  VllmContext c(SpecNumbers("google__gemma-2-9b"));
  Architecture& a = c.spec().arch;
  for (int64_t layer = 0; layer < a.layers(); ++layer) {
    a.cache_of_layer.push_back(layer < 30 ? layer : 28 + layer % 2);
  }
  c.Resolve();
  const std::vector<KvBucket> caches = Caches(c);
  ASSERT_EQ(caches.size(), 2u);
  EXPECT_EQ(caches[0].layers.size(), 15u);
  EXPECT_EQ(caches[1].layers.back(), 29);
}

TEST(VllmKvSpec, WindowsHaveHeadsOfTheirOwn) {
  VllmContext c(SpecNumbers("XiaomiMiMo__MiMo-V2-Flash"));
  c.context.sizes.tp = 2;
  c.Resolve();
  const std::vector<KvBucket> caches = Caches(c);
  ASSERT_EQ(caches.size(), 2u);
  EXPECT_EQ(caches[0].spec.page, Bytes(16 * 2 * (192 + 128) * 2));
  EXPECT_EQ(caches[1].spec.page, Bytes(16 * 4 * (192 + 128) * 2));
  EXPECT_EQ(caches[1].spec.window, 128);
  EXPECT_EQ(caches[1].spec.reach, 127 + c.context.resolved.in_flight_tokens);
}

// Draft layers come last and stand on the last stage.
TEST(VllmKvSpec, DraftLayersStandOnTheLastStage) {
  VllmContext c(SpecNumbers("openai__gpt-oss-20b"));
  c.context.sizes.pp = 2;
  c.Resolve();
  c.context.resolved.draft_layers = {AttentionKind::kFull};
  const std::vector<KvBucket> caches = Caches(c);
  ASSERT_EQ(caches.size(), 2u);
  EXPECT_EQ(caches[1].CountIn(c.context.stages[0]), 6);
  EXPECT_EQ(caches[1].CountIn(c.context.stages[1]), 7);
}

// Mode all keeps a state per chunk of the config, or of 2,048 tokens where it names none.
TEST(VllmKvSpec, ModeAllKeepsAStatePerBlock) {
  for (const auto& [chunk, block] : {std::pair(128, 2176), std::pair(0, 4096)}) {
    VllmContext c(SpecNumbers("nvidia__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"));
    c.spec().arch.mamba.chunk = chunk;
    c.context.sizes.tp = 2;
    c.context.settings.mamba_cache_mode = "all";
    c.Resolve();
    const vllm::KvBlocks blocks = vllm::AlignBlocks(c.context);
    EXPECT_EQ(blocks.attention, block);
    EXPECT_EQ(blocks.state_tokens, block);
    EXPECT_EQ(Caches(c)[0].spec.BlocksFor(65'536), CeilDiv(65'536, block));
  }
}

// Only FlashKDA keeps a checkpoint of a prefill besides.
TEST(VllmKvSpec, PrefillCheckpointsAreKimiK3s) {
  VllmContext k3("kimi-k3", "0.31.0");
  k3.Resolve();
  EXPECT_EQ(Caches(k3)[0].spec.extra_blocks, 3);
  VllmContext next(SpecNumbers("Qwen__Qwen3-Next-80B-A3B-Instruct"), "0.31.0");
  next.Resolve();
  EXPECT_EQ(Caches(next)[0].spec.extra_blocks, 2);
}

}  // namespace
}  // namespace shardplan
