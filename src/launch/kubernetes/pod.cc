#include "launch/kubernetes/pod.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "launch/kubernetes/scripts.h"
#include "shardplan/base/file.h"
#include "shardplan/base/units.h"

namespace shardplan::kubernetes {
namespace {

constexpr int64_t kProbePeriod = 10;  // seconds

YamlValue FromField(const std::string& name, const std::string& path) {
  return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}};
}

// What the scripts and a volume's path need to know of the pod.
YamlValue PodVariables(const Facts& facts) {
  YamlValue env = YamlValue::array();
  if (facts.nodes > 1 || facts.bind.empty()) env.push_back(FromField("POD_IP", "status.podIP"));
  if (facts.nodes > 1 && !facts.is_lws()) {
    env.push_back(FromField("POD_NAME", "metadata.name"));
    env.push_back(FromField("POD_NAMESPACE", "metadata.namespace"));
  }
  if (facts.nodes > 1) {
    const bool sglang = facts.input->plan.engine == "sglang";
    env.push_back(FromField(sglang ? "SGLANG_HOST_IP" : "VLLM_HOST_IP", "status.podIP"));
  }
  return env;
}

// The key of the API, of the pod that serves it.
YamlValue ApiKey(const Facts& facts) {
  const Options& o = *facts.options;
  return {
      {"name", facts.api_key_variable()},
      {"valueFrom", {{"secretKeyRef", {{"name", o.api_key_secret}, {"key", o.api_key_entry}}}}}};
}

YamlValue Environment(const Facts& facts, Role role) {
  YamlValue env = PodVariables(facts);
  if (role == Role::kLeader && !facts.options->api_key_secret.empty()) {
    env.push_back(ApiKey(facts));
  }
  if (!facts.options->stage_index.empty() && !facts.is_lws()) {
    env.push_back(FromField("NODE_INDEX", "metadata.labels['apps.kubernetes.io/pod-index']"));
  }
  for (const auto& [name, value] : facts.env) {
    env.push_back({{"name", name}, {"value", EscapeVariable(value)}});
  }
  return env;
}

YamlValue Probe(const Facts& facts, int64_t period, int64_t timeout, int64_t failures) {
  YamlValue get = {{"path", "/health"}, {"port", "http"}};
  if (facts.tls) get["scheme"] = "HTTPS";
  return {{"httpGet", std::move(get)},
          {"periodSeconds", period},
          {"timeoutSeconds", timeout},
          {"failureThreshold", failures}};
}

YamlValue Resources(const Facts& facts) {
  const Options& o = *facts.options;
  YamlValue limits = YamlValue::object();
  YamlValue requests = YamlValue::object();
  const auto both = [&](const std::string& name, const std::string& amount) {
    requests[name] = amount;
    limits[name] = amount;
  };
  if (o.cpus) {
    both("cpu", std::to_string(*o.cpus));
  } else {
    requests["cpu"] = std::to_string(2 + 2 * facts.gpus);
  }
  both("memory", QuantityOf(facts.budget.total));
  both(facts.gpu_resource, std::to_string(facts.gpus));
  for (const auto& [name, count] : o.rdma_resources) both(name, std::to_string(count));
  return {{"requests", std::move(requests)}, {"limits", std::move(limits)}};
}

// Of the container: pinning memory for offload and RDMA needs IPC_LOCK where the runtime limits it,
// binding memory to NUMA nodes SYS_NICE under the runtime's default seccomp profile.
YamlValue SecurityContext(const Facts& facts) {
  YamlValue add = YamlValue::array();
  if (facts.locks_memory()) add.push_back("IPC_LOCK");
  if (facts.numa_bind) add.push_back("SYS_NICE");
  YamlValue out = {{"allowPrivilegeEscalation", false}};
  if (!add.empty()) out["capabilities"] = {{"add", std::move(add)}};
  return out;
}

YamlValue Mount(const std::string& volume, const std::string& path, bool read_only) {
  YamlValue mount = {{"name", volume}, {"mountPath", path}};
  if (read_only) mount["readOnly"] = true;
  return mount;
}

