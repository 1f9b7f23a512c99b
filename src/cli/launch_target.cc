#include "cli/launch_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cli/context.h"
#include "cli/draft_place.h"
#include "cli/from_command.h"
#include "cli/terminal.h"
#include "engine/command_findings.h"
#include "engine/flag_table.h"
#include "launch/node_launch.h"
#include "launch/secrets.h"
#include "launch/serve_command.h"
#include "report/review_sheet.h"
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
  std::string draft_path;
  bool force = false;
};

void AddSiteOptions(OptionSet* set, LaunchOptions* out) {
  LaunchSite* const site = &out->site;
  set->Group("Where it will run");
  set->Text("--name", "NAME", "Name of the deployment (default: the model's)",
            [site](std::string text) { site->name = std::move(text); });
  set->Text("--model-path", "DIR", "Where the checkpoint lies on every node (default: MODEL)",
            [site](std::string text) { site->model_path = std::move(text); });
  set->Text("--draft-path", "DIR",
            "Where the draft lies there, or its ORG/NAME (default: as given)",
            [out](std::string text) { out->draft_path = std::move(text); });
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
  set->Value("--fabric", "roce|infiniband|socket",
             "What carries the traffic between nodes (default: roce)",
             [site](const std::string& text) -> Status {
               if (text == "roce") {
                 site->fabric = Fabric::kRoce;
               } else if (text == "infiniband") {
                 site->fabric = Fabric::kInfiniband;
               } else if (text == "socket") {
                 site->fabric = Fabric::kSocket;
               } else {
                 return Fail(ErrorCode::kUsage, text, "expected roce, infiniband or socket");
               }
               return {};
             });
  set->Count("--port", "Port of the API (default: 8000)", 1,
             [site](int64_t port) { site->port = port; });
  set->Text("--api-host", "ADDR", "Address that the API listens on (default: 127.0.0.1)",
            [site](std::string text) { site->api_host = std::move(text); });
  set->Flag(
      "--force",
      "Write the files of a plan that does not fit, and flags that the version lacks, as well",
      [out] { out->force = true; });
}

// The directory of a checkpoint that is named by it or by a file in it; empty where that is no
// absolute path, which nodes would not find.
std::string DirectoryOf(const std::string& model) {
  if (!model.starts_with('/')) return "";
  const std::string base = BaseName(model);
  if (!base.ends_with(".json") && !base.ends_with(".safetensors")) return model;
  const std::string parent = model.substr(0, model.size() - base.size() - 1);
  return parent.empty() ? "/" : parent;
}

// Clients call the model by the word that is served. Where that becomes a directory of the nodes,
// the word of a pasted command stays its name.
void KeepName(const LaunchSite& site, EngineSettings* settings) {
  constexpr const char* kFlag = "--served-model-name";
  const std::optional<std::string>& served = settings->served_model;
  if (!served || *served == site.model_path) return;
  const bool named = std::any_of(settings->command_flags.begin(), settings->command_flags.end(),
                                 [](const GivenFlag& flag) { return flag.name == kFlag; });
  if (named) return;
  settings->extra_arguments.emplace_back(kFlag);
  settings->extra_arguments.push_back(*served);
}

// Keys and tokens on the line would stand in every file.
Status RefuseSecrets(const DeploymentOptions& what) {
  for (const auto& variable : what.deployment.settings.env) {
    const std::string& name = variable.first;
    if (!LooksSecret(name)) continue;
    return Fail(ErrorCode::kUsage, "--env " + Printable(name),
                "expected no key or token: its value would stand in the files",
                "leave it out, and set it in the environment of the nodes");
  }
  return {};
}

// The image that will run, before the plan is made: known issues ask for its CUDA.
void PlaceImage(const LaunchTarget& target, Deployment* deployment, LaunchSite* site) {
  site->engine_version = deployment->engine_version;
  site->image = deployment->image;
  site->image_digest = deployment->image_digest;
  if (!target.image) return;
  const std::string given = target.image();
  if (!given.empty()) deployment->cuda = CudaOfTag(TagOf(given));
}

// What a pasted command says of where its processes meet. Addresses and ports are taken over;
// engines that balance their load themselves are not written.
void PlaceProcesses(const LaunchTarget& target, Deployment* deployment, LaunchSite* site) {
  const auto plain = [](const std::string& text) {
    return !text.empty() && text != "localhost" && !text.starts_with("127.") && text != "::1" &&
           text.find_first_of("$<>{} /[]") == std::string::npos;
  };
  std::string address;
  for (const GivenFlag& flag : deployment->settings.command_flags) {
    std::string value = flag.value;
    if (flag.name == "--dist-init-addr") {
      const size_t colon = value.rfind(':');
      if (colon == std::string::npos) continue;
      const std::string port = value.substr(colon + 1);
      value.resize(colon);
      const bool bracketed = value.starts_with('[') && value.ends_with(']');
      if (bracketed) value = value.substr(1, value.size() - 2);
      if (!plain(value) || !plain(port)) continue;
      site->ports.emplace_back(flag.name, port);
    }
    if (flag.name == "--master-addr" || flag.name == "--data-parallel-address" ||
        flag.name == "--dist-init-addr") {
      if (plain(value)) address = value;
    } else if (flag.name == "--master-port" || flag.name == "--data-parallel-rpc-port") {
      if (plain(value)) site->ports.emplace_back(flag.name, value);
    } else if ((flag.name == "--data-parallel-hybrid-lb" ||
                flag.name == "--data-parallel-external-lb" ||
                flag.name == "--data-parallel-multi-port-external-lb") &&
               value != "false") {
      deployment->findings.push_back(
          {"launch.load_balancing", Severity::kWarning, flag.name,
           "is left out: the files start one API, on node 0, which spreads requests over all "
           "replicas",
           "clients of the other nodes' APIs have to ask node 0"});
    }
  }
  if (site->master_addr.empty() && site->hosts.empty() && !target.finds_master) {
    site->master_addr = address;
  }
}

