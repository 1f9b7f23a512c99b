#include "launch/kubernetes/manifests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "launch/group_command.h"
#include "launch/kubernetes/kubernetes_world.h"
#include "launch/kubernetes/pod_runner.h"
#include "support/openapi_schema.h"
#include "support/sglang_world.h"
#include "support/yaml_json.h"

namespace shardplan::kubernetes {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::ExampleFromConfig;
using testing_support::KubernetesWorld;
using testing_support::OpenApiCheck;
using testing_support::PodRun;
using testing_support::PodRunner;
using testing_support::TextOf;
using testing_support::VllmWorld;
using testing_support::YamlToJson;

const json& Schema() {
  static const json schema = YamlToJson(testing_support::ReadText(std::string(SHARDPLAN_TEST_DATA) +
                                                                  "/k8s/leaderworkerset-crd.yaml"));
  static const json open_api = schema["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
  return open_api;
}

const json& PodSchema() {
  return Schema()["properties"]["spec"]["properties"]["leaderWorkerTemplate"]["properties"]
                 ["workerTemplate"];
}

std::set<std::string> KeysOf(const json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

void ExpectKeysAmong(const json& object, const std::set<std::string>& known) {
  for (const std::string& key : KeysOf(object)) EXPECT_TRUE(known.contains(key)) << key;
}

// Metadata and fields of the built-in kinds, from the API reference of Kubernetes 1.28 to 1.34.
void ExpectKnownFields(const json& resource) {
  ExpectKeysAmong(resource["metadata"], {"name", "namespace", "labels", "annotations"});
  const std::string kind = resource["kind"];
  if (kind == "ConfigMap") {
    EXPECT_EQ(resource["apiVersion"], "v1");
    ExpectKeysAmong(resource, {"apiVersion", "kind", "metadata", "data"});
    for (const auto& [name, text] : resource["data"].items()) EXPECT_TRUE(text.is_string()) << name;
  } else if (kind == "Service") {
    EXPECT_EQ(resource["apiVersion"], "v1");
    ExpectKeysAmong(resource, {"apiVersion", "kind", "metadata", "spec"});
    ExpectKeysAmong(resource["spec"],
                    {"type", "selector", "ports", "clusterIP", "publishNotReadyAddresses"});
    for (const json& port : resource["spec"]["ports"]) {
      ExpectKeysAmong(port, {"name", "port", "targetPort", "protocol"});
      EXPECT_TRUE(port["port"].is_number_integer());
    }
    for (const auto& [name, text] : resource["spec"]["selector"].items()) {
      EXPECT_TRUE(text.is_string()) << name;
    }
  } else if (kind == "StatefulSet") {
    EXPECT_EQ(resource["apiVersion"], "apps/v1");
    ExpectKeysAmong(resource, {"apiVersion", "kind", "metadata", "spec"});
    ExpectKeysAmong(resource["spec"], {"serviceName", "replicas", "ordinals", "podManagementPolicy",
                                       "selector", "template"});
    EXPECT_EQ(resource["spec"]["podManagementPolicy"], "Parallel");
    EXPECT_TRUE(resource["spec"]["replicas"].is_number_integer());
    const json& labels = resource["spec"]["template"]["metadata"]["labels"];
    for (const auto& [key, value] : resource["spec"]["selector"]["matchLabels"].items()) {
      EXPECT_EQ(labels.value(key, ""), value) << key;
    }
    EXPECT_THAT(OpenApiCheck::Run(PodSchema(), resource["spec"]["template"]), IsEmpty());
  } else if (kind == "NetworkPolicy") {
    EXPECT_EQ(resource["apiVersion"], "networking.k8s.io/v1");
    ExpectKeysAmong(resource, {"apiVersion", "kind", "metadata", "spec"});
    ExpectKeysAmong(resource["spec"], {"podSelector", "policyTypes", "ingress"});
    for (const json& rule : resource["spec"]["ingress"]) ExpectKeysAmong(rule, {"from", "ports"});
  } else {
    EXPECT_EQ(kind, "LeaderWorkerSet");
    EXPECT_EQ(resource["apiVersion"], "leaderworkerset.x-k8s.io/v1");
    EXPECT_THAT(OpenApiCheck::Run(Schema(), resource), IsEmpty());
  }
}

// A pod's containers mount volumes that are there, and the ConfigMap that is there.
void ExpectWhole(const json& pod, const json& config_map) {
  std::set<std::string> volumes;
  for (const json& volume : pod["spec"]["volumes"]) {
    volumes.insert(volume["name"]);
    if (volume.contains("configMap")) {
      EXPECT_EQ(volume["configMap"]["name"], config_map["metadata"]["name"]);
    }
  }
  for (const char* list : {"initContainers", "containers"}) {
    for (const json& container : pod["spec"][list]) {
      for (const json& mount : container["volumeMounts"]) {
        EXPECT_TRUE(volumes.contains(mount["name"])) << mount.dump();
      }
      const std::string script = container["command"][1];
      EXPECT_TRUE(script.starts_with(std::string(kScriptsPath) + "/")) << script;
      EXPECT_TRUE(config_map["data"].contains(script.substr(script.rfind('/') + 1))) << script;
    }
  }
}

struct Parsed {
  json config_map;
  json leader;  // pod templates
  json worker;
  std::map<std::string, json> by_file;
};

Parsed ParseAndCheck(const Bundle& bundle) {
  Parsed out;
  for (const Artefact& file : bundle.files) {
    std::string text = file.text;
    const std::string own = "<MASTER_ADDR> and more";  // of the hostile words, no placeholder
    for (size_t at; (at = text.find(own)) != text.npos;) text.erase(at, own.size());
    for (const char* placeholder : {"<MASTER_ADDR>", "<INTERFACE>", "<PATH>"}) {
      EXPECT_EQ(text.find(placeholder), std::string::npos) << file.path;
    }
    EXPECT_FALSE(file.executable);
    const json document = YamlToJson(file.text);
    out.by_file[file.path] = document;
    const std::string kind = document["kind"];
    if (kind == "Kustomization") continue;
    ExpectKnownFields(document);
    if (kind == "ConfigMap") out.config_map = document;
    if (kind == "LeaderWorkerSet") {
      const json& pods = document["spec"]["leaderWorkerTemplate"];
      out.worker = pods["workerTemplate"];
      out.leader = pods.value("leaderTemplate", out.worker);
    }
    if (kind == "StatefulSet") {
      (file.path == "statefulset.yaml" ? out.leader : out.worker) = document["spec"]["template"];
    }
  }
  ExpectWhole(out.leader, out.config_map);
  if (!out.worker.is_null()) ExpectWhole(out.worker, out.config_map);
  // The kustomization lists every file but itself, in order.
  std::vector<std::string> files;
  for (size_t i = 1; i < bundle.files.size(); ++i) files.push_back(bundle.files[i].path);
  if (!bundle.files.empty()) {
    EXPECT_EQ(bundle.files.front().path, "kustomization.yaml");
    EXPECT_EQ(out.by_file["kustomization.yaml"]["resources"], json(files));
  }
  return out;
}

// A plan of a real model, whose checkpoint lies at /models/NAME on the nodes.
KubernetesWorld PlanWorld(const std::string& name, Deployment deployment) {
  deployment.settings.served_model = "/models/" + name;
  KubernetesWorld world;
  world.model = ExampleFromConfig(name);
  world.plan = testing_support::Evaluate(world.model, deployment);
  EXPECT_FALSE(world.plan.launch.empty());
  return world;
}

// What node `node` runs, through everything that is written.
PodRun RunNode(const KubernetesWorld& world, int64_t node) {
  const Parsed parsed = ParseAndCheck(world.Manifests());
  PodRunner runner(parsed.config_map["data"]);
  const std::string rank = std::to_string(node);
  testing_support::PodFields fields;
  fields.by_path = {{"status.podIP", "10.0.0." + rank},
                    {"metadata.name", node == 0 ? "m-0" : "m-worker-" + rank},
                    {"metadata.namespace", "ns"},
                    {"metadata.labels['apps.kubernetes.io/pod-index']", rank}};
  if (world.options.kind == Kind::kLeaderWorkerSet) {
    fields.injected = {{"LWS_LEADER_ADDRESS", "m-0.m.ns"},
                       {"LWS_GROUP_SIZE", std::to_string(world.plan.launch.size())},
                       {"LWS_WORKER_INDEX", rank}};
  }
  const json& pod = node == 0 ? parsed.leader : parsed.worker;
  PodRun run = runner.Run(pod["spec"]["containers"][0], fields);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_FALSE(std::filesystem::exists(runner.dir().Path("owned")));
  return run;
}

// The plan's command of a node, with the address that the pod makes of it.
std::vector<std::string> Expected(const KubernetesWorld& world, int64_t node) {
  const bool lws = world.options.kind == Kind::kLeaderWorkerSet;
  const std::string name = world.Facts().name;
  const std::string master = node == 0 ? "10.0.0.0"
                             : lws     ? "m-0.m.ns"
                                       : name + "-0." + name + "-nodes.ns.svc";
  std::vector<std::string> words;
  for (std::string word : world.plan.launch[static_cast<size_t>(node)].argv) {
    // As the whole word or before a port; elsewhere it is a word of a person's.
    if (word == "<MASTER_ADDR>" || word.starts_with("<MASTER_ADDR>:")) word.replace(0, 13, master);
    words.push_back(std::move(word));
  }
  if (node == 0) words.insert(words.end(), {"--host", "0.0.0.0", "--port", "8000"});
  return words;
}

void ExpectNodesRunTheirCommands(KubernetesWorld world) {
  for (const Kind kind : {Kind::kLeaderWorkerSet, Kind::kStatefulSet}) {
    world.options.kind = kind;
    for (const LaunchPlan& launch : world.plan.launch) {
      const PodRun run = RunNode(world, launch.node);
      EXPECT_EQ(run.argv, Expected(world, launch.node));
      for (const auto& [name, value] : launch.env) {
        EXPECT_EQ(run.env.contains(name) ? run.env.at(name) : "unset", value) << name;
      }
    }
  }
}

TEST(OpenApiCheckTest, FindsWhatTheSchemaForbids) {
  const json good = YamlToJson(TextOf(VllmWorld(2).Manifests(), "leaderworkerset.yaml"));
  EXPECT_THAT(OpenApiCheck::Run(Schema(), good), IsEmpty());
  const auto broken = [&](const std::string& pointer, const json& value) {
    json copy = good;
    copy[json::json_pointer(pointer)] = value;
    return OpenApiCheck::Run(Schema(), copy);
  };
  const std::string pod = "/spec/leaderWorkerTemplate/leaderTemplate/spec";
  EXPECT_THAT(broken("/spec/size", 2), ElementsAre("/spec/size: unknown field"));
  EXPECT_THAT(broken("/spec/leaderWorkerTemplate/size", "2"),
              ElementsAre("/spec/leaderWorkerTemplate/size: expected integer"));
  EXPECT_EQ(broken("/spec/leaderWorkerTemplate/restartPolicy", "Always").size(), 1u);
  EXPECT_EQ(broken("/spec/replicas", -1).size(), 1u);
  EXPECT_EQ(broken(pod + "/containers/0/resources/limits/memory", "12 GiB").size(), 1u);
  EXPECT_EQ(broken(pod + "/containers/0/resources/limits/memory", true).size(), 1u);
  EXPECT_EQ(broken(pod + "/containers/0/env/0", {{"value", "x"}}).size(), 1u);  // no name
  json twice = good[json::json_pointer(pod + "/volumes")];
  twice.push_back(twice[0]);
  EXPECT_EQ(broken(pod + "/volumes", twice).size(), 1u);
  EXPECT_EQ(broken("/metadata", "x").size(), 1u);
}

TEST(KubernetesManifestsTest, AGroupIsTheWholeDeployment) {
  KubernetesWorld world = VllmWorld(2);
  world.options.topology_key = "topology.kubernetes.io/zone";
  world.options.namespace_name = "search";
  const Parsed parsed = ParseAndCheck(world.Manifests());
  const json& set = parsed.by_file.at("leaderworkerset.yaml");
  EXPECT_EQ(set["spec"]["leaderWorkerTemplate"]["size"], 2);
  EXPECT_EQ(set["spec"]["leaderWorkerTemplate"]["restartPolicy"], "RecreateGroupOnPodRestart");
  EXPECT_EQ(set["metadata"]["annotations"]["leaderworkerset.sigs.k8s.io/exclusive-topology"],
            "topology.kubernetes.io/zone");
  const json& service = parsed.by_file.at("service.yaml");
  EXPECT_EQ(service["spec"]["selector"]["leaderworkerset.sigs.k8s.io/worker-index"], "0");
  EXPECT_EQ(service["metadata"]["name"], "kimi-k3-api");  // LWS makes a Service kimi-k3
  for (const auto& [file, document] : parsed.by_file) {
    if (file == "kustomization.yaml") {
      EXPECT_EQ(document["namespace"], "search");
    } else {
      EXPECT_EQ(document["metadata"]["namespace"], "search") << file;
    }
  }
}

TEST(KubernetesManifestsTest, SeveralGroupsStandBehindOneService) {
  KubernetesWorld world = VllmWorld(2);
  world.options.replicas = 3;
  const Parsed parsed = ParseAndCheck(world.Manifests());
  const json& set = parsed.by_file.at("leaderworkerset.yaml");
  EXPECT_EQ(set["spec"]["replicas"], 3);
  EXPECT_FALSE(parsed.by_file.at("service.yaml")["spec"]["selector"].contains(
      "leaderworkerset.sigs.k8s.io/group-index"));
  EXPECT_TRUE(TextOf(world.Manifests(), "leaderworkerset.yaml")
                  .starts_with("# 3 groups of 2 pods, each the whole deployment: "));
}

TEST(KubernetesManifestsTest, PodsTalkToEachOtherAndAllToTheApi) {
  const json rules = {{{"from", {{{"podSelector", {{"matchLabels", json::object()}}}}}}},
                      {{"ports", {{{"port", 8000}, {"protocol", "TCP"}}}}}};
  for (const Kind kind : {Kind::kLeaderWorkerSet, Kind::kStatefulSet}) {
    KubernetesWorld world = VllmWorld(2);
    world.options.kind = kind;
    const Parsed parsed = ParseAndCheck(world.Manifests());
    const json& policy = parsed.by_file.at("networkpolicy.yaml");
    EXPECT_EQ(policy["metadata"]["name"], "kimi-k3-pods");
    json expected = rules;
    const json& pods = policy["spec"]["podSelector"]["matchLabels"];
    expected[0]["from"][0]["podSelector"]["matchLabels"] = pods;
    EXPECT_EQ(policy["spec"]["ingress"], expected);
    for (const json& pod : {parsed.leader, parsed.worker}) {
      EXPECT_EQ(pod["metadata"]["labels"]["app.kubernetes.io/instance"],
                pods["app.kubernetes.io/instance"]);
    }
    world.options.host_network = true;
    EXPECT_FALSE(ParseAndCheck(world.Manifests()).by_file.contains("networkpolicy.yaml"));
  }
  const Parsed one = ParseAndCheck(VllmWorld(1).Manifests());
  EXPECT_EQ(one.by_file.at("networkpolicy.yaml")["spec"]["ingress"], json::array({rules[1]}));
}

TEST(KubernetesManifestsTest, AGroupOfOneHasOneTemplate) {
  const Parsed parsed = ParseAndCheck(VllmWorld(1).Manifests());
  const json& pods = parsed.by_file.at("leaderworkerset.yaml")["spec"]["leaderWorkerTemplate"];
  EXPECT_EQ(pods["size"], 1);
  EXPECT_FALSE(pods.contains("leaderTemplate"));
  EXPECT_TRUE(pods["workerTemplate"]["spec"]["containers"][0].contains("readinessProbe"));
}

TEST(KubernetesManifestsTest, StatefulSetsNameTheirPodsByNode) {
  KubernetesWorld world = VllmWorld(3);
  world.options.kind = Kind::kStatefulSet;
  const Parsed parsed = ParseAndCheck(world.Manifests());
  const json& leader = parsed.by_file.at("statefulset.yaml");
  const json& worker = parsed.by_file.at("statefulset-worker.yaml");
  EXPECT_EQ(leader["spec"]["replicas"], 1);
  EXPECT_EQ(worker["spec"]["replicas"], 2);
  EXPECT_EQ(worker["spec"]["ordinals"]["start"], 1);
  EXPECT_EQ(worker["metadata"]["name"], "kimi-k3-worker");
  const json& service = parsed.by_file.at("headless-service.yaml");
  EXPECT_EQ(service["spec"]["clusterIP"], "None");
  EXPECT_EQ(service["spec"]["publishNotReadyAddresses"], true);
  EXPECT_EQ(service["metadata"]["name"], leader["spec"]["serviceName"]);
  EXPECT_EQ(service["metadata"]["name"], worker["spec"]["serviceName"]);
  EXPECT_EQ(parsed.by_file.at("service.yaml")["spec"]["selector"],
            leader["spec"]["selector"]["matchLabels"]);
  world = VllmWorld(1);
  world.options.kind = Kind::kStatefulSet;
  EXPECT_FALSE(ParseAndCheck(world.Manifests()).by_file.contains("statefulset-worker.yaml"));
}

TEST(KubernetesManifestsTest, NodesOfRealPlansRunTheirCommands) {
  Deployment k3 = testing_support::PublishedKimiK3();
  k3.settings.numa_bind = false;
  ExpectNodesRunTheirCommands(PlanWorld("kimi-k3", k3));
  ExpectNodesRunTheirCommands(PlanWorld("kimi-k3", testing_support::BaselineKimiK3()));
  Deployment one;
  one.gpu = "h200-141";
  one.sizes.tp = 8;
  ExpectNodesRunTheirCommands(PlanWorld("deepseek-v3", one));
  Deployment many = one;
  many.sizes.tp = 4;
  many.sizes.dp = 8;
  many.nodes = 4;
  many.sizes.expert_parallel = true;
  const KubernetesWorld world = PlanWorld("deepseek-v3", many);
  ASSERT_EQ(world.plan.launch.size(), 4u);
  ExpectNodesRunTheirCommands(world);
}

TEST(KubernetesManifestsTest, EveryOptionIsInTheSchema) {
  for (const Kind kind : {Kind::kLeaderWorkerSet, Kind::kStatefulSet}) {
    KubernetesWorld world = VllmWorld(2, {"--numa-bind", "--ssl-certfile", "/models/Kimi K3/c"});
    Options& o = world.options;
    o.kind = kind;
    o.namespace_name = "search";
    o.labels = {{"team", "search"}, {"yes", "no"}, {"port", "8000"}};
    o.node_selector = {{"pool", "1e3"}};
    o.gpu_product = "NVIDIA-H20";
    o.tolerations = {{"nvidia.com/gpu", "", "NoSchedule"}, {"a", "true", "NoExecute"}};
    o.topology_key = "rack";
    o.runtime_class = "nvidia";
    o.pvc = "models";
    o.pvc_path = "k3";
    o.mounts = {"/drafts"};
    o.stage_index = "/index";
    o.completion_marker = "done";
    o.rdma_resources = {{"rdma/hca", 1}};
    o.host_network = true;
    o.shm_size = Bytes(kGiB);
    o.memory = Bytes(300 * kGiB);
    o.cpus = 90;
    world.site.hosts = {"a", "b"};
    world.site.socket_ifname = "bond0";
    world.site.gid_index = 3;
    const Parsed parsed = ParseAndCheck(world.Manifests());
    EXPECT_EQ(parsed.by_file.at("service.yaml")["metadata"]["labels"]["yes"], "no");
    EXPECT_EQ(parsed.leader["spec"]["nodeSelector"]["pool"], "1e3");
  }
}

TEST(KubernetesManifestsTest, HostileWordsStayWords) {
  const std::vector<std::string> hostile = testing_support::HostileBytes();
  KubernetesWorld world = VllmWorld(2, hostile);
  for (LaunchPlan& launch : world.plan.launch) {
    launch.argv[2] = "/models/it's $(touch owned) \"`x`\" 模型 #1";
    for (size_t i = 0; i + 1 < hostile.size(); ++i) {  // the last is not UTF-8
      launch.env.emplace_back("HOSTILE_" + std::to_string(i), hostile[i]);
    }
  }
  world.site.socket_ifname = "$(POD_IP)'\"; touch owned";
  world.site.ib_hca = "a\nb: c\n- d";
  world.options.mounts = {"/data/a b#: $(x)"};
  EXPECT_EQ(world.Error(),
            "--mount: expected an absolute path without '..', ':' or control characters, found "
            "'/data/a b#: $(x)'");
  world.options.mounts = {"/data/a b # $(x) {{y}}"};
  ExpectNodesRunTheirCommands(world);
  const PodRun run = RunNode(world, 1);
  EXPECT_EQ(run.env.at("NCCL_SOCKET_IFNAME"), world.site.socket_ifname);
  EXPECT_EQ(run.env.at("NCCL_IB_HCA"), world.site.ib_hca);
  const Parsed parsed = ParseAndCheck(world.Manifests());
  EXPECT_EQ(parsed.leader["spec"]["volumes"][0]["hostPath"]["path"], world.plan.launch[0].argv[2]);
  EXPECT_EQ(parsed.leader["spec"]["volumes"][1]["hostPath"]["path"], world.options.mounts[0]);
}

TEST(KubernetesManifestsTest, WhatYamlCannotHoldIsRefused) {
  KubernetesWorld world = VllmWorld(1);
  world.plan.launch.front().env = {{"A", "\xff"}};
  EXPECT_NE(world.Error().find("expected UTF-8"), std::string::npos) << world.Error();
  world.plan.launch.front().env.clear();
  world.plan.gpu_name = "NVIDIA\n# x: \xff y";  // goes into a comment
  ParseAndCheck(world.Manifests());
}

TEST(KubernetesManifestsTest, TheReviewSheetLearnsWhatIsAssumed) {
  const KubernetesWorld world = VllmWorld(2);
  const Bundle bundle = world.Manifests();
  ASSERT_EQ(bundle.commands.size(), 2u);
  EXPECT_EQ(bundle.commands[1], world.plan.launch[1].argv);
  EXPECT_EQ(bundle.commands[0].back(), "8000");
  ASSERT_EQ(bundle.assumptions.size(), 2u);
  EXPECT_EQ(
      bundle.assumptions[0],
      "A node reads 100.0 GiB at 1 GB/s (assumed): 108 s at least. The engine may take 840 s to "
      "start: twice that, and 600 s to compile and warm up (assumed).");
  EXPECT_TRUE(bundle.assumptions[1].starts_with("Memory of a pod: 141Gi; 64.0 GiB offloaded"));
  EXPECT_EQ(bundle.notes.size(), 4u);
  for (const Artefact& file : bundle.files) EXPECT_NE(file.purpose, "") << file.path;
}

// All notes in one text.
std::string NotesOf(const KubernetesWorld& world) {
  std::string text;
  for (const std::string& note : world.Manifests().notes) text += note + "\n";
  return text;
}

TEST(KubernetesManifestsTest, ANetworkThatNobodyGaveIsTold) {
  using ::testing::HasSubstr;
  using ::testing::Not;
  KubernetesWorld world = VllmWorld(2);
  EXPECT_THAT(NotesOf(world), HasSubstr("Nothing gives the pods an RDMA device: "));
  EXPECT_THAT(NotesOf(world), HasSubstr("--socket-ifname names it."));
  world.site.socket_ifname = "bond0";
  EXPECT_THAT(NotesOf(world), Not(HasSubstr("--socket-ifname")));
  world.options.host_network = true;
  EXPECT_THAT(NotesOf(world), HasSubstr("no resource gives them its RDMA devices"));
  world.options.rdma_resources = {{"rdma/hca", 8}};
  EXPECT_THAT(NotesOf(world), Not(HasSubstr("RDMA")));
  world.options.rdma_resources.clear();
  world.site.fabric = Fabric::kSocket;
  EXPECT_THAT(NotesOf(world), HasSubstr("goes over TCP (--fabric socket)"));
  EXPECT_THAT(NotesOf(VllmWorld(1)), Not(HasSubstr("RDMA")));
}

TEST(KubernetesManifestsTest, AKeyOfTheApiThatIsMissingIsTold) {
  using ::testing::HasSubstr;
  using ::testing::Not;
  KubernetesWorld world = VllmWorld(1);
  EXPECT_THAT(NotesOf(world), Not(HasSubstr("key")));
  world.plan.findings = {{"command.secret", Severity::kNote, "HF_TOKEN", "", ""}};
  EXPECT_THAT(NotesOf(world), Not(HasSubstr("key")));
  for (const char* subject : {"--api-key", "VLLM_API_KEY"}) {
    world.plan.findings = {{"command.secret", Severity::kNote, subject, "", ""}};
    EXPECT_THAT(NotesOf(world), HasSubstr("Give --api-key-secret NAME[/KEY]"));
  }
  world.options.api_key_secret = "vllm";
  EXPECT_THAT(NotesOf(world), HasSubstr("the entry api-key of the Secret vllm"));
  EXPECT_THAT(NotesOf(world), Not(HasSubstr("whoever")));
}

TEST(KubernetesManifestsTest, WhatIsGivenAndLeftOutIsTold) {
  using ::testing::HasSubstr;
  KubernetesWorld world = VllmWorld(1);
  world.plan.launch.front().env = {{"CUDA_VISIBLE_DEVICES", "4,5"}};
  world.options.memory = Bytes(100 * kGiB);
  EXPECT_THAT(NotesOf(world), HasSubstr("CUDA_VISIBLE_DEVICES=4,5 is left out: "));
  EXPECT_THAT(NotesOf(world), HasSubstr("The memory of a pod, 100Gi, is less than the 141Gi"));
}

TEST(KubernetesManifestsTest, TheSameInputGivesTheSameBytes) {
  const KubernetesWorld world = PlanWorld("kimi-k3", testing_support::PublishedKimiK3());
  const KubernetesWorld again = PlanWorld("kimi-k3", testing_support::PublishedKimiK3());
  EXPECT_EQ(RenderBundle(world.Manifests()), RenderBundle(again.Manifests()));
}

TEST(KubernetesManifestsTest, AScriptThatChangesReplacesThePods) {
  const auto hash = [](const KubernetesWorld& world) {
    return ParseAndCheck(world.Manifests()).leader["metadata"]["annotations"]["shardplan-scripts"];
  };
  EXPECT_EQ(hash(VllmWorld(2)), hash(VllmWorld(2)));
  EXPECT_NE(hash(VllmWorld(2)), hash(VllmWorld(2, {"--x"})));
}

}  // namespace
}  // namespace shardplan::kubernetes
