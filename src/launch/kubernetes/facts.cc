#include "launch/kubernetes/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "launch/container.h"
#include "launch/kubernetes/names.h"
#include "launch/node_launch.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan::kubernetes {
namespace {

tl::unexpected<Error> Refuse(const std::string& subject, std::string message,
                             std::string hint = "") {
  return Fail(ErrorCode::kUsage, subject, std::move(message), std::move(hint));
}

Status SetName(const LaunchSite& site, Facts* facts) {
  if (site.name.empty()) {
    facts->name = MakeDnsLabel(BaseName(facts->model));
    return {};
  }
  const char first = site.name.front();
  if (!IsDnsLabel(site.name, kLongestName) || first < 'a' || first > 'z') {
    return Refuse("--name",
                  fmt::format("expected at most {} lower-case letters, digits and '-', beginning "
                              "with a letter, found '{}'",
                              kLongestName, Printable(site.name)),
                  "give --name " + MakeDnsLabel(site.name));
  }
  facts->name = site.name;
  return {};
}

Status SetImage(const LaunchInput& input, Facts* facts) {
  const Options& o = *facts->options;
  facts->image = o.image;
  if (facts->image.empty()) {
    if (facts->gpu_resource != "nvidia.com/gpu") {
      return Refuse("--image", "expected the engine's image for this card, found none",
                    "the default images are built for NVIDIA's cards");
    }
    const std::string image = DefaultImage(input);
    facts->image = image.substr(0, image.find('@'));
    facts->image_derived = true;
  }
  SHARDPLAN_RETURN_IF_ERROR(CheckImage(facts->image));
  // A digest of a pasted command is that command's image's.
  const bool pasted = o.image_digest.empty() && facts->image_derived;
  const std::string& digest = pasted ? input.site.image_digest : o.image_digest;
  if (digest.empty()) return {};
  facts->image += "@" + digest;
  return CheckDigest(digest);
}

// The word behind a flag, "--flag value" or "--flag=value"; the last one counts.
std::optional<std::string> ValueOf(const std::vector<GroupWord>& words, const std::string& flag) {
  std::optional<std::string> found;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    if (text == flag && i + 1 < words.size()) found = words[i + 1].text;
    if (text.starts_with(flag + "=")) found = text.substr(flag.size() + 1);
  }
  return found;
}

void Erase(const std::string& flag, std::vector<GroupWord>* words) {
  for (size_t i = 0; i < words->size();) {
    const auto at = words->begin() + static_cast<std::ptrdiff_t>(i);
    if ((*words)[i].text == flag) {
      words->erase(at, i + 1 < words->size() ? at + 2 : at + 1);
    } else if ((*words)[i].text.starts_with(flag + "=")) {
      words->erase(at);
    } else {
      ++i;
    }
  }
}

// The API listens where probes and the Service reach it: --host and --port are ours.
Status SetApi(const LaunchSite& site, Facts* facts) {
  std::vector<GroupWord>* const words = &facts->command.words;
  facts->port = site.port;
  if (const auto port = ValueOf(*words, "--port"); port && site.port == LaunchSite().port) {
    const auto read = std::from_chars(port->data(), port->data() + port->size(), facts->port);
    if (read.ec != std::errc() || read.ptr != port->data() + port->size()) facts->port = 0;
  }
  if (facts->port < 1 || facts->port > 65'535) {
    return Refuse("--port", fmt::format("expected 1 to 65,535, found {}", facts->port));
  }
  // Pods of a cluster with IPv6 alone have no 0.0.0.0 that a probe reaches: the option or the
  // pasted command says so.
  const bool unsaid = site.api_host == LaunchSite().api_host;
  const bool any =
      site.api_host == "::" || (unsaid && ValueOf(*words, "--host").value_or("") == "::");
  if (!any && site.api_host != LaunchSite().api_host && site.api_host != "0.0.0.0") {
    return Refuse("--api-host",
                  fmt::format("expected 0.0.0.0 or ::, found '{}'", Printable(site.api_host)),
                  "a pod's address is known when it runs; probes and the Service have to reach it");
  }
  facts->bind = facts->options->host_network ? "" : any ? "::" : "0.0.0.0";
  facts->tls = ValueOf(*words, "--ssl-certfile").has_value();
  Erase("--host", words);
  Erase("--port", words);
  return {};
}

// The model of the command: behind `vllm serve`, or SGLang's --model-path.
std::string ServedOf(const Plan& plan) {
  const std::vector<std::string>& argv = plan.launch.front().argv;
  if (plan.engine != "sglang") return argv.size() > 2 ? argv[2] : "";
  const auto at = std::find(argv.begin(), argv.end(), "--model-path");
  return at != argv.end() && at + 1 != argv.end() ? *(at + 1) : "";
}

