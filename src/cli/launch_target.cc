#include "cli/launch_target.h"

#include <memory>
#include <utility>

#include "cli/context.h"
#include "cli/from_command.h"
#include "cli/terminal.h"
#include "shardplan/base/file.h"
#include "shardplan/plan/plan.h"
#include "shardplan/report/launch.h"
#include "shardplan/report/plan_json.h"
#include "shardplan/report/plan_table.h"

namespace shardplan::cli {
namespace {

struct LaunchOptions {
  DeploymentOptions what;
  OutputOptions output;
  LaunchSite site;
  bool force = false;
};

void AddSiteOptions(OptionSet* set, LaunchOptions* out) {
  LaunchSite* const site = &out->site;
  set->Group("Where it will run");
  set->Text("--name", "NAME", "Name of the deployment (default: the model's)",
            [site](std::string text) { site->name = std::move(text); });
  set->Text("--model-path", "DIR", "Where the checkpoint lies on every node (default: MODEL)",
            [site](std::string text) { site->model_path = std::move(text); });
  set->Repeated("--host", "NAME", "Host of a node, in order; once for each",
                [site](const std::string& text) -> Status {
                  site->hosts.push_back(text);
                  return {};
                });
  set->Text("--master-addr", "ADDR", "Address of node 0 on the network of the ranks",
            [site](std::string text) { site->master_addr = std::move(text); });
  set->Text("--socket-ifname", "NAME", "Interface for NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME",
            [site](std::string text) { site->socket_ifname = std::move(text); });
  set->Text("--ib-hca", "LIST", "Adapters for NCCL_IB_HCA: mlx5_0,mlx5_1",
            [site](std::string text) { site->ib_hca = std::move(text); });
  set->Count("--ib-gid-index", "Index for NCCL_IB_GID_INDEX: of RoCE v2", 0,
             [site](int64_t index) { site->gid_index = index; });
  set->Count("--port", "Port of the API (default: 8000)", 1,
             [site](int64_t port) { site->port = port; });
  set->Text("--api-host", "ADDR", "Address that the API listens on (default: 127.0.0.1)",
            [site](std::string text) { site->api_host = std::move(text); });
  set->Flag("--force", "Write the files of a plan that does not fit as well",
            [out] { out->force = true; });
}

Result<Answer> Run(const LaunchTarget& target, const LaunchOptions& options) {
  const bool to_stdout = options.output.file.empty() || options.output.file == "-";
  if (target.needs_directory && to_stdout) {
    return Fail(ErrorCode::kUsage, "-o", "expected a new directory for the files, found none",
                "they are too long to print");
  }
  SHARDPLAN_ASSIGN_OR_RETURN(const Context context, LoadContext(options.what, options.output));
  Deployment deployment = options.what.deployment;
  if (!options.site.model_path.empty()) deployment.settings.served_model = options.site.model_path;
  SHARDPLAN_ASSIGN_OR_RETURN(
      const Plan plan, EvaluatePlan(context.model, context.catalog, context.store, deployment));
  const ExitCode code = plan.verdict == Verdict::kFits ? kExitYes : kExitNo;
  const bool refused = plan.verdict == Verdict::kIllegal || plan.launch.empty() ||
                       (target.needs_fit && code == kExitNo && !options.force);
  if (refused) {
    PrintError("nothing is written: " + VerdictLine(plan));
    return Answer{"", kExitNo, ""};
  }
  SHARDPLAN_ASSIGN_OR_RETURN(Bundle bundle,
                             target.make(LaunchInput{plan, context.model, options.site}));
  bundle.files.push_back({"plan.json", RenderPlanJson(plan), false});
  if (to_stdout) {
    return Answer{RenderLaunch(target.name, bundle, options.output.format), code, ""};
  }
  SHARDPLAN_RETURN_IF_ERROR(WriteBundle(bundle, options.output.file));
  return Answer{RenderLaunchReport(target.name, bundle, options.output.file, options.output.format),
                code, ""};
}

}  // namespace

Command AddLaunchTarget(CLI::App* group, LaunchTarget target) {
  const auto options = std::make_shared<LaunchOptions>();
  CLI::App* const app = group->add_subcommand(target.name, target.description);
  app->footer(
      std::string(target.needs_directory
                      ? ""
                      : "Without -o, the files are printed and nothing is written.\n") +
      "Exit code: 0 written, 1 does not fit or illegal layout, 2 usage, 3 bad input, 4 I/O.");
  const auto set = std::make_shared<OptionSet>(app);
  AddDeploymentOptions(set.get(), &options->what);
  AddFromCommand(set.get(), &options->what);
  AddSiteOptions(set.get(), options.get());
  if (target.add_options) target.add_options(set.get());
  AddOutputOptions(set.get(), &options->output, "DIR",
                   "Write the files into DIR, which must be empty or not be there");
  return {app, set, [options, target = std::move(target)] { return Run(target, *options); }};
}

CLI::App* AddLaunchGroup(CLI::App* parent) {
  return parent->add_subcommand(
      "launch",
      "Write what starts the deployment: scripts, containers, manifests, file lists\n\n"
      "Examples:\n"
      "  shardplan launch commands /models/Kimi-K3 --gpu h20-141 --tp 8 --pp 2\n"
      "  shardplan launch commands /models/Kimi-K3 --gpu h20-141 --tp 8 --pp 2 -o deploy/");
}

}  // namespace shardplan::cli
