#include "plan/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "support/plan_world.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Layers that weigh and that cost a block something; a stage has room for both.
struct PartitionWorld {
  std::vector<int64_t> weights;
  std::vector<int64_t> cache;
  int64_t room = 100;
  int64_t unsure = 0;  // of the room, either way

  int64_t Blocks(const std::vector<StageRange>& stages, int64_t room_now) const {
    int64_t least = std::numeric_limits<int64_t>::max();
    for (const StageRange& stage : stages) {
      int64_t left = room_now;
      int64_t cost = 0;
      for (int64_t layer = stage.first; layer < stage.end(); ++layer) {
        left -= weights[static_cast<size_t>(layer)];
        cost += cache[static_cast<size_t>(layer)];
      }
      least = std::min(least, cost > 0 ? std::max<int64_t>(0, left) / cost : 0);
    }
    return least;
  }

  std::optional<Plan> operator()(const Deployment& d) const {
    Plan plan;
    plan.sizes = d.sizes;
    plan.stages = d.partition ? PartitionFrom(*d.partition)
                              : DefaultPartition(static_cast<int64_t>(weights.size()), d.sizes.pp);
    plan.kv.emplace();
    plan.kv->num_blocks_low = Blocks(plan.stages, room - unsure);
    plan.kv->num_blocks = Blocks(plan.stages, room);
    plan.kv->num_blocks_high = Blocks(plan.stages, room + unsure);
    plan.kv->blocks_per_request = 1;
    plan.kv->max_concurrency = static_cast<double>(plan.kv->num_blocks);
    plan.verdict = plan.kv->num_blocks > 0 ? Verdict::kFits : Verdict::kDoesNotFit;
    for (size_t stage = 0; stage < plan.stages.size(); ++stage) {
      RankPlan rank;
      rank.place.stage = static_cast<int64_t>(stage);
      rank.headroom = Bytes(Blocks({plan.stages[stage]}, room) - 1);
      plan.ranks.push_back(rank);
    }
    if (plan.verdict != Verdict::kFits) plan.limiting = Limiting{0, Account::kKvCache, Bytes(1)};
    return plan;
  }
};

Deployment Pipeline(int64_t stages) {
  Deployment d;
  d.sizes.pp = stages;
  return d;
}

// All ways to write `layers` as `stages` positive numbers.
void ForEachPartition(int64_t layers, int64_t stages, std::vector<int64_t>* begun,
                      const std::function<void(const std::vector<int64_t>&)>& visit) {
  if (stages == 1) {
    begun->push_back(layers);
    visit(*begun);
    begun->pop_back();
    return;
  }
  for (int64_t first = 1; first <= layers - stages + 1; ++first) {
    begun->push_back(first);
    ForEachPartition(layers - first, stages - 1, begun, visit);
    begun->pop_back();
  }
}

TEST(BestPartition, IsTheBestOfAll) {
  for (const int64_t stages : {2, 3, 4}) {
    for (const int64_t heavy : {1, 7, 20}) {
      for (const size_t at : {size_t{0}, size_t{4}, size_t{8}}) {
        PartitionWorld world;
        world.weights.assign(9, 4);
        world.weights[at] = heavy;
        world.cache.assign(9, 1);
        const Deployment start = Pipeline(stages);
        int64_t evaluated = 0;
        const PartitionPlan best = BestPartition(world, start, *world(start), &evaluated);
        int64_t most = 0;
        std::vector<int64_t> begun;
        ForEachPartition(9, stages, &begun, [&](const std::vector<int64_t>& partition) {
          most = std::max(most, world.Blocks(PartitionFrom(partition), world.room));
        });
        EXPECT_EQ(best.plan.kv->num_blocks, most) << stages << " " << heavy << " " << at;
        EXPECT_TRUE(best.settled);
        EXPECT_GT(evaluated, 0);
      }
    }
  }
}

TEST(BestPartition, StopsInDeepPipelines) {
  PartitionWorld world;
  world.room = 100'000;
  world.weights.assign(200, 0);
  world.cache.assign(200, 1);
  Deployment start = Pipeline(60);
  start.partition = std::vector<int64_t>(60, 1);
  start.partition->front() = 141;
  int64_t evaluated = 0;
  const PartitionPlan best = BestPartition(world, start, *world(start), &evaluated);
  EXPECT_FALSE(best.settled);
  EXPECT_LT(evaluated, 3 * kMostPartitions);
}

KvPlan Blocks(int64_t low, int64_t central, int64_t high) {
  KvPlan kv;
  kv.num_blocks_low = low;
  kv.num_blocks = central;
  kv.num_blocks_high = high;
  return kv;
}

