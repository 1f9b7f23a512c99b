#include "launch/kubernetes/manifests.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "launch/kubernetes/facts.h"
#include "launch/kubernetes/pod.h"
#include "launch/kubernetes/scripts.h"
#include "launch/yaml_writer.h"

namespace shardplan::kubernetes {
namespace {

struct Manifest {
  std::string file;
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
  Manifest out{"configmap.yaml", {}};
  out.document.value = Resource(facts, "v1", "ConfigMap", facts.config_map());
  YamlValue data = YamlValue::object();
  for (const auto& [name, text] : scripts) data[name] = text;
  out.document.value["data"] = std::move(data);
  return out;
}

// The API of node 0, which alone has one.
Manifest ApiService(const Facts& facts) {
  Manifest out{"service.yaml", {}};
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
  Manifest out{"headless-service.yaml", {}};
  out.document.value = Resource(facts, "v1", "Service", facts.headless_service());
  out.document.value["spec"] = {
      {"clusterIP", "None"},
      {"publishNotReadyAddresses", true},
      {"selector", SelectorOf(facts)},
      {"ports", YamlValue::array({{{"name", "http"}, {"port", facts.port}, {"protocol", "TCP"}}})}};
  return out;
}

Manifest LeaderWorkerSet(const Facts& facts, const std::string& hash) {
  Manifest out{"leaderworkerset.yaml", {}};
  YamlValue value = Resource(facts, "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", facts.name);
  if (!facts.options->topology_key.empty()) {
    value["metadata"]["annotations"] = {
        {"leaderworkerset.sigs.k8s.io/exclusive-topology", facts.options->topology_key}};
  }
  value["spec"] = {{"replicas", 1},
                   {"startupPolicy", "LeaderCreated"},
                   {"leaderWorkerTemplate",
                    {{"size", facts.nodes}, {"restartPolicy", "RecreateGroupOnPodRestart"}}}};
  out.document.value = std::move(value);
  out.document.comment = fmt::format(
      "One group of {} is the whole deployment; all of it starts anew when one pod does.",
      facts.nodes == 1 ? "1 pod" : fmt::format("{} pods", facts.nodes));
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
  Manifest out{leader ? "statefulset.yaml" : "statefulset-worker.yaml", {}};
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

// In the order in which they are applied.
Manifest Kustomization(const Facts& facts, const std::vector<Manifest>& manifests) {
  Manifest out{"kustomization.yaml", {}};
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

}  // namespace

Result<Bundle> MakeManifests(const LaunchInput& input, const Options& options) {
  SHARDPLAN_ASSIGN_OR_RETURN(const Facts facts, MakeFacts(input, options));
  SHARDPLAN_ASSIGN_OR_RETURN(const auto scripts, MakeScripts(facts));
  const std::string hash = HashOf(scripts);
  std::vector<Manifest> manifests = {Scripts(facts, scripts), ApiService(facts)};
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
    bundle.files.push_back({manifest.file, std::move(text), false});
  }
  return bundle;
}

}  // namespace shardplan::kubernetes
