#include "shardplan/layout/layout.h"

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <set>
#include <sstream>

namespace shardplan {
namespace {

std::string Split(int64_t layers, int64_t stages) {
  return FormatPartition(DefaultPartition(layers, stages));
}

TEST(Partition, PublishedExamples) {
  EXPECT_EQ(Split(93, 2), "47,46");
  EXPECT_EQ(Split(93, 4), "23,23,24,23");
  EXPECT_EQ(Split(61, 4), "15,15,16,15");
  EXPECT_EQ(Split(61, 2), "31,30");
  EXPECT_EQ(Split(80, 1), "80");
}

// Every split that vLLM's own function makes for up to 128 layers and 16 stages.
TEST(Partition, EqualsVllms) {
  std::ifstream in(std::string(SHARDPLAN_TEST_DATA) + "/vllm/pp_split.tsv");
  int checked = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    int64_t layers, stages;
    std::string counts;
    fields >> layers >> stages >> counts;
    EXPECT_EQ(Split(layers, stages), counts) << line;
    ++checked;
  }
  EXPECT_GT(checked, 800);
}

TEST(Partition, CoversEveryLayerOnce) {
  for (int64_t layers = 1; layers <= 130; ++layers) {
    for (int64_t stages = 1; stages <= layers && stages <= 16; ++stages) {
      int64_t next = 0;
      for (const StageRange& stage : DefaultPartition(layers, stages)) {
        EXPECT_EQ(stage.first, next);
        next = stage.end();
      }
      EXPECT_EQ(next, layers);
    }
  }
}

TEST(Partition, Parses) {
  EXPECT_EQ(*ParsePartition("48,45"), (std::vector<int64_t>{48, 45}));
  EXPECT_EQ(*ParsePartition(" 1, 2 ,3"), (std::vector<int64_t>{1, 2, 3}));
  for (const char* bad : {"", "48,", ",48", "0,93", "-1,94", "48;45", "a", "48,45.0", "99999999"}) {
    const auto parsed = ParsePartition(bad);
    ASSERT_FALSE(parsed.has_value()) << bad;
    EXPECT_EQ(parsed.error().code, ErrorCode::kUsage);
    EXPECT_EQ(parsed.error().ToString(),
              std::string("--pp-partition ") + bad +
                  ": expected the layers of each stage as positive numbers; write them with "
                  "commas, such as 48,45");
  }
}

TEST(Ranks, PlacementFormula) {
  ParallelSizes sizes;
  sizes.tp = 8;
  sizes.pp = 2;
  const std::vector<RankPlace> places = PlaceRanks(sizes, 8);
  ASSERT_EQ(places.size(), 16u);
  EXPECT_EQ(places[11].stage, 1);
  EXPECT_EQ(places[11].tp_rank, 3);
  EXPECT_EQ(places[11].node, 1);
  EXPECT_EQ(places[11].gpu, 3);
  EXPECT_EQ(places[11].ep_rank, 0);
}

// rank = (dp × pp + stage) × tp + tp, each coordinate exactly once, and EP over DP × TP.
TEST(Ranks, EveryCoordinateOnce) {
  for (const int64_t tp : {1, 2, 4}) {
    for (const int64_t pp : {1, 2, 3}) {
      for (const int64_t dp : {1, 2, 3}) {
        ParallelSizes sizes;
        sizes.tp = tp;
        sizes.pp = pp;
        sizes.dp = dp;
        sizes.expert_parallel = true;
        EXPECT_EQ(sizes.ep(), dp * tp);
        std::set<std::tuple<int64_t, int64_t, int64_t>> seen;
        std::set<std::pair<int64_t, int64_t>> seats;
        int64_t next = 0;
        for (const RankPlace& place : PlaceRanks(sizes, 4)) {
          EXPECT_EQ(place.rank, next++);
          EXPECT_EQ(place.rank, (place.dp_rank * pp + place.stage) * tp + place.tp_rank);
          EXPECT_EQ(place.ep_rank, place.dp_rank * tp + place.tp_rank);
          EXPECT_TRUE(seen.emplace(place.dp_rank, place.stage, place.tp_rank).second);
          EXPECT_TRUE(seats.emplace(place.node, place.gpu).second);
          EXPECT_LT(place.gpu, 4);
        }
        EXPECT_EQ(next, sizes.world());
      }
    }
  }
}

}  // namespace
}  // namespace shardplan
