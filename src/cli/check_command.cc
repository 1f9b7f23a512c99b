// shardplan check command: what is wrong with this command, before anything starts?
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/command.h"
#include "cli/context.h"
#include "cli/from_command.h"
#include "cli/output_options.h"
#include "engine/sglang/profile.h"
#include "engine/vllm/profile.h"
#include "plan/cluster_use.h"
#include "plan/prepare.h"
#include "plan/request.h"
#include "preflight/command_check.h"
#include "shardplan/plan/plan.h"
#include "shardplan/report/findings.h"

namespace shardplan::cli {
namespace {

struct CheckOptions {
  std::string command;
  DeploymentOptions what;
  OutputOptions output;
};

// The release whose flags count: as given, or the newest with rules.
std::string VersionFor(const ConfigStore& store, const Deployment& deployment) {
  if (!deployment.engine_version.empty()) return deployment.engine_version;
  const std::vector<std::string> known =
      deployment.engine == "sglang" ? sglang::ProfileVersions(store) : vllm::ProfileVersions(store);
  return known.empty() ? "" : known.back();
}

// Here the command is an argument.
Error OfCommand(Error error) {
  constexpr std::string_view kOption = "--from-command";
  if (error.subject.starts_with(kOption)) error.subject.replace(0, kOption.size(), "COMMAND");
  return error;
}

Result<Answer> Run(const CheckOptions& options, const OptionSet& set) {
  if (options.command.empty()) {
    return Fail(ErrorCode::kUsage, "COMMAND", "expected a command that serves, found none",
                "shardplan check command 'vllm serve MODEL …'");
  }
  SHARDPLAN_ASSIGN_OR_RETURN(const ConfigStore store, LoadStore(options.output));
  DeploymentOptions what = options.what;
  CommandUnderCheck under;
  Result<CommandReading> read = ReadCommand(options.command, store, set, &under.problems, &what);
  if (!read) return tl::unexpected(OfCommand(std::move(read).error()));
  CommandReading reading = *std::move(read);
  under.text = options.command;
  under.table = &reading.table;
  under.repeated = std::move(reading.repeated);
  under.deployment = &what.deployment;
  under.version = VersionFor(store, what.deployment);
  under.version_given = !what.deployment.engine_version.empty();
  std::optional<Catalog> catalog;
  std::optional<GpuSpec> gpu;
  if (!what.deployment.gpu.empty() || what.deployment.cluster) {
    SHARDPLAN_ASSIGN_OR_RETURN(catalog, LoadCatalog(store, what.deployment));
    SHARDPLAN_ASSIGN_OR_RETURN(gpu, CardFor(*catalog, what.deployment));
    under.gpu = &*gpu;
    under.catalog = &*catalog;
  }
  std::optional<Model> model;
  if (!what.model.empty()) {
    SHARDPLAN_ASSIGN_OR_RETURN(model, LoadModelOf(what));
    under.arch = &model->arch;
  }
  std::optional<Plan> plan;
  if (model && gpu) {
    Result<Plan> made = EvaluatePlan(*model, *catalog, store, what.deployment);
    if (made) {
      plan = std::move(*made);
      under.plan = &*plan;
    } else {
      under.not_planned = std::move(made).error();
    }
  } else if (model) {
    if (auto finding = CheckStoredQuantization(*model, what.deployment)) {
      what.deployment.findings.push_back(*std::move(finding));
    }
    Result<std::vector<Finding>> told = CheckSpeculation(*model, what.deployment);
    if (told) {
      std::vector<Finding>& findings = what.deployment.findings;
      findings.insert(findings.end(), told->begin(), told->end());
    } else {
      under.not_planned = std::move(told).error();
    }
  }
  CheckReport report;
  report.subject = options.command;
  SHARDPLAN_ASSIGN_OR_RETURN(report.findings, CheckCommandText(store, under));
  return Answer{RenderCheck(report, options.output.format, WantsColor(options.output)),
                HasError(report.findings) ? kExitNo : kExitYes, options.output.file};
}

}  // namespace

Command AddCheckCommand(CLI::App* group) {
  const auto options = std::make_shared<CheckOptions>();
  CLI::App* const app = AddSubcommand(
      group, "command",
      "Whether a command that serves will start: its flags, values, contradictions, defaults and "
      "known issues\n\n"
      "Examples:\n"
      "  shardplan check command 'vllm serve moonshotai/Kimi-K3 -tp 16 --swap-space 4'\n"
      "  shardplan check command 'vllm serve moonshotai/Kimi-K3 -tp 16' /models/Kimi-K3 \\\n"
      "      --gpu h20-141 --engine vllm@0.31.0 --driver 570.195.03",
      "Exit code: 0 clean, 1 a finding is an error, 2 usage, 3 bad input, 4 I/O.");
  const auto set = std::make_shared<OptionSet>(app);
  set->Positional("COMMAND",
                  "'ENV=… vllm serve MODEL --flag …' or 'python3 -m "
                  "sglang.launch_server …', quoted",
                  &options->command);
  AddDeploymentOptions(set.get(), &options->what);
  AddOutputOptions(set.get(), &options->output);
  return {app, set, [options, set] { return Run(*options, *set); }};
}

}  // namespace shardplan::cli
