#include "plan/expert_balance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "support/plan_world.h"

namespace shardplan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::ExampleFromConfig;

Architecture Mixtures(int64_t layers, int64_t experts, int64_t first_dense = 0) {
  Architecture arch;
  arch.attention.assign(static_cast<size_t>(layers), AttentionKind::kFull);
  arch.moe.experts = experts;
  arch.moe.top_k = 2;
  arch.moe.first_dense = first_dense;
  return arch;
}

ExpertLoads Loads(std::vector<std::vector<double>> layers) {
  ExpertLoads loads;
  loads.file = "loads.json";
  for (std::vector<double>& layer : layers) loads.layers.push_back({{}, std::move(layer)});
  return loads;
}

TEST(ExpertBalanceTest, InOrderTheFirstRanksHoldOneMore) {
  EXPECT_THAT(LoadsInOrder({1, 2, 3, 4}, 2), ElementsAre(3, 7));
  EXPECT_THAT(LoadsInOrder({1, 2, 3, 4, 5}, 2), ElementsAre(6, 9));
  EXPECT_THAT(LoadsInOrder({1, 2}, 3), ElementsAre(1, 2, 0));
}

// The README of deepseek-ai/EPLB: two layers of 12 experts, 16 replicas.
TEST(ExpertBalanceTest, ReplicatesTheHeaviest) {
  EXPECT_THAT(Replicate({8, 1, 1}, 0), ElementsAre(1, 1, 1));
  EXPECT_THAT(Replicate({8, 1, 1}, 3), ElementsAre(4, 1, 1));
  EXPECT_THAT(Replicate({8, 6, 1}, 3), ElementsAre(3, 2, 1));
  EXPECT_THAT(Replicate({0, 0}, 1), ElementsAre(2, 1));
  EXPECT_THAT(Replicate({90, 132, 40, 61, 104, 165, 39, 4, 73, 56, 183, 86}, 4),
              ElementsAre(1, 2, 1, 1, 2, 2, 1, 1, 1, 1, 2, 1));
}

TEST(ExpertBalanceTest, PacksTheHeaviestFirst) {
  EXPECT_THAT(LoadsBalanced({4, 3, 2, 1}, 0, 2), ElementsAre(5, 5));
  EXPECT_THAT(LoadsBalanced({8, 1, 1}, 1, 2), ElementsAre(5, 5));
  // A rank that is full takes no more, however light it is.
  EXPECT_THAT(LoadsBalanced({9, 0, 0, 0}, 0, 2), ElementsAre(9, 0));
}

// Every world of up to four experts with small loads: no load is lost, room is kept, and no single
// replica could have gone to a lighter rank with room when it was placed.
TEST(ExpertBalanceTest, SmallWorldsAgreeWithASlowPacking) {
  int worlds = 0;
  for (int64_t ranks = 1; ranks <= 4; ++ranks) {
    for (int64_t redundant = 0; redundant <= 4; ++redundant) {
      for (int code = 0; code < 4 * 4 * 4 * 4; ++code) {
        std::vector<double> loads;
        for (int rest = code, i = 0; i < 4; ++i, rest /= 4) loads.push_back(rest % 4 * 3);
        if ((4 + redundant) % ranks != 0) continue;
        std::vector<int64_t> counts(4, 1);
        for (int64_t i = 0; i < redundant; ++i) {
          size_t most = 0;
          for (size_t e = 1; e < 4; ++e) {
            if (loads[e] / static_cast<double>(counts[e]) >
                loads[most] / static_cast<double>(counts[most])) {
              most = e;
            }
          }
          ++counts[most];
        }
        EXPECT_EQ(Replicate(loads, redundant), counts);
        std::vector<double> replicas;
        for (size_t e = 0; e < 4; ++e) {
          for (int64_t i = 0; i < counts[e]; ++i) {
            replicas.push_back(loads[e] / static_cast<double>(counts[e]));
          }
        }
        std::sort(replicas.rbegin(), replicas.rend());
        std::vector<double> sums(static_cast<size_t>(ranks), 0);
        std::vector<int64_t> held(static_cast<size_t>(ranks), 0);
        for (const double load : replicas) {
          std::optional<size_t> best;
          for (size_t r = 0; r < sums.size(); ++r) {
            if (held[r] == (4 + redundant) / ranks) continue;
            if (!best || sums[r] < sums[*best]) best = r;
          }
          ASSERT_TRUE(best.has_value());
          sums[*best] += load;
          ++held[*best];
        }
        EXPECT_EQ(LoadsBalanced(loads, redundant, ranks), sums);
        ++worlds;
      }
    }
  }
  EXPECT_GT(worlds, 2000);
}

