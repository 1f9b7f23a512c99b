#include "launch/kubernetes/scripts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "launch/kubernetes/kubernetes_world.h"
#include "launch/kubernetes/pod_runner.h"

namespace shardplan::kubernetes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::KubernetesWorld;
using testing_support::PodRun;
using testing_support::PodRunner;
using testing_support::VllmWorld;

nlohmann::json DataOf(const KubernetesWorld& world) {
  nlohmann::json data;
  const Facts facts = world.Facts();
  const auto scripts = MakeScripts(facts);
  EXPECT_TRUE(scripts.has_value()) << (scripts ? "" : scripts.error().ToString());
  if (scripts) {
    for (const auto& [name, text] : *scripts) data[name] = text;
  }
  return data;
}

const nlohmann::json kStart = {{"command", {"/bin/bash", std::string(kScriptsPath) + "/start.sh"}}};
const nlohmann::json kVerify = {{"command", {"/bin/sh", std::string(kScriptsPath) + "/verify.sh"}}};

testing_support::PodFields Lws(const std::string& rank, const std::string& size = "2") {
  return {{},
          {{"LWS_WORKER_INDEX", rank},
           {"LWS_GROUP_SIZE", size},
           {"LWS_LEADER_ADDRESS", "k3-0.k3.search"},
           {"POD_IP", "10.0.0.7"}}};
}

TEST(StartScriptTest, ReadsLikeTheCommandOfANode) {
  const KubernetesWorld world = VllmWorld(2, {"--max-model-len", "1024"});
  const std::string script = MakeStartScript(world.Facts());
  EXPECT_THAT(script, HasSubstr("exec vllm serve '/models/Kimi K3' \\\n"
                                "  --tensor-parallel-size 2 \\\n"
                                "  --nnodes 2 \\\n"
                                "  --node-rank \"$rank\" \\\n"
                                "  --master-addr \"$master\" \\\n"
                                "  --master-port 29501 \\\n"
                                "  \"${workers[@]}\" \\\n"
                                "  --max-model-len 1024 \\\n"
                                "  \"${server[@]}\"\n"));
  EXPECT_EQ(script.find('<'), std::string::npos) << script;
}

TEST(StartScriptTest, OneNodeKnowsNoOthers) {
  EXPECT_EQ(MakeStartScript(VllmWorld(1).Facts()),
            "#!/usr/bin/env bash\n"
            "# Starts vLLM 0.31.0.\n"
            "set -euo pipefail\n\n"
            "exec vllm serve '/models/Kimi K3' \\\n"
            "  --tensor-parallel-size 2 \\\n"
            "  --host 0.0.0.0 --port 8000\n");
}

TEST(StartScriptTest, NodesRunTheirOwnCommands) {
  const KubernetesWorld world = VllmWorld(2);
  PodRunner runner(DataOf(world));
  const PodRun leader = runner.Run(kStart, Lws("0"));
  EXPECT_EQ(leader.code, 0) << leader.err;
  std::vector<std::string> expected = WordsOf(*MakeGroupCommand(world.plan), 0, "10.0.0.7");
  expected.insert(expected.end(), {"--host", "0.0.0.0", "--port", "8000"});
  EXPECT_EQ(leader.argv, expected);
  EXPECT_FALSE(std::filesystem::exists(runner.dir().Path("resolved")));
  const PodRun worker = runner.Run(kStart, Lws("1"));
  EXPECT_EQ(worker.code, 0) << worker.err;
  EXPECT_EQ(worker.argv, WordsOf(*MakeGroupCommand(world.plan), 1, "k3-0.k3.search"));
  EXPECT_EQ(testing_support::ReadText(runner.dir().Path("resolved")), "k3-0.k3.search\n");
}