YamlValue ModelMount(const Facts& facts) {
  YamlValue mount = Mount("model", facts.model_root, true);
  if (!facts.options->pvc_path.empty()) mount["subPath"] = facts.options->pvc_path;
  return mount;
}

YamlValue Mounts(const Facts& facts) {
  const Options& o = *facts.options;
  YamlValue mounts = YamlValue::array({ModelMount(facts)});
  if (!o.stage_index.empty()) {
    YamlValue index = Mount("stage-index", facts.model + "/model.safetensors.index.json", true);
    const std::string node = facts.nodes == 1 ? "0"
                             : facts.is_lws() ? "$(LWS_WORKER_INDEX)"
                                              : "$(NODE_INDEX)";
    index["subPathExpr"] = "stage-" + node + "/model.safetensors.index.json";
    mounts.push_back(std::move(index));
  }
  for (size_t i = 0; i < o.mounts.size(); ++i) {
    mounts.push_back(Mount(fmt::format("mount-{}", i), o.mounts[i], true));
  }
  mounts.push_back(Mount("shm", "/dev/shm", false));
  mounts.push_back(Mount("scripts", kScriptsPath, true));
  return mounts;
}

YamlValue HostPath(const std::string& name, const std::string& path) {
  return {{"name", name}, {"hostPath", {{"path", path}, {"type", "Directory"}}}};
}

YamlValue Volumes(const Facts& facts) {
  const Options& o = *facts.options;
  YamlValue volumes = YamlValue::array();
  if (o.pvc.empty()) {
    volumes.push_back(HostPath("model", facts.model_root));
  } else {
    volumes.push_back(
        {{"name", "model"}, {"persistentVolumeClaim", {{"claimName", o.pvc}, {"readOnly", true}}}});
  }
  if (!o.stage_index.empty()) volumes.push_back(HostPath("stage-index", o.stage_index));
  for (size_t i = 0; i < o.mounts.size(); ++i) {
    volumes.push_back(HostPath(fmt::format("mount-{}", i), o.mounts[i]));
  }
  volumes.push_back({{"name", "shm"},
                     {"emptyDir", {{"medium", "Memory"}, {"sizeLimit", QuantityOf(facts.shm)}}}});
  volumes.push_back({{"name", "scripts"}, {"configMap", {{"name", facts.config_map()}}}});
  return volumes;
}

YamlValue VerifyContainer(const Facts& facts) {
  YamlValue container = {{"name", "verify"},
                         {"image", facts.image},
                         {"command", {"/bin/sh", std::string(kScriptsPath) + "/verify.sh"}}};
  YamlValue env = YamlValue::array();
  if (facts.nodes > 1 && !facts.is_lws()) env.push_back(FromField("POD_NAME", "metadata.name"));
  if (!env.empty()) container["env"] = std::move(env);
  container["resources"] = {{"requests", {{"cpu", "1"}, {"memory", "256Mi"}}},
                            {"limits", {{"cpu", "1"}, {"memory", "256Mi"}}}};
  container["volumeMounts"] =
      YamlValue::array({ModelMount(facts), Mount("scripts", kScriptsPath, true)});
  container["securityContext"] = {{"allowPrivilegeEscalation", false}};
  container["terminationMessagePolicy"] = "FallbackToLogsOnError";
  return container;
}

YamlValue EngineContainer(const Facts& facts, Role role) {
  YamlValue container = {{"name", facts.input->plan.engine},
                         {"image", facts.image},
                         {"command", {"/bin/bash", std::string(kScriptsPath) + "/start.sh"}}};
  YamlValue env = Environment(facts, role);
  if (!env.empty()) container["env"] = std::move(env);
  if (role == Role::kLeader) {
    container["ports"] = YamlValue::array({{{"name", "http"}, {"containerPort", facts.port}}});
    container["startupProbe"] =
        Probe(facts, kProbePeriod, 5, CeilDiv(facts.startup.seconds, kProbePeriod));
    container["readinessProbe"] = Probe(facts, 10, 10, 3);
    container["livenessProbe"] = Probe(facts, 30, 30, 10);
  }
  container["resources"] = Resources(facts);
  container["securityContext"] = SecurityContext(facts);
  container["volumeMounts"] = Mounts(facts);
  container["terminationMessagePolicy"] = "FallbackToLogsOnError";
  return container;
}

