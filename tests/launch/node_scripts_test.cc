#include "launch/node_scripts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "launch/launch_example.h"
#include "launch/run_bundle.h"

namespace shardplan {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::BundleRun;
using testing_support::BundleWorld;
using testing_support::FillSite;
using testing_support::HostileWords;
using testing_support::LaunchExample;
using testing_support::MoveModel;
using testing_support::OneNode;
using testing_support::TempDir;
using testing_support::TwoNodes;

Bundle Scripts(const LaunchExample& example) {
  auto bundle = MakeNodeScripts(example.input());
  EXPECT_TRUE(bundle) << bundle.error().ToString();
  return bundle.value_or(Bundle{});
}

// A checkpoint at a place that needs quotes.
std::string HostileModel(const TempDir& dir) {
  dir.Write("it's a $(model) \"K3\"/config.json", "{}");
  return dir.Path("it's a $(model) \"K3\"");
}

TEST(NodeScriptsTest, OnlyRanksAndAddressesDiffer) {
  LaunchExample example = TwoNodes();
  FillSite(&example.site);
  const Bundle bundle = Scripts(example);
  ASSERT_EQ(bundle.files.size(), 3U);
  EXPECT_EQ(bundle.files[0].path, "node-0.sh");
  EXPECT_TRUE(bundle.files[0].executable);
  EXPECT_EQ(bundle.files[0].text,
            "#!/usr/bin/env bash\n"
            "# Node 0 of 2, ranks 0 to 7, stage 0 of kimi-k3. With --dry-run it prints what it "
            "would run.\n"
            "set -euo pipefail\n\n"
            "export VLLM_HOST_IP=10.0.0.1\n"
            "# shellcheck source-path=SCRIPTDIR source=common.sh disable=SC1091\n"
            "source \"$(dirname -- \"${BASH_SOURCE[0]}\")/common.sh\"\n"
            "start --node-rank 0 --host 127.0.0.1 --port 8000\n");
  EXPECT_THAT(bundle.files[1].text, HasSubstr("start --node-rank 1 --headless\n"));
  EXPECT_EQ(bundle.files[2].path, "common.sh");
  EXPECT_THAT(bundle.files[2].text, HasSubstr("    --tensor-parallel-size 8\n"));
  EXPECT_EQ(bundle.commands.size(), 2U);
}

TEST(NodeScriptsTest, TheEngineGetsEveryWordAsItIs) {
  const TempDir dir;
  LaunchExample example = TwoNodes(HostileWords());
  FillSite(&example.site);
  MoveModel(&example, HostileModel(dir));
  BundleWorld world(Scripts(example));
  world.ExpectParses();
  for (size_t node = 0; node < 2; ++node) {
    const BundleRun run = world.Run("node-" + std::to_string(node) + ".sh");
    ASSERT_EQ(run.code, 0) << run.err;
    ASSERT_EQ(run.calls.size(), 1U);
    // The same flags, those of the node at the end.
    std::vector<std::string> expected = example.plan.launch[node].argv;
    for (std::string& word : expected) {
      if (word == "<MASTER_ADDR>") word = "10.0.0.1";
    }
    if (node == 0) {
      expected.insert(expected.end(), {"--host", "127.0.0.1", "--port", "8000"});
    }
    EXPECT_THAT(run.calls[0].argv, testing::UnorderedElementsAreArray(expected));
    EXPECT_EQ(run.calls[0].argv[2], example.site.model_path);
    std::map<std::string, std::string> env = {{"VLLM_HOST_IP", example.site.hosts[node]},
                                              {"NCCL_SOCKET_IFNAME", "lo"},
                                              {"GLOO_SOCKET_IFNAME", "lo"},
                                              {"NCCL_IB_HCA", "mlx5_0,mlx5_1"},
                                              {"NCCL_IB_GID_INDEX", "3"}};
    for (const auto& [name, value] : example.plan.launch[node].env) env[name] = value;
    for (const auto& [name, value] : env) {
      ASSERT_TRUE(run.calls[0].env.contains(name)) << name;
      EXPECT_EQ(run.calls[0].env.at(name), value) << name;
    }
    // Nothing else than that and what bash sets.
    for (const char* of_shell : {"PATH", "RECORD", "PWD", "SHLVL", "_", "OLDPWD"}) {
      env.emplace(of_shell, "");
    }
    for (const auto& variable : run.calls[0].env)
      EXPECT_TRUE(env.contains(variable.first)) << variable.first;
  }
  EXPECT_FALSE(std::filesystem::exists("/tmp/shardplan-was-here"));
}

// In front of a port an address of version 6 stands in brackets, elsewhere it does not.
TEST(NodeScriptsTest, Ipv6AddressesHaveBracketsWhereAPortFollows) {
  const TempDir dir;
  LaunchExample example = TwoNodes();
  FillSite(&example.site);
  example.site.hosts = {"[fd00::1]", "fd00::2"};
  MoveModel(&example, HostileModel(dir));
  for (LaunchPlan& node : example.plan.launch) {
    node.argv.insert(node.argv.end(), {"--dist-init-addr", "<MASTER_ADDR>:5000"});
  }
  const auto words_of = [](const BundleRun& run, const std::string& flag) {
    const std::vector<std::string>& argv = run.calls.at(0).argv;
    const auto at = std::find(argv.begin(), argv.end(), flag);
    return at == argv.end() ? "" : *(at + 1);
  };
  BundleWorld world(Scripts(example));
  BundleRun run = world.Run("node-1.sh");
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(words_of(run, "--dist-init-addr"), "[fd00::1]:5000");
  EXPECT_EQ(words_of(run, "--master-addr"), "fd00::1");
  EXPECT_EQ(run.calls[0].env.at("VLLM_HOST_IP"), "fd00::2");
  // What the environment says, with and without brackets.
  example.site.hosts.clear();
  BundleWorld open(Scripts(example));
  for (const char* address : {"fd00::7", "[fd00::7]"}) {
    run = open.Run("node-0.sh", {}, {{"MASTER_ADDR", address}, {"VLLM_HOST_IP", "fd00::7"}});
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(words_of(run, "--dist-init-addr"), "[fd00::7]:5000");
    EXPECT_EQ(words_of(run, "--master-addr"), "fd00::7");
  }
  run = open.Run("node-0.sh", {}, {{"MASTER_ADDR", "10.0.0.7"}, {"VLLM_HOST_IP", "10.0.0.7"}});
  EXPECT_EQ(words_of(run, "--dist-init-addr"), "10.0.0.7:5000");
  EXPECT_THAT(open.Run("node-0.sh", {"--dry-run"}).out, HasSubstr("MASTER_ADDR\\>:5000"));
}

TEST(NodeScriptsTest, ADryRunPrintsWhatCanBePasted) {
  LaunchExample example = OneNode(HostileWords());
  BundleWorld world(Scripts(example));
  const BundleRun run = world.Run("node-0.sh", {"--dry-run"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.calls, IsEmpty());
  // What it printed, run: the same as what the script runs.
  Bundle pasted;
  pasted.files = {{"node-0.sh", "#!/bin/bash\n" + run.out, true}};
  BundleWorld again(pasted);
  const BundleRun second = again.Run("node-0.sh");
  ASSERT_EQ(second.calls.size(), 1U) << second.err;
  std::vector<std::string> expected = example.plan.launch[0].argv;
  expected.insert(expected.end(), {"--host", "127.0.0.1", "--port", "8000"});
  EXPECT_EQ(second.calls[0].argv, expected);
  for (const auto& [name, value] : example.plan.launch[0].env) {
    EXPECT_EQ(second.calls[0].env.at(name), value);
  }
}

TEST(NodeScriptsTest, StopsAtTheFirstThingThatIsNotSet) {
  const TempDir dir;
  LaunchExample example = TwoNodes();
  MoveModel(&example, HostileModel(dir));
  BundleWorld world(Scripts(example));
  std::map<std::string, std::string> env;
  for (const char* name : {"MASTER_ADDR", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "NCCL_IB_HCA",
                           "NCCL_IB_GID_INDEX", "VLLM_HOST_IP"}) {
    const BundleRun run = world.Run("node-1.sh", {}, env);
    EXPECT_EQ(run.code, 1);
    EXPECT_THAT(run.err, testing::StartsWith(std::string("node-1.sh: ") + name + " is not set: "));
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_THAT(run.calls, IsEmpty());
    env[name] = std::string(name).ends_with("IFNAME") ? "lo" : "10.0.0.1";
  }
  const BundleRun run = world.Run("node-1.sh", {}, env);
  EXPECT_EQ(run.code, 0) << run.err;
  ASSERT_EQ(run.calls.size(), 1U);
  // A dry run goes on and tells all of them.
  const BundleRun dry = world.Run("node-1.sh", {"--dry-run"});
  EXPECT_EQ(dry.code, 0);
  EXPECT_EQ(std::count(dry.err.begin(), dry.err.end(), '\n'), 6) << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("--master-addr \\<MASTER_ADDR\\>"));
}

TEST(NodeScriptsTest, LooksBeforeItStarts) {
  const TempDir dir;
  LaunchExample example = TwoNodes();
  FillSite(&example.site);
  MoveModel(&example, HostileModel(dir));
  const auto fails = [&](BundleWorld* world, const std::map<std::string, std::string>& env = {}) {
    const BundleRun run = world->Run("node-0.sh", {}, env);
    EXPECT_EQ(run.code, 1);
    EXPECT_THAT(run.calls, IsEmpty());
    return run.err;
  };
  {
    BundleWorld world(Scripts(example));
    world.RemoveProgram("vllm");
    EXPECT_EQ(fails(&world),
              "node-0.sh: vllm: not found; install vLLM 0.31.0, or activate where it is\n");
  }
  BundleWorld world(Scripts(example));
  EXPECT_EQ(fails(&world, {{"CUDA_VISIBLE_DEVICES", "0,1"}}),
            "node-0.sh: 2 GPUs are visible, 8 are needed\n");
  EXPECT_EQ(fails(&world, {{"CUDA_VISIBLE_DEVICES", ""}}),
            "node-0.sh: 0 GPUs are visible, 8 are needed\n");
  EXPECT_EQ(fails(&world, {{"CUDA_VISIBLE_DEVICES", "0,-1,2,3,4,5,6,7"}}),
            "node-0.sh: 1 GPUs are visible, 8 are needed\n");
  world.AddProgram("nvidia-smi", "echo no driver; exit 9");
  EXPECT_EQ(fails(&world), "node-0.sh: nvidia-smi cannot list the GPUs: no driver\n");
  example.site.socket_ifname = "nowhere7";
  BundleWorld other(Scripts(example));
  EXPECT_EQ(fails(&other),
            "node-0.sh: nowhere7: no such interface on this node (GLOO_SOCKET_IFNAME)\n");
  MoveModel(&example, dir.Path("none"));
  BundleWorld without(Scripts(example));
  EXPECT_THAT(fails(&without), HasSubstr("none: no config.json there: the checkpoint is not on"));
}

TEST(NodeScriptsTest, HostNamesAreResolved) {
  const TempDir dir;
  LaunchExample example = TwoNodes();
  FillSite(&example.site);
  example.site.hosts = {"node-a", "node-b"};
  MoveModel(&example, HostileModel(dir));
  BundleWorld world(Scripts(example));
  world.AddProgram("getent", "[[ $2 == node-b ]] && echo '10.1.1.7  STREAM node-b'");
  const BundleRun run = world.Run("node-1.sh");
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.calls.at(0).env.at("VLLM_HOST_IP"), "10.1.1.7");
  const BundleRun unknown = world.Run("node-0.sh");
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("VLLM_HOST_IP is not set"));
}