TEST(ExpertBalanceTest, TellsImbalanceBeforeAndAfter) {
  const Result<ExpertLoadPlan> plan =
      BalanceExperts(Mixtures(3, 4, 1), Loads({{6, 2, 0, 0}, {1, 1, 1, 1}}), 2, 0, false);
  ASSERT_TRUE(plan.has_value()) << plan.error().ToString();
  EXPECT_EQ(plan->before.worst, 2);
  EXPECT_EQ(plan->before.worst_layer, 1);
  EXPECT_DOUBLE_EQ(plan->before.step, (8 + 2) / 6.0);
  EXPECT_THAT(plan->before.shares, ElementsAre(10 / 12.0, 2 / 12.0));
  ASSERT_TRUE(plan->after.has_value());
  EXPECT_DOUBLE_EQ(plan->after->worst, 1.5);
  EXPECT_DOUBLE_EQ(plan->after->step, (6 + 2) / 6.0);
  EXPECT_EQ(plan->hottest_layer, 1);
  EXPECT_EQ(plan->hottest_expert, 0);
  EXPECT_EQ(plan->hottest_share, 0.75);
  ASSERT_EQ(plan->layers.size(), 2u);
  EXPECT_EQ(plan->layers[0].layer, 1);
  EXPECT_EQ(*plan->layers[1].after, 1);
  const auto more =
      BalanceExperts(Mixtures(3, 4, 1), Loads({{6, 2, 0, 0}, {1, 1, 1, 1}}), 2, 2, true);
  EXPECT_LT(more->after->step, plan->after->step);
  EXPECT_TRUE(more->balancing);
  const auto uneven = BalanceExperts(Mixtures(1, 4), Loads({{1, 2, 3, 4}}), 3, 0, false);
  EXPECT_FALSE(uneven->after.has_value());
}

TEST(ExpertBalanceTest, NoLoadIsEven) {
  const auto plan = BalanceExperts(Mixtures(1, 4), Loads({{0, 0, 0, 0}}), 2, 0, false);
  EXPECT_EQ(plan->before.step, 1);
  EXPECT_EQ(plan->before.worst, 1);
  EXPECT_EQ(plan->hottest_share, 0);
}

TEST(ExpertBalanceTest, FilesOfAnotherModelAreRefused) {
  const auto error = [](const Architecture& arch, const ExpertLoads& loads) {
    const auto plan = BalanceExperts(arch, loads, 2, 0, false);
    EXPECT_FALSE(plan.has_value());
    return plan ? "" : plan.error().ToString();
  };
  EXPECT_THAT(error(Mixtures(3, 4, 1), Loads({{1}})),
              HasSubstr("expected 2 layers, one for each mixture, found 1"));
  EXPECT_THAT(error(Mixtures(1, 2), Loads({{1, 2, 3}})),
              HasSubstr("layer 0: expected at most 2 experts, found 3"));
  ExpertLoads numbered = Loads({{1}, {1}});
  numbered.layers[0].layer = numbered.layers[1].layer = 1;
  EXPECT_THAT(error(Mixtures(3, 4, 1), numbered), HasSubstr("layer 1 stands twice"));
  numbered.layers[1].layer = 0;
  EXPECT_THAT(error(Mixtures(3, 4, 1), numbered), HasSubstr("layer 0 is no mixture"));
}

TEST(ExpertBalanceTest, PlansTellThemWhereExpertsAreSpread) {
  Deployment d;
  d.gpu = "h20-141";
  d.nodes = 2;
  d.sizes.tp = 8;
  d.sizes.dp = 2;
  d.sizes.expert_parallel = true;
  ExpertLoads loads;
  loads.file = "x.csv";
  loads.layers.push_back({5, {100, 1, 1}});
  d.expert_loads = std::make_shared<const ExpertLoads>(loads);
  const Plan plan = testing_support::Evaluate(ExampleFromConfig("deepseek-v3"), d);
  ASSERT_TRUE(plan.expert_load.has_value());
  EXPECT_EQ(plan.expert_load->ranks, 16);
  EXPECT_EQ(plan.expert_load->before.worst_layer, 5);
  loads.layers[0].layer = 1;  // a dense layer
  d.expert_loads = std::make_shared<const ExpertLoads>(loads);
  EXPECT_FALSE(EvaluatePlan(ExampleFromConfig("deepseek-v3"), testing_support::Cards(),
                            testing_support::Store(), d)
                   .has_value());
}

}  // namespace
}  // namespace shardplan
