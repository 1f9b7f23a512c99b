#include "hardware/driver_table.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "hardware/yaml_mapping.h"

namespace shardplan {
namespace {

using internal::Mapping;
using internal::Place;

constexpr const char* kFile = "drivers.yaml";

// Numbers between dots, up to the first thing that is none.
std::vector<int64_t> NumbersOf(std::string_view text) {
  std::vector<int64_t> out;
  while (!text.empty()) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0) break;
    out.push_back(number);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty() || text[0] != '.') break;
    text.remove_prefix(1);
  }
  return out;
}

Result<std::string> Version(const Mapping& map, std::string_view key) {
  SHARDPLAN_ASSIGN_OR_RETURN(std::string text, map.Text(key));
  if (text.find_first_not_of("0123456789.") != std::string::npos) {
    return map.Expected(key, *map.Get(key), "a version such as 575.51.03");
  }
  return text;
}

Result<YAML::Node> ListOf(const Mapping& map, std::string_view key) {
  SHARDPLAN_ASSIGN_OR_RETURN(YAML::Node node, map.Get(key));
  if (!node.IsSequence()) return map.Expected(key, node, "a list");
  return node;
}

}  // namespace

int CompareDotted(std::string_view a, std::string_view b) {
  const std::vector<int64_t> x = NumbersOf(a);
  const std::vector<int64_t> y = NumbersOf(b);
  for (size_t i = 0; i < x.size() || i < y.size(); ++i) {
    const int64_t l = i < x.size() ? x[i] : 0;
    const int64_t r = i < y.size() ? y[i] : 0;
    if (l != r) return l < r ? -1 : 1;
  }
  return 0;
}

Result<DriverTable> DriverTable::Load(const ConfigStore& store) {
  SHARDPLAN_ASSIGN_OR_RETURN(const std::string_view text, store.Get(kFile));
  const std::string origin = store.Origin(kFile);
  return Parse(text, origin == "built in" ? kFile : origin);
}

Result<DriverTable> DriverTable::Parse(std::string_view text, const std::string& file) {
  return internal::ReadDocument<DriverTable>(
      text, file, [](const Place& place, const YAML::Node& document) -> Result<DriverTable> {
        static const std::vector<std::string> kKeys = {"toolkits", "images"};
        static const std::vector<std::string> kToolkit = {"cuda", "driver", "oldest", "source",
                                                          "date"};
        static const std::vector<std::string> kImage = {"engine", "since", "cuda", "source",
                                                        "date"};
        SHARDPLAN_ASSIGN_OR_RETURN(const Mapping map, Mapping::Read(place, document, "", kKeys));
        DriverTable out;
        SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node toolkits, ListOf(map, "toolkits"));
        for (const YAML::Node& node : toolkits) {
          SHARDPLAN_ASSIGN_OR_RETURN(const Mapping entry,
                                     Mapping::Read(place, node, "toolkits", kToolkit));
          Toolkit toolkit;
          SHARDPLAN_ASSIGN_OR_RETURN(toolkit.cuda, Version(entry, "cuda"));
          SHARDPLAN_ASSIGN_OR_RETURN(toolkit.driver, Version(entry, "driver"));
          SHARDPLAN_ASSIGN_OR_RETURN(toolkit.oldest, Version(entry, "oldest"));
          SHARDPLAN_ASSIGN_OR_RETURN(toolkit.source, entry.DatedSource());
          out.toolkits_.push_back(std::move(toolkit));
        }
        SHARDPLAN_ASSIGN_OR_RETURN(const YAML::Node images, ListOf(map, "images"));
        for (const YAML::Node& node : images) {
          SHARDPLAN_ASSIGN_OR_RETURN(const Mapping entry,
                                     Mapping::Read(place, node, "images", kImage));
          Image image;
          SHARDPLAN_ASSIGN_OR_RETURN(image.engine, entry.Text("engine"));
          SHARDPLAN_ASSIGN_OR_RETURN(image.since, Version(entry, "since"));
          SHARDPLAN_ASSIGN_OR_RETURN(image.cuda, Version(entry, "cuda"));
          SHARDPLAN_ASSIGN_OR_RETURN(image.source, entry.DatedSource());
          if (out.ToolkitOf(image.cuda) == nullptr) {
            return entry.Expected("cuda", *entry.Get("cuda"), "one of the toolkits above");
          }
          out.images_.push_back(std::move(image));
        }
        return out;
      });
}

const DriverTable::Image* DriverTable::ImageOf(std::string_view engine,
                                               std::string_view version) const {
  const Image* newest = nullptr;
  for (const Image& image : images_) {
    if (image.engine != engine || CompareDotted(version, image.since) < 0) continue;
    if (newest == nullptr || CompareDotted(newest->since, image.since) < 0) newest = &image;
  }
  return newest;
}

const DriverTable::Toolkit* DriverTable::ToolkitOf(std::string_view cuda) const {
  for (const Toolkit& toolkit : toolkits_) {
    if (CompareDotted(toolkit.cuda, cuda) == 0) return &toolkit;
  }
  return nullptr;
}

}  // namespace shardplan
