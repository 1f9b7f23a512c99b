// shardplan standin: a checkpoint with true headers and no payload.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/context.h"
#include "cli/deployment_options.h"
#include "cli/terminal.h"
#include "shardplan/base/file.h"
#include "shardplan/base/suggest.h"
#include "shardplan/base/units.h"
#include "shardplan/checkpoint/inventory.h"
#include "shardplan/checkpoint/standin.h"
#include "shardplan/model/family.h"
#include "shardplan/model/stand_in.h"
#include "shardplan/report/standin.h"

namespace shardplan::cli {
namespace {

struct StandinOptions {
  std::string source;
  std::string directory;
  Assumptions assumptions;
};

// A checkpoint with headers is copied; from a config alone, the family says what it would hold.
Result<StandInPlan> PlanFor(const StandinOptions& options) {
  OpenOptions open;
  open.threads = ReaderThreads();
  SHARDPLAN_ASSIGN_OR_RETURN(const Inventory inventory, OpenCheckpoint(options.source, open));
  if (inventory.has_headers) return PlanStandInFrom(inventory);
  if (inventory.config_path.empty()) {
    return Fail(ErrorCode::kInvalidInput, Printable(options.source),
                "expected shards or a config.json, found neither",
                "put the model's config.json beside the index");
  }
  SHARDPLAN_ASSIGN_OR_RETURN(std::string config,
                             ReadTextFile(inventory.config_path, Bytes(16 * kMiB)));
  std::string sidecar;  // ModelOpt's quantization, beside the config
  if (!inventory.quant_config_path.empty()) {
    SHARDPLAN_ASSIGN_OR_RETURN(sidecar,
                               ReadTextFile(inventory.quant_config_path, Bytes(16 * kMiB)));
  }
  SHARDPLAN_ASSIGN_OR_RETURN(
      const ModelSpec spec,
      BuildModelSpec(config, Printable(inventory.config_path), options.assumptions, sidecar,
                     Printable(inventory.quant_config_path)));
  SHARDPLAN_ASSIGN_OR_RETURN(StandInPlan plan, PlanStandIn(spec, std::move(config)));
  if (!sidecar.empty()) plan.files.push_back({"hf_quant_config.json", std::move(sidecar)});
  return plan;
}

Result<Answer> Run(const StandinOptions& options) {
  if (options.source.empty() || options.directory.empty()) {
    return Fail(ErrorCode::kUsage, options.source.empty() ? "CONFIG_OR_MODEL" : "DIR",
                options.source.empty() ? "expected a config.json or a model, found none"
                                       : "expected a directory to write, found none",
                "shardplan standin CONFIG_OR_MODEL DIR");
  }
  const ProgressNote note("writing " + options.directory);
  SHARDPLAN_ASSIGN_OR_RETURN(const StandInPlan plan, PlanFor(options));
  SHARDPLAN_ASSIGN_OR_RETURN(const StandInReport report, WriteStandIn(plan, options.directory));
  return Answer{RenderStandInReport(report, options.directory), kExitYes, ""};
}

}  // namespace

Command AddStandinCommand(CLI::App* parent) {
  const auto options = std::make_shared<StandinOptions>();
  CLI::App* const app =
      AddSubcommand(parent, "standin",
                    "Write a sparse stand-in checkpoint: true headers, holes for payloads\n\n"
                    "Examples:\n"
                    "  shardplan standin Kimi-K3/config.json /tmp/k3\n"
                    "  shardplan standin /models/DeepSeek-V3 /tmp/v3");
  const auto set = std::make_shared<OptionSet>(app);
  set->Positional("CONFIG_OR_MODEL", "A config.json, or a checkpoint whose headers are copied",
                  &options->source);
  set->Positional("DIR", "Where to write; must be empty or not be there", &options->directory);
  AddAssumeOption(set.get(), &options->assumptions);
  set->Value("--draft-method", "METHOD",
             "The config is a draft's, for this method of --speculative-config: eagle, eagle3, "
             "medusa, dflash or dspark. Heads often carry the name of a whole model",
             [options](const std::string& text) -> Status {
               static const std::vector<std::string> methods = {"eagle", "eagle3", "medusa",
                                                                "dflash", "dspark"};
               if (std::find(methods.begin(), methods.end(), text) == methods.end()) {
                 return Fail(ErrorCode::kUsage, "--draft-method " + Printable(text),
                             "expected " + JoinWithOr(methods));
               }
               options->assumptions.draft_method = text;
               return {};
             });
  return {app, set, [options] { return Run(*options); }};
}

}  // namespace shardplan::cli
