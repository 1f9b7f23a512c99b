#include "plan/classes.h"

#include <gtest/gtest.h>

#include "support/plan_world.h"

namespace shardplan {
namespace {

using testing_support::EnvironmentFor;
using testing_support::ExampleFromConfig;
using testing_support::PublishedKimiK3;

Classes ClassesOf(const Model& model, const Deployment& d) {
  const Environment env = EnvironmentFor(model, d);
  Prepared p;
  EXPECT_TRUE(Prepare(env, d, &p).has_value());
  return EvaluateClasses(p, model, PlaceRanks(d.sizes, p.placement.ranks_per_node));
}

TEST(Classes, OneForEachStage) {
  const Classes classes = ClassesOf(ExampleFromConfig("kimi-k3"), PublishedKimiK3());
  EXPECT_EQ(classes.evaluations.size(), 2u);
  EXPECT_EQ(classes.weights.size(), 1u);
  const std::vector<Bytes> available = AvailableByStage(classes, 2, End::kCentral);
  for (int64_t stage = 0; stage < 2; ++stage) {
    EXPECT_EQ(FullestOf(classes, stage).kv_available.central, available[size_t(stage)]);
  }
  EXPECT_LT(available[0], available[1]);  // three layers more
  EXPECT_LT(AvailableByStage(classes, 2, End::kHigh)[0], available[0]);
  EXPECT_GT(AvailableByStage(classes, 2, End::kLow)[0], available[0]);
}

// 256 experts on 7 ranks: four of them hold one more.
TEST(Classes, ExpertsThatDoNotDivideMakeTwo) {
  Deployment d;
  d.gpu = "b300-288";
  d.sizes = {1, 1, 7, 1, true};
  const Classes classes = ClassesOf(ExampleFromConfig("deepseek-v3"), d);
  ASSERT_EQ(classes.evaluations.size(), 2u);
  const StageEvaluation& fullest = FullestOf(classes, 0);
  EXPECT_EQ(&fullest, &classes.evaluations.at({0, 37}));
  EXPECT_EQ(AvailableByStage(classes, 1, End::kCentral)[0], fullest.kv_available.central);
  EXPECT_GT(classes.evaluations.at({0, 36}).kv_available.central, fullest.kv_available.central);
}

}  // namespace
}  // namespace shardplan
