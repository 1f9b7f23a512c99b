#include "plan/notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shardplan/base/units.h"
#include "shardplan/model/precision.h"
#include "support/plan_world.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using testing_support::Evaluate;
using testing_support::ExampleFromConfig;
using testing_support::FindFinding;
using testing_support::PublishedKimiK3;

Plan NotedK3(const Deployment& d) { return Evaluate(ExampleFromConfig("kimi-k3"), d); }

TEST(Notes, SequencesPromiseNothing) {
  Deployment d = PublishedKimiK3();
  d.settings.max_num_seqs = 64;
  const Plan plan = NotedK3(d);
  const Finding* finding = FindFinding(plan, "capacity.max_num_seqs");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_EQ(finding->subject, "--max-num-seqs 64");
  EXPECT_EQ(finding->message,
            "64 is a scheduler limit, not a promise: 2 requests of 524,288 tokens are resident at "
            "once, more of them wait or are preempted");
  EXPECT_EQ(FindFinding(NotedK3(PublishedKimiK3()), "capacity.max_num_seqs"), nullptr);
}

// Kimi-K2.6 on eight RTX PRO 6000: NCCL found no 10 MB at 0.95, and did at 0.93
// (github.com/voipmonitor/rtx6kpro).
TEST(Notes, AThinMarginIsTold) {
  const Model model = ExampleFromConfig("moonshotai__Kimi-K2.5");
  Deployment d;
  d.gpu = "rtxpro6000-96";
  d.engine_version = "0.19.0";
  d.sizes.tp = 8;
  d.settings.gpu_memory_utilization = 0.95;
  d.settings.max_num_seqs = 128;
  d.settings.max_num_batched_tokens = 8192;
  d.settings.kv_cache_dtype = "fp8";
  d.settings.attention_backend = "TRITON_MLA";
  const Plan plan = Evaluate(model, d);
  const Finding* finding = FindFinding(plan, "fit.thin_margin");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->subject, "rank 0 (stage 0)");
  EXPECT_THAT(finding->message, HasSubstr("5.37 GiB lie outside the budget, and at its dear end "
                                          "what is known takes all of it: "));
  EXPECT_EQ(finding->fix, "--gpu-memory-utilization 0.94");
  d.settings.gpu_memory_utilization = 0.96;
  EXPECT_THAT(FindFinding(Evaluate(model, d), "fit.thin_margin")->message,
              HasSubstr(" GiB more than that: "));
  d.settings.gpu_memory_utilization = 0.93;
  EXPECT_EQ(FindFinding(Evaluate(model, d), "fit.thin_margin"), nullptr);
  d.settings.gpu_memory_utilization = 0.95;
  d.settings.kv_cache_memory_bytes = Bytes(10 * kGiB);
  EXPECT_EQ(FindFinding(Evaluate(model, d), "fit.thin_margin"), nullptr);
}

TEST(Notes, BlockCostOfBothSplits) {
  const Plan plan = NotedK3(PublishedKimiK3());
  const Finding* finding = FindFinding(plan, "kv.block_cost");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->message,
            "the split 48,45 puts 12 / 12 attention layers on its stages and a block costs "
            "10,616,832 B on each; vLLM's own: the split 47,46 puts 11 / 13 attention layers on "
            "its stages and a block costs 11,501,568 B on stage 1");
}

TEST(Notes, TheOtherStateModeIsTold) {
  Deployment d = PublishedKimiK3();
  d.settings.mamba_cache_mode.reset();
  d.settings.enable_prefix_caching.reset();
  const Plan plan = NotedK3(d);
  const Finding* finding = FindFinding(plan, "kv.state_mode");
  ASSERT_NE(finding, nullptr);
  d.settings.enable_prefix_caching = false;
  const Plan without = NotedK3(d);
  EXPECT_EQ(FindFinding(without, "kv.state_mode"), nullptr);
  const std::string tokens = FormatCount(without.kv->tokens);
  EXPECT_THAT(finding->message, HasSubstr("with none the engine prints " + tokens + " tokens"));
}

TEST(Notes, ReplicatedTower) {
  Deployment d = PublishedKimiK3();
  d.settings.language_model_only = false;
  const Plan plan = NotedK3(d);
  const Finding* finding = FindFinding(plan, "weights.vision_replicated");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->message,
            "the vision tower (0.833 GiB) is replicated on every rank of every stage");
  EXPECT_EQ(finding->subject, "12 vision heads over TP 8");
  EXPECT_EQ(FindFinding(NotedK3(PublishedKimiK3()), "weights.vision_replicated"), nullptr);
}

// Kimi-K3 in FP8 on four nodes: sequence parallelism keeps the shared experts whole.
TEST(Notes, ReplicatedSharedExperts) {
  Model model = ExampleFromConfig("kimi-k3");
  PrecisionPolicy fp8;
  ASSERT_TRUE(ParsePrecision("all=fp8", &fp8).has_value());
  ApplyPrecision(fp8, &model);
  Deployment d = PublishedKimiK3();
  d.nodes = 4;
  d.sizes = {};
  d.sizes.tp = 8;
  d.sizes.dp = 4;
  d.sizes.expert_parallel = true;
  d.partition.reset();
  d.settings.cpu_offload_gb = 0;
  d.settings.cpu_offload_params.clear();
  const Plan plan = Evaluate(model, d);
  const Finding* finding = FindFinding(plan, "weights.replicated_shared");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->message,
            "sequence-parallel MoE (TP 8 × DP 4) keeps shared experts whole on every rank: "
            "101.04 GiB of parameters on rank 0, 90.54 GiB if they were sliced");
  EXPECT_TRUE(plan.launch.empty());
  d.sizes.dp = 1;
  EXPECT_EQ(FindFinding(Evaluate(model, d), "weights.replicated_shared"), nullptr);
}

