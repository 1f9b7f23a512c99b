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

TEST(ReadClusterTest, FiguresThatContradictEachOther) {
  const TempDir dir;
  const auto error = [&](const std::string& keys) {
    return ErrorOf(
        ReadCluster(dir.Write("c.yaml", "nodes:\n  - gpus: {gpu: a, count: 4}\n" + keys)));
  };
  const std::string numa =
      "    numa:\n      - {node: 0, memory: 5 GiB, gpus: [0, 1]}\n"
      "      - {node: 1, memory: 5 GiB, gpus: [2, 3]}\n";
  EXPECT_EQ(error(numa + "    memory: 10 GiB\n"), "parsed");
  EXPECT_THAT(error(numa + "    memory: 300 TiB\n"),
              HasSubstr("c.yaml:2: expected memory of at most the 10.000 GiB of all NUMA nodes"));
  EXPECT_THAT(error("    memory: 10 GiB\n    container_memory: 12 GiB\n"),
              HasSubstr("c.yaml:2: expected container_memory of at most the node's 10.000 GiB"));
  EXPECT_THAT(error(numa + "    container_memory: 12 GiB\n"), HasSubstr("container_memory"));
  EXPECT_THAT(error(numa + "    nics: [{name: x, gbit_per_s: 1, protocol: roce, numa: 7}]\n"),
              HasSubstr("c.yaml:2: port x is on NUMA node 7, which the node's numa list"));
}

TEST(ReadClusterTest, CardsThatANumaListLeavesOut) {
  const TempDir dir;
  const std::string some = dir.Write(
      "s.yaml", "nodes:\n  - {gpus: {gpu: a, count: 4}, numa: [{node: 0, gpus: [0, 2]}]}\n");
  EXPECT_THAT(ErrorOf(ReadCluster(some)),
              HasSubstr("s.yaml:2: expected the NUMA node of every card or of none, found none of "
                        "cards 1, 3"));
  const std::string none = dir.Write(
      "n.yaml", "nodes:\n  - {gpus: {gpu: a, count: 4}, numa: [{node: 0, memory: 1 GiB}]}\n");
  EXPECT_EQ(ErrorOf(ReadCluster(none)), "parsed");
}

TEST(ReadClusterTest, AFolderIsOfOneNodeOrOfSeveral) {
  const TempDir dir;
  dir.Write("query.csv", Sample("query.csv"));
  std::filesystem::create_directory(dir.Path("notes"));
  dir.Write("notes/read.me", "not an output\n");
  std::filesystem::create_directory(dir.Path("n1"));
  dir.Write("n1/smi.txt", Sample("smi-q.txt"));
  EXPECT_THAT(ErrorOf(ReadCluster(dir.path())),
              HasSubstr("expected outputs of one node or a folder for each node, found outputs "
                        "here and in "));
  const TempDir nested;
  std::filesystem::create_directories(nested.Path("n1/more"));
  nested.Write("n1/query.csv", Sample("query.csv"));
  nested.Write("n1/more/smi.txt", Sample("smi-q.txt"));
  EXPECT_THAT(ErrorOf(ReadCluster(nested.path())), HasSubstr("give each node a folder of its own"));
}

TEST(ReadClusterTest, AnOutputIsNoClusterFile) {
  EXPECT_THAT(ErrorOf(ReadCluster(testing_support::SamplePath("smi-q.txt"))),
              HasSubstr("expected a cluster file, found what a tool prints about a server; "
                        "--cluster FOLDER reads such files"));
  EXPECT_THAT(ErrorOf(ReadCluster(testing_support::SamplePath("query.csv"))),
              HasSubstr("expected a cluster file"));
  const TempDir dir;
  EXPECT_THAT(ErrorOf(ReadCluster(dir.Write("e.yaml", "nodes: []\n"))),
              HasSubstr("expected a list of servers, at least one, found an empty list"));
  EXPECT_THAT(ErrorOf(ReadCluster(dir.Write("m.yaml", "nodes:\n  - {facts: [gone.csv]}\n"))),
              testing::AllOf(HasSubstr("m.yaml:2: facts: "), HasSubstr("gone.csv: cannot open"),
                             HasSubstr("the folder of the file as it was given")));
}

}  // namespace
}  // namespace shardplan
