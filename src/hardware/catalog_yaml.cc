#include "hardware/catalog_yaml.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "hardware/yaml_mapping.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan::internal {
namespace {

constexpr double kFastestGbPerS = 1e6;
constexpr int kMostMultiprocessors = 100'000;
constexpr int kMostCards = 1024;
constexpr size_t kMostGpusPerNode = 64;
constexpr int kMostNumaNodes = 64;

// "9.0" → 90, "10.3" → 103, "none" → 0.
Result<int> ReadCapability(const Mapping& specification) {
  constexpr std::string_view kKey = "compute_capability";
  SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, specification.Get(kKey));
  const std::string text = node.IsScalar() ? node.Scalar() : "";
  if (text == "none") return 0;
  const size_t point = text.find('.');
  int major = 0;
  const char* const stop = text.data() + (point == std::string::npos ? 0 : point);
  const auto [end, error] = std::from_chars(text.data(), stop, major);
  if (error != std::errc() || end != stop || major < 1 || major > 99 || text.size() != point + 2 ||
      text.back() < '0' || text.back() > '9') {
    return specification.Expected(kKey, node, "a capability such as 9.0, or none");
  }
  return major * 10 + (text.back() - '0');
}

Status ReadSpecification(const Mapping& card, GpuSpec& out) {
  static const std::vector<std::string> kKeys = {"cards_per_node",
                                                 "nvlink_domain",
                                                 "nominal_gb",
                                                 "compute_capability",
                                                 "multiprocessors",
                                                 "memory_gb_per_s",
                                                 "nvlink_gb_per_s",
                                                 "pcie_gb_per_s",
                                                 "basis",
                                                 "source",
                                                 "date"};
  SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, card.Get("specification"));
  SHARDPLAN_ASSIGN_OR_RETURN(const Mapping map,
                             Mapping::Read(card.place(), node, "specification", kKeys));
  SHARDPLAN_ASSIGN_OR_RETURN(out.cards_per_node, map.Count("cards_per_node", kMostCards));
  if (node["nvlink_domain"]) {
    SHARDPLAN_ASSIGN_OR_RETURN(out.nvlink_domain, map.Count("nvlink_domain", kMostCards));
  }
  SHARDPLAN_ASSIGN_OR_RETURN(out.nominal_gb, map.Count("nominal_gb", kFastestGbPerS));
  SHARDPLAN_ASSIGN_OR_RETURN(out.capability, ReadCapability(map));
  SHARDPLAN_ASSIGN_OR_RETURN(out.multiprocessors,
                             map.Count("multiprocessors", kMostMultiprocessors));
  SHARDPLAN_ASSIGN_OR_RETURN(out.memory_gb_per_s, map.Count("memory_gb_per_s", kFastestGbPerS));
  SHARDPLAN_ASSIGN_OR_RETURN(out.nvlink_gb_per_s, map.Count("nvlink_gb_per_s", kFastestGbPerS));
  SHARDPLAN_ASSIGN_OR_RETURN(out.pcie_gb_per_s, map.Count("pcie_gb_per_s", kFastestGbPerS));
  SHARDPLAN_ASSIGN_OR_RETURN(out.specification_basis, map.BasisOf("basis"));
  SHARDPLAN_ASSIGN_OR_RETURN(out.specification_source, map.DatedSource());
  return {};
}

// The id, which must be the file's name (`stem`): --configs replaces files by name, so two files
// cannot claim one id. An empty stem takes any.
Result<std::string> ReadId(const Mapping& map, const std::string& stem) {
  SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, map.Get("id"));
  SHARDPLAN_ASSIGN_OR_RETURN(std::string id, map.Word("id", node));
  if (!stem.empty() && id != stem)
    return map.Expected("id", node, Printable(stem) + ", as the file is named");
  return id;
}

