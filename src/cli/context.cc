#include "cli/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "cli/log.h"
#include "cli/terminal.h"
#include "shardplan/hardware/cluster_spec.h"

namespace shardplan::cli {
namespace {

Status CheckGpu(const Catalog& catalog, const std::string& gpu) {
  if (!gpu.empty()) {
    if (auto found = catalog.FindGpu(gpu); !found) return tl::unexpected(std::move(found).error());
    return {};
  }
  std::vector<std::string> ids;
  for (const GpuSpec& known : catalog.gpus()) ids.push_back(known.id);
  return Fail(ErrorCode::kUsage, "--gpu", "expected the card to plan for, found none",
              fmt::format("give one of {}, or --cluster FILE", fmt::join(ids, ", ")));
}

Status CheckCards(const Catalog& catalog, const ClusterSpec& cluster) {
  for (const NodeKind& kind : cluster.kinds) {
    for (const CardSpec& card : kind.cards) {
      if (auto found = ResolveCard(catalog, card); !found) {
        return tl::unexpected(std::move(found).error());
      }
    }
  }
  return {};
}

}  // namespace

Result<ConfigStore> LoadStore(const OutputOptions& output) {
  if (output.configs.empty()) return ConfigStore::BuiltIn();
  return ConfigStore::WithOverrides(output.configs);
}

Status CheckModelGiven(const std::string& model, std::string_view usage) {
  if (!model.empty()) return {};
  return Fail(ErrorCode::kUsage, "MODEL", "expected a model directory or file, found none",
              fmt::format("it comes right after the command: shardplan {}", usage));
}

int ReaderThreads() {
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 8U));
}

Result<Catalog> LoadCatalog(const ConfigStore& store, const Deployment& deployment) {
  const ClusterSpec* const cluster = deployment.cluster.get();
  SHARDPLAN_ASSIGN_OR_RETURN(Catalog catalog, cluster == nullptr
                                                  ? Catalog::LoadFor(store, deployment.gpu)
                                                  : Catalog::Load(store));
  if (cluster == nullptr) {
    SHARDPLAN_RETURN_IF_ERROR(CheckGpu(catalog, deployment.gpu));
  } else {
    SHARDPLAN_RETURN_IF_ERROR(CheckCards(catalog, *cluster));
  }
  Log(fmt::format("catalogue: {} cards, {} servers", catalog.gpus().size(),
                  catalog.nodes().size()));
  return catalog;
}

Result<Model> LoadModelOf(const DeploymentOptions& options) {
  OpenOptions open;
  open.threads = ReaderThreads();
  const ProgressNote note("reading " + options.model);
  SHARDPLAN_ASSIGN_OR_RETURN(Model model, LoadModel(options.model, options.assumptions, open));
  ApplyPrecision(options.precision, &model);
  Log(fmt::format("model: {} tensors in {} shards, family {}", model.totals.tensors,
                  model.inventory.shards.size(), model.arch.family));
  return model;
}

bool SameModel(const DeploymentOptions& a, const DeploymentOptions& b) {
  return a.model == b.model && a.assumptions == b.assumptions && a.precision == b.precision;
}

Result<Context> LoadContext(const DeploymentOptions& options, const OutputOptions& output) {
  SHARDPLAN_RETURN_IF_ERROR(CheckModelGiven(options.model, "plan MODEL --gpu ID"));
  SHARDPLAN_ASSIGN_OR_RETURN(ConfigStore store, LoadStore(output));
  SHARDPLAN_ASSIGN_OR_RETURN(Catalog catalog, LoadCatalog(store, options.deployment));
  SHARDPLAN_ASSIGN_OR_RETURN(Model model, LoadModelOf(options));
  return Context{std::move(store), std::move(catalog), std::move(model)};
}

}  // namespace shardplan::cli