YamlValue NodeAffinity(const std::vector<std::string>& hosts) {
  YamlValue term = {{"matchExpressions", YamlValue::array({{{"key", "kubernetes.io/hostname"},
                                                            {"operator", "In"},
                                                            {"values", hosts}}})}};
  return {{"requiredDuringSchedulingIgnoredDuringExecution",
           {{"nodeSelectorTerms", YamlValue::array({std::move(term)})}}}};
}

YamlValue NearOrFar(const Facts& facts, const std::string& topology_key) {
  return {{"requiredDuringSchedulingIgnoredDuringExecution",
           YamlValue::array({{{"labelSelector", {{"matchLabels", SelectorOf(facts)}}},
                              {"topologyKey", topology_key}}})}};
}

// One pod a node, as planned; a LeaderWorkerSet keeps its group together by itself.
YamlValue Affinity(const Facts& facts) {
  const Options& o = *facts.options;
  YamlValue out = YamlValue::object();
  const std::vector<std::string>& hosts = facts.input->site.hosts;
  if (!hosts.empty()) out["nodeAffinity"] = NodeAffinity(hosts);
  if (!o.topology_key.empty() && !facts.is_lws())
    out["podAffinity"] = NearOrFar(facts, o.topology_key);
  if (facts.nodes > 1) out["podAntiAffinity"] = NearOrFar(facts, "kubernetes.io/hostname");
  return out;
}

YamlValue NodeSelector(const Facts& facts) {
  YamlValue out = YamlValue::object();
  if (!facts.options->gpu_product.empty()) {
    const bool amd = facts.gpu_resource == "amd.com/gpu";
    out[amd ? "amd.com/gpu.product-name" : "nvidia.com/gpu.product"] = facts.options->gpu_product;
  }
  for (const auto& [key, value] : facts.options->node_selector) out[key] = value;
  return out;
}

YamlValue Tolerations(const Options& options) {
  YamlValue out = YamlValue::array();
  for (const Toleration& toleration : options.tolerations) {
    YamlValue entry = {{"key", toleration.key},
                       {"operator", toleration.value.empty() ? "Exists" : "Equal"}};
    if (!toleration.value.empty()) entry["value"] = toleration.value;
    if (!toleration.effect.empty()) entry["effect"] = toleration.effect;
    out.push_back(std::move(entry));
  }
  return out;
}

YamlValue PodSpec(const Facts& facts, Role role) {
  const Options& o = *facts.options;
  // Without service links: a Service called vllm would set VLLM_PORT, which vLLM takes for its own.
  YamlValue spec = {{"automountServiceAccountToken", false}, {"enableServiceLinks", false}};
  if (!o.runtime_class.empty()) spec["runtimeClassName"] = o.runtime_class;
  if (o.host_network) {
    spec["hostNetwork"] = true;
    spec["dnsPolicy"] = "ClusterFirstWithHostNet";
  }
  spec["terminationGracePeriodSeconds"] = 60;
  if (YamlValue selector = NodeSelector(facts); !selector.empty()) {
    spec["nodeSelector"] = std::move(selector);
  }
  if (YamlValue affinity = Affinity(facts); !affinity.empty())
    spec["affinity"] = std::move(affinity);
  if (YamlValue tolerations = Tolerations(o); !tolerations.empty()) {
    spec["tolerations"] = std::move(tolerations);
  }
  spec["initContainers"] = YamlValue::array({VerifyContainer(facts)});
  spec["containers"] = YamlValue::array({EngineContainer(facts, role)});
  spec["volumes"] = Volumes(facts);
  return spec;
}

