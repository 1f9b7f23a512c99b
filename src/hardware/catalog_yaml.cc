#include "hardware/catalog_yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"
#include "shardplan/base/units.h"

namespace shardplan::internal {
namespace {

constexpr double kFastestGbPerS = 1e6;
constexpr int kMostMultiprocessors = 100'000;
constexpr int kMostCards = 1024;
constexpr size_t kMostGpusPerNode = 64;
constexpr int kMostNumaNodes = 64;

// Where a file is being read, for errors.
class Place {
 public:
  explicit Place(const std::string& file) : file_(file) {}

  tl::unexpected<Error> Fail(const YAML::Mark& mark, std::string message,
                             std::string hint = "") const {
    return shardplan::Fail(ErrorCode::kInvalidInput,
                           fmt::format("{}:{}", Printable(file_), mark.line + 1),
                           std::move(message), std::move(hint));
  }

  // "h20-96" of "configs/gpus/h20-96.yaml".
  std::string Stem() const {
    const std::string name = BaseName(file_);
    return name.substr(0, name.rfind('.'));
  }

 private:
  std::string file_;
};

// A mapping all of whose keys are known and none of which is there twice.
class Mapping {
 public:
  // `name` is how errors call it: empty for the document, else "cuda_visible".
  static Result<Mapping> Read(const Place& place, const YAML::Node& node, std::string name,
                              const std::vector<std::string>& known) {
    if (!node.IsMap()) {
      return place.Fail(node.Mark(), (name.empty() ? "" : name + ": ") + "expected a mapping");
    }
    Mapping out(place, node, std::move(name));
    for (const auto& entry : node) {
      const YAML::Mark mark = entry.first.Mark();
      if (!entry.first.IsScalar()) return place.Fail(mark, "expected a word as the key");
      const std::string& key = entry.first.Scalar();
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        const std::vector<std::string> close = CloseNames(key, known);
        return place.Fail(mark, "unknown key " + out.Name(Printable(key)),
                          close.empty() ? "expected " + JoinWithOr(known)
                                        : "did you mean " + JoinWithOr(close) + "?");
      }
      if (out.Find(key) != nullptr) return place.Fail(mark, "second " + out.Name(key));
      out.entries_.push_back({key, mark, entry.second});
    }
    return out;
  }

  bool Has(std::string_view key) const { return Find(key) != nullptr; }

  // The value of a key, or an error that it is missing.
  Result<YAML::Node> Get(std::string_view key) const {
    if (const Entry* entry = Find(key)) return entry->value;
    return place_->Fail(node_.Mark(), "missing key " + Name(key));
  }

  Result<std::string> Text(std::string_view key) const {
    SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, Get(key));
    if (!node.IsScalar() || node.Scalar().empty()) return Expected(key, node, "a text");
    return node.Scalar();
  }

  // Lower-case letters, digits, dots and hyphens: what --gpu takes.
  Result<std::string> Word(std::string_view key, const YAML::Node& node) const {
    const bool word = node.IsScalar() && !node.Scalar().empty() &&
                      node.Scalar().find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-") ==
                          std::string::npos;
    if (!word) return Expected(key, node, "lower-case letters, digits, dots and hyphens");
    return node.Scalar();
  }

  // A number from 0 up to `most`.
  template <typename Number>
  Result<Number> Count(std::string_view key, const YAML::Node& node, Number most) const {
    const std::string text = node.IsScalar() ? node.Scalar() : "";
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() ||
        !(value >= 0 && value <= most)) {
      return Expected(key, node, fmt::format("a number from 0 to {}", most));
    }
    return value;
  }
  template <typename Number>
  Result<Number> Count(std::string_view key, Number most) const {
    SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, Get(key));
    return Count(key, node, most);
  }

  Result<Bytes> Size(std::string_view key) const {
    SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, Get(key));
    const Result<Bytes> size = ParseBytes(node.IsScalar() ? node.Scalar() : "");
    if (!size) return Expected(key, node, "a byte size with a unit, such as 97871 MiB");
    return *size;
  }

  Result<Basis> BasisOf(std::string_view key) const {
    SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, Get(key));
    const Result<Basis> basis = ParseBasis(node.IsScalar() ? node.Scalar() : "");
    if (!basis) return Expected(key, node, "exact, derived, measured or assumed");
    return *basis;
  }

  // The source with the date it was looked at: "data sheet (2026-11-29)".
  Result<std::string> DatedSource() const {
    SHARDPLAN_ASSIGN_OR_RETURN(const std::string source, Text("source"));
    SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, Get("date"));
    const std::string date = node.IsScalar() ? node.Scalar() : "";
    bool good = date.size() == 10;
    for (size_t i = 0; good && i < date.size(); ++i) {
      good = i == 4 || i == 7 ? date[i] == '-' : date[i] >= '0' && date[i] <= '9';
    }
    if (!good) return Expected("date", node, "a date such as 2026-11-29");
    return fmt::format("{} ({})", source, date);
  }

  tl::unexpected<Error> Expected(std::string_view key, const YAML::Node& node,
                                 std::string_view what) const {
    const std::string found = node.IsScalar()     ? Printable(node.Scalar(), 60)
                              : node.IsSequence() ? "a list"
                              : node.IsMap()      ? "a mapping"
                                                  : "nothing";
    // yaml-cpp marks a value that is not there where the next one begins.
    const Entry* const entry = Find(key);
    const YAML::Mark mark = node.IsNull() && entry != nullptr ? entry->mark : node.Mark();
    return place_->Fail(mark, fmt::format("{}: expected {}, found {}", Name(key), what,
                                          found.empty() ? "an empty text" : found));
  }

  std::string Name(std::string_view key) const {
    return name_.empty() ? std::string(key) : fmt::format("{}.{}", name_, key);
  }
  const Place& place() const { return *place_; }
  YAML::Mark mark() const { return node_.Mark(); }

 private:
  struct Entry {
    std::string key;
    YAML::Mark mark;
    YAML::Node value;
  };

  Mapping(const Place& place, const YAML::Node& node, std::string name)
      : place_(&place), node_(node), name_(std::move(name)) {}

  const Entry* Find(std::string_view key) const {
    for (const Entry& entry : entries_) {
      if (entry.key == key) return &entry;
    }
    return nullptr;
  }

  const Place* place_;
  YAML::Node node_;
  std::string name_;
  std::vector<Entry> entries_;
};

