// shardplan plan: does this deployment fit?
#include <memory>

#include "cli/command.h"
#include "cli/context.h"
#include "cli/log.h"
#include "cli/output_options.h"
#include "shardplan/plan/plan.h"
#include "shardplan/report/plan_json.h"
#include "shardplan/report/plan_table.h"

namespace shardplan::cli {
namespace {

struct PlanOptions {
  DeploymentOptions what;
  OutputOptions output;
};

std::string Render(const Plan& plan, const OutputOptions& output) {
  switch (output.format) {
    case Format::kJson:
      return RenderPlanJson(plan);
    case Format::kYaml:
      return RenderPlanYaml(plan);
    case Format::kTable:
      break;
  }
  TableOptions options;
  options.color = WantsColor(output);
  options.verbose = output.verbose;
  return RenderPlanTable(plan, options);
}

Result<Answer> Run(const PlanOptions& options) {
  SHARDPLAN_ASSIGN_OR_RETURN(const Context context, LoadContext(options.what, options.output));
  SHARDPLAN_ASSIGN_OR_RETURN(const Plan plan, EvaluatePlan(context.model, context.catalog,
                                                           context.store, options.what.deployment));
  Log("planned");
  return Answer{Render(plan, options.output), plan.verdict == Verdict::kFits ? kExitYes : kExitNo,
                options.output.file};
}

}  // namespace

Command AddPlanCommand(CLI::App* parent) {
  const auto options = std::make_shared<PlanOptions>();
  CLI::App* const app = parent->add_subcommand(
      "plan",
      "Does this deployment fit? Memory per card, KV capacity, verdict and launch commands\n\n"
      "Examples:\n"
      "  shardplan plan /models/Kimi-K3 --gpu h20-96 --tp 8 --pp 2 --pp-partition 48,45 \\\n"
      "      --max-model-len 512K --max-num-seqs 1 --cpu-offload-gb 32 \\\n"
      "      --cpu-offload-params w13_weight,w2_weight --language-model-only\n"
      "  shardplan plan DeepSeek-V3/config.json --gpu h20-141 --tp 8 --format json");
  app->footer("Exit code: 0 fits, 1 does not fit or illegal layout, 2 usage, 3 bad input, 4 I/O.");
  const auto set = std::make_shared<OptionSet>(app);
  AddDeploymentOptions(set.get(), &options->what);
  AddOutputOptions(set.get(), &options->output);
  return {app, set, [options] { return Run(*options); }};
}

}  // namespace shardplan::cli
