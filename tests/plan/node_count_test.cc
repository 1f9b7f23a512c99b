#include "plan/node_count.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

ParallelSizes Sizes(int64_t tp, int64_t pp, int64_t dp = 1) {
  ParallelSizes sizes;
  sizes.tp = tp;
  sizes.pp = pp;
  sizes.dp = dp;
  return sizes;
}

TEST(NodeCount, TheFewestThatDivideTheRanks) {
  EXPECT_EQ(VllmNodes(Sizes(8, 1), 8, {}), 1);
  EXPECT_EQ(VllmNodes(Sizes(8, 2), 8, {}), 2);
  EXPECT_EQ(VllmNodes(Sizes(4, 3), 8, {}), 2);   // 6 of 8 cards
  EXPECT_EQ(VllmNodes(Sizes(13, 1), 8, {}), 0);  // a prime: no two nodes alike
  EXPECT_EQ(SglangNodes(Sizes(8, 2), 8, {}), 2);
  EXPECT_EQ(SglangNodes(Sizes(16, 1), 8, {}), 2);
  EXPECT_EQ(SglangNodes(Sizes(8, 3), 8, {}), 3);
}

TEST(NodeCount, NodesThatAreThereAnyway) {
  // Whole stages on whole nodes come first.
  EXPECT_EQ(VllmNodes(Sizes(4, 3), 8, 3), 3);
  EXPECT_EQ(VllmNodes(Sizes(4, 3), 8, 2), 2);
  EXPECT_EQ(VllmNodes(Sizes(8, 2), 8, 1), 0);
  EXPECT_EQ(SglangNodes(Sizes(8, 2), 8, 1), 0);
}

TEST(NodeCount, WholeEngines) {
  // Three engines of six on nodes of eight: one each.
  EXPECT_EQ(VllmNodes(Sizes(6, 1, 3), 8, {}), 3);
  EXPECT_EQ(SglangNodes(Sizes(6, 2), 8, {}), 2);
  // Stages are no whole number a node, and nodes no whole number a stage.
  EXPECT_EQ(SglangNodes(Sizes(8, 3), 12, 2), 0);
}

}  // namespace
}  // namespace shardplan
