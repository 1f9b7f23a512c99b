#include "shardplan/hardware/cluster_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/facts_support.h"

namespace shardplan {
namespace {

using testing::HasSubstr;
using testing_support::ErrorOf;
using testing_support::Sample;
using testing_support::TempDir;

TEST(ReadClusterTest, TheExamples) {
  const Result<ClusterSpec> two =
      ReadCluster(std::string(SHARDPLAN_EXAMPLES) + "/clusters/two-h20-nodes.yaml");
  ASSERT_TRUE(two) << two.error().ToString();
  EXPECT_EQ(two->nodes(), 2);
  EXPECT_EQ(two->KindOf(1).cards.size(), 8u);
  EXPECT_EQ(two->KindOf(1).nics.size(), 8u);
  const Result<ClusterSpec> facts =
      ReadCluster(std::string(SHARDPLAN_EXAMPLES) + "/clusters/h200-from-facts.yaml");
  ASSERT_TRUE(facts) << facts.error().ToString();
  EXPECT_EQ(facts->NameOf(0), "h200-a");
  EXPECT_EQ(facts->KindOf(0).cards.size(), 2u);
  EXPECT_EQ(facts->KindOf(0).nvlink_link, "NV18");
}

TEST(ReadClusterTest, AFolderForEachNode) {
  const TempDir dir;
  for (const char* node : {"n-b", "n-a"}) {
    std::filesystem::create_directory(dir.Path(node));
    dir.Write(std::string(node) + "/smi 1.txt", Sample("smi-q.txt"));
    dir.Write(std::string(node) + "/topology", Sample("topo.txt"));
    dir.Write(std::string(node) + "/notes.md", "not an output\n");
  }
  const Result<ClusterSpec> spec = ReadCluster(dir.path());
  ASSERT_TRUE(spec) << spec.error().ToString();
  EXPECT_EQ(spec->nodes(), 2);
  EXPECT_EQ(spec->NameOf(0), "n-a");
  EXPECT_EQ(spec->KindOf(1).cards[0].numa_node, 0);
}

TEST(ReadClusterTest, AFolderOfOneNode) {
  const Result<ClusterSpec> spec =
      ReadCluster(std::string(SHARDPLAN_TEST_DATA) + "/hardware/h200/");
  ASSERT_TRUE(spec) << spec.error().ToString();
  EXPECT_EQ(spec->nodes(), 1);
  EXPECT_EQ(spec->NameOf(0), "node 0");
}

TEST(ReadClusterTest, AFileInAFolderNamesItsOutputs) {
  const TempDir dir;
  dir.Write("cluster.yaml", "nodes:\n  - {facts: [q.csv], gpus: {gpu: h200-141, count: 2}}\n");
  dir.Write("q.csv", Sample("query.csv"));
  const Result<ClusterSpec> spec = ReadCluster(dir.path());
  ASSERT_TRUE(spec) << spec.error().ToString();
  EXPECT_EQ(spec->KindOf(0).cards[1].gpu, "h200-141");
  EXPECT_EQ(spec->KindOf(0).cards[1].device_total->basis, Basis::kMeasured);
}

TEST(ReadClusterTest, SaysWhatIsWrong) {
  const TempDir dir;
  EXPECT_THAT(ErrorOf(ReadCluster(dir.Path("none"))), HasSubstr("cannot open"));
  EXPECT_THAT(ErrorOf(ReadCluster(dir.path())), HasSubstr("expected cards, found none"));
  const std::string only_host = dir.Write("h.yaml", "nodes:\n  - {facts: [host.txt]}\n");
  dir.Write("host.txt", Sample("host.txt"));
  EXPECT_THAT(ErrorOf(ReadCluster(only_host)), HasSubstr("h.yaml:2: expected cards, found none"));
  const std::string stray = dir.Write(
      "s.yaml", "nodes:\n  - {gpus: {gpu: a, numa: [3]}, numa: [{node: 0, memory: 1 GiB}]}\n");
  EXPECT_THAT(ErrorOf(ReadCluster(stray)), HasSubstr("s.yaml:2: card 0 is on NUMA node 3"));
  const std::string missing = dir.Write("m.yaml", "nodes:\n  - {facts: [gone.csv]}\n");
  EXPECT_THAT(ErrorOf(ReadCluster(missing)), HasSubstr("gone.csv: cannot open"));
  const std::string special = dir.Write("d.yaml", "nodes:\n  - {facts: [folder]}\n");
  std::filesystem::create_directory(dir.Path("folder"));
  EXPECT_THAT(ErrorOf(ReadCluster(special)), HasSubstr("expected a file, found a directory"));
}

}  // namespace
}  // namespace shardplan
