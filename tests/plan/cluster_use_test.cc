#include "plan/cluster_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shardplan/hardware/cluster_file.h"
#include "support/cluster_world.h"

namespace shardplan {
namespace {

using testing::HasSubstr;
using testing_support::Cards;
using testing_support::Cluster;
using testing_support::Evaluate;
using testing_support::ExampleFromConfig;
using testing_support::FindFinding;
using testing_support::OnCluster;
using testing_support::PublishedKimiK3;
using testing_support::Server;
using testing_support::Told;

ClusterShare Share(const std::vector<NodeKind>& kinds, std::optional<int64_t> most, int64_t world) {
  return ShareOf(*Cluster(kinds), most, world);
}

TEST(ShareOfTest, AsFewNodesAsHoldTheRanksDecideTheCards) {
  const std::vector<NodeKind> kinds = {Server("a", 8, 2), Server("b", 4, 3)};
  EXPECT_EQ(Share(kinds, {}, 8).nodes, 2);
  EXPECT_EQ(Share(kinds, {}, 16).cards_per_node, 8);
  EXPECT_EQ(Share(kinds, {}, 20).nodes, 5);  // 5 × 4
  EXPECT_EQ(Share(kinds, {}, 20).cards_per_node, 4);
  EXPECT_EQ(Share(kinds, 1, 8).nodes, 1);
  EXPECT_EQ(Share(kinds, 9, 1).nodes, 2);
  // More than there are: the most that there are.
  EXPECT_EQ(Share(kinds, {}, 1000).nodes, 5);
  EXPECT_EQ(Share(kinds, 4, 1000).cards_per_node, 8);
}

TEST(CardForTest, TheCatalogueWithoutACluster) {
  Deployment d;
  d.gpu = "h20-96";
  EXPECT_EQ(CardFor(Cards(), d)->id, "h20-96");
  d.gpu = "h20-95";
  EXPECT_FALSE(CardFor(Cards(), d));
}

TEST(CardForTest, TheSmallestOfTheShare) {
  Deployment d = OnCluster({Server("h200-141", 8), Server("h20-96", 8)}, 16);
  EXPECT_EQ(CardFor(Cards(), d)->id, "h20-96");
  d.nodes = 1;
  d.sizes.tp = 8;
  EXPECT_EQ(CardFor(Cards(), d)->id, "h200-141");
  d.gpu = "h20-96";
  EXPECT_THAT(CardFor(Cards(), d).error().ToString(),
              HasSubstr("--gpu h20-96: the cards are told by --cluster c.yaml"));
}

// Cards behind the ranks decide nothing: nothing is put on them.
TEST(CardForTest, OnlyCardsThatHoldRanks) {
  NodeKind mixed = Server("h200-141", 8);
  for (size_t i = 4; i < 8; ++i) mixed.cards[i].gpu = "h20-96";
  EXPECT_EQ(CardFor(Cards(), OnCluster({mixed}, 4))->id, "h200-141");
  EXPECT_EQ(CardFor(Cards(), OnCluster({mixed}, 8))->id, "h20-96");
  Deployment d = OnCluster({mixed}, 2);
  d.sizes.pp = 2;
  EXPECT_EQ(CardFor(Cards(), d)->id, "h200-141");
  d.sizes.dp = 2;
  EXPECT_EQ(CardFor(Cards(), d)->id, "h20-96");
  // SGLang's attention DP lies inside TP: no ranks of its own.
  d.engine = "sglang";
  d.sglang.enable_dp_attention = true;
  EXPECT_EQ(CardFor(Cards(), d)->id, "h200-141");
  // The second node is there and holds none.
  EXPECT_EQ(CardFor(Cards(), OnCluster({Server("h200-141", 8), Server("h20-96", 8)}, 8))->id,
            "h200-141");
}

TEST(CardsWithRanksTest, NodesAndCardsOfEach) {
  const std::vector<NodeKind> two = {Server("h20-96", 8, 2)};
  const auto used = [](const Deployment& d) {
    const ClusterShare share = CardsWithRanks(d);
    return std::pair(share.nodes, share.cards_per_node);
  };
  EXPECT_EQ(used(OnCluster(two, 4)), std::pair(int64_t{1}, int64_t{4}));
  EXPECT_EQ(used(OnCluster(two, 12)), std::pair(int64_t{2}, int64_t{6}));
  Deployment d = OnCluster(two, 4);
  d.gpus_per_node = 2;
  EXPECT_EQ(used(d), std::pair(int64_t{2}, int64_t{2}));
  // No way to place them: all that there are.
  EXPECT_EQ(used(OnCluster(two, 17)), std::pair(int64_t{2}, int64_t{8}));
  EXPECT_EQ(used(OnCluster(two, 64)), std::pair(int64_t{2}, int64_t{8}));
}

TEST(ClusterPlanTest, ASmallerCardWithoutARankTakesNothing) {
  NodeKind mixed = Server("h200-141", 8);
  for (size_t i = 4; i < 8; ++i) mixed.cards[i].gpu = "h20-96";
  const Model& dense = ExampleFromConfig("dense-70b");
  const Plan plan = Evaluate(dense, OnCluster({mixed}, 4));
  const Plan alone = Evaluate(dense, OnCluster({Server("h200-141", 4)}, 4));
  EXPECT_EQ(plan.ranks[0].capacity, alone.ranks[0].capacity);
  EXPECT_EQ(plan.kv->num_blocks, alone.kv->num_blocks);
  EXPECT_EQ(FindFinding(plan, "placement.mixed_cards"), nullptr);
  // CUDA may number the others first all the same.
  EXPECT_NE(FindFinding(plan, "placement.device_order"), nullptr);
  EXPECT_NE(FindFinding(Evaluate(dense, OnCluster({mixed}, 8)), "placement.mixed_cards"), nullptr);
}

TEST(CardForTest, OneVendor) {
  NodeKind mixed = Server("h100-80-sxm", 8);
  for (size_t i = 4; i < 8; ++i) mixed.cards[i].gpu = "mi300x";
  EXPECT_THAT(CardFor(Cards(), OnCluster({mixed}, 8)).error().ToString(),
              HasSubstr("c.yaml:2: expected cards of one vendor in a deployment, found"));
  Deployment apart = OnCluster({Server("h100-80-sxm", 8), Server("mi300x", 8)}, 16);
  EXPECT_FALSE(CardFor(Cards(), apart));
  apart.sizes.tp = 8;
  EXPECT_TRUE(CardFor(Cards(), apart));
  apart.nodes = 1;
  EXPECT_TRUE(CardFor(Cards(), apart));
}

TEST(CardForTest, NvlinkBeyondANodeIsTheClusters) {
  NodeKind tray = Server("gb200", 4, 4);
  Deployment d = OnCluster({tray}, 4);
  EXPECT_EQ(CardFor(Cards(), d)->nvlink_domain, Cards().FindGpu("gb200")->nvlink_domain);
  tray.nvlink_over_nodes = true;
  EXPECT_EQ(CardFor(Cards(), OnCluster({tray}, 4))->nvlink_domain, 16);
  tray.nvlink_over_nodes = false;
  for (CardSpec& card : tray.cards) card.nvlink_group = 0;
  EXPECT_EQ(CardFor(Cards(), OnCluster({tray}, 4))->nvlink_domain, 0);
}

TEST(HasSameCardTest, SavesALookUp) {
  const Deployment one = OnCluster({Server("h20-96", 8, 2)}, 8);
  Deployment other = one;
  other.sizes.tp = 16;
  other.nodes = 2;
  EXPECT_TRUE(HasOneCard(*one.cluster));
  EXPECT_TRUE(HasSameCard(one, other));
  const Deployment mixed = OnCluster({Server("h20-96", 8), Server("h200-141", 8)}, 8);
  EXPECT_FALSE(HasOneCard(*mixed.cluster));
  EXPECT_TRUE(HasSameCard(mixed, mixed));
  other = mixed;
  other.sizes.tp = 16;
  EXPECT_FALSE(HasSameCard(mixed, other));
  EXPECT_FALSE(HasSameCard(one, mixed));
  std::vector<NodeKind> kinds = {Server("h20-96", 2)};
  kinds[0].cards[1].cuda_visible = Told(Bytes(90 * kGiB));
  EXPECT_FALSE(HasOneCard(*Cluster(kinds)));
}

TEST(InClusterTest, NodesAndCards) {
  Deployment d = OnCluster({Server("h20-96", 8, 2)}, 8, 2);
  EXPECT_EQ(InCluster(d, 16)->nodes, 2);
  EXPECT_EQ(InCluster(d, 16)->gpus_per_node, 8);
  d.gpus_per_node = 4;  // a search that tries fewer
  EXPECT_EQ(InCluster(d, 8)->gpus_per_node, 4);
  d.nodes = 3;
  EXPECT_THAT(InCluster(d, 16).error().ToString(),
              HasSubstr("--nodes 3: expected at most 2, the nodes of c.yaml"));
}

// The same figures as --gpu h20-96 --nodes 2 has.
void ExpectSame(const Plan& a, const Plan& b) {
  EXPECT_EQ(a.verdict, b.verdict);
  EXPECT_EQ(a.verdict_low, b.verdict_low);
  EXPECT_EQ(a.verdict_high, b.verdict_high);
  EXPECT_EQ(a.gpu, b.gpu);
  EXPECT_EQ(a.nodes, b.nodes);
  EXPECT_EQ(a.gpus_per_node, b.gpus_per_node);
  ASSERT_EQ(a.ranks.size(), b.ranks.size());
  for (size_t i = 0; i < a.ranks.size(); ++i) {
    const RankPlan& x = a.ranks[i];
    const RankPlan& y = b.ranks[i];
    EXPECT_EQ(x.place.node, y.place.node);
    EXPECT_EQ(x.numa_node, y.numa_node);
    EXPECT_EQ(x.capacity, y.capacity);
    EXPECT_EQ(x.weights, y.weights);
    EXPECT_EQ(x.headroom, y.headroom);
    ASSERT_EQ(x.ledger.entries().size(), y.ledger.entries().size());
    for (size_t e = 0; e < x.ledger.entries().size(); ++e) {
      EXPECT_EQ(x.ledger.entries()[e].bytes.central, y.ledger.entries()[e].bytes.central);
    }
  }
  EXPECT_EQ(a.kv->num_blocks, b.kv->num_blocks);
  EXPECT_EQ(a.kv->tokens, b.kv->tokens);
  ASSERT_EQ(a.launch.size(), b.launch.size());
  for (size_t i = 0; i < a.launch.size(); ++i) EXPECT_EQ(a.launch[i].argv, b.launch[i].argv);
  ASSERT_EQ(a.host.size(), b.host.size());
  EXPECT_EQ(a.host[0].pinned_allocated, b.host[0].pinned_allocated);
}

TEST(ClusterPlanTest, EqualsTheShortForm) {
  const Model& k3 = ExampleFromConfig("kimi-k3");
  const Result<ClusterSpec> file =
      ReadCluster(std::string(SHARDPLAN_EXAMPLES) + "/clusters/two-h20-nodes.yaml");
  ASSERT_TRUE(file) << file.error().ToString();
  const Deployment brief = PublishedKimiK3();
  Deployment d = brief;
  d.gpu.clear();
  d.nodes.reset();
  d.cluster = std::make_shared<const ClusterSpec>(*file);
  const Plan plan = Evaluate(k3, d);
  ExpectSame(plan, Evaluate(k3, brief));
  EXPECT_EQ(plan.cluster_file, file->file);
  // One node of it.
  d.nodes = 1;
  d.sizes.pp = 1;
  d.partition.reset();
  Deployment one = brief;
  one.nodes = 1;
  one.sizes.pp = 1;
  one.partition.reset();
  ExpectSame(Evaluate(k3, d), Evaluate(k3, one));
}

TEST(ClusterPlanTest, SglangEqualsTheShortForm) {
  const Model& k3 = ExampleFromConfig("kimi-k3");
  Deployment d;
  d.engine = "sglang";
  d.gpu = "h20-141";
  d.nodes = 2;
  d.sizes.tp = 16;
  d.sglang.ep_size = 16;
  d.sglang.moe_runner_backend = "marlin";
  Deployment on = d;
  on.gpu.clear();
  on.nodes.reset();
  on.cluster = Cluster({Server("h20-141", 8, 2)});
  ExpectSame(Evaluate(k3, on), Evaluate(k3, d));
}

TEST(ClusterPlanTest, FiguresAloneAgreeWithTheWholePlan) {
  const Model& k3 = ExampleFromConfig("kimi-k3");
  FigureEvaluator evaluator(k3, Cards(), testing_support::Store());
  for (const int64_t memory : {100, 4096}) {
    NodeKind kind = Server("h20-96", 8, 2);
    kind.memory = Told(Bytes(memory * kGiB));
    Deployment d = PublishedKimiK3();
    d.gpu.clear();
    d.cluster = Cluster({kind});
    const Result<Plan> figures = evaluator.Evaluate(d);
    ASSERT_TRUE(figures) << figures.error().ToString();
    EXPECT_EQ(figures->verdict, Evaluate(k3, d).verdict) << memory;
    EXPECT_EQ(figures->verdict, memory == 100 ? Verdict::kDoesNotFit : Verdict::kFits);
  }
}

TEST(ClusterPlanTest, NumaNodesOfEachServerAreItsOwn) {
  NodeKind crossed = Server("h20-96", 8);
  for (size_t i = 0; i < 8; ++i) crossed.cards[i].numa_node = i < 4 ? 1 : 0;
  Deployment d = PublishedKimiK3();
  d.gpu.clear();
  d.nodes.reset();
  d.cluster = Cluster({Server("h20-96", 8), crossed});
  const Plan plan = Evaluate(ExampleFromConfig("kimi-k3"), d);
  ASSERT_EQ(plan.ranks.size(), 16u);
  EXPECT_EQ(plan.ranks[0].numa_node, 0);
  EXPECT_EQ(plan.ranks[8].numa_node, 1);
  ASSERT_EQ(plan.launch.size(), 2u);
  const auto binding = [](const LaunchPlan& launch) {
    const auto at = std::find(launch.argv.begin(), launch.argv.end(), "--numa-bind-nodes");
    std::vector<std::string> nodes;
    for (auto it = at; it != launch.argv.end() && nodes.size() < 9; ++it) nodes.push_back(*it);
    return nodes;
  };
  EXPECT_THAT(binding(plan.launch[1]),
              testing::ElementsAre("--numa-bind-nodes", "1", "1", "1", "1", "0", "0", "0", "0"));
}

TEST(ClusterPlanTest, TooFewCardsAreAFinding) {
  const Plan plan = Evaluate(ExampleFromConfig("dense-70b"), OnCluster({Server("h20-96", 4)}, 8));
  EXPECT_EQ(plan.verdict, Verdict::kIllegal);
  ASSERT_NE(FindFinding(plan, "layout.world_size"), nullptr);
  EXPECT_THAT(FindFinding(plan, "layout.world_size")->message, HasSubstr("1 node(s) of 4 have 4"));
  EXPECT_EQ(FindFinding(plan, "layout.world_size")->fix,
            "a smaller layout, or a cluster with more cards");
}

TEST(TellTooFewCardsTest, WhyAndWhatThereIs) {
  const auto uneven = Cluster({Server("h20-96", 4), Server("h20-96", 2)});
  const TooFewCards few = TellTooFewCards(*uneven, ShareOf(*uneven, {}, 6), 6);
  EXPECT_THAT(few.message, HasSubstr("6 ranks need 6 GPUs, 1 node(s) of 4 have 4 of the 6 in "
                                     "c.yaml: every node takes the same number of ranks"));
  EXPECT_EQ(few.fix, "a smaller layout, or a cluster with more cards");
  const auto three = Cluster({Server("h20-96", 8, 3)});
  const TooFewCards first = TellTooFewCards(*three, ShareOf(*three, 1, 16), 16);
  EXPECT_EQ(first.message, "16 ranks need 16 GPUs, 1 node(s) of 8 have 8 of the 24 in c.yaml");
  EXPECT_EQ(first.fix, "--nodes 2 or a smaller layout");
  EXPECT_THAT(TellTooFewCards(*three, ShareOf(*three, {}, 32), 32).message,
              HasSubstr("3 node(s) of 8 have 24, all that c.yaml tells"));
}

}  // namespace
}  // namespace shardplan
