#include "hardware/node_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shardplan/base/units.h"

namespace shardplan::internal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<NodeYaml> Read(std::string_view text, const Told& told = {}) {
  return ReadDocument<NodeYaml>(text, "c.yaml", [&](const Place& place, const YAML::Node& node) {
    return ReadNodeKind(place, node, "nodes[0]", told);
  });
}

std::string PresetError(std::string_view text) {
  const Result<NodeYaml> read = Read(text);
  if (read) return "read";
  EXPECT_EQ(read.error().code, ErrorCode::kInvalidInput);
  return read.error().ToString();
}

std::vector<int> NvlinkOf(const NodeKind& kind) {
  std::vector<int> out;
  for (const CardSpec& card : kind.cards) out.push_back(card.nvlink_group.value_or(-9));
  return out;
}

TEST(ReadNodeKindTest, ReadsEverything) {
  const Result<NodeYaml> read = Read(R"(name: hgx
count: 2
hosts: [a-0, a-1]
facts: [a/query.csv]
gpus:
  - {gpu: h20-96, count: 2, numa: [0, 1]}
  - gpu: h20-96
    device_total: 97000 MiB
    cuda_visible: {value: 96000 MiB, basis: measured, source: a reading, date: 2026-11-29}
nvlink: [[0, 1], [2]]
pcie_gb_per_s: 31.5
nics:
  - {name: mlx5_0, gbit_per_s: 400, protocol: infiniband, numa: 1}
  - {count: 2, gbit_per_s: 25, protocol: ethernet}
numa:
  - {node: 1, memory: 512 GiB}
  - {node: 0, memory: 256 GiB, cpus: "0-15,32-47", gpus: [2]}
disks:
  - {path: /nvme, read_gb_per_s: 12}
driver: 580.159.04
memory: 700 GiB
container_memory: 600 GiB
memlock: 64 MiB
shm: 1 GiB
)");
  ASSERT_TRUE(read) << read.error().ToString();
  const NodeKind& kind = read->kind;
  EXPECT_EQ(kind.name, "hgx");
  EXPECT_EQ(kind.count, 2);
  EXPECT_THAT(kind.hosts, ElementsAre("a-0", "a-1"));
  EXPECT_THAT(read->facts, ElementsAre("a/query.csv"));
  ASSERT_EQ(kind.cards.size(), 3u);
  EXPECT_EQ(kind.cards[0].gpu, "h20-96");
  EXPECT_EQ(kind.cards[0].where, "c.yaml:6");
  EXPECT_THAT(kind.NumaOfCards().value(), ElementsAre(0, 1, 0));
  EXPECT_EQ(kind.cards[2].device_total->bytes.central, Bytes(97'000 * kMiB));
  EXPECT_EQ(kind.cards[2].device_total->basis, Basis::kAssumed);
  EXPECT_EQ(kind.cards[2].device_total->source, "c.yaml:8");
  EXPECT_EQ(kind.cards[2].cuda_visible->basis, Basis::kMeasured);
  EXPECT_THAT(NvlinkOf(kind), ElementsAre(0, 0, -1));
  EXPECT_DOUBLE_EQ(kind.pcie_gb_per_s->value, 31.5);
  ASSERT_EQ(kind.nics.size(), 3u);
  EXPECT_EQ(kind.nics[0].name, "mlx5_0");
  EXPECT_EQ(kind.nics[0].protocol, NicProtocol::kInfiniband);
  EXPECT_EQ(kind.nics[0].numa_node, 1);
  EXPECT_DOUBLE_EQ(kind.nics[2].gbit_per_s.value, 25);
  ASSERT_EQ(kind.numa.size(), 2u);
  EXPECT_EQ(kind.numa[0].node, 0);
  EXPECT_EQ(kind.numa[0].cpus, "0-15,32-47");
  EXPECT_EQ(kind.numa[1].memory->bytes.central, Bytes(512 * kGiB));
  EXPECT_EQ(kind.disks[0].path, "/nvme");
  EXPECT_EQ(kind.driver, "580.159.04");
  EXPECT_EQ(kind.Memory(), Bytes(700 * kGiB));
  EXPECT_EQ(kind.container_limit->bytes.central, Bytes(600 * kGiB));
  EXPECT_EQ(kind.memlock->bytes.central, Bytes(64 * kMiB));
  EXPECT_EQ(kind.shm->bytes.central, Bytes(kGiB));
}

TEST(ReadNodeKindTest, FiguresCarryTheirBasis) {
  const Told told = {Basis::kMeasured, "a visit (2026-11-29)"};
  const Result<NodeYaml> read = Read("gpus: {gpu: a}\nmemory: 1 GiB\n", told);
  ASSERT_TRUE(read) << read.error().ToString();
  EXPECT_EQ(read->kind.memory->basis, Basis::kMeasured);
  EXPECT_EQ(read->kind.memory->source, "a visit (2026-11-29)");
  const Result<NodeYaml> own =
      Read("gpus: {gpu: a}\nmemory: 1 GiB\nbasis: exact\nsource: b\ndate: 2026-11-30\n", told);
  ASSERT_TRUE(own) << own.error().ToString();
  EXPECT_EQ(own->kind.memory->source, "b (2026-11-30)");
}

TEST(ReadNodeKindTest, WordsForNvlink) {
  EXPECT_THAT(NvlinkOf(Read("gpus: {gpu: a, count: 2}\nnvlink: none\n")->kind),
              ElementsAre(-1, -1));
  EXPECT_THAT(NvlinkOf(Read("gpus: {gpu: a, count: 2}\nnvlink: node\n")->kind), ElementsAre(0, 0));
  EXPECT_TRUE(Read("gpus: {gpu: a}\nnvlink: nodes\n")->kind.nvlink_over_nodes);
  EXPECT_THAT(NvlinkOf(Read("gpus: {gpu: a}\n")->kind), ElementsAre(-9));
  EXPECT_FALSE(Read("gpus: {gpu: a}\nmemlock: unlimited\n")->kind.memlock);
}

TEST(ReadNodeKindTest, DescribesACardItself) {
  const Result<NodeYaml> read = Read(R"(gpus:
  count: 2
  card:
    id: mine-1
    name: My Card
    vendor: nvidia
    device_total: {value: 9 GiB, basis: measured, source: a, date: 2026-11-29}
    cuda_visible: {value: 8 GiB, basis: measured, source: a, date: 2026-11-29}
    context: {value: 1 GiB, basis: measured, source: a, date: 2026-11-29}
    specification:
      {cards_per_node: 2, nominal_gb: 9, compute_capability: 9.0, multiprocessors: 1,
       memory_gb_per_s: 1, nvlink_gb_per_s: 0, pcie_gb_per_s: 1, basis: exact, source: a,
       date: 2026-11-29}
)");
  ASSERT_TRUE(read) << read.error().ToString();
  ASSERT_EQ(read->kind.cards.size(), 2u);
  EXPECT_EQ(read->kind.cards[1].described->name, "My Card");
  EXPECT_EQ(read->kind.cards[1].gpu, "mine-1");
}

TEST(ReadNodeKindTest, ErrorsNameTheLine) {
  EXPECT_EQ(PresetError("gpu: {gpu: a}\n"),
            "c.yaml:1: unknown key nodes[0].gpu; did you mean gpus?");
  EXPECT_THAT(PresetError("count: 2\n"),
              HasSubstr("c.yaml:1: missing key nodes[0].gpus; gpus: {gpu:"));
  EXPECT_THAT(PresetError("gpus: {count: 2}\n"),
              HasSubstr("c.yaml:1: nodes[0].gpus: expected either"));
  EXPECT_THAT(PresetError("gpus:\n  {gpu: a, count: 0}\n"),
              HasSubstr("c.yaml:2: nodes[0].gpus: expected 1 to 64 cards a node"));
  EXPECT_THAT(PresetError("gpus: {gpu: a, count: 65}\n"),
              HasSubstr("expected a number from 0 to 64"));
  EXPECT_THAT(PresetError("gpus: {gpu: a, count: 2, numa: [0]}\n"),
              HasSubstr("nodes[0].gpus.numa: expected a list of 2 NUMA nodes, one a card"));
  EXPECT_THAT(PresetError("gpus: {gpu: a}\nhosts: [x, y]\ncount: 3\n"),
              HasSubstr("c.yaml:3: nodes[0].count: expected 2, the number of hosts, found 3"));
  EXPECT_THAT(PresetError("gpus: {gpu: a}\nhosts: ['a b']\n"),
              HasSubstr("nodes[0].hosts: expected a host name, found a b"));
  EXPECT_THAT(PresetError("gpus: {gpu: a}\ncount: 0\n"), HasSubstr("expected at least 1, found 0"));
  EXPECT_THAT(PresetError("gpus: {gpu: a}\nmemory: 12\n"),
              HasSubstr("c.yaml:2: nodes[0].memory: expected a byte size with a unit"));
  EXPECT_THAT(PresetError("gpus: {gpu: a}\nnvlink: yes\n"),
              HasSubstr("nodes[0].nvlink: expected none, node, nodes or lists of cards"));
  EXPECT_THAT(PresetError("gpus: {gpu: a, count: 2}\nnvlink: [[0, 2]]\n"),
              HasSubstr("nodes[0].nvlink: expected a card from 0 to 1, found 2"));
  EXPECT_THAT(PresetError("gpus: {gpu: a, count: 2}\nnvlink: [[0, 0]]\n"),
              HasSubstr("nodes[0].nvlink: expected each card once, found 0"));
  EXPECT_THAT(PresetError("gpus: {gpu: a}\nnics:\n  - {gbit_per_s: 1, protocol: rocce}\n"),
              HasSubstr("c.yaml:3: nodes[0].nics.protocol: expected ethernet, roce or infiniband"));
  EXPECT_THAT(PresetError("gpus: {gpu: a}\nnics:\n  - {protocol: roce}\n"),
              HasSubstr("c.yaml:3: missing key nodes[0].nics.gbit_per_s"));
  EXPECT_THAT(PresetError("gpus: {gpu: a}\nnuma:\n  - {node: 0}\n  - {node: 0}\n"),
              HasSubstr("c.yaml:4: nodes[0].numa: second node 0"));
  EXPECT_THAT(PresetError("gpus: {gpu: a, numa: [1]}\nnuma:\n  - {node: 0, gpus: [0]}\n"),
              HasSubstr("c.yaml:3: nodes[0].numa.gpus: card 0 is on NUMA node 1 by gpus.numa"));
  EXPECT_THAT(PresetError("gpus: {gpu: a}\ndriver: new\n"),
              HasSubstr("nodes[0].driver: expected a version such as 580.159.04, found new"));
  EXPECT_THAT(PresetError("gpus: {gpu: a}\nnuma:\n  - {node: 0, cpus: 0; rm}\n"),
              HasSubstr("cpus: expected a list of CPUs"));
  EXPECT_THAT(PresetError("gpus: {gpu: a}\nbasis: exact\n"),
              HasSubstr("missing key nodes[0].source"));
}

TEST(ReadNodeKindTest, FiguresThatCannotBe) {
  for (const char* cpus :
       {"9-3", "0-", "-3", "0,,2", "1,", "0-99999", "0--1", "99999999999999999999"}) {
    EXPECT_THAT(
        PresetError(std::string("gpus: {gpu: a}\nnuma:\n  - {node: 0, cpus: '") + cpus + "'}\n"),
        HasSubstr("cpus: expected a list of CPUs"))
        << cpus;
  }
  EXPECT_THAT(
      PresetError("gpus: {gpu: a}\nnuma:\n  - {node: 0, cpus: 0-7}\n  - {node: 1, cpus: '7,8'}\n"),
      HasSubstr("c.yaml:4: nodes[0].numa.cpus: expected CPU 7 once"));
  EXPECT_THAT(PresetError("gpus: {gpu: a}\npcie_gb_per_s: 0\n"),
              HasSubstr("c.yaml:2: nodes[0].pcie_gb_per_s: expected a rate above 0, found 0"));
  EXPECT_THAT(PresetError("gpus: {gpu: a}\nnics: [{gbit_per_s: 0, protocol: roce}]\n"),
              HasSubstr("nodes[0].nics.gbit_per_s: expected a rate above 0"));
  EXPECT_THAT(PresetError("gpus: {gpu: a}\ndisks: [{read_gb_per_s: 0}]\n"),
              HasSubstr("read_gb_per_s: expected a rate above 0"));
  EXPECT_THAT(PresetError("gpus: {gpu: a}\nnics:\n  - {name: x, gbit_per_s: 1, protocol: roce}\n"
                          "  - {name: x, gbit_per_s: 1, protocol: roce}\n"),
              HasSubstr("c.yaml:4: nodes[0].nics: second x"));
  EXPECT_THAT(
      PresetError("gpus: {gpu: a}\nnics: [{name: x, count: 2, gbit_per_s: 1, protocol: roce}]\n"),
      HasSubstr("nodes[0].nics.count: expected 1 port of that name, found 2"));
  EXPECT_THAT(PresetError("gpus: []\n"),
              HasSubstr("nodes[0].gpus: expected a list of 1 to 64, found 0"));
  EXPECT_THAT(PresetError("gpus: {gpu: a, count: 010}\n"), HasSubstr("without leading zeros"));
}

TEST(ReadNodeKindTest, FactsStayBelowTheFile) {
  for (const char* path : {"/etc/passwd", "../x", "a/../../x", "..", "a/.."}) {
    EXPECT_THAT(PresetError(std::string("facts: [") + path + "]\n"),
                HasSubstr("nodes[0].facts: expected a file's path below this file's folder"))
        << path;
  }
  EXPECT_EQ(PresetError("facts: [a..b/c.txt]\n"), "read");
}

TEST(ReadDiskTest, RateIsNeeded) {
  const auto read = [](std::string_view text) {
    return ReadDocument<DiskSpec>(text, "c.yaml", [](const Place& place, const YAML::Node& node) {
      return ReadDisk(place, node, "disk", {});
    });
  };
  EXPECT_DOUBLE_EQ(read("read_gb_per_s: 2.5")->read_gb_per_s.value, 2.5);
  EXPECT_EQ(read("path: /x").error().ToString(), "c.yaml:1: missing key disk.read_gb_per_s");
}

}  // namespace
}  // namespace shardplan::internal
