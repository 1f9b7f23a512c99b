#include "hardware/cluster_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan::internal {
namespace {

using testing::HasSubstr;

std::string ClusterError(std::string_view text) {
  const Result<ClusterYaml> read = ParseClusterYaml(text, "c.yaml");
  return read ? "read" : read.error().ToString();
}

TEST(ParseClusterYamlTest, SeveralKindsInOrder) {
  const Result<ClusterYaml> read = ParseClusterYaml(
      "name: mine\nbasis: measured\nsource: a visit\ndate: 2026-11-29\n"
      "nodes:\n"
      "  - {name: big, count: 2, gpus: {gpu: h200-141, count: 8}, memory: 2 TiB}\n"
      "  - {hosts: [x], facts: [x.csv]}\n"
      "shared_filesystem: {path: /shared, read_gb_per_s: 5}\n",
      "c.yaml");
  ASSERT_TRUE(read) << read.error().ToString();
  EXPECT_EQ(read->spec.name, "mine");
  EXPECT_EQ(read->spec.file, "c.yaml");
  EXPECT_EQ(read->spec.nodes(), 3);
  EXPECT_EQ(read->spec.KindOf(1).name, "big");
  EXPECT_EQ(read->spec.KindOf(1).memory->basis, Basis::kMeasured);
  EXPECT_EQ(read->spec.KindOf(2).name, "nodes[1]");
  EXPECT_EQ(read->facts[1], std::vector<std::string>{"x.csv"});
  EXPECT_EQ(read->spec.shared_filesystem->path, "/shared");
}

TEST(ParseClusterYamlTest, ErrorsNameTheLine) {
  EXPECT_EQ(ClusterError("node: []\n"), "c.yaml:1: unknown key node; did you mean nodes?");
  EXPECT_EQ(ClusterError("name: x\n"), "c.yaml:1: missing key nodes");
  EXPECT_THAT(ClusterError("nodes: []\n"), HasSubstr("nodes: expected a list of servers"));
  EXPECT_THAT(
      ClusterError("nodes:\n  - {gpus: {gpu: a}, count: 4000}\n  - {gpus: {gpu: a}, count: 97}\n"),
      HasSubstr("c.yaml:3: expected at most 4096 nodes"));
  EXPECT_THAT(
      ClusterError("nodes:\n  - {gpus: {gpu: a}, hosts: [x]}\n  - {gpus: {gpu: a}, hosts: [x]}\n"),
      HasSubstr("c.yaml:3: nodes[1].hosts: second x"));
  EXPECT_THAT(ClusterError("nodes:\n  - {gpus: {gpu: a}}\nbasis: sure\n"),
              HasSubstr("c.yaml:3: basis: expected exact, derived, measured or assumed"));
  EXPECT_THAT(ClusterError("nodes: {gpus: {gpu: a}}\n"), HasSubstr("found a mapping"));
}

}  // namespace
}  // namespace shardplan::internal