// What GpuSpec promises about its capacities.
Status CheckCapacities(const Mapping& card, const GpuSpec& gpu) {
  const auto fail = [&](std::string_view what, Bytes a, Bytes b) {
    return card.place().Fail(card.mark(), fmt::format("expected {}, found {} and {}", what,
                                                      FormatBytes(a), FormatBytes(b)));
  };
  const Range& total = gpu.device_total.bytes;
  const Range& visible = gpu.cuda_visible.bytes;
  if (visible.high > total.low) {
    return fail("cuda_visible to be at most device_total", visible.high, total.low);
  }
  if (gpu.context.bytes.high >= visible.low) {
    return fail("context to be less than cuda_visible", gpu.context.bytes.high, visible.low);
  }
  return {};
}

Result<NodeSpec> ReadNode(const Place& place, const YAML::Node& node) {
  static const std::vector<std::string> kKeys = {"id", "numa_of_gpu", "basis", "source", "date"};
  SHARDPLAN_ASSIGN_OR_RETURN(const Mapping map, Mapping::Read(place, node, "", kKeys));
  NodeSpec out;
  SHARDPLAN_ASSIGN_OR_RETURN(out.id, ReadId(map, place.Stem()));
  SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node numa, map.Get("numa_of_gpu"));
  if (!numa.IsSequence() || numa.size() == 0 || numa.size() > kMostGpusPerNode) {
    return map.Expected("numa_of_gpu", numa,
                        fmt::format("a list of 1 to {} NUMA nodes, one a card", kMostGpusPerNode));
  }
  for (const auto& entry : numa) {
    SHARDPLAN_ASSIGN_OR_RETURN(const int of_gpu,
                               map.Count("numa_of_gpu", entry, kMostNumaNodes - 1));
    out.numa_of_gpu.push_back(of_gpu);
  }
  SHARDPLAN_ASSIGN_OR_RETURN(out.basis, map.BasisOf("basis"));
  SHARDPLAN_ASSIGN_OR_RETURN(out.source, map.DatedSource());
  return out;
}

}  // namespace

Result<GpuSpec> ReadGpu(const Place& place, const YAML::Node& node, const std::string& stem) {
  static const std::vector<std::string> kKeys = {"id",      "name",         "vendor",
                                                 "aliases", "device_total", "cuda_visible",
                                                 "context", "specification"};
  SHARDPLAN_ASSIGN_OR_RETURN(const Mapping map, Mapping::Read(place, node, "", kKeys));
  GpuSpec gpu;
  SHARDPLAN_ASSIGN_OR_RETURN(gpu.id, ReadId(map, stem));
  SHARDPLAN_ASSIGN_OR_RETURN(gpu.name, map.Text("name"));
  SHARDPLAN_ASSIGN_OR_RETURN(gpu.vendor, map.Text("vendor"));
  if (gpu.vendor != "nvidia" && gpu.vendor != "amd") {
    return map.Expected("vendor", *map.Get("vendor"), "nvidia or amd");
  }
  if (map.Has("aliases")) {
    SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node aliases, map.Get("aliases"));
    if (!aliases.IsSequence()) return map.Expected("aliases", aliases, "a list");
    for (const auto& alias : aliases) {
      SHARDPLAN_ASSIGN_OR_RETURN(std::string word, map.Word("aliases", alias));
      gpu.aliases.push_back(std::move(word));
    }
  }
  SHARDPLAN_ASSIGN_OR_RETURN(gpu.device_total, ReadSourcedBytes(map, "device_total"));
  SHARDPLAN_ASSIGN_OR_RETURN(gpu.cuda_visible, ReadSourcedBytes(map, "cuda_visible"));
  SHARDPLAN_ASSIGN_OR_RETURN(gpu.context, ReadSourcedBytes(map, "context"));
  SHARDPLAN_RETURN_IF_ERROR(ReadSpecification(map, gpu));
  SHARDPLAN_RETURN_IF_ERROR(CheckCapacities(map, gpu));
  return gpu;
}

Result<GpuSpec> ParseGpuYaml(std::string_view text, const std::string& file) {
  return ReadDocument<GpuSpec>(text, file, [](const Place& place, const YAML::Node& node) {
    return ReadGpu(place, node, place.Stem());
  });
}

Result<NodeSpec> ParseNodeYaml(std::string_view text, const std::string& file) {
  return ReadDocument<NodeSpec>(text, file, ReadNode);
}

}  // namespace shardplan::internal