// Nodes are not guessed; the comment says how to find them.
std::string DescribeCard(const Facts& facts) {
  const std::string& name = facts.input->plan.gpu_name;
  const bool amd = facts.gpu_resource == "amd.com/gpu";
  const std::string label = amd ? "amd.com/gpu.product-name" : "nvidia.com/gpu.product";
  std::string out = fmt::format(
      "Planned for {}; which nodes have it is not said here. --gpu-product VALUE\n"
      "asks for the label {},\n",
      Printable(name), label);
  if (!amd) {
    std::string value = name;
    std::replace(value.begin(), value.end(), ' ', '-');
    out += fmt::format("often {}; ", Printable(value));
  }
  return out + fmt::format("`kubectl get nodes -L {}` tells.", label);
}

void AddComments(const Facts& facts, std::map<std::string, std::string>* comments) {
  const Options& o = *facts.options;
  const std::string container = "/spec/containers/0";
  if (facts.image_derived) {
    (*comments)[container + "/image"] =
        "From the engine's version. --image names another one, --image-digest pins it.";
  }
  (*comments)[container + "/startupProbe"] = Describe(facts.startup);
  std::string resources = Describe(facts.budget);
  if (!o.cpus) {
    resources +=
        "CPUs: two a card and two (assumed); --cpus N sets request and limit, for a\n"
        "pod of the class Guaranteed.\n";
  }
  (*comments)[container + "/resources"] = resources;
  std::string context = facts.locks_memory() ? "IPC_LOCK: pinned memory and RDMA." : "";
  if (facts.numa_bind) {
    context += fmt::format(
        "{}SYS_NICE: --numa-bind under the\nruntime's seccomp profile. Cards are bound by their "
        "number: the pod needs\nall cards of its node.",
        context.empty() ? "" : " ");
  }
  if (!context.empty()) (*comments)[container + "/securityContext"] = context;
  if (o.gpu_product.empty()) (*comments)["/spec"] = DescribeCard(facts);
}

}  // namespace

std::string EscapeVariable(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '$') out += c;
  }
  return out;
}

std::string QuantityOf(Bytes size) {
  static constexpr std::pair<int64_t, const char*> kUnits[] = {
      {kTiB, "Ti"}, {kGiB, "Gi"}, {kMiB, "Mi"}, {kKiB, "Ki"}};
  for (const auto& [unit, name] : kUnits) {
    if (size.count() >= unit && size.count() % unit == 0) {
      return std::to_string(size.count() / unit) + name;
    }
  }
  return std::to_string(size.count());
}

YamlValue SelectorOf(const Facts& facts) { return {{"app.kubernetes.io/instance", facts.name}}; }

YamlValue SelectorOf(const Facts& facts, Role role) {
  YamlValue labels = SelectorOf(facts);
  labels["app.kubernetes.io/component"] = role == Role::kLeader ? "leader" : "worker";
  return labels;
}

YamlValue LabelsOf(const Facts& facts) {
  YamlValue labels = YamlValue::object();
  for (const auto& [key, value] : facts.options->labels) labels[key] = value;
  labels["app.kubernetes.io/name"] = facts.input->plan.engine;
  labels["app.kubernetes.io/instance"] = facts.name;
  labels["app.kubernetes.io/version"] = facts.input->plan.engine_version;
  return labels;
}

PodTemplate MakePodTemplate(const Facts& facts, Role role, const std::string& scripts_hash) {
  PodTemplate out;
  YamlValue labels = LabelsOf(facts);
  labels.update(SelectorOf(facts, role));
  out.value = {
      {"metadata",
       {{"labels", std::move(labels)}, {"annotations", {{"shardplan-scripts", scripts_hash}}}}},
      {"spec", PodSpec(facts, role)}};
  if (role == Role::kLeader) AddComments(facts, &out.comments);
  return out;
}

}  // namespace shardplan::kubernetes
