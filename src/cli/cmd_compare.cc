// shardplan compare: several variants of one deployment side by side.
#include <fmt/format.h>

#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/context.h"
#include "cli/from_command.h"
#include "cli/log.h"
#include "cli/output_options.h"
#include "cli/variants.h"
#include "shardplan/plan/plan.h"
#include "shardplan/report/comparison.h"

namespace shardplan::cli {
namespace {

struct CompareOptions {
  DeploymentOptions what;
  OutputOptions output;
  std::vector<std::string> engines;  // --engine, as often as it is given
  std::vector<std::string> vary;     // --vary, unread
};

// Models and catalogues of the variants. What several of them share is read once.
class Inputs {
 public:
  explicit Inputs(ConfigStore store) : store_(std::move(store)) {}

  const ConfigStore& store() const { return store_; }

  Result<const Catalog*> CatalogFor(const DeploymentOptions& what) {
    for (const auto& [gpu, catalog] : catalogs_) {
      if (gpu == what.deployment.gpu) return &catalog;
    }
    SHARDPLAN_ASSIGN_OR_RETURN(Catalog catalog, LoadCatalog(store_, what.deployment));
    return &catalogs_.emplace_back(what.deployment.gpu, std::move(catalog)).second;
  }

  Result<const Model*> ModelFor(const DeploymentOptions& what) {
    for (const auto& [known, model] : models_) {
      if (SameModel(known, what)) return &model;
    }
    SHARDPLAN_ASSIGN_OR_RETURN(Model model, LoadModelOf(what));
    return &models_.emplace_back(what, std::move(model)).second;
  }

 private:
  ConfigStore store_;
  std::list<std::pair<std::string, Catalog>> catalogs_;  // lists: what is in them stays in place
  std::list<std::pair<DeploymentOptions, Model>> models_;
};

Result<std::vector<Axis>> AxesOf(const CompareOptions& options) {
  SHARDPLAN_ASSIGN_OR_RETURN(std::vector<Axis> axes, ParseAxes(options.engines, options.vary));
  if (options.vary.empty() && options.engines.size() < 2) {
    return Fail(ErrorCode::kUsage, "compare", "expected several variants, found one deployment",
                "give --vary OPTION=A,B,… or --engine more than once");
  }
  return axes;
}

std::string Render(const std::vector<Variant>& variants, const OutputOptions& output) {
  switch (output.format) {
    case Format::kJson:
      return RenderComparisonJson(variants);
    case Format::kYaml:
      return RenderComparisonYaml(variants);
    case Format::kTable:
      break;
  }
  TableOptions options;
  options.color = WantsColor(output);
  options.verbose = output.verbose;
  return RenderComparisonTable(variants, options);
}

Result<Answer> Run(const CompareOptions& options, const OptionSet& set) {
  SHARDPLAN_RETURN_IF_ERROR(
      CheckModelGiven(options.what.model, "compare MODEL --gpu ID --vary OPTION=A,B"));
  SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<Axis> axes, AxesOf(options));
  SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<VariantOptions> wanted,
                             MakeVariants(options.what, set, axes));
  SHARDPLAN_ASSIGN_OR_RETURN(ConfigStore store, LoadStore(options.output));
  Inputs inputs(std::move(store));
  // Wrong cards are told before a model is read.
  for (const VariantOptions& variant : wanted) {
    SHARDPLAN_RETURN_IF_ERROR(inputs.CatalogFor(variant.what));
  }
  std::vector<Variant> variants;
  bool all_fit = true;
  for (const VariantOptions& variant : wanted) {
    SHARDPLAN_ASSIGN_OR_RETURN(const Catalog* const catalog, inputs.CatalogFor(variant.what));
    SHARDPLAN_ASSIGN_OR_RETURN(const Model* const model, inputs.ModelFor(variant.what));
    SHARDPLAN_ASSIGN_OR_RETURN(
        Plan plan, EvaluatePlan(*model, *catalog, inputs.store(), variant.what.deployment));
    all_fit = all_fit && plan.verdict == Verdict::kFits;
    variants.push_back({variant.options, std::move(plan)});
  }
  Log(fmt::format("compared {} variants", variants.size()));
  return Answer{Render(variants, options.output), all_fit ? kExitYes : kExitNo,
                options.output.file};
}

}  // namespace

Command AddCompareCommand(CLI::App* parent) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App* const app = AddSubcommand(
      parent, "compare",
      "Several variants of one deployment side by side: verdicts, memory, KV capacity\n\n"
      "Examples:\n"
      "  shardplan compare /models/Kimi-K3 --gpu h20-141 --vary tensor-parallel-size=8,16\n"
      "  shardplan compare /models/Kimi-K3 --gpu h20-96 --tp 8 --pp 2 --cpu-offload-gb 32 \\\n"
      "      --vary 'pp-partition=48,45;47,46' --vary max-num-batched-tokens=2048,8192\n"
      "  shardplan compare DeepSeek-V3/config.json --gpu h20-141 --tp 8 \\\n"
      "      --engine vllm@0.28.0 --engine vllm@0.31.0",
      "Values are separated by commas, or by semicolons where there is one: then commas belong to "
      "the\nvalues. Flags take true and false. Several --vary make every combination, 16 at "
      "most.\n\n"
      "Exit code: 0 all fit, 1 one does not fit or is illegal, 2 usage, 3 bad input, 4 I/O.");
  const auto set = std::make_shared<OptionSet>(app);
  set->Group("What is compared");
  set->Repeated("--vary", "OPTION=A,B,…",
                "Any option below, without its dashes, and its values; repeated: every combination",
                [options](const std::string& text) -> Status {
                  options->vary.push_back(text);
                  return {};
                });
  AddDeploymentOptions(set.get(), &options->what);
  AddFromCommand(set.get(), &options->what);
  set->Collect("engine", &options->engines);
  AddOutputOptions(set.get(), &options->output);
  return {app, set, [options, set] { return Run(*options, *set); }};
}

}  // namespace shardplan::cli