// A host's own name may be its loopback, which the other nodes cannot reach.
TEST(NodeScriptsTest, ReplicasBindAnAddress) {
  const TempDir dir;
  LaunchExample example = TwoNodes();
  FillSite(&example.site);
  example.site.master_addr = "node-a";
  for (LaunchPlan& launch : example.plan.launch) {
    launch.argv.insert(launch.argv.end(), {"--data-parallel-address", "<MASTER_ADDR>"});
  }
  MoveModel(&example, HostileModel(dir));
  BundleWorld world(Scripts(example));
  world.AddProgram("getent", "echo '10.1.1.6  STREAM node-a'");
  const BundleRun run = world.Run("node-1.sh");
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.calls.at(0).argv, testing::Contains("10.1.1.6"));
  world.AddProgram("getent", "echo '127.0.1.1  STREAM node-a'");
  EXPECT_THAT(world.Run("node-0.sh").calls.at(0).argv, testing::Contains("10.0.0.1"));
  world.AddProgram("getent", "exit 2");
  const BundleRun unknown = world.Run("node-1.sh");
  EXPECT_EQ(unknown.code, 1);
  EXPECT_EQ(unknown.err,
            "node-1.sh: node-a: no address of that host is known here: set MASTER_ADDR\n");
}

TEST(NodeScriptsTest, RefusesOtherWords) {
  BundleWorld world(Scripts(OneNode()));
  const BundleRun run = world.Run("node-0.sh", {"--dryrun"});
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(run.err, "node-0.sh: expected --dry-run or nothing, found --dryrun\n");
}

TEST(NodeScriptsTest, ShellcheckIsContent) {
  SHARDPLAN_NEED_SHELLCHECK();
  LaunchExample example = TwoNodes(HostileWords());
  EXPECT_EQ(BundleWorld(Scripts(example)).Shellcheck(), "");
  FillSite(&example.site);
  EXPECT_EQ(BundleWorld(Scripts(example)).Shellcheck(), "");
  example.site.hosts = {"a", "b"};
  EXPECT_EQ(BundleWorld(Scripts(example)).Shellcheck(), "");
  example.site.secrets = {"--api-key"};
  for (LaunchPlan& launch : example.plan.launch) {
    launch.argv.insert(launch.argv.end(), {"--data-parallel-address", "<MASTER_ADDR>"});
  }
  EXPECT_EQ(BundleWorld(Scripts(example)).Shellcheck(), "");
  EXPECT_EQ(BundleWorld(Scripts(OneNode())).Shellcheck(), "");
}

TEST(NodeScriptsTest, RefusesAPlanWithoutCommands) {
  LaunchExample example = TwoNodes();
  example.plan.launch.clear();
  EXPECT_FALSE(MakeNodeScripts(example.input()));
}

}  // namespace
}  // namespace shardplan
