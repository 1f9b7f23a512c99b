// shardplan catalog: what the tool knows.
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/context.h"
#include "cli/output_options.h"
#include "engine/sglang/profile.h"
#include "engine/vllm/profile.h"
#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"
#include "shardplan/hardware/cluster.h"
#include "shardplan/plan/known_issues.h"
#include "shardplan/report/catalog.h"

namespace shardplan::cli {
namespace {

struct CatalogOptions {
  std::string kind;
  OutputOptions output;
};

// Releases of one engine and how their rules are known.
template <typename Load>
Status ListReleases(const char* engine, const std::vector<std::string>& versions, const Load& load,
                    std::vector<EngineListing>* out) {
  for (const std::string& version : versions) {
    SHARDPLAN_ASSIGN_OR_RETURN(const auto profile, load(version));
    EngineListing listing{engine, version};
    listing.from_source = profile.CountOf(Evidence::kSource);
    listing.from_logs = profile.CountOf(Evidence::kLog);
    listing.assumed = profile.CountOf(Evidence::kAssumed);
    listing.newest = version == versions.back();
    out->push_back(std::move(listing));
  }
  return {};
}

Result<std::vector<EngineListing>> ListEngines(const ConfigStore& store) {
  std::vector<EngineListing> engines;
  std::vector<Finding> unused;
  SHARDPLAN_RETURN_IF_ERROR(ListReleases(
      "vllm", vllm::ProfileVersions(store),
      [&](const std::string& version) { return vllm::LoadProfile(store, version, &unused); },
      &engines));
  SHARDPLAN_RETURN_IF_ERROR(ListReleases(
      "sglang", sglang::ProfileVersions(store),
      [&](const std::string& version) { return sglang::LoadProfile(store, version, &unused); },
      &engines));
  return engines;
}

Result<std::string> List(const CatalogOptions& options) {
  static const std::vector<std::string> kinds = {"gpus", "nodes", "engines", "families", "issues"};
  const std::string& kind = options.kind;
  if (kind.empty()) {
    return Fail(ErrorCode::kUsage, "KIND", "expected what to list, found none",
                "give " + JoinWithOr(kinds));
  }
  SHARDPLAN_ASSIGN_OR_RETURN(const ConfigStore store, LoadStore(options.output));
  const Format format = options.output.format;
  if (kind == "families") return RenderFamilies(Families(), format);
  if (kind == "issues") {
    SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<KnownIssue> issues, LoadKnownIssues(store));
    return RenderIssues(issues, format);
  }
  if (kind == "engines") {
    SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<EngineListing> engines, ListEngines(store));
    return RenderEngines(engines, format);
  }
  if (kind == "gpus" || kind == "nodes") {
    SHARDPLAN_ASSIGN_OR_RETURN(const Catalog catalog, Catalog::Load(store));
    return kind == "gpus" ? RenderGpus(catalog.gpus(), format)
                          : RenderNodes(catalog.nodes(), format);
  }
  const std::vector<std::string> close = CloseNames(kind, kinds);
  return Fail(ErrorCode::kUsage, Printable(kind), "expected " + JoinWithOr(kinds),
              close.empty() ? "" : "did you mean " + JoinWithOr(close) + "?");
}

Result<Answer> Run(const CatalogOptions& options) {
  SHARDPLAN_ASSIGN_OR_RETURN(std::string text, List(options));
  return Answer{std::move(text), kExitYes, options.output.file};
}

}  // namespace

Command AddCatalogCommand(CLI::App* parent) {
  const auto options = std::make_shared<CatalogOptions>();
  CLI::App* const app = AddSubcommand(parent, "catalog",
                                      "List the cards, servers, engine versions, model "
                                      "families and issues that are known\n\n"
                                      "Examples:\n"
                                      "  shardplan catalog gpus\n"
                                      "  shardplan catalog families --format json");
  const auto set = std::make_shared<OptionSet>(app);
  set->Positional("KIND", "gpus, nodes, engines, families or issues", &options->kind);
  AddOutputOptions(set.get(), &options->output);
  return {app, set, [options] { return Run(*options); }};
}

}  // namespace shardplan::cli
