#include "engine/sglang/graph_sizes.h"

#include <gtest/gtest.h>

namespace shardplan::sglang {
namespace {

TEST(SglangGraphSizes, OfDecodeGraphs) {
  EXPECT_EQ(DecodeGraphSizes(256, false).size(), 36u);
  EXPECT_EQ(DecodeGraphSizes(512, false).size(), 52u);
  EXPECT_EQ(DecodeGraphSizes(256, true).size(), 51u);
  EXPECT_EQ(DecodeGraphSizes(512, true).size(), 67u);
  EXPECT_EQ(DecodeGraphSizes(24, false), (std::vector<int64_t>{1, 2, 4, 8, 12, 16, 24}));
  EXPECT_EQ(DecodeGraphSizes(8, true), (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  // The largest is captured whether or not it is a step.
  EXPECT_EQ(DecodeGraphSizes(7, false), (std::vector<int64_t>{1, 2, 4, 7}));
  EXPECT_EQ(DecodeGraphSizes(600, false).back(), 600);
  EXPECT_TRUE(DecodeGraphSizes(0, false).empty());
}

TEST(SglangGraphSizes, OfPrefillGraphs) {
  EXPECT_EQ(PrefillGraphSizes(8192).size(), 58u);
  EXPECT_EQ(PrefillGraphSizes(16384).size(), 74u);
  EXPECT_EQ(PrefillGraphSizes(8192).back(), 8192);
  EXPECT_EQ(PrefillGraphSizes(40), (std::vector<int64_t>{4, 8, 12, 16, 20, 24, 28, 32}));
}

}  // namespace
}  // namespace shardplan::sglang
