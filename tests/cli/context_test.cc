#include "cli/context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shardplan/hardware/cluster_spec.h"
#include "support/temp_dir.h"

namespace shardplan::cli {
namespace {

using ::testing::StartsWith;

DeploymentOptions Tiny() {
  DeploymentOptions options;
  options.model = SHARDPLAN_TEST_DATA "/cli/tiny-dense";
  options.deployment.gpu = "a10-24";
  return options;
}

TEST(LoadContextTest, LoadsWhatPlanningNeeds) {
  const Result<Context> context = LoadContext(Tiny(), {});
  ASSERT_TRUE(context) << context.error().ToString();
  EXPECT_EQ(context->model.arch.family, "dense");
  EXPECT_TRUE(context->catalog.FindGpu("a10-24"));
  EXPECT_TRUE(context->store.Get("gpus/a10-24.yaml"));
}

TEST(LoadContextTest, ChecksTheCheapThingsFirst) {
  DeploymentOptions options = Tiny();
  options.model = "/nowhere";
  options.deployment.gpu = "";
  EXPECT_THAT(LoadContext(options, {}).error().ToString(),
              StartsWith("--gpu: expected the card to plan for, found none; give one of a10-24, "));
  options.deployment.gpu = "a10-25";
  EXPECT_EQ(LoadContext(options, {}).error().code, ErrorCode::kUsage);
  options.deployment.gpu = "a10-24";
  EXPECT_EQ(LoadContext(options, {}).error().code, ErrorCode::kIo);
  options.model = "";
  EXPECT_EQ(LoadContext(options, {}).error().subject, "MODEL");
}

TEST(LoadContextTest, CardsOfAClusterAreLookedUp) {
  DeploymentOptions options = Tiny();
  options.deployment.gpu = "";
  ClusterSpec spec;
  spec.kinds.resize(1);
  spec.kinds[0].cards.resize(2);
  for (CardSpec& card : spec.kinds[0].cards) {
    card.gpu = "l4-24";
    card.where = "c.yaml:2";
  }
  options.deployment.cluster = std::make_shared<const ClusterSpec>(spec);
  EXPECT_TRUE(LoadContext(options, {}));
  spec.kinds[0].cards[1].gpu = "l4-25";
  options.deployment.cluster = std::make_shared<const ClusterSpec>(spec);
  const Result<Context> context = LoadContext(options, {});
  ASSERT_FALSE(context);
  EXPECT_EQ(context.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(context.error().ToString(), StartsWith("c.yaml:2: l4-25: no such card"));
}

TEST(SameModelTest, PathAndAssumptionsDecide) {
  DeploymentOptions other = Tiny();
  other.deployment.sizes.tp = 4;
  EXPECT_TRUE(SameModel(Tiny(), other));
  other.assumptions.inv_freq = 32;
  EXPECT_FALSE(SameModel(Tiny(), other));
  other = Tiny();
  other.model += "/config.json";
  EXPECT_FALSE(SameModel(Tiny(), other));
}

TEST(LoadModelOfTest, TakesTheAssumptions) {
  DeploymentOptions options = Tiny();
  EXPECT_EQ(LoadModelOf(options)->totals.tensors, 39);
  options.assumptions.inv_freq = 32;
  EXPECT_EQ(LoadModelOf(options)->totals.tensors, 43);
}

TEST(CheckModelGivenTest, SaysHowTheCommandIsMeant) {
  EXPECT_TRUE(CheckModelGiven("m", ""));
  EXPECT_EQ(CheckModelGiven("", "inspect MODEL").error().ToString(),
            "MODEL: expected a model directory or file, found none; it comes right after the "
            "command: shardplan inspect MODEL");
}

TEST(LoadStoreTest, Overrides) {
  const testing_support::TempDir dir;
  dir.Write("gpus/mine.yaml", "id: mine");
  OutputOptions output;
  EXPECT_FALSE(LoadStore(output)->Get("gpus/mine.yaml"));
  output.configs = dir.path();
  EXPECT_EQ(*LoadStore(output)->Get("gpus/mine.yaml"), "id: mine");
  output.configs = dir.Path("nowhere");
  EXPECT_EQ(LoadStore(output).error().code, ErrorCode::kIo);
}

TEST(ReaderThreadsTest, WithinReason) {
  EXPECT_GE(ReaderThreads(), 1);
  EXPECT_LE(ReaderThreads(), 8);
}

}  // namespace
}  // namespace shardplan::cli
