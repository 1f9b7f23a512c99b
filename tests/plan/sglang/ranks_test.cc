#include "plan/sglang/ranks.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/sglang/parallel.h"
#include "support/sglang_world.h"

namespace shardplan {
namespace {

using testing_support::Cards;
using testing_support::HasFinding;
using testing_support::OnSglang;

struct Placed {
  NodePlacement place;
  std::vector<Finding> findings;
};

Placed Place(const Deployment& d) {
  Placed placed;
  PlaceSglang(*Cards().FindGpu(d.gpu), Cards(), d, d.sizes, &placed.place, &placed.findings);
  return placed;
}

sglang::ServerArgs Args(int64_t tp, int64_t pp, int64_t nodes) {
  sglang::ServerArgs args;
  args.tp_size = tp;
  args.pp_size = pp;
  args.nnodes = nodes;
  return args;
}

// All layouts up to 32 ranks on nodes of 8: each rank sits where SGLang's own ranges put it.
TEST(SglangRanks, AgreeWithTheRangesOfEveryNode) {
  for (int64_t tp = 1; tp <= 32; ++tp) {
    for (int64_t pp = 1; tp * pp <= 32; ++pp) {
      const Placed placed = Place(OnSglang("h20-141", tp, pp));
      if (HasFinding(placed.findings, "layout.world_size")) continue;
      const sglang::ServerArgs args = Args(tp, pp, placed.place.nodes);
      const std::vector<RankPlace> places = PlaceSglangRanks(args, placed.place);
      ASSERT_EQ(static_cast<int64_t>(places.size()), tp * pp);
      for (const RankPlace& rank : places) {
        const sglang::NodeRanks node = sglang::RanksOfNode(args, rank.node);
        EXPECT_GE(rank.stage, node.first_stage) << tp << " × " << pp;
        EXPECT_LT(rank.stage, node.first_stage + node.stages) << tp << " × " << pp;
        EXPECT_GE(rank.tp_rank, node.first_tp_rank) << tp << " × " << pp;
        EXPECT_LT(rank.tp_rank, node.first_tp_rank + node.tp_ranks) << tp << " × " << pp;
        EXPECT_LT(rank.gpu, 8);
      }
    }
  }
}

TEST(SglangRanks, FewestNodesThatHoldWholeStages) {
  EXPECT_EQ(Place(OnSglang("h20-141", 16)).place.nodes, 2);
  EXPECT_EQ(Place(OnSglang("h20-141", 8, 2)).place.nodes, 2);
  EXPECT_EQ(Place(OnSglang("h20-141", 4, 2)).place.nodes, 1);
  // Three stages of four: two nodes would split the second.
  EXPECT_EQ(Place(OnSglang("h20-141", 4, 3)).place.nodes, 3);
  Deployment d = OnSglang("h20-141", 4, 3);
  d.nodes = 2;
  EXPECT_TRUE(HasFinding(Place(d).findings, "layout.world_size"));
  d = OnSglang("h20-141", 16);
  d.nodes = 1;
  EXPECT_EQ(Place(d).findings[0].message, "16 ranks need 16 GPUs, 1 node(s) of 8 have 8");
  EXPECT_TRUE(HasFinding(Place(OnSglang("h20-141", 16)).findings, "layout.tp_spans_nodes"));
  d.nodes = 4;
  EXPECT_TRUE(HasFinding(Place(d).findings, "layout.idle_nodes"));
}

TEST(SglangRanks, AttentionGroupsAndExpertsInsideTp) {
  sglang::ServerArgs args = Args(8, 1, 1);
  args.dp_size = 4;
  args.enable_dp_attention = true;
  args.ep_size = 2;
  NodePlacement place;
  place.ranks_per_node = 8;
  const std::vector<RankPlace> places = PlaceSglangRanks(args, place);
  ASSERT_EQ(places.size(), 8u);
  EXPECT_EQ(places[5].dp_rank, 2);
  EXPECT_EQ(places[5].ep_rank, 1);
  EXPECT_EQ(places[3].ep_rank, 0);
  args.enable_dp_attention = false;  // whole replicas
  EXPECT_EQ(PlaceSglangRanks(args, place).size(), 32u);
  EXPECT_EQ(PlaceSglangRanks(args, place)[9].dp_rank, 1);
}

}  // namespace
}  // namespace shardplan
