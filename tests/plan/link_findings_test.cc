#include "plan/link_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/cluster_world.h"

namespace shardplan {
namespace {

using testing::HasSubstr;
using testing_support::Evaluate;
using testing_support::ExampleFromConfig;
using testing_support::FindFinding;
using testing_support::OnCluster;
using testing_support::Port;
using testing_support::Server;

Plan DenseOverLinks(std::vector<NodeKind> kinds, int64_t tp, int64_t pp = 1) {
  return Evaluate(ExampleFromConfig("dense-70b"), OnCluster(std::move(kinds), tp, pp));
}

std::string LinkMessage(const Plan& plan, const std::string& id) {
  const Finding* const finding = FindFinding(plan, id);
  return finding == nullptr ? "" : finding->message;
}

NodeKind Pairs() {
  NodeKind kind = Server("h100-80-pcie", 4);
  for (size_t i = 0; i < 4; ++i) kind.cards[i].nvlink_group = static_cast<int>(i / 2);
  return kind;
}

TEST(LinkFindingsTest, TensorParallelOverNvlinkDomains) {
  const Plan four = DenseOverLinks({Pairs()}, 4);
  EXPECT_THAT(LinkMessage(four, "placement.tp_domains"),
              HasSubstr("NVLink joins cards 0,1 | 2,3, not all 4 of the group"));
  EXPECT_EQ(LinkMessage(DenseOverLinks({Pairs()}, 2, 2), "placement.tp_domains"), "");
  NodeKind whole = Server("h200-141", 8);
  EXPECT_EQ(LinkMessage(DenseOverLinks({whole}, 8), "placement.tp_domains"), "");
}

// pains.jsonl: ar-pcie.
TEST(LinkFindingsTest, CustomAllReduceOfMoreThanTwoPcieCards) {
  Deployment d;
  d.gpu = "l40s-48";
  d.sizes.tp = 4;
  d.settings.max_model_len = 4096;
  d.settings.max_num_seqs = 8;
  const Model& dense = ExampleFromConfig("dense-70b");
  EXPECT_THAT(
      LinkMessage(Evaluate(dense, d), "placement.pcie_all_reduce"),
      HasSubstr("vLLM would say: Custom allreduce is disabled because it's not supported on "
                "more than two PCIe-only GPUs"));
  Deployment sglang = d;
  sglang.engine = "sglang";
  EXPECT_THAT(LinkMessage(Evaluate(dense, sglang), "placement.pcie_all_reduce"),
              HasSubstr("SGLang would say"));
  Deployment silent = d;
  silent.settings.disable_custom_all_reduce = true;
  EXPECT_EQ(LinkMessage(Evaluate(dense, silent), "placement.pcie_all_reduce"), "");
  Deployment two = d;
  two.sizes.tp = 2;
  two.sizes.pp = 2;
  EXPECT_EQ(LinkMessage(Evaluate(dense, two), "placement.pcie_all_reduce"), "");
  EXPECT_EQ(LinkMessage(DenseOverLinks({Server("h200-141", 4)}, 4), "placement.pcie_all_reduce"),
            "");
  NodeKind none = Server("h200-141", 4);
  for (CardSpec& card : none.cards) card.nvlink_group = -1;
  EXPECT_NE(LinkMessage(DenseOverLinks({none}, 4), "placement.pcie_all_reduce"), "");
}

TEST(LinkFindingsTest, AGroupThatSharesANode) {
  // Stages of 16 ranks over nodes of 12 cards: node 1 has a part of two of them.
  const Plan plan = DenseOverLinks({Server("h200-141", 12, 4)}, 16, 3);
  EXPECT_THAT(LinkMessage(plan, "placement.shared_node"),
              HasSubstr("lies on nodes 0, 1 and shares node 1 with the TP group of stage 1"));
  EXPECT_EQ(LinkMessage(DenseOverLinks({Server("h200-141", 8, 2)}, 16), "placement.shared_node"),
            "");
}

TEST(LinkFindingsTest, ExpertsAcrossNodes) {
  const Model& moe = ExampleFromConfig("deepseek-v3");
  Deployment d = OnCluster({Server("h200-141", 8, 2)}, 8);
  d.sizes.dp = 2;
  EXPECT_THAT(
      LinkMessage(Evaluate(moe, d), "placement.experts_across_nodes"),
      HasSubstr("slices of the experts lie over nodes 0, 1 (DP × TP): an all-gather before and "
                "a reduce-scatter after every MoE layer go over the network"));
  d.sizes.expert_parallel = true;
  EXPECT_THAT(LinkMessage(Evaluate(moe, d), "placement.experts_across_nodes"),
              HasSubstr("EP 16 lies over nodes 0, 1: dispatch and combine of every MoE layer"));
  d.sizes.dp = 1;
  EXPECT_EQ(LinkMessage(Evaluate(moe, d), "placement.experts_across_nodes"), "");
  d.sizes.tp = 16;
  EXPECT_THAT(LinkMessage(Evaluate(moe, d), "placement.experts_across_nodes"),
              HasSubstr("ranks have all tokens, and the all-reduce after every MoE layer goes"));
  d.engine = "sglang";
  d.sizes.expert_parallel = false;
  d.sglang.ep_size = 16;
  EXPECT_THAT(LinkMessage(Evaluate(moe, d), "placement.experts_across_nodes"),
              HasSubstr("EP 16 lies over nodes 0, 1: ranks have all tokens"));
  d.sglang.moe_a2a_backend = "deepep";
  EXPECT_THAT(LinkMessage(Evaluate(moe, d), "placement.experts_across_nodes"),
              HasSubstr("dispatch and combine"));
  Deployment dense = OnCluster({Server("h200-141", 8, 2)}, 8);
  dense.sizes.dp = 2;
  const Plan replicas = Evaluate(ExampleFromConfig("dense-70b"), dense);
  EXPECT_EQ(LinkMessage(replicas, "placement.experts_across_nodes"), "");
  EXPECT_THAT(LinkMessage(replicas, "placement.data_parallel_across_nodes"),
              HasSubstr("exchange no activations"));
  dense.sizes.dp = 1;
  EXPECT_EQ(LinkMessage(Evaluate(ExampleFromConfig("dense-70b"), dense),
                        "placement.data_parallel_across_nodes"),
            "");
}

TEST(LinkFindingsTest, OnePortForAWholeNode) {
  NodeKind kind = Server("h200-141", 8, 2);
  kind.nics = {Port(400, NicProtocol::kRoce, 0)};
  const Plan wide = DenseOverLinks({kind}, 16);
  EXPECT_THAT(LinkMessage(wide, "placement.single_nic"),
              HasSubstr("every layer's all-reduce of 8 cards goes through one network port of 400 "
                        "Gb/s, 50 for each"));
  EXPECT_EQ(LinkMessage(DenseOverLinks({kind}, 8, 2), "placement.single_nic"), "");
  kind.nics.push_back(Port(400, NicProtocol::kRoce, 1));
  EXPECT_EQ(LinkMessage(DenseOverLinks({kind}, 16), "placement.single_nic"), "");
}

TEST(LinkFindingsTest, PlainEthernet) {
  NodeKind kind = Server("h200-141", 8, 2);
  kind.nics = {Port(25, NicProtocol::kEthernet, 0), Port(25, NicProtocol::kEthernet, 1)};
  EXPECT_THAT(LinkMessage(DenseOverLinks({kind}, 16), "placement.ethernet"),
              HasSubstr("no port does RDMA"));
  EXPECT_EQ(LinkMessage(DenseOverLinks({kind}, 8, 2), "placement.ethernet"), "");
  kind.nics[0].protocol = NicProtocol::kInfiniband;
  EXPECT_EQ(LinkMessage(DenseOverLinks({kind}, 16), "placement.ethernet"), "");
}

TEST(LinkFindingsTest, CardsWithoutAPortOnTheirSocket) {
  NodeKind kind = Server("h200-141", 8, 2);
  kind.nics = {Port(400, NicProtocol::kRoce, 0), Port(400, NicProtocol::kRoce, 0)};
  EXPECT_THAT(LinkMessage(DenseOverLinks({kind}, 8, 2), "placement.nic_socket"),
              HasSubstr("cards 4, 5, 6, 7 are on NUMA node 1, where no network port is"));
  EXPECT_EQ(LinkMessage(DenseOverLinks({kind}, 8), "placement.nic_socket"), "");  // one node
  kind.nics[1].numa_node = 1;
  EXPECT_EQ(LinkMessage(DenseOverLinks({kind}, 8, 2), "placement.nic_socket"), "");
  kind.nics[1].numa_node.reset();
  EXPECT_EQ(LinkMessage(DenseOverLinks({kind}, 8, 2), "placement.nic_socket"), "");
}

TEST(LinkFindingsTest, SocketsByTheUsualWiring) {
  NodeKind kind = Server("h200-141", 8, 2);
  kind.numa.clear();
  for (CardSpec& card : kind.cards) card.numa_node.reset();
  kind.nics = {Port(400, NicProtocol::kRoce, 0), Port(400, NicProtocol::kRoce, 0)};
  EXPECT_THAT(LinkMessage(DenseOverLinks({kind}, 8, 2), "placement.nic_socket"),
              HasSubstr("cards 4, 5, 6, 7 are on NUMA node 1 by the usual wiring of 8 cards, where "
                        "no network port is"));
}

TEST(LinkFindingsTest, RatesAreNoThroughput) {
  NodeKind kind = Server("h200-141", 8, 2);
  EXPECT_EQ(LinkMessage(DenseOverLinks({kind}, 8), "placement.link_facts"), "");
  kind.nvlink_link = "NV18";
  kind.nics.assign(8, Port(400, NicProtocol::kRoce, 0));
  EXPECT_EQ(LinkMessage(DenseOverLinks({kind}, 8), "placement.link_facts"),
            "8 × 400 Gb/s roce, NV18: what the links can carry, not measured throughput");
}

}  // namespace
}  // namespace shardplan