TEST(StartScriptTest, AStatefulSetCountsByThePodsName) {
  KubernetesWorld world = VllmWorld(3);
  world.options.kind = Kind::kStatefulSet;
  world.site.name = "k3";
  PodRunner runner(DataOf(world));
  const PodRun worker =
      runner.Run(kStart, {{}, {{"POD_NAME", "k3-worker-2"}, {"POD_NAMESPACE", "search"}}});
  EXPECT_EQ(worker.argv, WordsOf(*MakeGroupCommand(world.plan), 2, "k3-0.k3-nodes.search.svc"))
      << worker.err;
  const PodRun leader = runner.Run(
      kStart, {{}, {{"POD_NAME", "k3-0"}, {"POD_NAMESPACE", "search"}, {"POD_IP", "10.0.0.7"}}});
  EXPECT_EQ(leader.argv.at(8), "0") << leader.err;
  EXPECT_EQ(leader.argv.at(10), "10.0.0.7");
}

TEST(StartScriptTest, SaysWhatIsWrongWithItsNode) {
  PodRunner runner(DataOf(VllmWorld(2)));
  const std::map<std::string, std::string> bad = {
      {"", "expected the number of this node in LWS_WORKER_INDEX, found ''"},
      {"x", "found 'x'"},
      {"01", "found '01'"},
      {"1; touch owned", "found '1; touch owned'"},
      {"9999999999999999999999", "expected the number"},
      {"2", "expected a node below 2, found 2"}};
  for (const auto& [rank, message] : bad) {
    const PodRun run = runner.Run(kStart, Lws(rank));
    EXPECT_EQ(run.code, 64) << rank;
    EXPECT_THAT(run.err, HasSubstr("start.sh: ")) << rank;
    EXPECT_THAT(run.err, HasSubstr(message));
  }
  EXPECT_THAT(runner.Run(kStart, Lws("0", "3")).err,
              HasSubstr("start.sh: the plan has 2 nodes, the group 3\n"));
  testing_support::PodFields fields = Lws("0");
  fields.injected.erase("POD_IP");
  EXPECT_THAT(runner.Run(kStart, fields).err, HasSubstr("the address of node 0 is not set"));
  EXPECT_FALSE(std::filesystem::exists(runner.dir().Path("owned")));
  EXPECT_FALSE(std::filesystem::exists(runner.dir().Path("argv")));
}

TEST(StartScriptTest, WaitsForTheNameOfNode0) {
  PodRunner runner(DataOf(VllmWorld(2)));
  runner.Stub("getent", "#!/bin/sh\necho x >> tries\n[ \"$(wc -l < tries)\" -ge 3 ]\n");
  EXPECT_EQ(runner.Run(kStart, Lws("1")).code, 0);
  runner.Stub("getent", "#!/bin/sh\nexit 2\n");
  const PodRun run = runner.Run(kStart, Lws("1"));
  EXPECT_EQ(run.code, 64);
  EXPECT_THAT(run.err, HasSubstr("k3-0.k3.search has no address after 10 minutes"));
}

TEST(StartScriptTest, SglangTakesBracketsAroundAnAddressOfIpv6) {
  KubernetesWorld world = VllmWorld(2);
  world.plan.engine = "sglang";
  for (LaunchPlan& launch : world.plan.launch) {
    launch.argv = {"python3",
                   "-m",
                   "sglang.launch_server",
                   "--model-path",
                   "/m",
                   "--node-rank",
                   std::to_string(launch.node),
                   "--dist-init-addr",
                   "<MASTER_ADDR>:5000"};
  }
  PodRunner runner(DataOf(world));
  testing_support::PodFields fields = Lws("0");
  EXPECT_EQ(runner.Run(kStart, fields).argv.at(8), "10.0.0.7:5000");
  fields.injected["POD_IP"] = "fd00::7";
  EXPECT_EQ(runner.Run(kStart, fields).argv.at(8), "[fd00::7]:5000");
  EXPECT_THAT(runner.Run(kStart, Lws("1")).argv,
              ElementsAre("python3", "-m", "sglang.launch_server", "--model-path", "/m",
                          "--node-rank", "1", "--dist-init-addr", "k3-0.k3.search:5000"));
}

