#include <gtest/gtest.h>

#include "support/plan_world.h"

namespace shardplan {
namespace {

using testing_support::Cards;
using testing_support::ExampleFromConfig;
using testing_support::PublishedKimiK3;
using testing_support::Store;

TEST(ExplainWeights, ItemsSumToTheRank) {
  for (const char* model : {"kimi-k3", "deepseek-v3", "kimi-k2", "dense-70b"}) {
    for (const bool deep : {false, true}) {
      Deployment d;
      d.gpu = "h20-141";
      d.sizes.tp = 8;
      d.sizes.pp = deep ? 4 : 1;
      const Plan plan = testing_support::Evaluate(ExampleFromConfig(model), d);
      for (const RankPlan& rank : plan.ranks) {
        const auto items =
            ExplainWeights(ExampleFromConfig(model), Cards(), Store(), d, rank.place.rank);
        ASSERT_TRUE(items.has_value()) << items.error().ToString();
        Bytes sum;
        for (const WeightItem& item : *items) sum += item.bytes;
        EXPECT_EQ(sum, rank.detail.parameters + rank.detail.buffers + rank.detail.post_load +
                           rank.detail.rounding)
            << model << rank.place.rank;
      }
    }
  }
}

TEST(ExplainWeights, ItemsOfAdapters) {
  for (const char* name : {"dense-70b", "deepseek-v3"}) {
    Deployment d;
    d.gpu = "h200-141";
    d.sizes.tp = 8;
    d.sizes.pp = 2;
    const Model& model = ExampleFromConfig(name);
    const Plan plain = testing_support::Evaluate(model, d);
    d.settings.enable_lora = true;
    d.settings.max_loras = 2;
    const Plan plan = testing_support::Evaluate(model, d);
    for (const RankPlan& rank : plan.ranks) {
      const auto items = ExplainWeights(model, Cards(), Store(), d, rank.place.rank);
      ASSERT_TRUE(items.has_value()) << items.error().ToString();
      Bytes sum, adapters;
      for (const WeightItem& item : *items) {
        sum += item.bytes;
        if (item.name.starts_with("LoRA: ")) adapters += item.bytes;
      }
      EXPECT_EQ(sum, rank.detail.parameters + rank.detail.buffers + rank.detail.post_load);
      EXPECT_GT(adapters, Bytes());
      const auto at = static_cast<size_t>(rank.place.rank);
      EXPECT_EQ(rank.weights, plain.ranks[at].weights + adapters);
      EXPECT_EQ(rank.ledger.Sum(), rank.device_total);
    }
  }
}

// The drafter's parameters, buffers and copies are items of the last stage.
TEST(ExplainWeights, ItemsOfTheDrafter) {
  for (const int64_t pp : {1, 4}) {
    Deployment d;
    d.gpu = "h200-141";
    d.sizes.tp = 8;
    d.sizes.pp = pp;
    d.settings.speculation = Speculation{};
    d.settings.speculation->method = "mtp";
    d.settings.speculation->tokens = 1;
    const Model& model = ExampleFromConfig("deepseek-v3");
    const Plan plan = testing_support::Evaluate(model, d);
    for (const RankPlan& rank : plan.ranks) {
      const auto items = ExplainWeights(model, Cards(), Store(), d, rank.place.rank);
      ASSERT_TRUE(items.has_value()) << items.error().ToString();
      Bytes sum, drafter;
      for (const WeightItem& item : *items) {
        sum += item.bytes;
        if (item.name.starts_with("drafter: ")) drafter += item.bytes;
      }
      EXPECT_EQ(sum, rank.detail.parameters + rank.detail.buffers + rank.detail.post_load);
      EXPECT_EQ(drafter > Bytes(), rank.place.stage + 1 == pp);
      Bytes ledger;
      for (const Entry& entry : rank.ledger.entries()) ledger += entry.bytes.central;
      EXPECT_EQ(ledger, rank.device_total);
    }
  }
}

TEST(ExplainWeights, SameParametersOfSeveralLayersAreOneItem) {
  const auto items =
      ExplainWeights(ExampleFromConfig("kimi-k3"), Cards(), Store(), PublishedKimiK3(), 0);
  ASSERT_TRUE(items.has_value());
  bool found = false;
  for (const WeightItem& item : *items) {
    if (!item.name.ends_with("w13_weight")) continue;
    found = true;
    EXPECT_EQ(item.name,
              "language_model.model.layers.*.block_sparse_moe.experts.routed_experts.w13_weight");
    EXPECT_EQ(item.count, 47);
    EXPECT_EQ(item.shape, "[896, 768, 1792]");
    EXPECT_EQ(item.bytes, Bytes(57'956'892'672));
    EXPECT_EQ(item.rule, "all 896 experts, intermediate 384 a rank (÷ 8)");
  }
  EXPECT_TRUE(found);
}

TEST(ExplainWeights, RefusesRanksThatAreNotThere) {
  const auto items =
      ExplainWeights(ExampleFromConfig("kimi-k3"), Cards(), Store(), PublishedKimiK3(), 16);
  ASSERT_FALSE(items.has_value());
  EXPECT_EQ(items.error().ToString(), "--rank 16: expected a rank from 0 to 15");
}

TEST(ExplainWeights, RefusesIllegalLayouts) {
  Deployment d = PublishedKimiK3();
  d.sizes.tp = 7;
  const auto items = ExplainWeights(ExampleFromConfig("kimi-k3"), Cards(), Store(), d, 0);
  ASSERT_FALSE(items.has_value());
  EXPECT_EQ(items.error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace shardplan
