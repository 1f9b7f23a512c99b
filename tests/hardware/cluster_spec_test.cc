#include "shardplan/hardware/cluster_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shardplan/base/units.h"

namespace shardplan {
namespace {

using testing::HasSubstr;

const Catalog& Cards() {
  static const Catalog catalog = *Catalog::Load(ConfigStore::BuiltIn());
  return catalog;
}

SourcedBytes Told(Bytes bytes) { return {Range(bytes), Basis::kMeasured, "a reading"}; }

CardSpec Card(std::string gpu) {
  CardSpec card;
  card.gpu = std::move(gpu);
  card.where = "c.yaml:7";
  return card;
}

TEST(ResolveCardTest, TheCatalogueGivesTheRest) {
  const Result<GpuSpec> plain = ResolveCard(Cards(), Card("h20-96"));
  ASSERT_TRUE(plain) << plain.error().ToString();
  const GpuSpec catalogue = *Cards().FindGpu("h20-96");
  EXPECT_EQ(plain->cuda_visible.bytes.central, catalogue.cuda_visible.bytes.central);
  CardSpec card = Card("H20-96");
  card.device_total = Told(Bytes(97'000 * kMiB));
  card.cuda_visible = Told(Bytes(96'000 * kMiB));
  const Result<GpuSpec> told = ResolveCard(Cards(), card);
  ASSERT_TRUE(told) << told.error().ToString();
  EXPECT_EQ(told->device_total.bytes.central, Bytes(97'000 * kMiB));
  EXPECT_EQ(told->cuda_visible.bytes.high, Bytes(96'000 * kMiB));
  EXPECT_EQ(told->capability, catalogue.capability);
}

TEST(ResolveCardTest, ACardBesideFactsIsTheOneThatIsThere) {
  CardSpec card = Card("h20-96");
  card.read_name = "NVIDIA H200";
  card.read_total = Bytes(143'771 * kMiB);
  card.device_total = Told(card.read_total);
  EXPECT_THAT(ResolveCard(Cards(), card).error().ToString(),
              HasSubstr("c.yaml:7: expected the card of the facts, NVIDIA H200 with 143,771 MiB, "
                        "found h20-96 with"));
  card.gpu = "h200-141";
  EXPECT_TRUE(ResolveCard(Cards(), card));
  // One name, two cards.
  card.read_name = "NVIDIA H20";
  card.gpu = "h20-96";
  EXPECT_FALSE(ResolveCard(Cards(), card));
  card.gpu = "h20-141";
  EXPECT_TRUE(ResolveCard(Cards(), card));
  // A name that the catalogue doesn't know.
  card.read_name = "NVIDIA H20-9x";
  EXPECT_TRUE(ResolveCard(Cards(), card));
}

TEST(ResolveCardTest, ATotalAloneKeepsTheReserve) {
  CardSpec card = Card("h20-96");
  card.device_total = Told(Bytes(97'871 * kMiB - kGiB));
  const Result<GpuSpec> gpu = ResolveCard(Cards(), card);
  ASSERT_TRUE(gpu) << gpu.error().ToString();
  EXPECT_EQ(gpu->cuda_visible.bytes.central, Bytes(97'356 * kMiB - kGiB));
  EXPECT_EQ(gpu->cuda_visible.basis, Basis::kDerived);
  EXPECT_THAT(gpu->cuda_visible.source, HasSubstr("less the 515 MiB that the driver reserves"));
}

TEST(ResolveCardTest, TheTotalTellsCardsOfOneNameApart) {
  CardSpec card = Card("H20");
  EXPECT_THAT(ResolveCard(Cards(), card).error().ToString(),
              HasSubstr("c.yaml:7: H20: names more than one card"));
  card.device_total = Told(Bytes(97'871 * kMiB));
  EXPECT_EQ(ResolveCard(Cards(), card)->id, "h20-96");
  card.device_total = Told(Bytes(143'771 * kMiB));
  EXPECT_EQ(ResolveCard(Cards(), card)->id, "h20-141");
}

TEST(ResolveCardTest, SaysWhatIsWrong) {
  const Result<GpuSpec> unknown = ResolveCard(Cards(), Card("h20-69"));
  EXPECT_EQ(unknown.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(unknown.error().ToString(),
              HasSubstr("c.yaml:7: h20-69: no such card in the catalogue; did you mean h20-96"));
  CardSpec card = Card("h20-96");
  card.cuda_visible = Told(Bytes(98'000 * kMiB));
  EXPECT_THAT(ResolveCard(Cards(), card).error().ToString(),
              HasSubstr("c.yaml:7: expected cuda_visible between a context"));
  card.cuda_visible = Told(Bytes(10 * kMiB));
  EXPECT_FALSE(ResolveCard(Cards(), card));
}

TEST(ResolveCardTest, WithoutNvlinkAsTold) {
  CardSpec card = Card("h200-141");
  card.nvlink_group = -1;
  EXPECT_EQ(ResolveCard(Cards(), card)->nvlink_gb_per_s, 0);
  card.nvlink_group = 1;
  EXPECT_GT(ResolveCard(Cards(), card)->nvlink_gb_per_s, 0);
}

TEST(NodeKindTest, MemoryIsTheNodesOrTheirSum) {
  NodeKind kind;
  EXPECT_EQ(kind.Memory(), std::nullopt);
  kind.numa.resize(2);
  kind.numa[1].node = 1;
  kind.numa[0].memory = Told(Bytes(1));
  EXPECT_EQ(kind.Memory(), std::nullopt);
  kind.numa[1].memory = Told(Bytes(2));
  EXPECT_EQ(kind.Memory(), Bytes(3));
  kind.memory = Told(Bytes(9));
  EXPECT_EQ(kind.Memory(), Bytes(9));
  EXPECT_EQ(kind.FindNuma(1), &kind.numa[1]);
  EXPECT_EQ(kind.FindNuma(2), nullptr);
}

TEST(ClusterSpecTest, NodesCountThroughTheKinds) {
  ClusterSpec spec;
  spec.kinds.resize(2);
  spec.kinds[0].count = 2;
  spec.kinds[1].hosts = {"b\x1b"};
  EXPECT_EQ(spec.nodes(), 3);
  EXPECT_EQ(&spec.KindOf(1), &spec.kinds[0]);
  EXPECT_EQ(&spec.KindOf(2), &spec.kinds[1]);
  EXPECT_EQ(spec.NameOf(1), "node 1");
  EXPECT_EQ(spec.NameOf(2), "b\\x1b");
}

TEST(NicProtocolTest, Names) {
  EXPECT_EQ(ToString(NicProtocol::kEthernet), "ethernet");
  EXPECT_EQ(ToString(NicProtocol::kRoce), "roce");
  EXPECT_EQ(ToString(NicProtocol::kInfiniband), "infiniband");
}

}  // namespace
}  // namespace shardplan
