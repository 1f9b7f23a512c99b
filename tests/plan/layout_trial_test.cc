#include "plan/layout_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/cluster_world.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_support::Cards;
using testing_support::ExampleFromConfig;
using testing_support::PublishedKimiK3;
using testing_support::Store;

Trial Try(const SearchVariant& variant) {
  const Model& model = ExampleFromConfig("kimi-k3");
  FigureEvaluator evaluator(model, Cards(), Store());
  return TryLayout(evaluator, model.arch, variant, variant.base);
}

SearchVariant Published() {
  SearchVariant variant;
  variant.base = PublishedKimiK3();
  variant.given.partition = variant.given.offload = true;
  return variant;
}

TEST(LayoutTrial, WhatFitsHasAScore) {
  const Trial trial = Try(Published());
  ASSERT_TRUE(trial.score);
  EXPECT_EQ(trial.evaluated, 1);
  EXPECT_EQ(trial.score->gpus, 16);
  EXPECT_EQ(trial.score->window, 524'288);
  EXPECT_DOUBLE_EQ(trial.score->concurrency, 1);  // as many as the scheduler runs
  EXPECT_GT(trial.score->offload, Bytes());
}

// One GiB less than the offload that is found does not fit, at the dear end at least.
TEST(LayoutTrial, TheSmallestOffload) {
  SearchVariant variant = Published();
  variant.base.settings.cpu_offload_gb = 0;
  variant.base.settings.cpu_offload_params.clear();
  const Trial without = Try(variant);
  EXPECT_THAT(without.reason_id, StartsWith("short."));
  EXPECT_GT(without.short_by, Bytes());
  EXPECT_THAT(without.example, HasSubstr(" short on rank "));
  variant.given.offload = false;
  const Trial trial = Try(variant);
  ASSERT_TRUE(trial.score);
  const EngineSettings& chosen = trial.deployment.settings;
  ASSERT_GE(chosen.cpu_offload_gb, 1);
  variant.base = trial.deployment;
  variant.given.offload = true;
  FigureEvaluator evaluator(ExampleFromConfig("kimi-k3"), Cards(), Store());
  EXPECT_EQ(evaluator.Evaluate(variant.base)->verdict_high, Verdict::kFits);
  variant.base.settings.cpu_offload_gb = chosen.cpu_offload_gb - 1;
  EXPECT_NE(evaluator.Evaluate(variant.base)->verdict_high, Verdict::kFits);
}

// Fewer sequences and no graphs before anything is offloaded, and no more of them than it takes.
TEST(LayoutTrial, EconomiesBeforeOffload) {
  SearchVariant variant = Published();
  EngineSettings& asked = variant.base.settings;
  asked.cpu_offload_gb = 0;
  asked.cpu_offload_params.clear();
  asked.offload_backend.reset();
  asked.max_num_seqs.reset();
  asked.max_num_batched_tokens.reset();
  asked.enforce_eager = false;
  variant.given.offload = false;
  const Trial trial = Try(variant);
  ASSERT_TRUE(trial.score);
  ASSERT_FALSE(trial.chosen.empty());
  EXPECT_EQ(trial.chosen.front().first, "max-num-seqs");
  // The same offload with the engine's defaults is too little; given ones cost more of it.
  SearchVariant mild = variant;
  mild.base.settings.cpu_offload_gb = trial.deployment.settings.cpu_offload_gb;
  mild.base.settings.cpu_offload_params = trial.deployment.settings.cpu_offload_params;
  mild.given.offload = mild.given.sequences = mild.given.chunk = mild.given.graphs = true;
  EXPECT_FALSE(Try(mild).score);
  variant.given.sequences = variant.given.chunk = variant.given.graphs = true;
  const Trial kept = Try(variant);
  ASSERT_TRUE(kept.score);
  EXPECT_TRUE(kept.chosen.empty());
  EXPECT_GT(kept.score->offload, trial.score->offload);
}

Trial TryDense(const SearchVariant& variant, bool may_narrow) {
  const Model& model = ExampleFromConfig("dense-70b");
  FigureEvaluator evaluator(model, Cards(), Store());
  return TryLayout(evaluator, model.arch, variant, variant.base, may_narrow);
}

// FP8 after everything that keeps the results, and before weights leave the card.
TEST(LayoutTrial, AnFp8CacheComesAfterWhatChangesNothing) {
  SearchVariant variant;
  variant.base.gpu = "h100-80-sxm";
  variant.base.sizes.tp = 2;
  variant.base.settings.max_model_len = 32'768;
  // A window for which BF16 leaves no room whatever else is saved: the first that is tried.
  while (TryDense(variant, false).deployment.settings.cpu_offload_gb == 0) {
    variant.base.settings.max_model_len = *variant.base.settings.max_model_len + 4096;
    ASSERT_LT(*variant.base.settings.max_model_len, 131'072);
  }
  const Trial wide = TryDense(variant, false);
  EXPECT_FALSE(wide.narrowed);
  EXPECT_FALSE(wide.deployment.settings.kv_cache_dtype);
  const Trial narrow = TryDense(variant, true);
  ASSERT_TRUE(narrow.score);
  EXPECT_TRUE(narrow.narrowed);
  EXPECT_EQ(narrow.deployment.settings.kv_cache_dtype, "fp8");
  EXPECT_EQ(narrow.deployment.settings.cpu_offload_gb, 0);
  EXPECT_EQ(narrow.chosen.back(), OptionValue("kv-cache-dtype", "fp8"));
  variant.given.cache_dtype = true;
  EXPECT_FALSE(TryDense(variant, true).narrowed);
  // What fits keeps its precision.
  variant.given.cache_dtype = false;
  variant.base.settings.max_model_len = 4096;
  EXPECT_FALSE(TryDense(variant, true).narrowed);
}

TEST(LayoutTrial, SglangsCacheMayGetFp8) {
  SearchVariant variant;
  variant.base.engine = "sglang";
  variant.base.gpu = "h100-80-sxm";
  variant.base.sizes.tp = 2;
  const auto ask = [&](int64_t tokens) {
    variant.base.settings.max_model_len = variant.base.sglang.context_length = tokens;
    return TryDense(variant, false).score.has_value();
  };
  int64_t tokens = 4096;
  while (ask(tokens)) {
    tokens += 4096;
    ASSERT_LT(tokens, 131'072);
  }
  const Trial narrow = TryDense(variant, true);
  ASSERT_TRUE(narrow.score) << tokens << " " << narrow.example;
  EXPECT_TRUE(narrow.narrowed);
  EXPECT_EQ(narrow.deployment.sglang.kv_cache_dtype, "fp8_e4m3");
  variant.given.cache_dtype = true;
  EXPECT_FALSE(TryDense(variant, true).score);
}

// vLLM does not run it there, says the known issue: the search says nothing of it.
TEST(LayoutTrial, NoFp8CacheForKimiK3OnHopper) {
  SearchVariant variant = Published();
  variant.base.settings.cpu_offload_gb = 0;
  variant.base.settings.cpu_offload_params.clear();
  variant.given.offload = false;
  const Model& model = ExampleFromConfig("kimi-k3");
  FigureEvaluator evaluator(model, Cards(), Store());
  const Trial trial = TryLayout(evaluator, model.arch, variant, variant.base, true);
  ASSERT_TRUE(trial.score);
  EXPECT_FALSE(trial.narrowed);
  EXPECT_FALSE(trial.deployment.settings.kv_cache_dtype);
}

// Experts over four engines of a node each: shared experts whole on every rank take 21 GiB more
// than they have to.
TEST(LayoutTrial, SlicesSharedExpertsBeforeItOffloads) {
  SearchVariant variant;
  variant.base.gpu = "h20-141";
  variant.base.nodes = 4;
  variant.base.sizes = {.tp = 8, .dp = 4, .expert_parallel = true};
  variant.base.settings.max_model_len = 262'144;
  variant.base.settings.language_model_only = true;
  variant.base.settings.gpu_memory_utilization = 0.75;
  const OptionValue sliced("env", "VLLM_KIMI_K3_SHARD_SP_SHARED_EXPERT=1");
  const Trial trial = Try(variant);
  ASSERT_TRUE(trial.score) << trial.example;
  EXPECT_EQ(trial.score->offload, Bytes());
  ASSERT_FALSE(trial.chosen.empty());
  EXPECT_EQ(trial.chosen[0], sliced);
  // A version without the variable has nothing to slice.
  variant.base.engine_version = "0.27.1";
  const Trial older = Try(variant);
  EXPECT_TRUE(older.chosen.empty() || older.chosen[0] != sliced);
  // Given, it is not chosen.
  variant.base.engine_version.clear();
  variant.base.settings.env = {{"VLLM_KIMI_K3_SHARD_SP_SHARED_EXPERT", "0"}};
  const Trial given = Try(variant);
  EXPECT_TRUE(given.chosen.empty() || given.chosen[0] != sliced);
}

// SGLang's defaults turn K3's experts into BF16 on Hopper and leave a fraction that does not fit.
TEST(LayoutTrial, SglangKeepsExpertsPackedAndMovesItsFraction) {
  SearchVariant variant;
  variant.base.gpu = "h20-96";
  variant.base.nodes = 4;
  variant.base.engine = "sglang";
  variant.base.sizes.tp = 8;
  variant.base.sizes.pp = 4;
  variant.base.sizes.dp = 4;
  variant.base.sglang.enable_dp_attention = true;
  variant.base.settings.max_model_len = 524'288;
  variant.base.sglang.context_length = 524'288;
  const Trial trial = Try(variant);
  ASSERT_TRUE(trial.score) << trial.example;
  ASSERT_EQ(trial.chosen.size(), 2u);
  EXPECT_EQ(trial.chosen[0], OptionValue("moe-runner-backend", "marlin"));
  EXPECT_EQ(trial.chosen[1].first, "mem-fraction-static");
  variant.given.fraction = true;
  EXPECT_FALSE(Try(variant).score);
  variant.given.fraction = false;
  variant.given.moe_backend = true;
  EXPECT_FALSE(Try(variant).score);
}

TEST(LayoutTrial, WhatTheNodesCannotPinIsRejected) {
  SearchVariant variant = Published();
  variant.base.gpu.clear();
  variant.base.settings.cpu_offload_gb = 0;
  variant.base.settings.cpu_offload_params.clear();
  variant.given.offload = false;
  NodeKind kind = testing_support::Server("h20-96", 8, 2);
  kind.memory = testing_support::Told(Bytes(2048 * kGiB));
  variant.base.cluster = testing_support::Cluster({kind});
  EXPECT_TRUE(Try(variant).score);
  kind.memory = testing_support::Told(Bytes(8 * kGiB));
  variant.base.cluster = testing_support::Cluster({kind});
  const Trial trial = Try(variant);
  EXPECT_FALSE(trial.score);
  EXPECT_EQ(trial.reason_id, "host.node_memory");
  EXPECT_THAT(trial.example, HasSubstr("are pinned on a node with 8.0 GiB of memory"));
}

// The cache holds two; the scheduler is told to run one.
TEST(LayoutTrial, SequencesThatAreFewerThanRequired) {
  SearchVariant variant = Published();
  variant.base.require_concurrency = 2;
  const Trial trial = Try(variant);
  EXPECT_FALSE(trial.score);
  EXPECT_EQ(trial.reason_id, "short.max_num_seqs");
  EXPECT_THAT(trial.example, HasSubstr("lets 1 of 2 requests run at once"));
  variant.base.settings.max_num_seqs = 2;
  EXPECT_TRUE(Try(variant).score);
}

TEST(LayoutTrial, MovesLayersToWhereMoreFits) {
  SearchVariant variant = Published();
  variant.base.partition = std::vector<int64_t>{53, 40};
  const Trial given = Try(variant);
  variant.given.partition = false;  // a start, no more
  const Trial moved = Try(variant);
  ASSERT_TRUE(moved.score);
  EXPECT_NE(moved.deployment.partition, variant.base.partition);
  EXPECT_TRUE(!given.score || moved.score->concurrency > given.score->concurrency);
}

TEST(LayoutTrial, Reasons) {
  SearchVariant variant = Published();
  variant.base.sizes.tp = 5;
  const Trial illegal = Try(variant);
  EXPECT_TRUE(illegal.illegal);
  EXPECT_THAT(illegal.reason_id, StartsWith("layout."));
  EXPECT_THAT(illegal.example, StartsWith("TP5 × PP2 (48,45), 32 GiB offloaded: "));
  variant = Published();
  variant.base.output_tokens = 1'000'000;
  const Trial refused = Try(variant);
  ASSERT_TRUE(refused.refused);
  EXPECT_EQ(refused.reason_id, "refused");
  EXPECT_FALSE(refused.score);
}

TEST(LayoutTrial, Names) {
  Deployment d;
  d.sizes = {.tp = 8, .pp = 2, .dp = 4, .dcp = 2, .expert_parallel = true};
  EXPECT_EQ(NameOf(d, {{"kv-cache-dtype", "fp8"}}),
            "TP8 × PP2 × DP4, DCP2 with expert parallel, kv-cache-dtype fp8");
  d.engine = "sglang";
  d.sizes.dcp = 1;
  d.sglang.enable_dp_attention = true;
  d.sglang.ep_size = 8;
  EXPECT_EQ(NameOf(d, {}), "TP8 × PP2, attention DP4, EP8");
}

}  // namespace
}  // namespace shardplan
