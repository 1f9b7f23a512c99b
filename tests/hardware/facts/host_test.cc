#include "hardware/facts/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/facts_support.h"

namespace shardplan::facts {
namespace {

using testing::HasSubstr;
using testing_support::ErrorOf;
using testing_support::Mutations;
using testing_support::Sample;

TEST(ParseHostTest, OneNodeHasAllTheMemory) {
  const auto host = ParseHost(Sample("host.txt"), "host.txt");
  ASSERT_TRUE(host) << host.error().ToString();
  EXPECT_EQ(host->memory, Bytes(263'998'500 * kKiB));
  ASSERT_EQ(host->numa.size(), 1u);
  EXPECT_EQ(host->numa[0].cpus, "0-31");
  EXPECT_EQ(host->numa[0].memory, host->memory);
}

TEST(ParseHostTest, NodesOfNumactl) {
  const auto host = ParseHost(
      "available: 2 nodes (0-1)\nnode 1 cpus: 4 5\nnode 1 size: 2048 MB\nnode 0 size: 1024 MB\n"
      "node 0 free: 1 MB\nNUMA node1 CPU(s):   4,5\n",
      "h");
  ASSERT_TRUE(host) << host.error().ToString();
  EXPECT_EQ(host->memory, std::nullopt);
  ASSERT_EQ(host->numa.size(), 2u);
  EXPECT_EQ(host->numa[0].memory, Bytes(1024 * kMiB));
  EXPECT_EQ(host->numa[1].memory, Bytes(2048 * kMiB));
  EXPECT_EQ(host->numa[1].cpus, "4,5");
}

TEST(ParseHostTest, MemoryOfSeveralNodesIsNotDivided) {
  const auto host =
      ParseHost("NUMA node0 CPU(s): 0-1\nNUMA node1 CPU(s): 2-3\nMemTotal: 1024 kB\n", "h");
  ASSERT_TRUE(host) << host.error().ToString();
  EXPECT_EQ(host->memory, Bytes(kMiB));
  EXPECT_EQ(host->numa[0].memory, std::nullopt);
}

TEST(ParseHostTest, OtherTextsAndBrokenOnes) {
  EXPECT_THAT(ErrorOf(ParseHost("hello\n", "h")), HasSubstr("h:1: expected MemTotal"));
  for (const std::string& text : Mutations(Sample("host.txt"))) {
    const auto host = ParseHost(text, "h");
    if (host) {
      EXPECT_LE(host->numa.size(), 2u);
    }
  }
  EXPECT_FALSE(ParseHost("NUMA node99999 CPU(s): 0\nnode 64 size: 1 MB\n", "h"));
}

}  // namespace
}  // namespace shardplan::facts