TEST(Notes, GraphsNeedAStateBlockPerSequence) {
  Deployment d = PublishedKimiK3();
  d.settings.enforce_eager = false;
  d.settings.max_num_seqs = 1600;
  const Plan plan = NotedK3(d);
  const Finding* finding = FindFinding(plan, "graphs.state_blocks");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->message, HasSubstr("max_num_seqs (1600) exceeds available Mamba cache "
                                          "blocks ("));
  EXPECT_EQ(plan.verdict, Verdict::kDoesNotFit);
  EXPECT_EQ(plan.verdict_low, Verdict::kFits);  // 1,650 blocks at the cheap end
  ASSERT_TRUE(plan.limiting.has_value());
  EXPECT_EQ(plan.limiting->account, Account::kKvCache);
  EXPECT_EQ(plan.limiting->short_by, plan.kv->bytes_per_block * (1600 - plan.kv->num_blocks));
  d.settings.max_num_seqs = 2000;  // more than at either end
  EXPECT_EQ(NotedK3(d).verdict_low, Verdict::kDoesNotFit);
}

TEST(Notes, AnAutomaticWindowThatFindsNoneQuotesTheEngine) {
  Deployment d = PublishedKimiK3();
  d.settings.max_model_len.reset();
  d.settings.max_model_len_auto = true;
  d.output_tokens.reset();
  d.settings.kv_cache_memory_bytes = Bytes(10'616'832LL * 10);  // 9 + the null block; 10 are needed
  const Plan plan = NotedK3(d);
  const Finding* finding = FindFinding(plan, "fit.window");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->message, HasSubstr("Cannot auto-fit max_model_len: not enough GPU memory"));
}

TEST(Notes, TheWindowRefusalQuotesTheEngine) {
  Deployment d;
  d.gpu = "h100-80-sxm";
  d.sizes.tp = 2;
  d.settings.max_num_seqs = 8;
  const Plan plan = Evaluate(ExampleFromConfig("dense-70b"), d);
  const Finding* finding = FindFinding(plan, "fit.window");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->message,
              HasSubstr("To serve at least one request with the model's max seq len (131072), "
                        "(20.0 GiB KV cache is needed, which is larger than the available KV cache "
                        "memory ("));
  EXPECT_THAT(finding->message, HasSubstr("the estimated maximum model length is "));
}

TEST(Notes, WeightsThatLoadAndLeaveNothing) {
  Deployment d = PublishedKimiK3();
  d.settings.cpu_offload_gb = 12;
  const Plan plan = NotedK3(d);
  const Finding* finding = FindFinding(plan, "fit.no_kv_memory");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->subject, "rank 0 (stage 0)");
  EXPECT_THAT(finding->message, HasSubstr("is more than the budget of 85.57 GiB; vLLM would say: "
                                          "No available memory for the cache blocks."));
}

TEST(Notes, WhatTheEngineNeverCountsCanKillItToo) {
  Deployment d = PublishedKimiK3();
  d.settings.gpu_memory_utilization = 0.985;
  const Plan plan = NotedK3(d);
  EXPECT_EQ(plan.verdict, Verdict::kDoesNotFit);
  const Finding* finding = FindFinding(plan, "fit.free_memory");
  ASSERT_NE(finding, nullptr);
  ASSERT_TRUE(plan.limiting.has_value());
  EXPECT_GT(plan.limiting->short_by, Bytes());
  // The utilization that is named is one that starts.
  ASSERT_TRUE(finding->fix.starts_with("--gpu-memory-utilization 0."));
  d.settings.gpu_memory_utilization = std::stod(finding->fix.substr(25));
  EXPECT_EQ(FindFinding(NotedK3(d), "fit.free_memory"), nullptr);
  EXPECT_EQ(FindFinding(NotedK3(d), "fit.outside_budget"), nullptr);
}

TEST(Notes, ACacheOfAGivenSizeIsToBlameItself) {
  Deployment d;
  d.gpu = "h20-141";
  d.sizes.tp = 8;
  d.settings.gpu_memory_utilization = 0.5;
  d.settings.kv_cache_memory_bytes = Bytes(90LL << 30);
  const Plan plan = Evaluate(ExampleFromConfig("deepseek-v3"), d);
  EXPECT_EQ(plan.verdict, Verdict::kDoesNotFit);
  ASSERT_TRUE(plan.limiting.has_value());
  EXPECT_EQ(plan.limiting->account, Account::kKvCache);
  const Finding* finding = FindFinding(plan, "fit.given_cache");
  ASSERT_NE(finding, nullptr);
  ASSERT_TRUE(finding->fix.starts_with("--kv-cache-memory-bytes "));
  d.settings.kv_cache_memory_bytes = Bytes(std::stoll(finding->fix.substr(24)));
  EXPECT_EQ(Evaluate(ExampleFromConfig("deepseek-v3"), d).verdict, Verdict::kFits);
}

TEST(Notes, UnknownAffinityIsTold) {
  Deployment d = PublishedKimiK3();
  d.nodes.reset();
  d.gpus_per_node = 16;
  EXPECT_EQ(FindFinding(NotedK3(d), "host.numa_unknown"), nullptr);
  d.sizes.pp = 1;
  d.partition.reset();
  d.gpus_per_node = 12;
  EXPECT_NE(FindFinding(NotedK3(d), "host.numa_unknown"), nullptr);
}

}  // namespace
}  // namespace shardplan