TEST(StartScriptTest, OnTheHostsNetworkTheApiHasThePodsAddress) {
  KubernetesWorld world = VllmWorld(1);
  world.options.host_network = true;
  PodRunner runner(DataOf(world));
  EXPECT_EQ(runner.Run(kStart, Lws("0")).argv.at(6), "10.0.0.7");
}

// A model's directory as verify.sh of a node should find it.
struct Files {
  testing_support::TempDir dir;
  KubernetesWorld world;

  explicit Files(int64_t nodes) : world(VllmWorld(nodes)) {
    const std::string path = dir.MakeDir("Kimi K3");
    for (LaunchPlan& launch : world.plan.launch) launch.argv[2] = path;
    for (const ShardInfo& shard : world.model.inventory.shards) {
      Write(shard.name, std::string(static_cast<size_t>(shard.file_bytes.count()), 'x'));
    }
    Write("config.json", "{}");
    Write("model.safetensors.index.json", "{}");
  }

  void Write(const std::string& name, const std::string& text) const {
    dir.Write("Kimi K3/" + name, text);
  }
  void Remove(const std::string& name) const {
    std::filesystem::remove(dir.Path("Kimi K3/" + name));
  }
};

TEST(VerifyScriptTest, FindsWhatANodeNeeds) {
  const Files files(2);
  PodRunner runner(DataOf(files.world));
  files.Remove("model-1.safetensors");  // that node 1 alone reads
  EXPECT_EQ(runner.Run(kVerify, Lws("0")).code, 0);
  EXPECT_EQ(testing_support::ReadText(runner.dir().Path("out")),
            "verify.sh: 2 shard files are there and whole\n");
  const PodRun missing = runner.Run(kVerify, Lws("1"));
  EXPECT_EQ(missing.code, 1);
  EXPECT_EQ(missing.err,
            "verify.sh: model-1.safetensors is missing\nverify.sh: 1 files are not as planned in " +
                files.dir.Path("Kimi K3") + "\n");
  EXPECT_EQ(runner.Run(kVerify, Lws("2")).code, 64);
}

TEST(VerifyScriptTest, TellsHalfFilesAndWhatIsBesideThem) {
  Files files(1);
  files.world.options.completion_marker = "it's done";
  PodRunner runner(DataOf(files.world));
  files.Write("shared.safetensors", "xx");
  files.Remove("config.json");
  files.Remove("model.safetensors.index.json");
  const PodRun run = runner.Run(kVerify, Lws("0"));
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("verify.sh: it's done is missing: the copy is not complete\n"));
  EXPECT_THAT(run.err, HasSubstr("verify.sh: config.json is missing\n"));
  EXPECT_THAT(run.err, HasSubstr("verify.sh: model.safetensors.index.json is missing\n"));
  EXPECT_THAT(run.err, HasSubstr("verify.sh: shared.safetensors: expected 5 bytes, found 2\n"));
  EXPECT_THAT(run.err, HasSubstr("verify.sh: 4 files are not as planned in "));
}

TEST(VerifyScriptTest, FollowsLinksOfACache) {
  const Files files(1);
  PodRunner runner(DataOf(files.world));
  files.Remove("shared.safetensors");
  files.dir.Write("blob", "12345");
  std::filesystem::create_symlink("../blob", files.dir.Path("Kimi K3/shared.safetensors"));
  EXPECT_EQ(runner.Run(kVerify, Lws("0")).code, 0);
}

