#include "plan/search.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "shardplan/base/units.h"

namespace shardplan {
namespace {

// A world in which a window costs a unit a token, and a card has so many.
Evaluator World(int64_t tokens_a_card, int64_t window) {
  return [=](const Deployment& d) -> std::optional<Plan> {
    Plan plan;
    plan.window.max_model_len = d.settings.max_model_len.value_or(window);
    plan.verdict = plan.window.max_model_len <= tokens_a_card * d.sizes.world()
                       ? Verdict::kFits
                       : Verdict::kDoesNotFit;
    return plan;
  };
}

TEST(Search, TheSmallestOfAllThresholds) {
  for (int64_t threshold = 1; threshold <= 40; ++threshold) {
    EXPECT_EQ(SmallestThat(0, 40, [&](int64_t n) { return n >= threshold; }), threshold);
  }
}

TEST(Search, CardsHoldWhereOnlyTheHostIsShort) {
  Plan plan;
  plan.verdict = Verdict::kFits;
  EXPECT_TRUE(CardsHold(plan));
  plan.verdict = Verdict::kDoesNotFit;
  EXPECT_TRUE(CardsHold(plan));
  plan.limiting.emplace();
  EXPECT_FALSE(CardsHold(plan));
  plan.limiting.reset();
  plan.verdict = Verdict::kIllegal;
  EXPECT_FALSE(CardsHold(plan));
}

// Each way out is whole: nobody has to guess whether "a with b; or c" is a with c.
TEST(Search, FixesStandForThemselves) {
  EXPECT_EQ(JoinFixes({}), "");
  EXPECT_EQ(JoinFixes({"--a 1 (why)"}), "--a 1 (why)");
  EXPECT_EQ(JoinFixes({"--a 1 (why)", "no --b"}), "--a 1 (why); or no --b");
  EXPECT_EQ(JoinFixes({"--a 1 (why)", "no --b", "--c"}, "--z 9"),
            "--z 9 --a 1 (why); or --z 9 and no --b; or --z 9 --c");
}

TEST(Search, SmallestOffloadByTryingAll) {
  Plan now;
  now.ranks.emplace_back();
  now.ranks.emplace_back();
  now.ranks[1].detail.parameters = Bytes(20 * kGiB);
  for (int64_t needed = 1; needed <= 25; ++needed) {
    const Evaluator evaluate = [&](const Deployment& d) -> std::optional<Plan> {
      Plan plan;
      plan.verdict = d.settings.cpu_offload_gb >= static_cast<double>(needed)
                         ? Verdict::kFits
                         : Verdict::kDoesNotFit;
      return plan;
    };
    const auto fits = [](const std::optional<Plan>& plan) {
      return plan && plan->verdict == Verdict::kFits;
    };
    for (const int64_t already : {0, 7}) {
      Deployment d;
      d.settings.cpu_offload_gb = static_cast<double>(already);
      const auto found = SmallestOffloadBy(evaluate, d, now, {"w13_weight"}, fits);
      ASSERT_TRUE(found) << needed;
      EXPECT_EQ(found->holds, needed <= 21) << needed;
      ASSERT_TRUE(found->plan);
      EXPECT_EQ(fits(found->plan), found->holds);
      EXPECT_EQ(found->deployment.settings.cpu_offload_params,
                std::vector<std::string>{"w13_weight"});
      EXPECT_EQ(found->deployment.settings.offload_backend, "uva");
      const int64_t least = needed > 21 ? 21 : std::max(needed, already + 1);
      EXPECT_EQ(found->deployment.settings.cpu_offload_gb, static_cast<double>(least)) << needed;
    }
  }
  Deployment all;
  all.settings.cpu_offload_gb = 21;
  EXPECT_FALSE(SmallestOffloadBy({}, all, now, {}, {}));
  EXPECT_FALSE(SmallestOffloadBy({}, Deployment(), Plan(), {}, {}));
}

TEST(Search, LargestWindowByTryingAll) {
  for (const int64_t tokens : {1023, 1024, 3000, 7999, 8000}) {
    const auto found = LargestWindowBy(World(tokens, 8000), Deployment());
    // A window below 1,024 is no way out; one that fits as it is needs none.
    if (tokens < 1024 || tokens >= 8000) {
      EXPECT_EQ(found.has_value(), tokens >= 8000) << tokens;
      continue;
    }
    ASSERT_TRUE(found) << tokens;
    EXPECT_EQ(*found->settings.max_model_len, tokens);
    EXPECT_EQ(*found->sglang.context_length, tokens);  // in both engines' words
    EXPECT_EQ(DescribeWindow("--context-length", *found),
              "--context-length " + std::to_string(tokens) + " (the largest window that fits)");
  }
  // It holds the output that was asked for.
  Deployment d;
  d.output_tokens = 4000;
  EXPECT_FALSE(LargestWindowBy(World(4000, 8000), d));
  EXPECT_TRUE(LargestWindowBy(World(4001, 8000), d));
}

// Pools hold from `smallest` on, and what runs outside has room up to `largest`, in thousandths.
Evaluator Fractions(int64_t smallest, int64_t largest) {
  return [=](const Deployment& d) -> std::optional<Plan> {
    const auto now = static_cast<int64_t>(d.sglang.mem_fraction_static.value_or(0) * 1000 + 0.5);
    Plan plan;
    RankPlan rank;
    rank.headroom = Bytes(now - smallest);
    plan.ranks.push_back(rank);
    plan.verdict = now >= smallest && now <= largest ? Verdict::kFits : Verdict::kDoesNotFit;
    return plan;
  };
}

TEST(Search, TheSmallestFraction) {
  EXPECT_EQ(FractionThatFits(Fractions(700, 900), Deployment()), 700);
  EXPECT_EQ(FractionThatFits(Fractions(1, 1), Deployment()), 1);
  EXPECT_EQ(FractionThatFits(Fractions(901, 900), Deployment()), std::nullopt);
  EXPECT_EQ(FractionThatFits(Fractions(1000, 1000), Deployment()), std::nullopt);
}

TEST(Search, FewestCards) {
  Deployment d;
  d.sizes.tp = 2;
  const auto found = FewestCardsBy(World(1000, 10'000), d, 8, 60);
  ASSERT_TRUE(found);
  // Twelve cards need two nodes; ten of TP 2 × PP 5, but TP 8 × PP 2 has fewer stages.
  EXPECT_EQ(*found->nodes, 2);
  EXPECT_EQ(found->sizes.tp, 8);
  EXPECT_EQ(found->sizes.pp, 2);
  EXPECT_EQ(DescribeCards("--tp-size", "--pp-size", d, *found),
            "--nodes 2 --tp-size 8 --pp-size 2 (16 cards, the fewest nodes that fit)");
  EXPECT_FALSE(FewestCardsBy(World(0, 10'000), d, 8, 60));
}

}  // namespace
}  // namespace shardplan
