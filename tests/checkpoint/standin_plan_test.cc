// Taking a stand-in from a checkpoint that is there.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "shardplan/checkpoint/inventory.h"
#include "shardplan/checkpoint/standin.h"
#include "support/checkpoint_builder.h"

namespace shardplan {
namespace {

using testing_support::CheckpointBuilder;
using testing_support::ReadText;
using testing_support::TempDir;
using testing_support::TwoShardModel;

TEST(StandInPlanTest, CopiesACheckpoint) {
  const TempDir dir;
  auto model = TwoShardModel(dir.Path("from"));
  model.Config("{\"a\": 1}").File("hf_quant_config.json", "{}").File("tokenizer.json", "{}");
  const auto original = OpenCheckpoint(model.directory());
  ASSERT_TRUE(original) << original.error().ToString();
  const auto plan = PlanStandInFrom(*original);
  ASSERT_TRUE(plan) << plan.error().ToString();
  ASSERT_TRUE(WriteStandIn(*plan, dir.Path("to")));
  const auto copy = OpenCheckpoint(dir.Path("to"));
  ASSERT_TRUE(copy) << copy.error().ToString();
  EXPECT_EQ(copy->tensors, original->tensors);
  EXPECT_EQ(copy->patterns, original->patterns);
  EXPECT_EQ(copy->shapes, original->shapes);
  EXPECT_EQ(copy->index_total_size, original->index_total_size);
  EXPECT_TRUE(copy->findings.empty());
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(copy->shards[i].name, original->shards[i].name);
  EXPECT_EQ(ReadText(dir.Path("to/config.json")), "{\"a\": 1}");
  EXPECT_EQ(ReadText(dir.Path("to/hf_quant_config.json")), "{}");
  EXPECT_FALSE(std::filesystem::exists(dir.Path("to/generation_config.json")));
  EXPECT_FALSE(std::filesystem::exists(dir.Path("to/tokenizer.json")));
}

TEST(StandInPlanTest, ThePlanOutlivesTheInventory) {
  const TempDir dir;
  StandInPlan plan;
  {
    TwoShardModel(dir.Path("from"));
    const auto inventory = OpenCheckpoint(dir.Path("from"));
    plan = *PlanStandInFrom(*inventory);
  }
  const auto shard = plan.shard(1);
  ASSERT_TRUE(shard);
  EXPECT_EQ(shard->tensors[2].name, "model.layers.1.mlp.experts.1.w1.weight");
}

TEST(StandInPlanTest, NoPlanWithoutHeaders) {
  const TempDir dir;
  dir.Write("config.json", "{}");
  EXPECT_EQ(PlanStandInFrom(*OpenCheckpoint(dir.path())).error().ToString(),
            dir.path() +
                ": expected a checkpoint with its shards' headers, found none; fetch the shards, "
                "or make the stand-in from the config");
}

}  // namespace
}  // namespace shardplan