TEST(VerifyScriptTest, HostileNamesAreOnlyNames) {
  Files files(1);
  Inventory& inventory = files.world.model.inventory;
  std::vector<std::string>& needed = files.world.plan.files.front().needed_shards;
  for (const char* name : {"$(touch owned)", "a b ", "-n", "'\"`touch owned`", "\\t\\", "é*?"}) {
    inventory.shards.push_back({name, Bytes(1), {}, {}, 0});
    needed.push_back(name);
    files.Write(name, "x");
  }
  PodRunner runner(DataOf(files.world));
  const PodRun run = runner.Run(kVerify, Lws("0"));
  EXPECT_EQ(run.code, 0) << run.err;
  files.Remove("\\t\\");
  EXPECT_THAT(runner.Run(kVerify, Lws("0")).err, HasSubstr("verify.sh: \\t\\ is missing\n"));
  EXPECT_FALSE(std::filesystem::exists(runner.dir().Path("owned")));
  inventory.shards.push_back({"a\nb", Bytes(1), {}, {}, 0});
  needed.push_back("a\nb");
  EXPECT_EQ(files.world.Error(),
            "a\\x0ab: expected a file name without control characters; rename the file");
}

TEST(VerifyScriptTest, NodesWithTheSameFilesShareAList) {
  KubernetesWorld world = VllmWorld(3);
  world.plan.files[2].needed_shards = world.plan.files[0].needed_shards;
  const nlohmann::json data = DataOf(world);
  EXPECT_EQ(data.size(), 4u);
  EXPECT_EQ(data["files-0.txt"], "10 model-0.safetensors\n5 shared.safetensors\n");
  EXPECT_TRUE(data.contains("files-1.txt"));
  EXPECT_THAT(data["verify.sh"].get<std::string>(), HasSubstr("  0 | 2) list='files-0.txt' ;;\n"));
}

TEST(VerifyScriptTest, WithoutHeadersItLooksForTheConfigAlone) {
  Files files(1);
  files.world.plan.files.clear();
  PodRunner runner(DataOf(files.world));
  EXPECT_EQ(runner.Run(kVerify, Lws("0")).code, 0);
  files.Remove("config.json");
  EXPECT_EQ(runner.Run(kVerify, Lws("0")).code, 1);
}

TEST(ScriptsTest, AConfigMapHoldsThem) {
  KubernetesWorld world = VllmWorld(1);
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = std::to_string(i) + std::string(100, 'x');
    world.model.inventory.shards.push_back({name, Bytes(1), {}, {}, 0});
    world.plan.files.front().needed_shards.push_back(name);
  }
  EXPECT_THAT(world.Error(),
              HasSubstr("expected lists of files that a ConfigMap can hold (900 KiB)"));
}

TEST(ScriptsTest, TheHashTellsThemApart) {
  EXPECT_EQ(HashOf({}), "cbf29ce484222325");
  EXPECT_NE(HashOf({{"a", "b"}}), HashOf({{"ab", ""}}));
  EXPECT_EQ(HashOf({{"a", "b"}}).size(), 16u);
}

TEST(ScriptsTest, ShellsAndLintersRaiseNothing) {
  for (const Kind kind : {Kind::kLeaderWorkerSet, Kind::kStatefulSet}) {
    for (const int64_t nodes : {1, 3}) {
      KubernetesWorld world = VllmWorld(nodes, testing_support::HostileBytes());
      world.options.kind = kind;
      world.options.completion_marker = "it's $(done)";
      PodRunner runner(DataOf(world));
      const std::string scripts = runner.dir().Path("scripts");
      EXPECT_EQ(std::system(("bash -n '" + scripts + "/start.sh'").c_str()), 0);
      EXPECT_EQ(std::system(("sh -n '" + scripts + "/verify.sh'").c_str()), 0);
      if (std::system("command -v shellcheck > /dev/null") != 0) continue;
      EXPECT_EQ(std::system(
                    ("shellcheck -S warning '" + scripts + "/start.sh' '" + scripts + "/verify.sh'")
                        .c_str()),
                0);
    }
  }
}

}  // namespace
}  // namespace shardplan::kubernetes