// Where the engine gets the model on the nodes: from --model-path, by what a pasted command serves,
// or from MODEL itself; a relative one is asked for when it starts.
void PlaceModel(const LaunchOptions& options, Deployment* deployment, LaunchSite* site) {
  std::optional<std::string>& served = deployment->settings.served_model;
  if (!site->model_path.empty()) {
    KeepName(*site, &deployment->settings);
    served = site->model_path;
  } else if (served) {
    site->model_path = served->starts_with('/') ? *served : "";
  } else {
    site->model_path = DirectoryOf(options.what.model);
    served = site->model_path.empty() ? "<MODEL_PATH>" : site->model_path;
  }
}

// What the version would refuse of the commands that the files hold, each told once.
Result<std::vector<Finding>> CheckCommands(const Plan& plan, const std::string& version,
                                           const ConfigStore& store, const Bundle& bundle) {
  SHARDPLAN_ASSIGN_OR_RETURN(const FlagTable table, FlagTable::Load(store, plan.engine));
  std::vector<std::vector<std::string>> commands = bundle.commands;
  if (commands.empty()) {
    for (const LaunchPlan& launch : plan.launch) commands.push_back(launch.argv);
  }
  std::vector<Finding> findings;
  for (const std::vector<std::string>& argv : commands) {
    for (Finding& finding : CheckEmitted(table, version, argv)) {
      const bool told = std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
        return f.id == finding.id && f.subject == finding.subject;
      });
      if (!told) findings.push_back(std::move(finding));
    }
  }
  return findings;
}

Result<Answer> Run(const LaunchTarget& target, const LaunchOptions& options,
                   const std::vector<std::string>& line) {
  const bool to_stdout = options.output.file.empty() || options.output.file == "-";
  if (target.needs_directory && to_stdout) {
    return Fail(ErrorCode::kUsage, "-o", "expected a new directory for the files, found none",
                "they are too long to print");
  }
  SHARDPLAN_ASSIGN_OR_RETURN(const Context context, LoadContext(options.what, options.output));
  SHARDPLAN_RETURN_IF_ERROR(RefuseSecrets(options.what));
  Deployment deployment = options.what.deployment;
  LaunchSite site = options.site;
  PlaceModel(options, &deployment, &site);
  SHARDPLAN_RETURN_IF_ERROR(PlaceDraft(options.draft_path, &deployment));
  PlaceImage(target, &deployment, &site);
  PlaceProcesses(target, &deployment, &site);
  site.secrets = deployment.settings.command_secrets;
  SHARDPLAN_ASSIGN_OR_RETURN(
      const Plan plan, EvaluatePlan(context.model, context.catalog, context.store, deployment));
  const ExitCode code = plan.verdict == Verdict::kFits ? kExitYes : kExitNo;
  const bool refused = plan.verdict == Verdict::kIllegal || plan.launch.empty() ||
                       (target.needs_fit && code == kExitNo && !options.force);
  if (refused) {
    PrintError("nothing is written: " + VerdictLine(plan));
    return Answer{"", kExitNo, ""};
  }
  SHARDPLAN_ASSIGN_OR_RETURN(Bundle bundle, target.make(LaunchInput{plan, context.model, site}));
  SHARDPLAN_ASSIGN_OR_RETURN(
      const std::vector<Finding> findings,
      CheckCommands(plan, VersionOf({plan, context.model, site}), context.store, bundle));
  if (!findings.empty() && !options.force) {
    for (const Finding& finding : findings) {
      PrintError(fmt::format("nothing is written: {}: {}: {}{}", finding.id, finding.subject,
                             finding.message, finding.fix.empty() ? "" : "; " + finding.fix));
    }
    return Answer{"", kExitNo, ""};
  }
  if (!site.secrets.empty()) {
    bundle.notes.push_back(
        fmt::format("The pasted command had keys or tokens, which no file holds: {}. Set what is "
                    "needed where it starts.",
                    fmt::join(site.secrets, ", ")));
  }
  bundle.files.push_back(
      {"README.md", RenderReviewSheet(plan, target.name, bundle, findings, WithoutSecrets(line)),
       false});
  bundle.files.push_back({"plan.json", RenderPlanJson(plan), false});
  const ExitCode written = findings.empty() ? code : kExitNo;
  if (to_stdout) {
    return Answer{RenderLaunch(target.name, bundle, options.output.format), written, ""};
  }
  SHARDPLAN_RETURN_IF_ERROR(WriteBundle(bundle, options.output.file));
  return Answer{RenderLaunchReport(target.name, bundle, options.output.file, options.output.format),
                written, ""};
}

}  // namespace

Command AddLaunchTarget(CLI::App* group, LaunchTarget target) {
  const auto options = std::make_shared<LaunchOptions>();
  CLI::App* const app = AddSubcommand(
      group, target.name, target.description,
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
  const OptionSet* const words = set.get();
  return {app, set, [options, words, target = std::move(target)] {
            return Run(target, *options, words->line());
          }};
}

CLI::App* AddLaunchGroup(CLI::App* parent) {
  return AddSubcommand(
      parent, "launch",
      "Write what starts the deployment: scripts, containers, manifests, file lists\n\n"
      "Examples:\n"
      "  shardplan launch commands /models/Kimi-K3 --gpu h20-141 --tp 8 --pp 2\n"
      "  shardplan launch docker /models/Kimi-K3 --gpu h20-141 --tp 8 --pp 2 -o deploy/");
}

}  // namespace shardplan::cli