TEST(ComparePlans, AtEveryEnd) {
  EXPECT_EQ(Compare(Blocks(5, 10, 15), Blocks(4, 9, 14)), Standing::kMore);
  EXPECT_EQ(Compare(Blocks(4, 9, 14), Blocks(5, 10, 15)), Standing::kLess);
  EXPECT_EQ(Compare(Blocks(4, 10, 15), Blocks(5, 9, 14)), Standing::kTie);
  EXPECT_EQ(Compare(Blocks(5, 9, 14), Blocks(5, 9, 14)), Standing::kTie);
  EXPECT_EQ(Compare(Blocks(5, 10, 15), Blocks(5, 9, 14)), Standing::kTie);
}

TEST(ComparePartitions, SaysWhatAnotherSplitHolds) {
  PartitionWorld world;
  world.weights = {40, 10, 10, 10, 10, 10};
  world.cache.assign(6, 1);
  world.unsure = 3;
  Deployment d = Pipeline(2);
  // 3,3 leaves 40 of 100 for three layers; 2,4 leaves 50 for two and 60 for four.
  const auto own = ComparePartitions(world, d, *world(d));
  ASSERT_TRUE(own);
  EXPECT_EQ(own->id, "pipeline.partition");
  EXPECT_EQ(own->severity, Severity::kWarning);
  EXPECT_EQ(own->message,
            "3,3 holds 13 blocks (12 to 14), 13.00 requests; 2,4 holds 15 blocks (14 to 15), 15.00 "
            "requests, more at every end of the ranges");
  EXPECT_EQ(own->fix, "--pp-partition 2,4");
  d.partition = std::vector<int64_t>{2, 4};
  const auto best = ComparePartitions(world, d, *world(d));
  ASSERT_TRUE(best);
  EXPECT_EQ(best->severity, Severity::kNote);
  EXPECT_EQ(best->message,
            "2,4 holds 15 blocks (14 to 15), 15.00 requests; the engine's own split, 3,3 holds 13 "
            "blocks (12 to 14), 13.00 requests, less at every end of the ranges; moving a layer "
            "does not help");
  EXPECT_EQ(best->fix, "");
}

TEST(ComparePartitions, ATieIsSaid) {
  PartitionWorld world;
  world.weights.assign(5, 10);
  world.cache.assign(5, 1);
  Deployment d = Pipeline(2);
  d.partition = std::vector<int64_t>{2, 3};
  const auto same = ComparePartitions(world, d, *world(d));
  ASSERT_TRUE(same);
  EXPECT_THAT(same->message, HasSubstr("the engine's own split, 3,2 holds 23 blocks"));
  EXPECT_THAT(same->message, HasSubstr(": a tie"));
  EXPECT_EQ(same->severity, Severity::kNote);
}

TEST(ComparePartitions, OffersTheOneThatFits) {
  PartitionWorld world;
  world.weights = {80, 10, 10, 10};
  world.cache.assign(4, 9);
  const Deployment d = Pipeline(2);  // 2,2: ten left for two layers of nine
  const auto found = ComparePartitions(world, d, *world(d));
  ASSERT_TRUE(found);
  EXPECT_THAT(found->message, StartsWith("2,2 does not fit"));
  EXPECT_EQ(found->fix, "--pp-partition 1,3");
}

TEST(ComparePartitions, NothingToSay) {
  PartitionWorld world;
  world.weights.assign(6, 10);
  world.cache.assign(6, 1);
  EXPECT_FALSE(ComparePartitions(world, Pipeline(1), *world(Pipeline(1))));
  EXPECT_FALSE(ComparePartitions(world, Pipeline(2), *world(Pipeline(2))));
  Plan illegal = *world(Pipeline(2));
  illegal.verdict = Verdict::kIllegal;
  EXPECT_FALSE(ComparePartitions(world, Pipeline(2), illegal));
}

// The published deployment: 48,45 has as many attention layers on both stages.
TEST(ComparePartitions, KimiK3) {
  const Model& model = testing_support::ExampleFromConfig("kimi-k3");
  const Result<Plan> plan = EvaluatePlan(model, testing_support::Cards(), testing_support::Store(),
                                         testing_support::PublishedKimiK3());
  ASSERT_TRUE(plan.has_value());
  const auto found = std::find_if(plan->findings.begin(), plan->findings.end(),
                                  [](const Finding& f) { return f.id == "pipeline.partition"; });
  ASSERT_NE(found, plan->findings.end());
  EXPECT_THAT(found->message, StartsWith("48,45 holds "));
  EXPECT_THAT(found->message, HasSubstr("the engine's own split, 47,46 holds "));
}

}  // namespace
}  // namespace shardplan
