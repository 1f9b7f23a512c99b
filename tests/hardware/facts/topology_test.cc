#include "hardware/facts/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/facts_support.h"

namespace shardplan::facts {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::ErrorOf;
using testing_support::Mutations;
using testing_support::Sample;

// Four cards in two bridged pairs on two sockets, a network port on each.
constexpr std::string_view kPairs =
    "\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tNV4\tSYS\tSYS\tPIX\tSYS\t0-15\t0\t\tN/A\n"
    "GPU1\tNV4\t X \tSYS\tSYS\tPHB\tSYS\t0-15\t0\t\tN/A\n"
    "GPU2\tSYS\tSYS\t X \tNV2\tSYS\tPXB\t16-31\t1\t\tN/A\n"
    "GPU3\tSYS\tSYS\tNV2\t X \tSYS\tNODE\t16-31\t1\t\tN/A\n"
    "NIC0\tPIX\tPHB\tSYS\tSYS\t X \tSYS\n"
    "NIC1\tSYS\tSYS\tPXB\tNODE\tSYS\t X \n"
    "\nLegend:\n\n  X    = Self\n\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n";

TEST(ParseTopologyTest, ReadsTwoH200s) {
  const auto topology = ParseTopology(Sample("topo.txt"), "topo.txt");
  ASSERT_TRUE(topology) << topology.error().ToString();
  EXPECT_THAT(topology->links, ElementsAre(ElementsAre("X", "NV18"), ElementsAre("NV18", "X")));
  EXPECT_THAT(topology->numa, ElementsAre(0, 0));
  EXPECT_THAT(topology->cpus, ElementsAre("0-31", "0-31"));
  EXPECT_THAT(topology->NvlinkGroups(), ElementsAre(0, 0));
  EXPECT_EQ(topology->NvlinkName(), "NV18");
  EXPECT_TRUE(topology->nics.empty());
}

TEST(ParseTopologyTest, PairsAndPorts) {
  const auto topology = ParseTopology(kPairs, "t");
  ASSERT_TRUE(topology) << topology.error().ToString();
  EXPECT_THAT(topology->NvlinkGroups(), ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(topology->NvlinkName(), "NV2");
  EXPECT_THAT(topology->numa, ElementsAre(0, 0, 1, 1));
  ASSERT_EQ(topology->nics.size(), 2u);
  EXPECT_EQ(topology->nics[1].name, "mlx5_1");
  EXPECT_THAT(topology->nics[1].to, ElementsAre("SYS", "SYS", "PXB", "NODE"));
}

TEST(ParseTopologyTest, TabsThatBecameSpaces) {
  const auto topology = ParseTopology(
      "      GPU0  GPU1  CPU Affinity  NUMA Affinity\n"
      "GPU0   X    PHB   0-7           0\n"
      "GPU1  PHB    X    0-7           0-1\n",
      "t");
  ASSERT_TRUE(topology) << topology.error().ToString();
  EXPECT_THAT(topology->NvlinkGroups(), ElementsAre(-1, -1));
  EXPECT_EQ(topology->NvlinkName(), "");
  EXPECT_THAT(topology->numa, ElementsAre(std::optional<int>(0), std::nullopt));
}

TEST(ParseTopologyTest, SaysWhatIsWrong) {
  EXPECT_THAT(ErrorOf(ParseTopology("no matrix\n", "t")),
              HasSubstr("t:1: expected the matrix of nvidia-smi topo -m, found none"));
  const std::string pairs(kPairs);
  EXPECT_THAT(ErrorOf(ParseTopology(pairs.substr(0, pairs.find("GPU3\tSYS")), "t")),
              HasSubstr("t:1: expected a line for each of 4 cards, found 3; is the file whole?"));
  EXPECT_THAT(ErrorOf(ParseTopology(pairs.substr(0, pairs.find("NV2\t X")), "t")),
              HasSubstr("t:5: expected 6 links such as NV18, PIX or SYS in the line of GPU3"));
  std::string uneven = pairs;
  uneven.replace(uneven.find("NV4"), 3, "NV2");
  EXPECT_THAT(ErrorOf(ParseTopology(uneven, "t")),
              HasSubstr("expected one link between GPU0 and GPU1, found NV2 and NV4"));
}

TEST(ParseTopologyTest, SurvivesCutAndBrokenText) {
  for (const std::string& sample : {Sample("topo.txt"), std::string(kPairs)}) {
    for (const std::string& text : Mutations(sample)) {
      const auto topology = ParseTopology(text, "t");
      if (topology) {
        EXPECT_LE(topology->NvlinkGroups().size(), 4u);
      }
    }
  }
  std::string wide;
  for (int i = 0; i < 300; ++i) wide += "\tGPU" + std::to_string(i);
  EXPECT_THAT(ErrorOf(ParseTopology(wide, "t")), HasSubstr("at most 64 cards"));
}

}  // namespace
}  // namespace shardplan::facts
