// shardplan plan: does this deployment fit?
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/context.h"
#include "cli/from_command.h"
#include "cli/log.h"
#include "cli/output_options.h"
#include "cli/sweep_options.h"
#include "shardplan/plan/plan.h"
#include "shardplan/report/plan_json.h"
#include "shardplan/report/plan_table.h"
#include "shardplan/report/sweep.h"

namespace shardplan::cli {
namespace {

struct PlanOptions {
  DeploymentOptions what;
  OutputOptions output;
  std::vector<std::string> sweep;  // --sweep, unread
};

TableOptions TableOptionsOf(const OutputOptions& output) {
  TableOptions options;
  options.color = WantsColor(output);
  options.verbose = output.verbose;
  return options;
}

std::string Render(const Plan& plan, const OutputOptions& output) {
  switch (output.format) {
    case Format::kJson:
      return RenderPlanJson(plan);
    case Format::kYaml:
      return RenderPlanYaml(plan);
    case Format::kTable:
      break;
  }
  return RenderPlanTable(plan, TableOptionsOf(output));
}

std::string Render(const Sweep& sweep, const OutputOptions& output) {
  switch (output.format) {
    case Format::kJson:
      return RenderSweepJson(sweep);
    case Format::kYaml:
      return RenderSweepYaml(sweep);
    case Format::kTable:
      break;
  }
  return RenderSweepTable(sweep, TableOptionsOf(output));
}

// An option that the engine does not have would make all cells the same.
Status CheckAxes(const std::vector<Axis>& axes, const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    if (finding.id != "engine.foreign_option") continue;
    for (const Axis& axis : axes) {
      if (("," + finding.subject + ",").find("--" + axis.option + ",") == std::string::npos)
        continue;
      return Fail(ErrorCode::kUsage, "--sweep " + axis.option, finding.message, finding.fix);
    }
  }
  return {};
}

// The model is read once; a point of the grid costs arithmetic alone.
Result<Answer> RunSweep(const PlanOptions& options, const OptionSet& set) {
  SHARDPLAN_RETURN_IF_ERROR(CheckModelGiven(options.what.model, "plan MODEL --gpu ID"));
  SHARDPLAN_ASSIGN_OR_RETURN(SweepRequest request, ParseSweep(options.sweep));
  SHARDPLAN_ASSIGN_OR_RETURN(const std::vector<VariantOptions> points,
                             MakeVariants(options.what, set, request.axes, kMostCells));
  SHARDPLAN_ASSIGN_OR_RETURN(const Context context, LoadContext(options.what, options.output));
  Sweep sweep;
  sweep.axes = std::move(request.as_numbers);
  bool all_fit = true;
  std::optional<Error> refused;
  size_t answered = 0;
  FigureEvaluator evaluator(context.model, context.catalog, context.store);
  bool titled = false;
  for (const VariantOptions& point : points) {
    const Result<Plan> plan = evaluator.Evaluate(point.what.deployment);
    // A value may be wrong at one point only: a window that is shorter than the output, say.
    if (!plan && plan.error().code != ErrorCode::kUsage) return tl::unexpected(plan.error());
    if (plan) {
      if (answered == 0) SHARDPLAN_RETURN_IF_ERROR(CheckAxes(request.axes, plan->findings));
      ++answered;
      // An illegal plan has no stages to tell.
      if (!titled) sweep.title = SweepTitle(*plan, sweep.axes);
      titled = titled || plan->verdict != Verdict::kIllegal;
      sweep.cells.push_back(MakeSweepCell(*plan));
    } else {
      if (!refused) refused = plan.error();
      SweepCell cell;
      cell.reason = plan.error().ToString();
      sweep.cells.push_back(std::move(cell));
    }
    all_fit = all_fit && sweep.cells.back().verdict == Verdict::kFits;
  }
  if (answered == 0) return tl::unexpected(*refused);
  Log(fmt::format("swept {} cells", points.size()));
  return Answer{Render(sweep, options.output), all_fit ? kExitYes : kExitNo, options.output.file};
}

Result<Answer> Run(const PlanOptions& options, const OptionSet& set) {
  if (!options.sweep.empty()) return RunSweep(options, set);
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
  CLI::App* const app = AddSubcommand(
      parent, "plan",
      "Does this deployment fit? Memory per card, KV capacity, verdict and launch commands\n\n"
      "Examples:\n"
      "  shardplan plan /models/Kimi-K3 --gpu h20-96 --tp 8 --pp 2 --pp-partition 48,45 \\\n"
      "      --max-model-len 512K --max-num-seqs 1 --cpu-offload-gb 32 \\\n"
      "      --cpu-offload-params w13_weight,w2_weight --language-model-only\n"
      "  shardplan plan DeepSeek-V3/config.json --gpu h20-141 --tp 8 --format json\n"
      "  shardplan plan DeepSeek-V3/config.json --gpu h20-141 --tp 8 \\\n"
      "      --sweep max-model-len=32K,64K,128K --sweep max-num-batched-tokens=2K,8K,16K\n"
      "  shardplan plan /models/Kimi-K3 --gpu h20-141 \\\n"
      "      --from-command 'vllm serve moonshotai/Kimi-K3 -tp 16 --max-model-len 128K'",
      "Exit code: 0 fits, 1 does not fit or illegal layout, 2 usage, 3 bad input, 4 I/O.\n"
      "Of a sweep: 0 where every cell fits.");
  const auto set = std::make_shared<OptionSet>(app);
  AddDeploymentOptions(set.get(), &options->what);
  AddFromCommand(set.get(), &options->what);
  set->Repeated("--sweep", "OPTION=A,B,…",
                "A table over values of a numeric option, without its dashes; two make a matrix",
                [options](const std::string& text) -> Status {
                  options->sweep.push_back(text);
                  return {};
                });
  AddOutputOptions(set.get(), &options->output);
  return {app, set, [options, set] { return Run(*options, *set); }};
}

}  // namespace shardplan::cli
