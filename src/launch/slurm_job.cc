#include "launch/slurm_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "launch/node_launch.h"
#include "launch/node_scripts.h"
#include "shardplan/base/file.h"

namespace shardplan {
namespace {

// sbatch reads #SBATCH lines itself, without a shell: what they hold must need no quotes.
Status CheckPlain(std::string_view option, const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_.:,+").find(c) != std::string_view::npos;
  });
  if (plain && !text.starts_with('-')) return {};
  return Fail(ErrorCode::kUsage, fmt::format("{} {}", option, Printable(text)),
              "expected letters, digits and \"-_.:,+\"",
              "an #SBATCH line has no quotes for anything else");
}

// Minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes and
// days-hours:minutes:seconds, as sbatch(1) lists them, or no limit.
Status CheckTime(const std::string& text) {
  if (text.empty() || text == "infinite" || text == "INFINITE" || text == "UNLIMITED" ||
      text == "unlimited") {
    return {};
  }
  size_t parts = 1;
  size_t digits = 0;
  bool days = false;
  bool good = true;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      ++digits;
      continue;
    }
    const bool dash = c == '-' && !days && parts == 1;
    good = good && digits > 0 && (dash || c == ':');
    days = days || dash;
    if (!dash) ++parts;
    digits = 0;
  }
  if (good && digits > 0 && parts <= 3) return {};
  return Fail(ErrorCode::kUsage, "--slurm-time " + Printable(text),
              "expected a time such as 30, 12:00:00 or 2-00:00:00");
}

// The batch script is copied before it runs: where the others lie is where it was submitted.
constexpr const char* kHere = R"(
HERE=$(dirname -- "$0")
if [[ ! -x $HERE/node.sh ]]; then HERE=${SLURM_SUBMIT_DIR-.}; fi
if [[ ! -x $HERE/node.sh ]]; then
  echo "job.sbatch: $HERE: no node.sh there: submit the job from the directory of its files" >&2
  exit 1
fi
)";

constexpr const char* kInJob = R"(
if [[ -z ${SLURM_JOB_NODELIST-} ]]; then
  echo "job.sbatch: SLURM_JOB_NODELIST is not set: submit it with sbatch" >&2
  exit 1
fi
)";

constexpr const char* kMaster = R"(
# Node 0 is the first host of the job.
mapfile -t HOSTS < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
if [[ ${#HOSTS[@]} -eq 0 ]]; then
  echo "job.sbatch: scontrol names no hosts for $SLURM_JOB_NODELIST" >&2
  exit 1
fi
export MASTER_ADDR=${HOSTS[0]}
)";

// sbatch hands the environment of the submitting shell to all nodes.
constexpr const char* kOwnAddress = R"(
# A node's own address is its interface's: one that was exported would be the same on all of them.
unset @NAME@
)";

constexpr const char* kNode = R"(#!/usr/bin/env bash
# What srun starts on a node: the script of its place in the job.
set -euo pipefail

if [[ -z ${SLURM_NODEID-} ]]; then
  echo "node.sh: SLURM_NODEID is not set: job.sbatch starts it, through srun" >&2
  exit 1
fi
exec "$(dirname -- "${BASH_SOURCE[0]}")/node-$SLURM_NODEID.sh" "$@"
)";

std::string Job(const PreparedLaunch& launch, const LaunchSite& site, const SlurmOptions& options) {
  const size_t nodes = launch.nodes.size();
  const int64_t gpus = launch.nodes[0].gpus;
  std::string out = "#!/usr/bin/env bash\n";
  const auto line = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) out += fmt::format("#SBATCH --{}={}\n", name, value);
  };
  line("job-name", launch.name);
  line("nodes", std::to_string(nodes));
  line("ntasks-per-node", "1");
  out += "#SBATCH --exclusive\n";
  line("gres", fmt::format("gpu:{}", gpus));
  line("mem", "0");
  line("partition", options.partition);
  line("account", options.account);
  line("qos", options.qos);
  line("time", options.time);
  line("nodelist", fmt::format("{}", fmt::join(site.hosts, ",")));
  line("output", "%x-%j.out");
  out += fmt::format(
      "# {} on {}. `sbatch job.sbatch --dry-run` prints what every node would run.\n"
      "set -euo pipefail\n",
      launch.name, launch.engine);
  out += kInJob;
  out += kHere;
  // An address that was given is in common.sh.
  if (launch.multi_node() && site.master_addr.empty()) out += kMaster;
  for (const SiteVariable& variable : launch.variables) {
    if (!variable.per_host) continue;
    std::string text = kOwnAddress;
    constexpr std::string_view kName = "@NAME@";
    text.replace(text.find(kName), kName.size(), variable.name);
    out += text;
  }
  out += fmt::format(
      "\n# One task a node, with all of its cores; the job ends with the first that fails.\n"
      "srun --nodes={0} --ntasks={0} --ntasks-per-node=1 --gres=gpu:{1} \\\n"
      "  --cpus-per-task=\"$SLURM_CPUS_ON_NODE\" --kill-on-bad-exit=1 --label \\\n"
      "  \"$HERE/node.sh\" \"$@\"\n",
      nodes, gpus);
  return out;
}

}  // namespace

Result<Bundle> MakeSlurmJob(const LaunchInput& input, const SlurmOptions& options) {
  SHARDPLAN_RETURN_IF_ERROR(CheckPlain("--slurm-partition", options.partition));
  SHARDPLAN_RETURN_IF_ERROR(CheckPlain("--slurm-account", options.account));
  SHARDPLAN_RETURN_IF_ERROR(CheckPlain("--slurm-qos", options.qos));
  SHARDPLAN_RETURN_IF_ERROR(CheckTime(options.time));
  const std::vector<std::string>& hosts = input.site.hosts;
  for (const std::string& host : hosts) {
    SHARDPLAN_RETURN_IF_ERROR(CheckPlain("--host", host));
    if (std::count(hosts.begin(), hosts.end(), host) > 1) {
      return Fail(ErrorCode::kUsage, "--host " + Printable(host),
                  "expected another host for each node, found it twice");
    }
  }
  // Which host of the list becomes which node is the scheduler's to say.
  LaunchSite site = input.site;
  site.hosts.clear();
  SHARDPLAN_ASSIGN_OR_RETURN(const PreparedLaunch launch,
                             PrepareLaunch({input.plan, input.model, site}));
  if (!input.site.hosts.empty() && input.site.hosts.size() != launch.nodes.size()) {
    return Fail(ErrorCode::kUsage, "--host",
                fmt::format("expected one for each of {} nodes, found {}", launch.nodes.size(),
                            input.site.hosts.size()));
  }
  Bundle bundle = NodeScripts(launch, {.from_interface = true});
  bundle.files.insert(bundle.files.begin(),
                      {{"job.sbatch", Job(launch, input.site, options), true,
                        "`sbatch job.sbatch` in this directory, which every node must see"},
                       {"node.sh", kNode, true, "what a task runs: the script of its node"}});
  // The job finds both itself.
  std::erase_if(bundle.variables, [&](const SiteVariable& variable) {
    return variable.per_host || (variable.name == "MASTER_ADDR" && !variable.known());
  });
  if (launch.multi_node()) {
    bundle.notes.push_back(
        "MASTER_ADDR is the first host of the job; a node's own address is that of its interface "
        "(GLOO_SOCKET_IFNAME), whatever the submitting shell exports. What else is not given is "
        "set when the job is submitted: sbatch "
        "hands its environment on.");
  }
  return bundle;
}

}  // namespace shardplan
