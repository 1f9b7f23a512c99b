#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "hardware/catalog_yaml.h"
#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"
#include "shardplan/hardware/cluster.h"

namespace shardplan {
namespace {

constexpr std::string_view kBuiltIn = "built in";

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool IsCalled(const GpuSpec& gpu, std::string_view lower) {
  return Lower(gpu.name) == lower ||
         std::find(gpu.aliases.begin(), gpu.aliases.end(), lower) != gpu.aliases.end();
}

// How errors name a file: by its path where it has one.
std::string FileName(const ConfigStore& store, const std::string& name) {
  std::string origin = store.Origin(name);
  return origin == kBuiltIn ? name : origin;
}

// The ids of the cards whose id or alias is close to `lower`.
std::vector<std::string> CloseIds(const std::vector<GpuSpec>& gpus, std::string_view lower) {
  std::vector<std::string> names;
  for (const GpuSpec& gpu : gpus) {
    names.push_back(gpu.id);
    names.insert(names.end(), gpu.aliases.begin(), gpu.aliases.end());
  }
  std::vector<std::string> ids;
  for (const std::string& name : CloseNames(lower, names, 6)) {
    for (const GpuSpec& gpu : gpus) {
      const bool known = std::find(ids.begin(), ids.end(), gpu.id) != ids.end();
      if (!known && ids.size() < 4 && (gpu.id == name || IsCalled(gpu, name))) {
        ids.push_back(gpu.id);
      }
    }
  }
  return ids;
}

}  // namespace

Result<Catalog> Catalog::Load(const ConfigStore& store) {
  return LoadFiles(store, store.List("gpus/"));
}

Result<Catalog> Catalog::LoadFor(const ConfigStore& store, std::string_view gpu) {
  const std::string file = fmt::format("gpus/{}.yaml", gpu);
  if (store.Get(file)) return LoadFiles(store, {file});
  return Load(store);
}

Result<Catalog> Catalog::LoadFiles(const ConfigStore& store,
                                   const std::vector<std::string>& gpu_files) {
  Catalog catalog;
  for (const std::string& name : gpu_files) {
    SHARDPLAN_ASSIGN_OR_RETURN(const std::string_view text, store.Get(name));
    SHARDPLAN_ASSIGN_OR_RETURN(GpuSpec gpu, internal::ParseGpuYaml(text, FileName(store, name)));
    catalog.gpus_.push_back(std::move(gpu));
  }
  std::vector<std::pair<bool, NodeSpec>> nodes;
  for (const std::string& name : store.List("nodes/")) {
    SHARDPLAN_ASSIGN_OR_RETURN(const std::string_view text, store.Get(name));
    SHARDPLAN_ASSIGN_OR_RETURN(NodeSpec node, internal::ParseNodeYaml(text, FileName(store, name)));
    nodes.emplace_back(store.Origin(name) == kBuiltIn, std::move(node));
  }
  const auto by_id = [](const auto& a, const auto& b) { return a.id < b.id; };
  std::sort(catalog.gpus_.begin(), catalog.gpus_.end(), by_id);
  std::sort(nodes.begin(), nodes.end(),
            [&](const auto& a, const auto& b) { return by_id(a.second, b.second); });
  for (const bool built_in : {false, true}) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].first != built_in) continue;
      catalog.preset_of_size_.emplace(nodes[i].second.numa_of_gpu.size(), i);
    }
  }
  for (auto& [built_in, node] : nodes) catalog.nodes_.push_back(std::move(node));
  return catalog;
}

Result<GpuSpec> Catalog::FindGpu(std::string_view id) const {
  const std::string lower = Lower(id);
  std::vector<const GpuSpec*> meanings;
  for (const GpuSpec& gpu : gpus_) {
    if (gpu.id == lower) return gpu;
    if (IsCalled(gpu, lower)) meanings.push_back(&gpu);
  }
  if (meanings.size() == 1) return *meanings[0];
  if (meanings.empty()) {
    const std::vector<std::string> close = CloseIds(gpus_, lower);
    return Fail(
        ErrorCode::kUsage, id.empty() ? "gpu" : Printable(id),
        id.empty() ? "expected a card, found an empty name" : "no such card in the catalogue",
        close.empty() ? "shardplan catalog gpus lists them"
                      : "did you mean " + JoinWithOr(close) + "?");
  }
  std::vector<std::string> names;
  for (const GpuSpec* gpu : meanings) names.push_back(fmt::format("{} ({})", gpu->id, gpu->name));
  return Fail(ErrorCode::kUsage, Printable(id), "names more than one card",
              "say which: " + JoinWithOr(names));
}

NodeSpec Catalog::NodeFor(int gpus_per_node) const {
  const size_t size = static_cast<size_t>(std::max(gpus_per_node, 0));
  if (const auto it = preset_of_size_.find(size); it != preset_of_size_.end()) {
    return nodes_[it->second];
  }
  NodeSpec flat;
  flat.id = fmt::format("flat-{}", size);
  flat.numa_of_gpu.assign(size, 0);
  flat.source = fmt::format("no preset for {} cards a node: every card on NUMA node 0", size);
  return flat;
}

}  // namespace shardplan
