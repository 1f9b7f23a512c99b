#include "launch/kubernetes/manifests.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "launch/kubernetes/facts.h"
#include "launch/kubernetes/pod.h"
#include "launch/kubernetes/scripts.h"
#include "launch/yaml_writer.h"
#include "shardplan/base/units.h"

namespace shardplan::kubernetes {
namespace {

struct Manifest {
  std::string file;
  std::string purpose;
  YamlDocument document;
};

YamlValue Resource(const Facts& facts, const std::string& version, const std::string& kind,
                   const std::string& name) {
  YamlValue metadata = {{"name", name}};
  if (!facts.options->namespace_name.empty()) metadata["namespace"] = facts.options->namespace_name;
  metadata["labels"] = LabelsOf(facts);
  return {{"apiVersion", version}, {"kind", kind}, {"metadata", std::move(metadata)}};
}

// Puts a template where `pointer` says, with its comments.
void Put(const PodTemplate& pod, const std::string& pointer, YamlDocument* document) {
  document->value[YamlValue::json_pointer(pointer)] = pod.value;
  for (const auto& [below, text] : pod.comments) document->comments[pointer + below] = text;
}

Manifest Scripts(const Facts& facts,
                 const std::vector<std::pair<std::string, std::string>>& scripts) {
  Manifest out{"configmap.yaml", "what runs in the pods, and the lists of shard files", {}};
  out.document.value = Resource(facts, "v1", "ConfigMap", facts.config_map());
  YamlValue data = YamlValue::object();
  for (const auto& [name, text] : scripts) data[name] = text;
  out.document.value["data"] = std::move(data);
  return out;
}

// The API of node 0, which alone has one.
Manifest ApiService(const Facts& facts) {
  Manifest out{"service.yaml", "the API, inside the cluster", {}};
  out.document.value = Resource(facts, "v1", "Service", facts.api_service());
  YamlValue selector = SelectorOf(facts, Role::kLeader);
  if (facts.is_lws()) selector["leaderworkerset.sigs.k8s.io/worker-index"] = "0";
  out.document.value["spec"] = {{"type", "ClusterIP"},
                                {"selector", std::move(selector)},
                                {"ports", YamlValue::array({{{"name", facts.tls ? "https" : "http"},
                                                             {"port", facts.port},
                                                             {"targetPort", "http"},
                                                             {"protocol", "TCP"}}})}};
  if (facts.bind.empty()) {
    out.document.comment =
        "With --host-network the API is on the node's own address as well: a NetworkPolicy does "
        "not "
        "hold there.";
  }
  return out;
}

// Names of pods, before they are ready: the engine starts when all nodes have met.
Manifest NodesService(const Facts& facts) {
  Manifest out{"headless-service.yaml", "the names of the nodes", {}};
  out.document.value = Resource(facts, "v1", "Service", facts.headless_service());
  out.document.value["spec"] = {
      {"clusterIP", "None"},
      {"publishNotReadyAddresses", true},
      {"selector", SelectorOf(facts)},
      {"ports", YamlValue::array({{{"name", "http"}, {"port", facts.port}, {"protocol", "TCP"}}})}};
  return out;
}

Manifest LeaderWorkerSet(const Facts& facts, const std::string& hash) {
  Manifest out{"leaderworkerset.yaml", "the nodes, as one group of pods", {}};
  YamlValue value = Resource(facts, "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", facts.name);
  if (!facts.options->topology_key.empty()) {
    value["metadata"]["annotations"] = {
        {"leaderworkerset.sigs.k8s.io/exclusive-topology", facts.options->topology_key}};
  }
  const int64_t replicas = facts.options->replicas;
  value["spec"] = {{"replicas", replicas},
                   {"startupPolicy", "LeaderCreated"},
                   {"leaderWorkerTemplate",
                    {{"size", facts.nodes}, {"restartPolicy", "RecreateGroupOnPodRestart"}}}};
  out.document.value = std::move(value);
  const std::string pods = facts.nodes == 1 ? "1 pod" : fmt::format("{} pods", facts.nodes);
  out.document.comment =
      replicas == 1
          ? fmt::format(
                "One group of {} is the whole deployment; all of it starts anew when one "
                "pod does.",
                pods)
          : fmt::format(
                "{} groups of {}, each the whole deployment: a group starts anew when one "
                "of its\npods does. The Service spreads requests over their leaders.",
                replicas, pods);
  const std::string base = "/spec/leaderWorkerTemplate/";
  // A group of one has the worker's template for its leader.
  Put(MakePodTemplate(facts, Role::kLeader, hash),
      base + (facts.nodes == 1 ? "workerTemplate" : "leaderTemplate"), &out.document);
  if (facts.nodes > 1) {
    Put(MakePodTemplate(facts, Role::kWorker, hash), base + "workerTemplate", &out.document);
  }
  return out;
}

Manifest StatefulSet(const Facts& facts, Role role, const std::string& hash) {
  const bool leader = role == Role::kLeader;
  Manifest out{leader ? "statefulset.yaml" : "statefulset-worker.yaml",
               leader ? "node 0, which serves" : "the other nodes",
               {}};
  YamlValue value =
      Resource(facts, "apps/v1", "StatefulSet", leader ? facts.name : facts.worker_set());
  YamlValue spec = {{"serviceName", facts.headless_service()},
                    {"replicas", leader ? 1 : facts.nodes - 1}};
  if (!leader) spec["ordinals"] = {{"start", 1}};
  spec["podManagementPolicy"] = "Parallel";
  spec["selector"] = {{"matchLabels", SelectorOf(facts, role)}};
  value["spec"] = std::move(spec);
  out.document.value = std::move(value);
  out.document.comment =
      leader
          ? "Node 0, which serves."
          : "Nodes 1 and up, by the ordinal of their names. A pod that restarts does not restart "
            "the\nothers: they end when the engine notices. A LeaderWorkerSet does better.";
  Put(MakePodTemplate(facts, role, hash), "/spec/template", &out.document);
  return out;
}

// Who may talk to the pods: each other, on every port, and everyone to the API. What runs between
// engines' nodes asks for no password.
Manifest NetworkPolicy(const Facts& facts) {
  Manifest out{"networkpolicy.yaml", "who may connect: the pods to each other, all to the API", {}};
  out.document.value =
      Resource(facts, "networking.k8s.io/v1", "NetworkPolicy", facts.network_policy());
  const YamlValue pods = {{"matchLabels", SelectorOf(facts)}};
  YamlValue rules = YamlValue::array();
  if (facts.nodes > 1) {
    rules.push_back({{"from", YamlValue::array({{{"podSelector", pods}}})}});
  }
  rules.push_back({{"ports", YamlValue::array({{{"port", facts.port}, {"protocol", "TCP"}}})}});
  out.document.value["spec"] = {{"podSelector", pods},
                                {"policyTypes", YamlValue::array({"Ingress"})},
                                {"ingress", std::move(rules)}};
  out.document.comment =
      "Holds where the cluster's network enforces policies. Add `from` to the API's rule for the\n"
      "namespaces that may ask.";
  return out;
}

// In the order in which they are applied.
Manifest Kustomization(const Facts& facts, const std::vector<Manifest>& manifests) {
  Manifest out{"kustomization.yaml", "all of it: `kubectl apply -k DIR`", {}};
  YamlValue files = YamlValue::array();
  for (const Manifest& manifest : manifests) files.push_back(manifest.file);
  out.document.value = {{"apiVersion", "kustomize.config.k8s.io/v1beta1"},
                        {"kind", "Kustomization"}};
  if (!facts.options->namespace_name.empty()) {
    out.document.value["namespace"] = facts.options->namespace_name;
  }
  out.document.value["resources"] = std::move(files);
  out.document.comment = "kubectl apply -k .";
  return out;
}

// A comment's lines as a sentence of the review sheet.
std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

// What each node runs; the address of node 0 as a placeholder, which its pod fills in.
std::vector<std::vector<std::string>> CommandsOf(const Facts& facts) {
  std::vector<std::vector<std::string>> out;
  for (int64_t node = 0; node < facts.nodes; ++node) {
    out.push_back(WordsOf(facts.command, node, "<MASTER_ADDR>"));
  }
  for (const std::string& word : {std::string("--host"), facts.bind.empty() ? "POD_IP" : facts.bind,
                                  std::string("--port"), std::to_string(facts.port)}) {
    out.front().push_back(word);
  }
  if (!facts.options->api_key_secret.empty() && facts.input->plan.engine == "sglang") {
    out.front().insert(out.front().end(), {"--api-key", "<" + facts.api_key_variable() + ">"});
  }
  return out;
}

// Whether the pasted command asked its callers for a key.
bool HadApiKey(const Plan& plan) {
  return std::any_of(plan.findings.begin(), plan.findings.end(), [](const Finding& finding) {
    return finding.id == "command.secret" &&
           (finding.subject == "--api-key" || finding.subject == "VLLM_API_KEY");
  });
}

// What carries the traffic between pods, where nothing gives it to them.
void ExplainNetwork(const Facts& facts, Bundle* bundle) {
  if (facts.nodes == 1) return;
  const LaunchSite& site = facts.input->site;
  const Options& o = *facts.options;
  std::string note;
  if (site.fabric == Fabric::kSocket) {
    note = "Traffic between the pods goes over TCP (--fabric socket): NCCL_IB_DISABLE is set.";
  } else if (!o.rdma_resources.empty()) {
    return;
  } else if (o.host_network) {
    note =
        "The pods are on the network of their nodes, but no resource gives them its RDMA devices: "
        "without --rdma-resource NAME=N NCCL finds them only where the runtime passes "
        "/dev/infiniband in, and takes TCP where not.";
  } else {
    note =
        "Nothing gives the pods an RDMA device: NCCL takes TCP over the pods' network. Give "
        "--rdma-resource NAME=N (rdma/hca=8) where a device plugin offers one, --host-network "
        "where none does, or --fabric socket where TCP is meant.";
  }
  if (site.socket_ifname.empty()) {
    note += " NCCL chooses the interface itself: --socket-ifname names it.";
  }
  bundle->notes.push_back(std::move(note));
}

void ExplainAccess(const Facts& facts, Bundle* bundle) {
  const Options& o = *facts.options;
  if (!o.api_key_secret.empty()) {
    bundle->notes.push_back(fmt::format(
        "The API's key is the entry {} of the Secret {}, which has to be in the namespace.",
        o.api_key_entry, o.api_key_secret));
  } else if (HadApiKey(facts.input->plan)) {
    bundle->notes.emplace_back(
        "The command had a key for its API, which is not written here: the API answers whoever "
        "reaches it. Give --api-key-secret NAME[/KEY], a Secret that holds the key.");
  }
  for (const std::string& variable : facts.left_out) {
    bundle->notes.push_back(fmt::format(
        "{} is left out: the device plugin gives a pod its cards, which it numbers from 0.",
        variable));
  }
}

void Explain(const Facts& facts, Bundle* bundle) {
  bundle->assumptions.push_back(OneLine(Describe(facts.startup)));
  std::string memory = fmt::format("Memory of a pod: {}", QuantityOf(facts.budget.total));
  for (const BudgetTerm& term : facts.budget.terms) {
    memory += fmt::format("; {} {}{}", FormatGiB(term.bytes, 1), term.what,
                          term.assumed ? " (assumed)" : "");
  }
  bundle->assumptions.push_back(memory + ".");
  if (facts.budget.given && facts.budget.total < facts.budget.needed) {
    bundle->notes.push_back(
        fmt::format("The memory of a pod, {}, is less than the {} that the plan would ask for: the "
                    "kernel ends what goes past it.",
                    QuantityOf(facts.budget.total), QuantityOf(facts.budget.needed)));
  }
  ExplainNetwork(facts, bundle);
  ExplainAccess(facts, bundle);
  if (facts.options->image_digest.empty()) {
    bundle->notes.push_back(
        fmt::format("The image is named by its tag ({}), which can be moved: pin it with "
                    "--image-digest.",
                    facts.image));
  }
  const auto& of_plan = facts.command.env;
  if (std::any_of(of_plan.begin(), of_plan.end(),
                  [](const auto& variable) { return variable.first == "CUDA_VISIBLE_DEVICES"; })) {
    bundle->notes.emplace_back(
        "CUDA_VISIBLE_DEVICES is left out: the device plugin chooses a pod's cards.");
  }
  if (facts.is_lws()) {
    bundle->notes.emplace_back("The LeaderWorkerSet controller has to be in the cluster.");
  }
  if (facts.bind.empty()) {
    bundle->notes.emplace_back(
        "The pods are on the network of their nodes: the API is on the node's address.");
  }
  if (facts.options->gpu_product.empty() && facts.options->node_selector.empty() &&
      facts.input->site.hosts.empty()) {
    bundle->notes.push_back(
        fmt::format("Nothing says which nodes have {}: any node with {} free "
                    "cards is taken.",
                    facts.input->plan.gpu_name, facts.gpus));
  }
}

}  // namespace

Result<Bundle> MakeManifests(const LaunchInput& input, const Options& options) {
  SHARDPLAN_ASSIGN_OR_RETURN(const Facts facts, MakeFacts(input, options));
  SHARDPLAN_ASSIGN_OR_RETURN(const auto scripts, MakeScripts(facts));
  const std::string hash = HashOf(scripts);
  std::vector<Manifest> manifests = {Scripts(facts, scripts), ApiService(facts)};
  // On the network of the host no policy holds.
  if (!facts.bind.empty()) manifests.push_back(NetworkPolicy(facts));
  if (facts.is_lws()) {
    manifests.push_back(LeaderWorkerSet(facts, hash));
  } else {
    manifests.push_back(NodesService(facts));
    manifests.push_back(StatefulSet(facts, Role::kLeader, hash));
    if (facts.nodes > 1) manifests.push_back(StatefulSet(facts, Role::kWorker, hash));
  }
  manifests.insert(manifests.begin(), Kustomization(facts, manifests));
  Bundle bundle;
  for (const Manifest& manifest : manifests) {
    SHARDPLAN_ASSIGN_OR_RETURN(std::string text, WriteYaml(manifest.document));
    bundle.files.push_back({manifest.file, std::move(text), false, manifest.purpose});
  }
  bundle.commands = CommandsOf(facts);
  Explain(facts, &bundle);
  return bundle;
}

}  // namespace shardplan::kubernetes
