#include <gtest/gtest.h>

#include <filesystem>

#include "cli/run_program.h"

namespace shardplan::cli {
namespace {

using testing_support::Outcome;
using testing_support::ReadText;
using testing_support::RunProgram;
using testing_support::RunScript;
using testing_support::TempDir;

constexpr const char* kTiny =
    "launch kubernetes tiny-dense/config.json --gpu h20-96 --tp 1 --model-path /models/tiny ";

TEST(LaunchKubernetesTest, WritesAFolderForKubectl) {
  const TempDir dir;
  const std::string target = dir.Path("deploy");
  const Outcome written = RunProgram(
      std::string(kTiny) +
      "--name tiny --namespace search --label team=search --node-selector pool=gpu "
      "--toleration nvidia.com/gpu:NoSchedule --rdma-resource rdma/hca=1 --read-rate 2GiB/s "
      "--shm-size 1GiB --cpus 8 --gpu-product NVIDIA-H20 -o '" +
      target + "'");
  ASSERT_EQ(written.code, 0) << written.err;
  for (const char* file :
       {"kustomization.yaml", "configmap.yaml", "service.yaml", "networkpolicy.yaml",
        "leaderworkerset.yaml", "README.md", "plan.json"}) {
    EXPECT_TRUE(std::filesystem::exists(target + "/" + file)) << file;
  }
  const std::string set = ReadText(target + "/leaderworkerset.yaml");
  for (const char* part : {"name: tiny\n", "namespace: search\n", "team: search\n", "pool: gpu\n",
                           "effect: NoSchedule\n", "rdma/hca: \"1\"\n", "sizeLimit: \"1Gi\"\n",
                           "cpu: \"8\"\n", "nvidia.com/gpu.product: NVIDIA-H20\n"}) {
    EXPECT_NE(set.find(part), std::string::npos) << part << set;
  }
  if (RunScript("command -v kubectl").code != 0) return;
  const Outcome built = RunScript("kubectl kustomize '" + target + "'");
  EXPECT_EQ(built.code, 0) << built.err;
  EXPECT_NE(built.out.find("kind: LeaderWorkerSet\n"), std::string::npos);
}

TEST(LaunchKubernetesTest, StatefulSets) {
  const Outcome outcome = RunProgram(std::string(kTiny) + "--kind statefulset");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("==> statefulset.yaml <=="), std::string::npos);
  EXPECT_EQ(outcome.out.find("LeaderWorkerSet\n"), std::string::npos);
}

TEST(LaunchKubernetesTest, RefusesValuesThatKubernetesWould) {
  const std::pair<const char*, const char*> cases[] = {
      {"--kind job", "--kind job: expected leaderworkerset or statefulset"},
      {"--namespace A", "--namespace A: expected at most 63 lower-case letters, digits and '-'"},
      {"--label a", "--label a: expected a label such as team=search"},
      {"--label 'a b=c'", "--label a b=c: expected a label such as team=search"},
      {"--node-selector a=-b", "--node-selector a=-b: expected a label such as team=search"},
      {"--gpu-product 'NVIDIA H20'",
       "--gpu-product NVIDIA H20: expected a label's value such as NVIDIA-H20"},
      {"--toleration a:b",
       "--toleration a:b: expected an effect such as NoSchedule behind the colon"},
      {"--toleration =a", "--toleration =a: expected a taint such as nvidia.com/gpu:NoSchedule"},
      {"--topology-key 'a b'",
       "--topology-key a b: expected a label's key such as topology.kubernetes.io/zone"},
      {"--runtime-class A", "--runtime-class A: expected the name of a class"},
      {"--pvc A", "--pvc A: expected the name of a claim"},
      {"--rdma-resource hca=1", "--rdma-resource hca=1: expected a resource such as rdma/hca=1"},
      {"--rdma-resource a/b=0", "--rdma-resource a/b=0: "},
      {"--shm-size 0GiB", "--shm-size 0GiB: expected a size above zero"},
      {"--read-rate fast", "--read-rate fast: "},
      {"--startup-seconds 5", "--startup-seconds 5: "},
      {"--replicas 0",
       "--replicas 0: expected a whole number from 1 to 2,147,483,647, the most of a Kubernetes "
       "field"},
      {"--replicas 2147483648",
       "--replicas 2147483648: expected a whole number from 1 to 2,147,483,647, the most of a "
       "Kubernetes field"},
      {"--api-key-secret A", "--api-key-secret A: expected a Secret and a key in it"},
      {"--api-key-secret a/", "--api-key-secret a/: expected a Secret and a key in it"},
      {"--memory 1KiB", "--memory: expected at least 1.0 GiB, what the plan pins"},
      {"--master-addr 10.0.0.1", "--master-addr: expected none"}};
  for (const auto& [option, message] : cases) {
    const Outcome outcome = RunProgram(kTiny + std::string(option));
    EXPECT_EQ(outcome.code, 2) << option;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << option << ": " << outcome.err;
    EXPECT_EQ(outcome.out, "") << option;
  }
}

// A key that was pasted is named in the sheet, and comes from a Secret.
TEST(LaunchKubernetesTest, TheKeyOfAPastedCommand) {
  const std::string start =
      "launch kubernetes tiny-dense/config.json --gpu h20-96 --model-path /models/tiny ";
  const Outcome vllm = RunProgram(start + "--from-command 'vllm serve m --api-key K'");
  EXPECT_EQ(vllm.code, 0) << vllm.err;
  EXPECT_NE(vllm.out.find("Give --api-key-secret NAME[/KEY]"), std::string::npos);
  EXPECT_EQ(vllm.out.find("secretKeyRef"), std::string::npos);
  const Outcome sglang = RunProgram(
      start +
      "--from-command 'sglang serve --model-path m --api-key K' --api-key-secret serving/k3");
  EXPECT_EQ(sglang.code, 0) << sglang.err;
  EXPECT_NE(sglang.out.find("name: SGLANG_API_KEY"), std::string::npos) << sglang.out;
  EXPECT_NE(sglang.out.find("--api-key \"${SGLANG_API_KEY-}\""), std::string::npos);
}

TEST(LaunchKubernetesTest, ThePrintedFilesAreTheWrittenOnes) {
  const Outcome first = RunProgram(kTiny);
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out, RunProgram(kTiny).out);
  EXPECT_EQ(first.out.find("<MASTER_ADDR>"), std::string::npos);
}

TEST(LaunchKubernetesTest, AsksForTheModelsPathOnTheNodes) {
  const Outcome outcome =
      RunProgram("launch kubernetes tiny-dense/config.json --gpu h20-96 --tp 1");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("give --model-path /models/NAME"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace shardplan::cli
