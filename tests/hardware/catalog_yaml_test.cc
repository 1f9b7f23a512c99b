#include "hardware/catalog_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "shardplan/base/units.h"

namespace shardplan::internal {
namespace {

constexpr std::string_view kCard = R"(id: toy-1
name: Toy Card
vendor: nvidia
aliases: [toy]
device_total:
  value: 1024 MiB
  basis: measured
  source: a reading
  date: 2026-11-29
cuda_visible:
  low: 1000 MiB
  central: 1010 MiB
  high: 1020 MiB
  basis: derived
  source: a rule
  date: 2026-11-29
context:
  value: 1 MiB
  basis: assumed
  source: a guess
  date: 2026-11-29
specification:
  nominal_gb: 1
  cards_per_node: 2
  compute_capability: 9.0
  multiprocessors: 4
  memory_gb_per_s: 10.5
  nvlink_gb_per_s: 0
  pcie_gb_per_s: 3
  basis: exact
  source: a sheet
  date: 2026-11-29
)";

// The card with one piece of its text replaced.
std::string With(std::string_view from, std::string_view to) {
  std::string text(kCard);
  const size_t at = text.find(from);
  if (at == std::string::npos) ADD_FAILURE() << "the card has no " << from;
  return text.replace(at, from.size(), to);
}

std::string CardError(std::string_view text) {
  const Result<GpuSpec> gpu = ParseGpuYaml(text, "gpus/toy-1.yaml");
  if (gpu) return "parsed";
  EXPECT_EQ(gpu.error().code, ErrorCode::kInvalidInput);
  return gpu.error().ToString();
}

std::string NodeError(std::string_view text) {
  const Result<NodeSpec> node = ParseNodeYaml(text, "nodes/toy.yaml");
  if (node) return "parsed";
  EXPECT_EQ(node.error().code, ErrorCode::kInvalidInput);
  return node.error().ToString();
}

TEST(ParseGpuYamlTest, ReadsEveryField) {
  const Result<GpuSpec> gpu = ParseGpuYaml(kCard, "some/where/toy-1.yaml");
  ASSERT_TRUE(gpu) << gpu.error().ToString();
  EXPECT_EQ(gpu->id, "toy-1");
  EXPECT_EQ(gpu->name, "Toy Card");
  EXPECT_EQ(gpu->vendor, "nvidia");
  EXPECT_EQ(gpu->aliases, std::vector<std::string>{"toy"});
  EXPECT_EQ(gpu->device_total.bytes.low, Bytes(kGiB));
  EXPECT_EQ(gpu->device_total.bytes.high, Bytes(kGiB));
  EXPECT_EQ(gpu->device_total.basis, Basis::kMeasured);
  EXPECT_EQ(gpu->cuda_visible.bytes.low, Bytes(1000 * kMiB));
  EXPECT_EQ(gpu->cuda_visible.bytes.central, Bytes(1010 * kMiB));
  EXPECT_EQ(gpu->cuda_visible.bytes.high, Bytes(1020 * kMiB));
  EXPECT_EQ(gpu->cuda_visible.source, "a rule (2026-11-29)");
  EXPECT_EQ(gpu->context.basis, Basis::kAssumed);
  EXPECT_EQ(gpu->nominal_gb, 1);
  EXPECT_EQ(gpu->cards_per_node, 2);
  EXPECT_EQ(gpu->capability, 90);
  EXPECT_EQ(gpu->multiprocessors, 4);
  EXPECT_EQ(gpu->memory_gb_per_s, 10.5);
  EXPECT_EQ(gpu->nvlink_gb_per_s, 0);
  EXPECT_EQ(gpu->pcie_gb_per_s, 3);
  EXPECT_EQ(gpu->specification_basis, Basis::kExact);
  EXPECT_EQ(gpu->specification_source, "a sheet (2026-11-29)");
}

TEST(ParseGpuYamlTest, Capabilities) {
  const auto capability = [](std::string_view text) {
    const Result<GpuSpec> gpu =
        ParseGpuYaml(With("capability: 9.0", "capability: " + std::string(text)), "toy-1.yaml");
    return gpu ? gpu->capability : -1;
  };
  EXPECT_EQ(capability("8.6"), 86);
  EXPECT_EQ(capability("10.3"), 103);
  EXPECT_EQ(capability("12.0"), 120);
  EXPECT_EQ(capability("none"), 0);
  for (const std::string_view bad :
       {"9", "9.", ".0", "9.00", "0.9", "-9.0", "9.x", "100.0", "[]"}) {
    EXPECT_EQ(capability(bad), -1) << bad;
  }
}

struct BadCard {
  std::string_view from;
  std::string_view to;
  std::string_view error;
};

TEST(ParseGpuYamlTest, EveryMistakeNamesItsLine) {
  const std::vector<BadCard> cases = {
      {"cuda_visible:", "cuda_visble:",
       "gpus/toy-1.yaml:10: unknown key cuda_visble; did you mean cuda_visible?"},
      {"  basis: derived", "  bass: derived",
       "gpus/toy-1.yaml:14: unknown key cuda_visible.bass; did you mean basis?"},
      {"vendor: nvidia", "zzzzzzzzzz: nvidia",
       "gpus/toy-1.yaml:3: unknown key zzzzzzzzzz; expected id, name, vendor, aliases, "
       "device_total, cuda_visible, context or specification"},
      {"vendor: nvidia", "id: toy-1", "gpus/toy-1.yaml:3: second id"},
      {"vendor: nvidia\n", "", "gpus/toy-1.yaml:1: missing key vendor"},
      {"  source: a rule\n", "", "gpus/toy-1.yaml:11: missing key cuda_visible.source"},
      {"id: toy-1", "id: toy-2",
       "gpus/toy-1.yaml:1: id: expected toy-1, as the file is named, found toy-2"},
      {"id: toy-1", "id: Toy 1",
       "gpus/toy-1.yaml:1: id: expected lower-case letters, digits, dots and hyphens, found Toy 1"},
      {"name: Toy Card", "name: []", "gpus/toy-1.yaml:2: name: expected a text, found a list"},
      {"name: Toy Card", "name:", "gpus/toy-1.yaml:2: name: expected a text, found nothing"},
      {"name: Toy Card", "name: ''",
       "gpus/toy-1.yaml:2: name: expected a text, found an empty text"},
      {"vendor: nvidia", "vendor: intel",
       "gpus/toy-1.yaml:3: vendor: expected nvidia or amd, found intel"},
      {"[toy]", "toy", "gpus/toy-1.yaml:4: aliases: expected a list, found toy"},
      {"[toy]", "[toy, Toy]",
       "gpus/toy-1.yaml:4: aliases: expected lower-case letters, digits, dots and hyphens, found "
       "Toy"},
      {"1024 MiB", "1024",
       "gpus/toy-1.yaml:6: device_total.value: expected a byte size with a unit, such as 97871 "
       "MiB, found 1024"},
      {"1024 MiB", "{a: b}",
       "gpus/toy-1.yaml:6: device_total.value: expected a byte size with a unit, such as 97871 "
       "MiB, found a mapping"},
      {"low: 1000 MiB", "value: 1000 MiB",
       "gpus/toy-1.yaml:11: cuda_visible: expected either value or low, central and high"},
      {"central: 1010 MiB", "central: 999 MiB",
       "gpus/toy-1.yaml:11: cuda_visible: expected low <= central <= high, found 1,048,576,000 B, "
       "1,047,527,424 B and 1,069,547,520 B"},
      {"high: 1020 MiB", "high: 1025 MiB",
       "gpus/toy-1.yaml:1: expected cuda_visible to be at most device_total, found 1,074,790,400 B "
       "and 1,073,741,824 B"},
      {"value: 1 MiB", "value: 1000 MiB",
       "gpus/toy-1.yaml:1: expected context to be less than cuda_visible, found 1,048,576,000 B "
       "and 1,048,576,000 B"},
      {"basis: measured", "basis: sure",
       "gpus/toy-1.yaml:7: device_total.basis: expected exact, derived, measured or assumed, found "
       "sure"},
      {"date: 2026-11-29", "date: yesterday",
       "gpus/toy-1.yaml:9: device_total.date: expected a date such as 2026-11-29, found yesterday"},
      {"multiprocessors: 4", "multiprocessors: 4.5",
       "gpus/toy-1.yaml:26: specification.multiprocessors: expected a number from 0 to 100000, "
       "found 4.5"},
      {"multiprocessors: 4", "multiprocessors: -4",
       "gpus/toy-1.yaml:26: specification.multiprocessors: expected a number from 0 to 100000, "
       "found -4"},
      {"memory_gb_per_s: 10.5", "memory_gb_per_s: nan",
       "gpus/toy-1.yaml:27: specification.memory_gb_per_s: expected a number from 0 to 1000000, "
       "found nan"},
      {"capability: 9.0", "capability: 9",
       "gpus/toy-1.yaml:25: specification.compute_capability: expected a capability such as 9.0, "
       "or none, found 9"},
      {"device_total:\n", "device_total: 1024 MiB\nx:\n",
       "gpus/toy-1.yaml:6: unknown key x; expected id, name, vendor, aliases, device_total, "
       "cuda_visible, context or specification"},
      {"specification:\n", "specification: 1\nname:\n", "gpus/toy-1.yaml:23: second name"},
  };
  for (const BadCard& c : cases) {
    EXPECT_EQ(CardError(With(c.from, c.to)), c.error) << c.from << " -> " << c.to;
  }
}

TEST(ParseGpuYamlTest, WhatIsNoMapping) {
  EXPECT_EQ(CardError(""), "gpus/toy-1.yaml:1: expected one YAML document, found 0");
  EXPECT_EQ(CardError("- 1\n- 2\n"), "gpus/toy-1.yaml:1: expected a mapping");
  EXPECT_EQ(CardError(std::string(kCard) + "---\nid: toy-1\n"),
            "gpus/toy-1.yaml:1: expected one YAML document, found 2");
  EXPECT_EQ(CardError("? [a]\n: b\n"), "gpus/toy-1.yaml:1: expected a word as the key");
}

TEST(ParseGpuYamlTest, WhatIsNoYaml) {
  EXPECT_EQ(CardError("id: toy-1\nname: [a\n"),
            "gpus/toy-1.yaml:3: expected YAML: end of sequence flow not found");
  EXPECT_EQ(CardError("id: *nowhere\n"),
            "gpus/toy-1.yaml:1: expected YAML: the referenced anchor is not defined");
  EXPECT_EQ(CardError("id: \"\\x\"\n").substr(0, 33), "gpus/toy-1.yaml:2: expected YAML:");
  EXPECT_NE(CardError(std::string(100'000, '[')), "parsed") << "deep nesting must not overflow";
  EXPECT_NE(CardError(std::string("\0\xff\xfe", 3)), "parsed");
}

TEST(ParseGpuYamlTest, EveryTruncationIsAnError) {
  // Cutting inside the last line leaves a shorter value, which may still be one.
  const size_t last_line = kCard.rfind("  date");
  for (size_t size = 0; size < last_line; ++size) {
    EXPECT_NE(CardError(kCard.substr(0, size)), "parsed") << size;
  }
}

TEST(ParseNodeYamlTest, ReadsAndRefuses) {
  const std::string good =
      "id: toy\nnuma_of_gpu: [0, 1]\nbasis: measured\nsource: topo\ndate: 2026-11-29\n";
  const Result<NodeSpec> node = ParseNodeYaml(good, "nodes/toy.yaml");
  ASSERT_TRUE(node) << node.error().ToString();
  EXPECT_EQ(node->id, "toy");
  EXPECT_EQ(node->numa_of_gpu, (std::vector<int>{0, 1}));
  EXPECT_EQ(node->basis, Basis::kMeasured);
  EXPECT_EQ(node->source, "topo (2026-11-29)");

  EXPECT_EQ(NodeError("id: toy\nnuma: [0]\n"),
            "nodes/toy.yaml:2: unknown key numa; did you mean numa_of_gpu?");
  EXPECT_EQ(NodeError("id: toy\nnuma_of_gpu: []\n"),
            "nodes/toy.yaml:2: numa_of_gpu: expected a list of 1 to 64 NUMA nodes, one a card, "
            "found a list");
  EXPECT_EQ(NodeError("id: toy\nnuma_of_gpu: [0, -1]\n"),
            "nodes/toy.yaml:2: numa_of_gpu: expected a number from 0 to 63, found -1");
  EXPECT_EQ(NodeError("id: toy\nnuma_of_gpu: [0, x]\n"),
            "nodes/toy.yaml:2: numa_of_gpu: expected a number from 0 to 63, found x");
}

}  // namespace
}  // namespace shardplan::internal
