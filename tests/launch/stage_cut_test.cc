#include "launch/stage_cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan {
namespace {

using testing::ElementsAre;

Plan PlanOf(std::vector<std::pair<int64_t, int64_t>> node_and_stage) {
  Plan plan;
  for (const auto& [node, stage] : node_and_stage) {
    RankPlan rank;
    rank.place.node = node;
    rank.place.stage = stage;
    plan.ranks.push_back(rank);
  }
  return plan;
}

TEST(StageCutTest, NodesWithTheSameStagesShareOne) {
  const std::vector<StageCut> cuts =
      CutsOf(PlanOf({{0, 0}, {0, 0}, {1, 0}, {2, 1}, {3, 1}, {4, 0}}));
  ASSERT_EQ(cuts.size(), 2U);
  EXPECT_EQ(cuts[0].Name(), "stage-0");
  EXPECT_THAT(cuts[0].nodes, ElementsAre(0, 1, 4));
  EXPECT_EQ(cuts[1].Name(), "stage-1");
  EXPECT_THAT(cuts[1].nodes, ElementsAre(2, 3));
}

TEST(StageCutTest, ANodeMayRunSeveral) {
  const std::vector<StageCut> cuts = CutsOf(PlanOf({{0, 0}, {0, 1}, {1, 3}, {1, 2}}));
  ASSERT_EQ(cuts.size(), 2U);
  EXPECT_EQ(cuts[0].Name(), "stages-0-1");
  EXPECT_EQ(cuts[1].Name(), "stages-2-3");
  Plan plan;
  plan.stages = {{0, 4}, {4, 3}, {7, 3}, {10, 3}};
  EXPECT_THAT(RangesOf(cuts[1], plan), ElementsAre(StageRange{7, 3}, StageRange{10, 3}));
}

TEST(StageCutTest, LayersAsAPersonReadsThem) {
  EXPECT_EQ(LayersText({{0, 48}}), "0–47");
  EXPECT_EQ(LayersText({{0, 4}, {4, 3}}), "0–6");
  EXPECT_EQ(LayersText({{0, 4}, {7, 3}}), "0–3, 7–9");
  EXPECT_EQ(NumbersText({0, 12}), "0, 12");
  EXPECT_EQ(SizeText(Bytes(1'610'612'736)), "1.500 GiB (1,610,612,736 B)");
  EXPECT_EQ(MarkdownRow({"a", "b"}), "| a | b |\n");
}

}  // namespace
}  // namespace shardplan