Status SetModel(const Plan& plan, Facts* facts) {
  std::string model = ServedOf(plan);
  while (model.size() > 1 && model.ends_with('/')) model.pop_back();
  if (!model.starts_with('/')) {
    return Refuse("--model-path",
                  "expected the model's directory on the nodes as an absolute path, found " +
                      (model == "<MODEL_PATH>" ? "none" : Printable(model)),
                  "give --model-path /models/NAME");
  }
  SHARDPLAN_RETURN_IF_ERROR(CheckMountPath("--model-path", model));
  facts->model = model;
  facts->model_root = model;
  // Files of a Hugging Face cache are links to ../../blobs: a pod needs both.
  const size_t slash = model.rfind('/');
  constexpr std::string_view kSnapshots = "/snapshots";
  if (const std::string above = model.substr(0, slash); above.ends_with(kSnapshots)) {
    facts->model_root = above.substr(0, above.size() - kSnapshots.size());
    SHARDPLAN_RETURN_IF_ERROR(CheckMountPath("--model-path", facts->model_root));
  }
  return {};
}

bool IsBelow(const std::string& path, const std::string& directory) {
  return path == directory || path.starts_with(directory + "/");
}

// Drafts that speculation names have to be mounted as well.
Status CheckDraft(const Facts& facts) {
  std::string draft;
  if (const auto path = ValueOf(facts.command.words, "--speculative-draft-model-path"))
    draft = *path;
  if (const auto text = ValueOf(facts.command.words, "--speculative-config")) {
    draft = ModelOfObject(*text);
  }
  if (!draft.starts_with('/') || IsBelow(draft, facts.model_root)) return {};
  const std::vector<std::string>& mounts = facts.options->mounts;
  const bool mounted = std::any_of(mounts.begin(), mounts.end(),
                                   [&](const std::string& mount) { return IsBelow(draft, mount); });
  if (mounted) return {};
  return tl::unexpected(DraftNotMounted(draft));
}

Status CheckPaths(const Facts& facts) {
  const Options& o = *facts.options;
  for (const std::string& mount : o.mounts) {
    SHARDPLAN_RETURN_IF_ERROR(CheckMountPath("--mount", mount));
    if (IsBelow(facts.model_root, mount) || IsBelow(mount, facts.model_root)) {
      return Refuse("--mount", fmt::format("expected a directory beside the model's, found '{}'",
                                           Printable(mount)));
    }
    if (std::count(o.mounts.begin(), o.mounts.end(), mount) > 1) {
      return Refuse("--mount", fmt::format("'{}' is given twice", Printable(mount)));
    }
  }
  if (!o.pvc_path.empty()) {
    SHARDPLAN_RETURN_IF_ERROR(CheckRelativePath("--pvc-path", o.pvc_path));
    if (o.pvc.empty()) return Refuse("--pvc-path", "expected --pvc beside it");
  }
  if (!o.stage_index.empty()) {
    SHARDPLAN_RETURN_IF_ERROR(CheckMountPath("--stage-index", o.stage_index));
  }
  if (!o.completion_marker.empty()) {
    SHARDPLAN_RETURN_IF_ERROR(CheckRelativePath("--completion-marker", o.completion_marker));
  }
  return {};
}

// Ranks of every node, which have to be as many; with a stage index, node N holds stage N.
Status SetRanks(const Plan& plan, Facts* facts) {
  std::map<int64_t, int64_t> ranks;
  std::map<int64_t, std::set<int64_t>> stages;
  for (const RankPlan& rank : plan.ranks) {
    ++ranks[rank.place.node];
    stages[rank.place.node].insert(rank.place.stage);
  }
  facts->gpus = ranks.empty() ? 0 : ranks.begin()->second;
  for (const auto& [node, count] : ranks) {
    if (count == facts->gpus) continue;
    return Fail(ErrorCode::kUnsupported, Printable(plan.source),
                fmt::format("expected as many ranks on every node, found {} on node 0 and {} on "
                            "node {}",
                            facts->gpus, count, node),
                "pods of a set are all alike");
  }
  if (facts->options->stage_index.empty()) return {};
  for (const auto& [node, held] : stages) {
    if (held == std::set<int64_t>{node}) continue;
    return Fail(ErrorCode::kUnsupported, "--stage-index",
                "expected node N to hold pipeline stage N and no other, found another layout",
                "leave it out");
  }
  return {};
}

// The site's variables, then the plan's; a name that is given twice counts once, the site's first.
// Those that the pod sets from its own address are not taken from a command, nor those that choose
// cards: a pod has its own, numbered from 0, which the device plugin gives it.
void SetEnvironment(const LaunchSite& site, Facts* facts) {
  std::set<std::string> seen = {"POD_IP", "POD_NAME", "POD_NAMESPACE", "VLLM_HOST_IP",
                                "SGLANG_HOST_IP", "NODE_INDEX",
                                // The device plugin chooses the cards and numbers them anew.
                                "CUDA_VISIBLE_DEVICES"};
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty() && seen.insert(name).second) facts->env.emplace_back(name, value);
  };
  add("NCCL_SOCKET_IFNAME", site.socket_ifname);
  add("GLOO_SOCKET_IFNAME", site.socket_ifname);
  add("NCCL_IB_HCA", site.ib_hca);
  if (site.gid_index) add("NCCL_IB_GID_INDEX", std::to_string(*site.gid_index));
  if (facts->nodes > 1 && site.fabric == Fabric::kSocket) add("NCCL_IB_DISABLE", "1");
  static const std::set<std::string> cards = {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
                                              "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"};
  const std::string key = facts->options->api_key_secret.empty() ? "" : facts->api_key_variable();
  for (const auto& [name, value] : facts->command.env) {
    if (name.starts_with("LWS_") || name == key) continue;
    if (cards.contains(name)) {
      facts->left_out.push_back(name + "=" + value);
      continue;
    }
    if (seen.insert(name).second) facts->env.emplace_back(name, value);
  }
}

