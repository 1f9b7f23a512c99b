#include "launch/kubernetes/pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/kubernetes/kubernetes_world.h"
#include "launch/kubernetes/pod_runner.h"

namespace shardplan::kubernetes {
namespace {

using testing::HasSubstr;
using testing_support::KubernetesWorld;
using testing_support::VllmWorld;

YamlValue PodOf(const KubernetesWorld& world, Role role = Role::kLeader) {
  return MakePodTemplate(world.Facts(), role, "0123").value;
}

YamlValue EngineOf(const KubernetesWorld& world, Role role = Role::kLeader) {
  return PodOf(world, role)["spec"]["containers"][0];
}

// By name, of a list of env, volumes or mounts.
YamlValue Named(const YamlValue& list, const std::string& name) {
  for (const YamlValue& entry : list) {
    if (entry["name"] == name) return entry;
  }
  return {};
}

TEST(KubernetesPodTest, OnlyNode0Serves) {
  const KubernetesWorld world = VllmWorld(2);
  const YamlValue leader = EngineOf(world);
  EXPECT_EQ(leader["ports"][0]["containerPort"], 8000);
  EXPECT_EQ(leader["startupProbe"]["httpGet"]["path"], "/health");
  // 816 s: 100 GiB at the assumed rate, twice, and ten minutes.
  EXPECT_EQ(leader["startupProbe"]["failureThreshold"], 84);
  EXPECT_EQ(leader["startupProbe"]["periodSeconds"], 10);
  EXPECT_GE(leader["livenessProbe"]["failureThreshold"].get<int>() *
                leader["livenessProbe"]["periodSeconds"].get<int>(),
            300);
  const YamlValue worker = EngineOf(world, Role::kWorker);
  for (const char* field : {"ports", "startupProbe", "readinessProbe", "livenessProbe"}) {
    EXPECT_FALSE(worker.contains(field)) << field;
  }
  EXPECT_EQ(worker["command"], leader["command"]);
  EXPECT_EQ(PodOf(world, Role::kWorker)["metadata"]["labels"]["app.kubernetes.io/component"],
            "worker");
}

TEST(KubernetesPodTest, AnApiWithCertificatesIsAskedSo) {
  const YamlValue engine = EngineOf(VllmWorld(1, {"--ssl-certfile", "/tls/cert"}));
  EXPECT_EQ(engine["readinessProbe"]["httpGet"]["scheme"], "HTTPS");
}

TEST(KubernetesPodTest, ResourcesAreTheBudgets) {
  KubernetesWorld world = VllmWorld(2);
  world.options.rdma_resources = {{"rdma/hca", 8}};
  YamlValue resources = EngineOf(world)["resources"];
  EXPECT_EQ(resources["limits"]["nvidia.com/gpu"], "2");
  EXPECT_EQ(resources["requests"]["nvidia.com/gpu"], "2");
  EXPECT_EQ(resources["limits"]["rdma/hca"], "8");
  EXPECT_EQ(resources["limits"]["memory"], "141Gi");  // 128 GiB and a tenth
  EXPECT_EQ(resources["requests"]["memory"], "141Gi");
  EXPECT_EQ(resources["requests"]["cpu"], "6");
  EXPECT_FALSE(resources["limits"].contains("cpu"));
  world.options.cpus = 96;
  world.options.memory = Bytes(512 * kGiB);
  world.plan.gpu_name = "AMD Instinct MI300X";
  world.options.image = "rocm/vllm:v1";
  resources = EngineOf(world)["resources"];
  EXPECT_EQ(resources["limits"], resources["requests"]);
  EXPECT_EQ(resources["limits"]["cpu"], "96");
  EXPECT_EQ(resources["limits"]["memory"], "512Gi");
  EXPECT_EQ(resources["limits"]["amd.com/gpu"], "2");
}

TEST(KubernetesPodTest, HasNoMorePrivilegeThanItNeeds) {
  KubernetesWorld world = VllmWorld(2);
  YamlValue pod = PodOf(world);
  EXPECT_EQ(pod["spec"]["automountServiceAccountToken"], false);
  EXPECT_EQ(pod["spec"]["enableServiceLinks"], false);
  YamlValue context = pod["spec"]["containers"][0]["securityContext"];
  EXPECT_EQ(context["capabilities"], (YamlValue{{"add", YamlValue::array({"IPC_LOCK"})}}));
  EXPECT_EQ(context["allowPrivilegeEscalation"], false);
  EXPECT_FALSE(context.contains("privileged"));
  EXPECT_EQ(pod["spec"]["initContainers"][0]["securityContext"],
            (YamlValue{{"allowPrivilegeEscalation", false}}));
  EXPECT_FALSE(pod["spec"].contains("hostNetwork"));
  EXPECT_FALSE(pod["spec"].contains("hostIPC"));
  context = EngineOf(VllmWorld(1, {"--numa-bind"}))["securityContext"];
  EXPECT_EQ(context["capabilities"]["add"], YamlValue::array({"IPC_LOCK", "SYS_NICE"}));
}

TEST(KubernetesPodTest, WithoutRdmaAndPinnedMemoryNothingIsLocked) {
  KubernetesWorld world = VllmWorld(2);
  world.site.fabric = Fabric::kSocket;
  EXPECT_TRUE(EngineOf(world)["securityContext"].contains("capabilities"));  // 64 GiB are pinned
  for (HostPlan& host : world.plan.host) host.pinned_allocated = Bytes();
  EXPECT_EQ(EngineOf(world)["securityContext"], (YamlValue{{"allowPrivilegeEscalation", false}}));
  world.options.rdma_resources = {{"rdma/hca", 1}};
  EXPECT_EQ(EngineOf(world)["securityContext"]["capabilities"]["add"],
            YamlValue::array({"IPC_LOCK"}));
}

TEST(KubernetesPodTest, TheKeyOfTheApiIsASecrets) {
  KubernetesWorld world = VllmWorld(2);
  EXPECT_TRUE(Named(EngineOf(world)["env"], "VLLM_API_KEY").is_null());
  world.options.api_key_secret = "serving";
  world.options.api_key_entry = "k3";
  const YamlValue key = Named(EngineOf(world)["env"], "VLLM_API_KEY");
  EXPECT_EQ(key["valueFrom"], (YamlValue{{"secretKeyRef", {{"name", "serving"}, {"key", "k3"}}}}));
  EXPECT_TRUE(Named(EngineOf(world, Role::kWorker)["env"], "VLLM_API_KEY").is_null());
}

TEST(KubernetesPodTest, TheModelIsReadOnly) {
  KubernetesWorld world = VllmWorld(1);
  world.options.mounts = {"/drafts", "/adapters"};
  YamlValue spec = PodOf(world)["spec"];
  YamlValue engine = spec["containers"][0];
  EXPECT_EQ(Named(spec["volumes"], "model")["hostPath"],
            (YamlValue{{"path", "/models/Kimi K3"}, {"type", "Directory"}}));
  for (const char* name : {"model", "mount-0", "mount-1", "scripts"}) {
    EXPECT_EQ(Named(engine["volumeMounts"], name)["readOnly"], true) << name;
  }
  EXPECT_EQ(Named(engine["volumeMounts"], "mount-1")["mountPath"], "/adapters");
  EXPECT_EQ(Named(spec["initContainers"][0]["volumeMounts"], "model")["readOnly"], true);
  EXPECT_EQ(Named(spec["volumes"], "shm")["emptyDir"],
            (YamlValue{{"medium", "Memory"}, {"sizeLimit", "32Gi"}}));
  world.options.pvc = "models";
  world.options.pvc_path = "k3";
  spec = PodOf(world)["spec"];
  EXPECT_EQ(Named(spec["volumes"], "model")["persistentVolumeClaim"],
            (YamlValue{{"claimName", "models"}, {"readOnly", true}}));
  EXPECT_EQ(Named(spec["containers"][0]["volumeMounts"], "model")["subPath"], "k3");
  EXPECT_EQ(Named(spec["initContainers"][0]["volumeMounts"], "model")["subPath"], "k3");
}

TEST(KubernetesPodTest, AStageIndexLiesOverTheModels) {
  KubernetesWorld world = VllmWorld(2);
  world.options.stage_index = "/index";
  YamlValue engine = EngineOf(world);
  YamlValue mount = Named(engine["volumeMounts"], "stage-index");
  EXPECT_EQ(mount["mountPath"], "/models/Kimi K3/model.safetensors.index.json");
  EXPECT_EQ(mount["subPathExpr"], "stage-$(LWS_WORKER_INDEX)/model.safetensors.index.json");
  EXPECT_EQ(mount["readOnly"], true);
  world.options.kind = Kind::kStatefulSet;
  engine = EngineOf(world, Role::kWorker);
  EXPECT_EQ(Named(engine["volumeMounts"], "stage-index")["subPathExpr"],
            "stage-$(NODE_INDEX)/model.safetensors.index.json");
  EXPECT_EQ(Named(engine["env"], "NODE_INDEX")["valueFrom"]["fieldRef"]["fieldPath"],
            "metadata.labels['apps.kubernetes.io/pod-index']");
}

TEST(KubernetesPodTest, PlacementIsWhatWasAskedFor) {
  KubernetesWorld world = VllmWorld(2);
  YamlValue spec = PodOf(world)["spec"];
  EXPECT_FALSE(spec.contains("nodeSelector"));
  EXPECT_EQ(spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
                ["topologyKey"],
            "kubernetes.io/hostname");
  world.site.hosts = {"node-a", "node-b"};
  world.options.gpu_product = "NVIDIA-H20";
  world.options.node_selector = {{"pool", "gpu"}};
  world.options.tolerations = {{"nvidia.com/gpu", "", "NoSchedule"}, {"team", "search", ""}};
  world.options.runtime_class = "nvidia";
  world.options.topology_key = "zone";
  world.options.kind = Kind::kStatefulSet;
  spec = PodOf(world)["spec"];
  EXPECT_EQ(spec["nodeSelector"],
            (YamlValue{{"nvidia.com/gpu.product", "NVIDIA-H20"}, {"pool", "gpu"}}));
  EXPECT_EQ(spec["tolerations"].dump(),
            R"([{"key":"nvidia.com/gpu","operator":"Exists","effect":"NoSchedule"},)"
            R"({"key":"team","operator":"Equal","value":"search"}])");
  EXPECT_EQ(spec["runtimeClassName"], "nvidia");
  EXPECT_EQ(spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
                ["nodeSelectorTerms"][0]["matchExpressions"][0]["values"],
            YamlValue::array({"node-a", "node-b"}));
  EXPECT_EQ(spec["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
                ["topologyKey"],
            "zone");
}

TEST(KubernetesPodTest, TheHostsNetworkKeepsTheClustersNames) {
  KubernetesWorld world = VllmWorld(2);
  world.options.host_network = true;
  const YamlValue spec = PodOf(world)["spec"];
  EXPECT_EQ(spec["hostNetwork"], true);
  EXPECT_EQ(spec["dnsPolicy"], "ClusterFirstWithHostNet");
}

TEST(KubernetesPodTest, VariablesMeanWhatTheyMeant) {
  KubernetesWorld world = VllmWorld(2);
  for (LaunchPlan& launch : world.plan.launch) launch.env = {{"A", "$(POD_IP) $$ $x"}};
  const YamlValue value = Named(EngineOf(world)["env"], "A")["value"];
  EXPECT_EQ(value, "$$(POD_IP) $$$$ $$x");
  EXPECT_EQ(testing_support::ExpandVariable(value, {{"POD_IP", "10.0.0.1"}}), "$(POD_IP) $$ $x");
  EXPECT_EQ(Named(EngineOf(world)["env"], "VLLM_HOST_IP")["valueFrom"]["fieldRef"]["fieldPath"],
            "status.podIP");
}

TEST(KubernetesPodTest, CommentsTellWhereFiguresComeFrom) {
  KubernetesWorld world = VllmWorld(2);
  PodTemplate pod = MakePodTemplate(world.Facts(), Role::kLeader, "0");
  EXPECT_THAT(pod.comments.at("/spec"), HasSubstr("often NVIDIA-H20;"));
  EXPECT_THAT(pod.comments.at("/spec/containers/0/resources"), HasSubstr("(assumed)"));
  EXPECT_THAT(pod.comments.at("/spec/containers/0/startupProbe"), HasSubstr("(assumed)"));
  EXPECT_THAT(pod.comments.at("/spec/containers/0/image"), HasSubstr("engine's version"));
  EXPECT_TRUE(MakePodTemplate(world.Facts(), Role::kWorker, "0").comments.empty());
  world.options.gpu_product = "x";
  world.options.image = "a:b";
  pod = MakePodTemplate(world.Facts(), Role::kLeader, "0");
  EXPECT_FALSE(pod.comments.contains("/spec"));
  EXPECT_FALSE(pod.comments.contains("/spec/containers/0/image"));
}

TEST(KubernetesPodTest, LabelsOfOursWin) {
  KubernetesWorld world = VllmWorld(1);
  world.options.labels = {{"team", "search"}, {"app.kubernetes.io/instance", "other"}};
  const YamlValue labels = LabelsOf(world.Facts());
  EXPECT_EQ(labels["team"], "search");
  EXPECT_EQ(labels["app.kubernetes.io/instance"], "kimi-k3");
  EXPECT_EQ(labels["app.kubernetes.io/version"], "0.31.0");
}

TEST(KubernetesPodTest, Quantities) {
  EXPECT_EQ(QuantityOf(Bytes(96 * kGiB)), "96Gi");
  EXPECT_EQ(QuantityOf(Bytes(kTiB)), "1Ti");
  EXPECT_EQ(QuantityOf(Bytes(512 * kMiB)), "512Mi");
  EXPECT_EQ(QuantityOf(Bytes(1025)), "1025");
}

}  // namespace
}  // namespace shardplan::kubernetes
