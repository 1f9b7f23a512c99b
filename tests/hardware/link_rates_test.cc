#include "shardplan/hardware/link_rates.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

GpuSpec CardWithLinks(double nvlink, double pcie) {
  GpuSpec gpu;
  gpu.nvlink_gb_per_s = nvlink;
  gpu.pcie_gb_per_s = pcie;
  gpu.specification_basis = Basis::kExact;
  gpu.specification_source = "data sheet";
  return gpu;
}

TEST(LinkRatesTest, LinksOfTheCardAreItsOwn) {
  const LinkRates rates = LinkRatesOf(CardWithLinks(450, 63), 8, {});
  ASSERT_TRUE(rates.nvlink && rates.pcie);
  EXPECT_EQ(rates.nvlink->gb_per_s, 450);
  EXPECT_EQ(rates.nvlink->basis, Basis::kExact);
  EXPECT_EQ(rates.nvlink->source, "data sheet");
  EXPECT_EQ(rates.inside(), &*rates.nvlink);
  EXPECT_STREQ(rates.inside_name(), "NVLink");
  const LinkRates plain = LinkRatesOf(CardWithLinks(0, 31.5), 8, {});
  EXPECT_FALSE(plain.nvlink.has_value());
  EXPECT_EQ(plain.inside()->gb_per_s, 31.5);
  EXPECT_STREQ(plain.inside_name(), "PCIe");
  EXPECT_EQ(LinkRatesOf(CardWithLinks(0, 0), 8, {}).inside(), nullptr);
}

TEST(LinkRatesTest, TheNetworkIsAssumedByTheKindOfServer) {
  const LinkRate hgx = LinkRatesOf(CardWithLinks(450, 63), 8, {}).network;
  EXPECT_EQ(hgx.gb_per_s, 400);  // 8 × 400 Gb/s
  EXPECT_EQ(hgx.low, 100);
  EXPECT_EQ(hgx.high, 800);
  EXPECT_EQ(hgx.basis, Basis::kAssumed);
  EXPECT_EQ(hgx.source, "8 × 400 Gb/s a node, 100 to 800 each (--network-gbps)");
  EXPECT_EQ(LinkRatesOf(CardWithLinks(900, 225), 4, {}).network.gb_per_s, 200);  // a tray
  EXPECT_EQ(LinkRatesOf(CardWithLinks(300, 31.5), 8, {}).network.gb_per_s, 200);
  EXPECT_EQ(LinkRatesOf(CardWithLinks(0, 63), 8, {}).network.gb_per_s, 12.5);
}

TEST(LinkRatesTest, WhatIsGivenHasNoRange) {
  LinkSettings settings;
  settings.network_gbps = 200;
  settings.disk_gb_per_s = 3.5;
  settings.shared_fs_gb_per_s = 20;
  const LinkRates rates = LinkRatesOf(CardWithLinks(450, 63), 8, settings);
  for (const LinkRate* rate : {&rates.network, &rates.disk, &rates.shared_fs}) {
    EXPECT_EQ(rate->low, rate->gb_per_s);
    EXPECT_EQ(rate->high, rate->gb_per_s);
    EXPECT_NE(rate->basis, Basis::kAssumed);
  }
  EXPECT_EQ(rates.network.gb_per_s, 25);
  EXPECT_EQ(rates.disk.gb_per_s, 3.5);
  const LinkRates assumed = LinkRatesOf(CardWithLinks(450, 63), 8, {});
  for (const LinkRate* rate : {&assumed.network, &assumed.disk, &assumed.shared_fs}) {
    EXPECT_LT(rate->low, rate->gb_per_s);
    EXPECT_GT(rate->high, rate->gb_per_s);
    EXPECT_EQ(rate->basis, Basis::kAssumed);
    EXPECT_FALSE(rate->source.empty());
  }
}

TEST(LinkRatesTest, SecondsAreDecimal) {
  const LinkRate rate{400, 400, 400, Basis::kDerived, ""};
  EXPECT_DOUBLE_EQ(rate.SecondsFor(Bytes(800'000'000'000)), 2);
  EXPECT_EQ(LinkRate().SecondsFor(Bytes(1)), 0);
}

}  // namespace
}  // namespace shardplan
