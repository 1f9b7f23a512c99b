#include "plan/assemble.h"

#include <gtest/gtest.h>

#include "shardplan/base/units.h"
#include "support/plan_world.h"

namespace shardplan {
namespace {

using testing_support::EnvironmentFor;
using testing_support::Evaluate;
using testing_support::ExampleFromConfig;
using testing_support::PublishedKimiK3;

// The fullest rank decides: where experts don't divide evenly, the first ranks hold one more.
TEST(Assemble, RanksOfAStageMayDiffer) {
  Deployment d;
  d.gpu = "h20-141";
  d.sizes.tp = 1;
  d.sizes.dp = 6;
  d.sizes.expert_parallel = true;
  d.gpus_per_node = 6;
  d.settings.max_model_len = 4096;
  d.settings.max_num_seqs = 16;
  const Plan plan = Evaluate(ExampleFromConfig("deepseek-v3"), d);
  ASSERT_EQ(plan.ranks.size(), 6u);
  EXPECT_GT(plan.ranks[0].weights, plan.ranks[5].weights);
  EXPECT_EQ(plan.ranks[0].weights, plan.ranks[3].weights);
  EXPECT_LT(plan.ranks[0].kv_available.central, plan.ranks[5].kv_available.central);
  const int64_t blocks = FloorDiv(plan.ranks[0].kv_available.central, plan.kv->bytes_per_block);
  EXPECT_EQ(plan.kv->num_blocks, std::max<int64_t>(0, blocks));
  for (const RankPlan& rank : plan.ranks) EXPECT_EQ(rank.ledger.Sum(), rank.device_total);
}

// --num-gpu-blocks-override: the blocks are given, and have to find their place on the card.
TEST(Assemble, BlocksThatWereAskedFor) {
  Deployment d = PublishedKimiK3();
  const Plan free = Evaluate(ExampleFromConfig("kimi-k3"), d);
  d.settings.num_gpu_blocks_override = 1000;
  Plan plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  EXPECT_EQ(plan.verdict, Verdict::kFits);
  EXPECT_EQ(plan.kv->num_blocks, 1000);
  EXPECT_EQ(plan.kv->num_blocks_low, 1000);
  EXPECT_EQ(plan.kv->num_blocks_high, 1000);
  EXPECT_EQ(plan.ranks[0].kv_available.central, free.ranks[0].kv_available.central);
  EXPECT_EQ(plan.ranks[0].budget, free.ranks[0].budget);
  // One request takes 692 blocks and the null block one.
  EXPECT_EQ(plan.ranks[0].headroom, plan.kv->bytes_per_block * (1000 - 692 - 1));
  d.settings.num_gpu_blocks_override = 692;
  plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  EXPECT_EQ(plan.verdict, Verdict::kDoesNotFit);
  ASSERT_NE(testing_support::FindFinding(plan, "fit.window"), nullptr);
  EXPECT_NE(
      testing_support::FindFinding(plan, "fit.window")->fix.find("no --num-gpu-blocks-override"),
      std::string::npos);
  // More than the budget has room for, but not than the card has.
  d.settings.num_gpu_blocks_override = free.kv->num_blocks + 100;
  plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  EXPECT_EQ(plan.verdict, Verdict::kFits);
  EXPECT_GT(plan.ranks[0].budget, free.ranks[0].budget);
  for (const RankPlan& rank : plan.ranks) EXPECT_EQ(rank.ledger.Sum(), rank.device_total);
  d.settings.num_gpu_blocks_override = 5000;
  plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  EXPECT_EQ(plan.verdict, Verdict::kDoesNotFit);
  const Finding* finding = testing_support::FindFinding(plan, "fit.given_cache");
  ASSERT_NE(finding, nullptr);
  ASSERT_EQ(finding->fix.substr(0, 26), "--num-gpu-blocks-override ");
  d.settings.num_gpu_blocks_override = std::stoll(finding->fix.substr(26));
  EXPECT_EQ(Evaluate(ExampleFromConfig("kimi-k3"), d).verdict, Verdict::kFits);
  ++*d.settings.num_gpu_blocks_override;
  EXPECT_EQ(Evaluate(ExampleFromConfig("kimi-k3"), d).verdict, Verdict::kDoesNotFit);
  d.settings.num_gpu_blocks_override = int64_t{1} << 31;
  EXPECT_EQ(Evaluate(ExampleFromConfig("kimi-k3"), d).verdict, Verdict::kDoesNotFit);
}

TEST(Assemble, AutoWindowIsTheLargestThatFits) {
  Deployment d = PublishedKimiK3();
  d.settings.max_model_len.reset();
  d.settings.max_model_len_auto = true;
  const Plan plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  EXPECT_EQ(plan.verdict, Verdict::kFits);
  EXPECT_GT(plan.window.max_model_len, 524'288);
  Deployment more = d;
  more.settings.max_model_len_auto = false;
  more.settings.max_model_len = plan.window.max_model_len + 1;
  if (*more.settings.max_model_len <= 1'048'576) {
    EXPECT_EQ(Evaluate(ExampleFromConfig("kimi-k3"), more).verdict, Verdict::kDoesNotFit);
  } else {
    EXPECT_EQ(plan.window.max_model_len, 1'048'576);
  }
}

// A dense model whose every other layer has a window of 1,024 tokens.
TEST(Assemble, WindowsAreGroupsOfTheirOwn) {
  Model model = ExampleFromConfig("dense-70b");
  model.arch.window = 1024;
  for (size_t layer = 0; layer < model.arch.attention.size(); layer += 2) {
    model.arch.attention[layer] = AttentionKind::kSliding;
  }
  Deployment d;
  d.gpu = "h200-141";
  d.sizes.tp = 8;
  d.settings.max_model_len = 32'768;
  d.settings.max_num_batched_tokens = 2048;
  d.settings.max_num_seqs = 64;
  const Plan plan = Evaluate(model, d);
  ASSERT_EQ(plan.kv->groups.size(), 2u);
  EXPECT_EQ(plan.kv->groups[0].kind, "sliding window");
  EXPECT_EQ(plan.kv->groups[0].window, 1024);
  EXPECT_EQ(plan.kv->groups[0].caches, 40);
  // Two batches of 2,048 under way, and a block that the window only ends in.
  EXPECT_EQ(plan.kv->groups[0].blocks_per_request, (1023 + 4096 + 15) / 16 + 1);
  EXPECT_EQ(plan.kv->groups[1].kind, "full attention");
  EXPECT_EQ(plan.kv->groups[1].blocks_per_request, 2048);
  EXPECT_EQ(plan.kv->blocks_per_request, 321 + 2048);
  EXPECT_EQ(plan.kv->bytes_per_block, Bytes(40LL * 16 * 256 * 2));
  EXPECT_EQ(plan.kv->attention_layers_by_stage, (std::vector<int64_t>{80}));
}

// Layers that are no attention at all are none of the attention layers.
TEST(Assemble, CountsAttentionLayersOnly) {
  Model model = ExampleFromConfig("dense-70b");
  for (size_t layer = 0; layer < 10; ++layer) model.arch.attention[layer] = AttentionKind::kNone;
  Deployment d;
  d.gpu = "h200-141";
  d.sizes.tp = 8;
  const Plan plan = Evaluate(model, d);
  EXPECT_EQ(plan.kv->attention_layers_by_stage, (std::vector<int64_t>{70}));
  EXPECT_EQ(plan.kv->bytes_per_block, Bytes(70LL * 16 * 256 * 2));
}

TEST(Assemble, KvCacheMemoryReplacesUtilization) {
  Deployment d = PublishedKimiK3();
  d.settings.kv_cache_memory_bytes = Bytes(10'616'832LL * 1630 + 17);
  const Plan plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  EXPECT_EQ(plan.kv->num_blocks, 1630);
  EXPECT_EQ(plan.kv->num_blocks_low, 1630);
  EXPECT_EQ(plan.kv->tokens, 1'234'955);
  for (const RankPlan& rank : plan.ranks) EXPECT_EQ(rank.ledger.Sum(), rank.device_total);
}

TEST(Assemble, TypicalLengthBesideTheFullWindow) {
  Deployment d = PublishedKimiK3();
  d.typical_tokens = 8192;
  const Plan plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  // 11 MLA blocks and 3 × 3 state blocks.
  ASSERT_TRUE(plan.kv->typical_concurrency.has_value());
  EXPECT_DOUBLE_EQ(*plan.kv->typical_concurrency, static_cast<double>(plan.kv->num_blocks) / 20.0);
}

TEST(Assemble, RequiredConcurrencyIsPartOfTheVerdict) {
  Deployment d = PublishedKimiK3();
  d.require_concurrency = 2;
  EXPECT_EQ(Evaluate(ExampleFromConfig("kimi-k3"), d).verdict, Verdict::kFits);
  d.require_concurrency = 3;
  const Plan plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  EXPECT_EQ(plan.verdict, Verdict::kDoesNotFit);
  EXPECT_EQ(plan.limiting->account, Account::kKvCache);
  EXPECT_EQ(plan.findings.front().id, "fit.concurrency");
}

TEST(Assemble, TheUncertainEndsDecideTheirOwnVerdicts) {
  // Two requests need 1,385 blocks; the range with graphs and a large batch goes below.
  Deployment d = PublishedKimiK3();
  d.require_concurrency = 2;
  d.settings.enforce_eager = false;
  d.settings.max_num_batched_tokens = 12'288;
  const Plan plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  EXPECT_EQ(plan.verdict_low, Verdict::kFits);
  EXPECT_EQ(plan.verdict_high, Verdict::kDoesNotFit);
  EXPECT_NE(testing_support::FindFinding(plan, "verdict.range"), nullptr);
}

TEST(Assemble, MemoryInUseByOthersIsARow) {
  Deployment d = PublishedKimiK3();
  d.gpu_memory_in_use = Bytes(2 * kGiB);
  Plan plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  EXPECT_EQ(plan.ranks[0].ledger.Sum(Account::kInUseByOthers), Bytes(2 * kGiB));
  EXPECT_EQ(plan.verdict, Verdict::kFits);
  d.gpu_memory_in_use = Bytes(12 * kGiB);
  plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  EXPECT_EQ(plan.verdict, Verdict::kDoesNotFit);
  EXPECT_NE(testing_support::FindFinding(plan, "fit.free_memory"), nullptr);
}

TEST(Assemble, TotalMemoryCanBeGiven) {
  Deployment d = PublishedKimiK3();
  d.gpu_memory_total = Bytes(95 * kGiB);
  const Plan plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  EXPECT_EQ(plan.ranks[0].capacity, Bytes(95 * kGiB));
  EXPECT_EQ(plan.ranks[0].device_total, Bytes(97'871 * kMiB));
  EXPECT_EQ(plan.ranks[0].budget, Bytes(91'804'925'952));  // ceil(95 GiB × 0.9)
  EXPECT_EQ(plan.ranks[0].ledger.Sum(), plan.ranks[0].device_total);
}

// Three other shapes of model: dense, MLA with FP8 blocks, and a mixture over sixteen cards.
TEST(Assemble, ExamplesOfOtherFamilies) {
  Deployment dense;
  dense.gpu = "h100-80-sxm";
  dense.sizes.tp = 4;
  dense.gpus_per_node = 4;
  const Plan llama = Evaluate(ExampleFromConfig("dense-70b"), dense);
  EXPECT_EQ(llama.verdict, Verdict::kFits);
  EXPECT_EQ(llama.ranks[0].detail.parameters, Bytes(35'278'831'616));
  EXPECT_EQ(llama.kv->bytes_per_block, Bytes(1'310'720));

  Deployment deepseek;
  deepseek.gpu = "h20-141";
  deepseek.sizes.tp = 8;
  const Plan v3 = Evaluate(ExampleFromConfig("deepseek-v3"), deepseek);
  EXPECT_EQ(v3.verdict, Verdict::kFits);
  EXPECT_EQ(v3.ranks[0].detail.parameters, Bytes(85'140'130'848));
  EXPECT_EQ(v3.kv->block_tokens, 16);
  deepseek.gpu = "h20-96";
  const Plan small = Evaluate(ExampleFromConfig("deepseek-v3"), deepseek);
  EXPECT_EQ(small.ranks[0].detail.parameters, Bytes(85'140'130'848));

  Deployment k2;
  k2.gpu = "h20-96";
  k2.sizes.tp = 16;
  const Plan kimi = Evaluate(ExampleFromConfig("kimi-k2"), k2);
  EXPECT_EQ(kimi.ranks.size(), 16u);
  EXPECT_NE(testing_support::FindFinding(kimi, "layout.tp_spans_nodes"), nullptr);
}

TEST(Assemble, BriefPlansSkipWhatASearchIgnores) {
  const Deployment d = PublishedKimiK3();
  const Environment env = EnvironmentFor(ExampleFromConfig("kimi-k3"), d);
  const auto brief = Assemble(env, d, true);
  ASSERT_TRUE(brief.has_value());
  EXPECT_TRUE(brief->launch.empty());
  EXPECT_TRUE(brief->host.empty());
  EXPECT_EQ(brief->kv->num_blocks, Evaluate(ExampleFromConfig("kimi-k3"), d).kv->num_blocks);
}

}  // namespace
}  // namespace shardplan
