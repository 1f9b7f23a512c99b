#include "launch/kubernetes/facts.h"

#include <gtest/gtest.h>

#include "launch/kubernetes/kubernetes_world.h"

namespace shardplan::kubernetes {
namespace {

using testing_support::KubernetesWorld;
using testing_support::VllmWorld;
using Variables = std::vector<std::pair<std::string, std::string>>;

TEST(KubernetesFactsTest, NameAndImageFollowFromThePlan) {
  const KubernetesWorld world = VllmWorld(2);
  const Facts facts = world.Facts();
  EXPECT_EQ(facts.name, "kimi-k3");
  EXPECT_EQ(facts.image, "vllm/vllm-openai:v0.31.0");
  EXPECT_TRUE(facts.image_derived);
  EXPECT_EQ(facts.nodes, 2);
  EXPECT_EQ(facts.gpus, 2);
  EXPECT_EQ(facts.gpu_resource, "nvidia.com/gpu");
  EXPECT_EQ(facts.model, "/models/Kimi K3");
  EXPECT_EQ(facts.bind, "0.0.0.0");
}

TEST(KubernetesFactsTest, GivenNamesAreCheckedNotMended) {
  KubernetesWorld world = VllmWorld(1);
  world.site.name = "search-k3";
  EXPECT_EQ(world.Facts().name, "search-k3");
  world.site.name = "Kimi_K3";
  EXPECT_EQ(world.Error(),
            "--name: expected at most 50 lower-case letters, digits and '-', beginning with a "
            "letter, found 'Kimi_K3'; give --name kimi-k3");
  world.site.name = "3k";
  EXPECT_NE(world.Error().find("give --name m-3k"), std::string::npos);
}

TEST(KubernetesFactsTest, Images) {
  KubernetesWorld world = VllmWorld(1);
  world.options.image = "registry.local/vllm:v1";
  world.options.image_digest = "sha256:" + std::string(64, '0');
  EXPECT_EQ(world.Facts().image, "registry.local/vllm:v1@sha256:" + std::string(64, '0'));
  EXPECT_FALSE(world.Facts().image_derived);
  world.options.image_digest = "sha256:0123";
  EXPECT_TRUE(world.Error().starts_with("--image-digest: expected sha256: and 64 "));
  world.options.image = "x\ny";
  EXPECT_TRUE(world.Error().starts_with("--image: expected an image such as "));
  world.options = {};
  world.plan.gpu_name = "AMD Instinct MI300X";
  EXPECT_TRUE(world.Error().starts_with("--image: expected the engine's image for this card"));
  world.options.image = "rocm/vllm:latest";
  EXPECT_EQ(world.Facts().gpu_resource, "amd.com/gpu");
}

TEST(KubernetesFactsTest, TheImageOfAPastedCommandStays) {
  KubernetesWorld world = VllmWorld(1);
  world.site.engine_version = "0.9.2";
  EXPECT_EQ(world.Facts().image, "vllm/vllm-openai:v0.9.2");
  world.site.image = "vllm/vllm-openai:v0.31.0-cu129";
  world.site.image_digest = "sha256:" + std::string(64, '1');
  EXPECT_EQ(world.Facts().image, "vllm/vllm-openai:v0.31.0-cu129@sha256:" + std::string(64, '1'));
  world.options.image = "registry.local/vllm:v1";
  EXPECT_EQ(world.Facts().image, "registry.local/vllm:v1");
}

TEST(KubernetesFactsTest, ThePluginChoosesTheCards) {
  KubernetesWorld world = VllmWorld(1);
  world.plan.launch.front().env.emplace_back("CUDA_VISIBLE_DEVICES", "4,5");
  for (const auto& variable : world.Facts().env) EXPECT_NE(variable.first, "CUDA_VISIBLE_DEVICES");
}

TEST(KubernetesFactsTest, TheModelHasToBeAPathOfTheNodes) {
  KubernetesWorld world = VllmWorld(1);
  std::string& model = world.plan.launch.front().argv[2];
  model = "moonshotai/Kimi-K3";
  EXPECT_EQ(world.Error(),
            "--model-path: expected the model's directory on the nodes as an absolute path, found "
            "moonshotai/Kimi-K3; give --model-path /models/NAME");
  for (const char* bad : {"/", "/a/../b", "/a:b", "/a\nb", "", "./-m"}) {
    model = bad;
    EXPECT_TRUE(world.Error().starts_with("--model-path: expected ")) << bad;
  }
  model = "/models/K3/";
  EXPECT_EQ(world.Facts().model, "/models/K3");
}

TEST(KubernetesFactsTest, ACacheOfLinksIsMountedWhole) {
  KubernetesWorld world = VllmWorld(1);
  world.plan.launch.front().argv[2] = "/hub/models--moonshotai--Kimi-K3/snapshots/0a1b";
  const Facts facts = world.Facts();
  EXPECT_EQ(facts.model, "/hub/models--moonshotai--Kimi-K3/snapshots/0a1b");
  EXPECT_EQ(facts.model_root, "/hub/models--moonshotai--Kimi-K3");
  world.plan.launch.front().argv[2] = "/snapshots/0a1b";
  EXPECT_NE(world.Error(), "made");
}

TEST(KubernetesFactsTest, TheApiIsWhereProbesReachIt) {
  KubernetesWorld world =
      VllmWorld(1, {"--host", "10.0.0.1", "--port=9000", "--x", "--port", "9001"});
  Facts facts = world.Facts();
  EXPECT_EQ(facts.port, 9001);
  EXPECT_EQ(WordsOf(facts.command, 0, "").back(), "--x");
  world.site.port = 8123;
  EXPECT_EQ(world.Facts().port, 8123);
  world.site.api_host = "::";
  EXPECT_EQ(world.Facts().bind, "::");
  world.options.host_network = true;
  EXPECT_EQ(world.Facts().bind, "");
  world.site.api_host = "10.0.0.1";
  EXPECT_TRUE(world.Error().starts_with("--api-host: expected 0.0.0.0 or ::, found '10.0.0.1'"));
  world.site = {};
  world.site.port = 70'000;
  EXPECT_EQ(world.Error(), "--port: expected 1 to 65,535, found 70000");
  EXPECT_TRUE(VllmWorld(1, {"--port", "x"}).Error().starts_with("--port: expected 1 to 65,535"));
  // A pasted command may say that there is IPv6 alone; the option wins over it.
  KubernetesWorld pasted = VllmWorld(1, {"--host", "::"});
  EXPECT_EQ(pasted.Facts().bind, "::");
  pasted.site.api_host = "0.0.0.0";
  EXPECT_EQ(pasted.Facts().bind, "0.0.0.0");
  EXPECT_EQ(VllmWorld(1, {"--host", "fd00::1"}).Facts().bind, "0.0.0.0");
  EXPECT_FALSE(facts.tls);
  EXPECT_TRUE(VllmWorld(1, {"--ssl-certfile", "/tls/a"}).Facts().tls);
}

TEST(KubernetesFactsTest, DraftsHaveToBeMounted) {
  KubernetesWorld world =
      VllmWorld(1, {"--speculative-config", R"({"model": "/drafts/eagle", "method": "eagle3"})"});
  EXPECT_EQ(world.Error(),
            "--mount: expected the draft model's directory, found that /drafts/eagle is not "
            "mounted; give --mount DIR");
  world.options.mounts = {"/drafts"};
  EXPECT_EQ(world.Error(), "made");
  world.options.mounts = {"/draft"};
  EXPECT_NE(world.Error(), "made");
  EXPECT_EQ(VllmWorld(1, {"--speculative-config", R"({"method": "mtp"})"}).Error(), "made");
  EXPECT_EQ(VllmWorld(1, {"--speculative-config", R"({"model": "/models/Kimi K3/d"})"}).Error(),
            "made");
  KubernetesWorld sglang =
      VllmWorld(1, {"--model-path", "/m", "--speculative-draft-model-path", "/d"});
  sglang.plan.engine = "sglang";
  EXPECT_TRUE(sglang.Error().starts_with("--mount: expected the draft"));
}

TEST(KubernetesFactsTest, PathsBesideTheModel) {
  KubernetesWorld world = VllmWorld(1);
  for (const char* bad : {"models", "/models", "/models/Kimi K3", "/models/Kimi K3/x", "/a/.."}) {
    world.options.mounts = {bad};
    EXPECT_TRUE(world.Error().starts_with("--mount: ")) << bad;
  }
  world.options.mounts = {"/a", "/a"};
  EXPECT_EQ(world.Error(), "--mount: '/a' is given twice");
  world.options.mounts.clear();
  world.options.pvc_path = "k3";
  EXPECT_EQ(world.Error(), "--pvc-path: expected --pvc beside it");
  world.options.pvc = "models";
  world.options.pvc_path = "../k3";
  EXPECT_TRUE(world.Error().starts_with("--pvc-path: "));
  world.options = {};
  world.options.completion_marker = "/etc/passwd";
  EXPECT_TRUE(world.Error().starts_with("--completion-marker: "));
  world.options = {};
  world.options.stage_index = "index";
  EXPECT_TRUE(world.Error().starts_with("--stage-index: "));
}

TEST(KubernetesFactsTest, StagesAndRanksAreOnePerNode) {
  KubernetesWorld world = VllmWorld(2);
  world.options.stage_index = "/index";
  EXPECT_EQ(world.Error(), "made");
  world.plan.ranks.back().place.stage = 0;
  EXPECT_TRUE(world.Error().starts_with("--stage-index: expected node N to hold pipeline stage N"));
  world.plan.ranks.pop_back();
  EXPECT_EQ(world.Error(),
            "/models/Kimi K3: expected as many ranks on every node, found 2 on node 0 and 1 on "
            "node 1; pods of a set are all alike");
}

TEST(KubernetesFactsTest, VariablesOfTheSiteComeFirst) {
  KubernetesWorld world = VllmWorld(1);
  world.site.socket_ifname = "bond0";
  world.site.ib_hca = "mlx5_0,mlx5_1";
  world.site.gid_index = 3;
  world.plan.launch.front().env = {{"NCCL_SOCKET_IFNAME", "eth9"},
                                   {"VLLM_HOST_IP", "10.0.0.1"},
                                   {"LWS_GROUP_SIZE", "9"},
                                   {"A", ""},
                                   {"A", "again"}};
  EXPECT_EQ(world.Facts().env, (Variables{{"NCCL_SOCKET_IFNAME", "bond0"},
                                          {"GLOO_SOCKET_IFNAME", "bond0"},
                                          {"NCCL_IB_HCA", "mlx5_0,mlx5_1"},
                                          {"NCCL_IB_GID_INDEX", "3"},
                                          {"A", ""}}));
}

TEST(KubernetesFactsTest, SocketsBetweenNodesTurnRdmaOff) {
  KubernetesWorld world = VllmWorld(2);
  world.site.fabric = Fabric::kSocket;
  EXPECT_EQ(world.Facts().env.front(),
            (std::pair<std::string, std::string>{"NCCL_IB_DISABLE", "1"}));
  world = VllmWorld(1);
  world.site.fabric = Fabric::kSocket;
  EXPECT_EQ(world.Facts().env.size(), 1u);
}

// A pod's cards are numbered from 0, whatever they are on the node.
TEST(KubernetesFactsTest, CardsAreThePods) {
  KubernetesWorld world = VllmWorld(1);
  world.plan.launch.front().env = {{"CUDA_VISIBLE_DEVICES", "4,5"}, {"A", "1"}};
  EXPECT_EQ(world.Facts().env, (Variables{{"A", "1"}}));
  EXPECT_EQ(world.Facts().left_out, std::vector<std::string>{"CUDA_VISIBLE_DEVICES=4,5"});
}

TEST(KubernetesFactsTest, MemoryHoldsWhatIsPinned) {
  KubernetesWorld world = VllmWorld(1);
  world.options.memory = Bytes(kKiB);
  EXPECT_EQ(world.Error(),
            "--memory: expected at least 66.0 GiB, what the plan pins and 1 GiB a card, found " +
                FormatBytes(Bytes(kKiB)) + "; leave it out for what the plan needs");
  world.options.memory = Bytes(66 * kGiB);
  EXPECT_EQ(world.Error(), "made");
}

TEST(KubernetesFactsTest, RefusesWhatKubernetesDecides) {
  KubernetesWorld world = VllmWorld(2);
  world.site.master_addr = "10.0.0.1";
  EXPECT_TRUE(world.Error().starts_with("--master-addr: expected none"));
  world.site = {};
  world.site.hosts = {"node-1"};
  EXPECT_EQ(world.Error(), "--host: expected 2 names, found 1");
  world.site.hosts = {"node-1", "a b"};
  EXPECT_EQ(world.Error(), "--host: expected the name of a node, found 'a b'");
}

TEST(KubernetesFactsTest, GroupsAreOfALeaderWorkerSetOnAnyNodes) {
  KubernetesWorld world = VllmWorld(2);
  world.options.replicas = 2;
  EXPECT_EQ(world.Error(), "made");
  world.options.kind = Kind::kStatefulSet;
  EXPECT_TRUE(world.Error().starts_with("--replicas: expected a LeaderWorkerSet"));
  world.options.kind = Kind::kLeaderWorkerSet;
  world.site.hosts = {"node-1", "node-2"};
  EXPECT_TRUE(world.Error().starts_with("--replicas: expected no --host"));
}

TEST(KubernetesFactsTest, AStartTakesAWeekAtMost) {
  KubernetesWorld world = VllmWorld(1);
  world.options.read_rate = Bytes(1);
  EXPECT_TRUE(world.Error().starts_with("--read-rate: expected a start within a week"));
  world.options.startup_seconds = int64_t{1} << 62;
  EXPECT_TRUE(world.Error().starts_with("--startup-seconds: expected a start within a week"));
  world.options.startup_seconds = 7 * 24 * 3600;
  EXPECT_EQ(world.Error(), "made");
}

TEST(KubernetesFactsTest, PlaceholdersEndIt) {
  KubernetesWorld world = VllmWorld(1, {"--download-dir", "<CACHE>"});
  EXPECT_TRUE(world.Error().starts_with("--download-dir: expected a value, found the placeholder"));
}

}  // namespace
}  // namespace shardplan::kubernetes