Status CheckSite(const LaunchSite& site, const Facts& facts) {
  if (!site.master_addr.empty()) {
    return Refuse("--master-addr", "expected none: a pod's address is known when it runs",
                  "leave it out");
  }
  for (const std::string& host : site.hosts) {
    if (!IsDnsSubdomain(host)) {
      return Refuse("--host",
                    fmt::format("expected the name of a node, found '{}'", Printable(host)));
    }
  }
  const auto hosts = static_cast<int64_t>(site.hosts.size());
  if (hosts > 0 && hosts != facts.nodes) {
    return Refuse("--host", fmt::format("expected {} names, found {}", facts.nodes, hosts));
  }
  return {};
}

// Less than what is pinned for certain, and a process for each card, is no size to start with.
Status CheckMemory(const Facts& facts) {
  if (!facts.options->memory) return {};
  Bytes least = Bytes(kGiB) * facts.gpus;
  for (const BudgetTerm& term : facts.budget.terms) {
    if (!term.assumed && term.pinned) least += term.bytes;
  }
  if (*facts.options->memory >= least) return {};
  return Refuse("--memory",
                fmt::format("expected at least {}, what the plan pins and 1 GiB a card, found {}",
                            FormatGiB(least, 1), FormatBytes(*facts.options->memory)),
                "leave it out for what the plan needs");
}

}  // namespace

bool Facts::locks_memory() const {
  const bool pins = std::any_of(budget.terms.begin(), budget.terms.end(),
                                [](const BudgetTerm& term) { return term.pinned; });
  return pins || !options->rdma_resources.empty() || input->site.fabric != Fabric::kSocket;
}

namespace {

Status CheckReplicas(const Facts& facts) {
  if (facts.options->replicas == 1) return {};
  if (!facts.is_lws()) {
    return Refuse("--replicas", "expected a LeaderWorkerSet: StatefulSets are one deployment",
                  "apply them under several names, or leave --kind out");
  }
  if (!facts.input->site.hosts.empty()) {
    return Refuse("--replicas", "expected no --host, which names the nodes of one group",
                  "--node-selector or --gpu-product choose nodes for all of them");
  }
  return {};
}

}  // namespace

Result<Facts> MakeFacts(const LaunchInput& input, const Options& options) {
  Facts facts;
  facts.input = &input;
  facts.options = &options;
  // Before the command, whose placeholder for it says less.
  SHARDPLAN_RETURN_IF_ERROR(SetModel(input.plan, &facts));
  SHARDPLAN_ASSIGN_OR_RETURN(facts.command, MakeGroupCommand(input.plan));
  facts.nodes = facts.command.nodes;
  facts.gpu_resource = input.plan.gpu_name.starts_with("AMD ") ? "amd.com/gpu" : "nvidia.com/gpu";
  SHARDPLAN_RETURN_IF_ERROR(SetRanks(input.plan, &facts));
  SHARDPLAN_RETURN_IF_ERROR(SetName(input.site, &facts));
  SHARDPLAN_RETURN_IF_ERROR(SetImage(input, &facts));
  SHARDPLAN_RETURN_IF_ERROR(SetApi(input.site, &facts));
  SHARDPLAN_RETURN_IF_ERROR(CheckPaths(facts));
  SHARDPLAN_RETURN_IF_ERROR(CheckDraft(facts));
  SHARDPLAN_RETURN_IF_ERROR(CheckSite(input.site, facts));
  SHARDPLAN_RETURN_IF_ERROR(CheckReplicas(facts));
  SetEnvironment(input.site, &facts);
  facts.numa_bind = std::any_of(facts.command.words.begin(), facts.command.words.end(),
                                [](const GroupWord& word) { return word.text == "--numa-bind"; });
  facts.shm = ShmSize(options);
  facts.budget = MakeHostBudget(input, options, facts.gpus);
  SHARDPLAN_RETURN_IF_ERROR(CheckMemory(facts));
  facts.startup = EstimateStartup(input, options);
  constexpr int64_t kWeek = 7 * 24 * 3600;
  if (facts.startup.seconds > kWeek) {
    return Refuse(facts.startup.given ? "--startup-seconds" : "--read-rate",
                  "expected a start within a week", "a probe that waits longer helps nobody");
  }
  return facts;
}

}  // namespace shardplan::kubernetes