// {value} or {low, central, high}, with basis, source and date.
Result<SourcedBytes> ReadSourcedBytes(const Mapping& card, std::string_view key) {
  static const std::vector<std::string> kKeys = {"value", "low",    "central", "high",
                                                 "basis", "source", "date"};
  SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, card.Get(key));
  SHARDPLAN_ASSIGN_OR_RETURN(const Mapping map,
                             Mapping::Read(card.place(), node, std::string(key), kKeys));
  SourcedBytes out;
  if (map.Has("value")) {
    if (map.Has("low") || map.Has("central") || map.Has("high")) {
      return card.place().Fail(
          map.mark(), fmt::format("{}: expected either value or low, central and high", key));
    }
    SHARDPLAN_ASSIGN_OR_RETURN(const Bytes value, map.Size("value"));
    out.bytes = Range(value);
  } else {
    SHARDPLAN_ASSIGN_OR_RETURN(out.bytes.low, map.Size("low"));
    SHARDPLAN_ASSIGN_OR_RETURN(out.bytes.central, map.Size("central"));
    SHARDPLAN_ASSIGN_OR_RETURN(out.bytes.high, map.Size("high"));
    if (out.bytes.low > out.bytes.central || out.bytes.central > out.bytes.high) {
      return card.place().Fail(
          map.mark(), fmt::format("{}: expected low <= central <= high, found {}, {} and {}", key,
                                  FormatBytes(out.bytes.low), FormatBytes(out.bytes.central),
                                  FormatBytes(out.bytes.high)));
    }
  }
  SHARDPLAN_ASSIGN_OR_RETURN(out.basis, map.BasisOf("basis"));
  SHARDPLAN_ASSIGN_OR_RETURN(out.source, map.DatedSource());
  return out;
}

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

// The id, which must be the file's name: --configs replaces files by name, so two files cannot
// claim one id.
Result<std::string> ReadId(const Mapping& map) {
  SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node node, map.Get("id"));
  SHARDPLAN_ASSIGN_OR_RETURN(std::string id, map.Word("id", node));
  const std::string stem = map.place().Stem();
  if (id != stem) return map.Expected("id", node, Printable(stem) + ", as the file is named");
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

Result<GpuSpec> ReadGpu(const Place& place, const YAML::Node& node) {
  static const std::vector<std::string> kKeys = {"id",      "name",         "vendor",
                                                 "aliases", "device_total", "cuda_visible",
                                                 "context", "specification"};
  SHARDPLAN_ASSIGN_OR_RETURN(const Mapping map, Mapping::Read(place, node, "", kKeys));
  GpuSpec gpu;
  SHARDPLAN_ASSIGN_OR_RETURN(gpu.id, ReadId(map));
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

Result<NodeSpec> ReadNode(const Place& place, const YAML::Node& node) {
  static const std::vector<std::string> kKeys = {"id", "numa_of_gpu", "basis", "source", "date"};
  SHARDPLAN_ASSIGN_OR_RETURN(const Mapping map, Mapping::Read(place, node, "", kKeys));
  NodeSpec out;
  SHARDPLAN_ASSIGN_OR_RETURN(out.id, ReadId(map));
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

// Reads the one document of `text` with `read`.
template <typename Spec>
Result<Spec> ReadDocument(std::string_view text, const std::string& file,
                          Result<Spec> (*read)(const Place&, const YAML::Node&)) {
  const Place place(file);
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.size() != 1) {
      return place.Fail(YAML::Mark(),
                        fmt::format("expected one YAML document, found {}", documents.size()));
    }
    return read(place, documents[0]);
  } catch (const YAML::Exception& e) {
    return place.Fail(e.mark, "expected YAML: " + Printable(e.msg));
  }
}

}  // namespace

Result<GpuSpec> ParseGpuYaml(std::string_view text, const std::string& file) {
  return ReadDocument<GpuSpec>(text, file, ReadGpu);
}

Result<NodeSpec> ParseNodeYaml(std::string_view text, const std::string& file) {
  return ReadDocument<NodeSpec>(text, file, ReadNode);
}

}  // namespace shardplan::internal
