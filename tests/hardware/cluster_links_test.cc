#include "hardware/cluster_links.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

SourcedRate Rate(double value) { return {value, Basis::kMeasured, "a reading"}; }

LinkRates Assumed() {
  LinkRates rates;
  rates.nvlink = LinkRate{450, 450, 450, Basis::kExact, "card"};
  rates.network = {400, 50, 400, Basis::kAssumed, "assumed"};
  rates.disk = {6, 2, 24, Basis::kAssumed, "assumed"};
  rates.shared_fs = {10, 1, 50, Basis::kAssumed, "assumed"};
  return rates;
}

ClusterSpec TwoKinds() {
  ClusterSpec cluster;
  cluster.kinds.resize(2);
  for (NodeKind& kind : cluster.kinds) {
    kind.nics = {{"a", Rate(400), {}, {}}, {"b", Rate(400), {}, {}}};
    kind.disks = {{"/slow", Rate(1)}, {"/fast", Rate(7)}};
    kind.pcie_gb_per_s = Rate(55);
  }
  cluster.kinds[1].nics.pop_back();
  cluster.shared_filesystem = DiskSpec{"/shared", Rate(2)};
  return cluster;
}

TEST(WithClusterTest, TheSlowestNodeDecides) {
  const ClusterSpec cluster = TwoKinds();
  const LinkRates one = WithCluster(Assumed(), cluster, 1, {});
  EXPECT_DOUBLE_EQ(one.network.gb_per_s, 100);  // two ports of 400 Gb/s
  EXPECT_EQ(one.network.basis, Basis::kMeasured);
  EXPECT_DOUBLE_EQ(one.network.low, 100);
  const LinkRates two = WithCluster(Assumed(), cluster, 2, {});
  EXPECT_DOUBLE_EQ(two.network.gb_per_s, 50);
  EXPECT_DOUBLE_EQ(two.disk.gb_per_s, 7);
  EXPECT_DOUBLE_EQ(two.pcie->gb_per_s, 55);
  EXPECT_DOUBLE_EQ(two.shared_fs.gb_per_s, 2);
  EXPECT_DOUBLE_EQ(two.nvlink->gb_per_s, 450);  // nobody told another one
}

TEST(WithClusterTest, WhatIsGivenAndWhatIsNotTold) {
  ClusterSpec cluster = TwoKinds();
  const LinkSettings given = {100, 3, 4};
  LinkRates rates = WithCluster(Assumed(), cluster, 2, given);
  EXPECT_DOUBLE_EQ(rates.network.gb_per_s, 400);
  EXPECT_DOUBLE_EQ(rates.disk.gb_per_s, 6);
  EXPECT_DOUBLE_EQ(rates.shared_fs.gb_per_s, 10);
  cluster.kinds[1].nics[0].gbit_per_s.value = 0;
  cluster.kinds[1].disks.clear();
  cluster.kinds[1].pcie_gb_per_s.reset();
  rates = WithCluster(Assumed(), cluster, 2, {});
  EXPECT_DOUBLE_EQ(rates.network.gb_per_s, 400);
  EXPECT_DOUBLE_EQ(rates.disk.gb_per_s, 6);
  EXPECT_FALSE(rates.pcie);
}

}  // namespace
}  // namespace shardplan
