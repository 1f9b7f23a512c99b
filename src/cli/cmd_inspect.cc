// shardplan inspect: what the checkpoint holds.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/context.h"
#include "cli/log.h"
#include "cli/output_options.h"
#include "shardplan/layout/layout.h"
#include "shardplan/plan/inspection.h"
#include "shardplan/report/inspection.h"

namespace shardplan::cli {
namespace {

struct InspectOptions {
  DeploymentOptions what;  // the model and what is assumed of it
  StageRequest stages;
  OutputOptions output;
};

std::string Render(const Inspection& inspection, const OutputOptions& output) {
  switch (output.format) {
    case Format::kJson:
      return RenderInspectionJson(inspection);
    case Format::kYaml:
      return RenderInspectionYaml(inspection);
    case Format::kTable:
      break;
  }
  return RenderInspectionTable(inspection, output.verbose);
}

Result<Answer> Run(const InspectOptions& options) {
  SHARDPLAN_RETURN_IF_ERROR(CheckModelGiven(options.what.model, "inspect MODEL"));
  SHARDPLAN_ASSIGN_OR_RETURN(const Model model, LoadModelOf(options.what));
  SHARDPLAN_ASSIGN_OR_RETURN(const Inspection inspection, Inspect(model, options.stages));
  Log("inspected");
  return Answer{Render(inspection, options.output), kExitYes, options.output.file};
}

}  // namespace

Command AddInspectCommand(CLI::App* parent) {
  const auto options = std::make_shared<InspectOptions>();
  CLI::App* const app =
      AddSubcommand(parent, "inspect",
                    "What a checkpoint holds: roles, dtypes, layers, largest tensors, integrity\n\n"
                    "Examples:\n"
                    "  shardplan inspect /models/Kimi-K3\n"
                    "  shardplan inspect /models/Kimi-K3 --pp-partition 48,45\n"
                    "  shardplan inspect DeepSeek-V3/config.json --format json",
                    "Exit code: 0 read and sound, 2 usage, 3 corrupt or contradictory, 4 I/O.");
  const auto set = std::make_shared<OptionSet>(app);
  set->Positional("MODEL",
                  "A model directory, a model.safetensors.index.json, a .safetensors file or a "
                  "config.json",
                  &options->what.model);
  set->Group("What is shown");
  set->Count("--pp,--pipeline-parallel-size", "Profile of this many pipeline stages", 1,
             [options](int64_t n) { options->stages.stages = n; });
  set->Value("--pp-partition", "N,N,…", "Layers of each stage (default: vLLM's own split)",
             [options](const std::string& text) -> Status {
               SHARDPLAN_ASSIGN_OR_RETURN(options->stages.partition, ParsePartition(text));
               return {};
             });
  AddAssumeOption(set.get(), &options->what.assumptions);
  AddOutputOptions(set.get(), &options->output);
  return {app, set, [options] { return Run(*options); }};
}

}  // namespace shardplan::cli
