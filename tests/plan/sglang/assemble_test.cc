#include "plan/sglang/assemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shardplan/base/units.h"
#include "support/sglang_world.h"

namespace shardplan {
namespace {

using testing_support::BaselineKimiK3;
using testing_support::Evaluate;
using testing_support::ExampleFromConfig;
using testing_support::FindingOf;
using testing_support::HasFinding;
using testing_support::OnSglang;

void ExpectPoolsConserved(const Plan& plan) {
  ASSERT_FALSE(plan.ranks.empty());
  for (const RankPlan& rank : plan.ranks) {
    EXPECT_EQ(rank.ledger.Sum(), rank.device_total);
    EXPECT_EQ(rank.ledger.SumInBudget(true), rank.budget);
    const WeightsDetail& d = rank.detail;
    EXPECT_EQ(d.parameters + d.buffers + d.post_load + d.rounding, rank.weights + rank.offloaded);
    for (const Entry& entry : rank.ledger.entries()) {
      EXPECT_LE(entry.bytes.low, entry.bytes.central) << ToString(entry.account);
      EXPECT_LE(entry.bytes.central, entry.bytes.high) << ToString(entry.account);
      EXPECT_FALSE(entry.source.empty());
    }
  }
}

// TP16 × EP16, 32,768 tokens, marlin, flashmla, no prefix cache on 2 × 8 H20 of 141 GB: fits.
TEST(SglangPlan, KimiK3Baseline) {
  const Plan plan = Evaluate(ExampleFromConfig("kimi-k3"), BaselineKimiK3());
  EXPECT_EQ(plan.verdict, Verdict::kFits);
  EXPECT_EQ(plan.verdict_high, Verdict::kFits);
  ASSERT_EQ(plan.ranks.size(), 16u);
  ExpectPoolsConserved(plan);
  EXPECT_NEAR(InGiB(plan.ranks[0].weights).value(), 101.8, .1);
  ASSERT_TRUE(plan.kv && plan.static_memory && plan.static_memory->states);
  EXPECT_EQ(plan.kv->tokens % 64, 0);
  EXPECT_EQ(plan.static_memory->states->slots_per_request, 1);  // no prefix cache
  EXPECT_EQ(plan.kv->full_window_requests, plan.kv->tokens / 32'768);
  // Cut from the same memory: 27,648 B a token, 13.85 MiB a state, and a state of padding.
  const RankPlan& rank = plan.ranks[0];
  EXPECT_EQ(rank.ledger.Sum(Account::kKvCache), Bytes(27'648 * plan.kv->tokens));
  const int64_t slots = plan.static_memory->states->slots + 1;
  EXPECT_NEAR(static_cast<double>(rank.ledger.Sum(Account::kStateCache).count()),
              static_cast<double>(plan.static_memory->states->slot.count() * slots), 2);
  EXPECT_GE(rank.ledger.SumInBudget(true), Bytes());
  // What is left inside is less than a page and a state.
  for (const Entry& entry : rank.ledger.entries()) {
    if (entry.account != Account::kHeadroom || !entry.in_budget) continue;
    EXPECT_GE(entry.bytes.central, Bytes(-1));
    EXPECT_LT(entry.bytes.central, Bytes(27'648 * 64));
  }
  ASSERT_EQ(plan.launch.size(), 2u);
  EXPECT_EQ(plan.launch[0].env, plan.launch[1].env);
}

// The same on 96 GB cards and on one node: by how much it is short.
TEST(SglangPlan, KimiK3OnLess) {
  Deployment d = BaselineKimiK3();
  d.gpu = "h20-96";
  Plan plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  EXPECT_EQ(plan.verdict, Verdict::kDoesNotFit);
  EXPECT_EQ(plan.verdict_low, Verdict::kDoesNotFit);
  ASSERT_TRUE(plan.limiting);
  EXPECT_EQ(plan.limiting->account, Account::kWeights);
  EXPECT_TRUE(HasFinding(plan.findings, "fit.load"));
  ExpectPoolsConserved(plan);
  // Weights, one window and one state, less what the fraction allows.
  const RankPlan& rank = plan.ranks[0];
  const Bytes needed = Bytes(27'648 * 32'768) + 2 * plan.static_memory->states->slot;
  EXPECT_EQ(plan.limiting->short_by, needed - rank.kv_available.central);

  d = BaselineKimiK3();
  d.nodes = 1;
  d.sizes.tp = d.sglang.ep_size = 8;
  plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  EXPECT_EQ(plan.verdict, Verdict::kDoesNotFit);
  EXPECT_GT(plan.limiting->short_by, Gibibytes(50).ToBytes());
}

// Hopper upcasts the experts unless marlin is named: never in silence.
TEST(SglangPlan, TheUpcastIsTold) {
  Deployment d = BaselineKimiK3();
  d.sglang.moe_runner_backend = "auto";
  const Plan plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  EXPECT_EQ(plan.verdict, Verdict::kDoesNotFit);
  EXPECT_TRUE(HasFinding(plan.findings, "sglang.expert_upcast"));
  EXPECT_GT(plan.ranks[0].weights, Gibibytes(300).ToBytes());
  EXPECT_EQ(FindingOf(plan.findings, "fit.load").fix, "--moe-runner-backend marlin");
}

TEST(SglangPlan, WindowsAndRequestsThatFindNoRoom) {
  Deployment d = BaselineKimiK3();
  d.settings.max_model_len = d.sglang.context_length = 1'048'576;
  Plan plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  EXPECT_EQ(plan.verdict, Verdict::kDoesNotFit);
  EXPECT_EQ(FindingOf(plan.findings, "fit.window").severity, Severity::kError);
  EXPECT_EQ(plan.limiting->account, Account::kKvCache);
  // The model's own window, that nobody asked for: SGLang starts.
  d.settings.max_model_len.reset();
  d.sglang.context_length.reset();
  plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  EXPECT_EQ(plan.verdict, Verdict::kFits);
  EXPECT_EQ(FindingOf(plan.findings, "fit.window").severity, Severity::kWarning);
  d = BaselineKimiK3();
  d.require_concurrency = 200;
  plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  EXPECT_TRUE(HasFinding(plan.findings, "fit.concurrency"));
  // auto: what the pool holds.
  d = BaselineKimiK3();
  d.settings.max_model_len.reset();
  d.sglang.context_length.reset();
  d.settings.max_model_len_auto = true;
  plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  EXPECT_EQ(plan.verdict, Verdict::kFits);
  EXPECT_EQ(plan.window.max_model_len, plan.kv->tokens);
}

// A fraction of nearly all leaves graphs and activations no room.
TEST(SglangPlan, WhatRunsOutsideTheFraction) {
  Deployment d = BaselineKimiK3();
  d.sglang.mem_fraction_static = .99;
  const Plan plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  EXPECT_EQ(plan.verdict, Verdict::kDoesNotFit);
  EXPECT_TRUE(HasFinding(plan.findings, "fit.outside_budget"));
  EXPECT_GT(plan.limiting->short_by, Bytes());
}

TEST(SglangPlan, StagesPartitionsAndReplicas) {
  Deployment d = OnSglang("b200-180", 8, 2);
  d.sglang.context_length = 32'768;
  Plan plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  ExpectPoolsConserved(plan);
  ASSERT_EQ(plan.stages.size(), 2u);
  EXPECT_EQ(plan.stages[0].count, 46);  // the remainder is the last stage's
  EXPECT_EQ(plan.static_memory->log.size(), 2u);
  EXPECT_TRUE(plan.launch[0].env.empty());
  d.partition = std::vector<int64_t>{48, 45};
  plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  ASSERT_EQ(plan.launch[0].env.size(), 1u);
  EXPECT_EQ(plan.launch[0].env[0].second, "48,45");
  d = OnSglang("h100-80-sxm", 2);
  d.sizes.dp = 2;
  plan = Evaluate(ExampleFromConfig("dense-70b"), d);
  EXPECT_EQ(plan.ranks.size(), 4u);
  EXPECT_EQ(plan.ranks[2].place.dp_rank, 1);
}

TEST(SglangPlan, HostCacheAndIllegalLayouts) {
  Deployment d = BaselineKimiK3();
  d.sglang.enable_hierarchical_cache = true;
  d.sglang.disable_radix_cache = false;
  d.sglang.hicache_size = 40;
  Plan plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  ASSERT_TRUE(plan.static_memory->host_cache);
  EXPECT_NEAR(InGB(plan.static_memory->host_cache->per_rank).value(), 40, .2);
  EXPECT_TRUE(HasFinding(plan.findings, "host.hicache"));
  d = BaselineKimiK3();
  d.sizes.tp = 12;
  plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  EXPECT_EQ(plan.verdict, Verdict::kIllegal);
  EXPECT_TRUE(plan.ranks.empty());
  EXPECT_FALSE(plan.static_memory);
}

// A thousandth more than the largest leaves too little.
TEST(SglangPlan, TheLargestFractionIsTheLargest) {
  Deployment d = BaselineKimiK3();
  const auto largest = Evaluate(ExampleFromConfig("kimi-k3"), d).static_memory->largest_fraction;
  ASSERT_TRUE(largest);
  d.sglang.mem_fraction_static = *largest;
  EXPECT_FALSE(
      HasFinding(Evaluate(ExampleFromConfig("kimi-k3"), d).findings, "fit.outside_budget"));
  d.sglang.mem_fraction_static = *largest + .001;
  EXPECT_TRUE(HasFinding(Evaluate(ExampleFromConfig("kimi-k3"), d).findings, "fit.outside_budget"));
}

// A stage has room for the slots of the stage with most state layers, and allocates its own.
TEST(SglangPlan, StagesAllocateTheirOwnStates) {
  Deployment d = OnSglang("b200-180", 1, 16);
  const Plan plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  ExpectPoolsConserved(plan);
  const auto states = [&](size_t rank) {
    return plan.ranks[rank].ledger.Sum(Account::kStateCache);
  };
  // Five of six layers against four of five or three of six.
  EXPECT_GT(states(0), Bytes());
  Bytes least = states(0);
  Bytes most = states(0);
  for (size_t rank = 0; rank < 16; ++rank) {
    least = std::min(least, states(rank));
    most = std::max(most, states(rank));
  }
  EXPECT_LT(least, most);
}

// The fewest nodes of DP attention are those of TP.
TEST(SglangPlan, FewestNodesOfDpAttention) {
  Deployment d = OnSglang("h200-141", 8);
  d.sizes.dp = 8;
  d.sglang.enable_dp_attention = true;
  d.sglang.mem_fraction_static = .6;
  const Plan plan = Evaluate(ExampleFromConfig("deepseek-v3"), d);
  std::string fix;
  for (const Finding& finding : plan.findings) {
    if (finding.severity == Severity::kError && fix.empty()) fix = finding.fix;
  }
  EXPECT_THAT(fix, ::testing::HasSubstr("--nodes 2 --pp-size 2 (16 cards"));
}

// Families of every kind conserve, at any fraction.
TEST(SglangPlan, EveryExampleConserves) {
  for (const char* name : {"kimi-k2", "deepseek-v3", "dense-70b", "kimi-k3"}) {
    for (const double fraction : {.5, .8, .9, .95}) {
      Deployment d = OnSglang("b300-288", 8);
      d.sglang.mem_fraction_static = fraction;
      ExpectPoolsConserved(Evaluate(ExampleFromConfig(name), d));
    }
  }
}

}  // namespace
}  // namespace shardplan
