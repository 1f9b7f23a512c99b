#include "hardware/facts/read_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/facts_support.h"

namespace shardplan::facts {
namespace {

using testing::HasSubstr;
using testing_support::Sample;
using testing_support::SamplePath;
using testing_support::TempDir;

std::string FactsError(const Status& status) { return status ? "read" : status.error().ToString(); }

TEST(FactKindOfTest, ByContentAlone) {
  EXPECT_EQ(FactKindOf(Sample("query.csv")), FactKind::kSmiQuery);
  EXPECT_EQ(FactKindOf(Sample("smi-q.txt")), FactKind::kSmiLog);
  EXPECT_EQ(FactKindOf(Sample("topo.txt")), FactKind::kTopology);
  EXPECT_EQ(FactKindOf(Sample("nvlink.txt")), FactKind::kNvlink);
  EXPECT_EQ(FactKindOf(Sample("host.txt")), FactKind::kHost);
  EXPECT_EQ(FactKindOf("node 0 size: 12 MB\n"), FactKind::kHost);
  EXPECT_EQ(FactKindOf("name: x\n"), FactKind::kUnknown);
  EXPECT_EQ(FactKindOf(""), FactKind::kUnknown);
}

TEST(ReadFactsTest, EveryFileOfAServer) {
  NodeKind kind;
  ASSERT_TRUE(ReadFacts({SamplePath("nvlink.txt"), SamplePath("topo.txt"), SamplePath("query.csv"),
                         SamplePath("smi-q.txt"), SamplePath("host.txt")},
                        false, &kind));
  ASSERT_EQ(kind.cards.size(), 2u);
  const CardSpec& card = kind.cards[1];
  EXPECT_EQ(card.gpu, "NVIDIA H200");
  EXPECT_EQ(card.device_total->bytes.central, Bytes(143'771 * kMiB));
  EXPECT_EQ(card.device_total->basis, Basis::kMeasured);
  EXPECT_THAT(card.device_total->source, HasSubstr("query.csv"));
  EXPECT_EQ(card.cuda_visible->bytes.central, Bytes(143'155 * kMiB));
  EXPECT_EQ(card.cuda_visible->basis, Basis::kDerived);
  // cudaMemGetInfo on these cards.
  EXPECT_LE(card.cuda_visible->bytes.low, Bytes(150'109'880'320));
  EXPECT_GE(card.cuda_visible->bytes.high, Bytes(150'109'880'320));
  EXPECT_EQ(card.numa_node, 0);
  EXPECT_EQ(card.nvlink_group, 0);
  EXPECT_EQ(kind.driver, "580.159.04");
  EXPECT_EQ(kind.nvlink_link, "NV18");
  EXPECT_NEAR(kind.nvlink_gb_per_s->value, 478.1, 0.1);
  EXPECT_NEAR(kind.pcie_gb_per_s->value, 63, 0.1);
  EXPECT_EQ(kind.Memory(), Bytes(263'998'500 * kKiB));
  EXPECT_EQ(kind.FindNuma(0)->cpus, "0-31");
}

TEST(ReadFactsTest, WhatIsWrittenStays) {
  NodeKind kind;
  kind.cards.resize(2);
  for (CardSpec& card : kind.cards) card.gpu = "h200-141";
  kind.cards[0].cuda_visible = SourcedBytes{Range(Bytes(kGiB)), Basis::kAssumed, "mine"};
  kind.cards[0].device_total = SourcedBytes{Range(Bytes(2 * kGiB)), Basis::kAssumed, "mine"};
  kind.driver = "1.2";
  ASSERT_TRUE(ReadFacts({SamplePath("query.csv")}, false, &kind));
  EXPECT_EQ(kind.cards[0].gpu, "h200-141");
  EXPECT_EQ(kind.cards[0].cuda_visible->bytes.central, Bytes(kGiB));
  EXPECT_EQ(kind.cards[1].device_total->bytes.central, Bytes(143'771 * kMiB));
  EXPECT_EQ(kind.driver, "1.2");
}

TEST(ReadFactsTest, WhatWasReadIsKeptBesideWhatIsWritten) {
  NodeKind kind;
  kind.cards.resize(2);
  for (CardSpec& card : kind.cards) card.gpu = "h20-96";
  ASSERT_TRUE(ReadFacts({SamplePath("query.csv"), SamplePath("smi-q.txt")}, false, &kind));
  EXPECT_EQ(kind.cards[1].read_name, "NVIDIA H200");
  EXPECT_EQ(kind.cards[1].read_total, Bytes(143'771 * kMiB));
  NodeKind alone;
  ASSERT_TRUE(ReadFacts({SamplePath("query.csv"), SamplePath("smi-q.txt")}, false, &alone));
  EXPECT_EQ(alone.cards[1].read_name, "");
}

TEST(ReadFactsTest, TwoListingsAgree) {
  const TempDir dir;
  std::string log = Sample("smi-q.txt");
  for (size_t at = log.find("143771"); at != std::string::npos; at = log.find("143771")) {
    log.replace(at, 6, "97871");
  }
  NodeKind kind;
  EXPECT_THAT(
      FactsError(ReadFacts({SamplePath("query.csv"), dir.Write("q.txt", log)}, false, &kind)),
      testing::AllOf(HasSubstr("q.txt: expected card 0 as in"), HasSubstr("143,771 MiB"),
                     HasSubstr("found NVIDIA H200 with 97,871 MiB")));
}

TEST(ReadFactsTest, FilesAboutCardsNeedTheCards) {
  NodeKind kind;
  EXPECT_THAT(FactsError(ReadFacts({SamplePath("topo.txt")}, false, &kind)),
              HasSubstr("topo.txt: found 2 cards, and no file that tells what they are"));
}

TEST(ReadFactsTest, PortsGetTheNodeOfTheirCards) {
  const TempDir dir;
  const std::string query = dir.Write("q", "name, memory.total [MiB]\nA, 9 MiB\nA, 9 MiB\n");
  const std::string topology = dir.Write(
      "t",
      "\tGPU0\tGPU1\tNIC0\tNIC1\tNIC2\tCPU Affinity\tNUMA Affinity\n"
      "GPU0\tX\tSYS\tPIX\tSYS\tNODE\t0-1\t0\nGPU1\tSYS\tX\tSYS\tPXB\tNODE\t2-3\t1\n"
      "NIC0\tPIX\tSYS\tX\tSYS\tSYS\nNIC1\tSYS\tPXB\tSYS\tX\tSYS\nNIC2\tNODE\tNODE\tSYS\tSYS\tX\n");
  NodeKind kind;
  ASSERT_TRUE(ReadFacts({query, topology}, false, &kind));
  ASSERT_EQ(kind.nics.size(), 3u);
  EXPECT_EQ(kind.nics[0].numa_node, 0);
  EXPECT_EQ(kind.nics[1].numa_node, 1);
  EXPECT_EQ(kind.nics[2].numa_node, std::nullopt);  // beside both
  EXPECT_EQ(kind.cards[0].nvlink_group, -1);
}

TEST(ReadFactsTest, SaysWhatIsWrong) {
  const TempDir dir;
  NodeKind kind;
  kind.where = "c.yaml:3";
  const std::string other = dir.Write("other", "hello");
  EXPECT_THAT(FactsError(ReadFacts({other}, false, &kind)),
              HasSubstr("expected what a tool prints about a server, found something else"));
  EXPECT_TRUE(ReadFacts({other}, true, &kind));
  const std::string again = dir.Write("again.csv", Sample("query.csv"));
  EXPECT_THAT(FactsError(ReadFacts({SamplePath("query.csv"), again}, false, &kind)),
              HasSubstr("again.csv: expected one output of each kind"));
  const std::string one = dir.Write("one", "name, memory.total [MiB]\nA, 9 MiB\n");
  EXPECT_THAT(FactsError(ReadFacts({one, SamplePath("topo.txt")}, false, &kind)),
              HasSubstr("topo.txt: expected the 1 cards of this node, found 2"));
  EXPECT_THAT(FactsError(ReadFacts({dir.Path("none")}, false, &kind)), HasSubstr("cannot open"));
}

}  // namespace
}  // namespace shardplan::facts
