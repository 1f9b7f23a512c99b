#include "launch/ray_scripts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/launch_example.h"
#include "launch/run_bundle.h"

namespace shardplan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::BundleRun;
using testing_support::BundleWorld;
using testing_support::FillSite;
using testing_support::HostileWords;
using testing_support::LaunchExample;
using testing_support::MoveModel;
using testing_support::OneNode;
using testing_support::TempDir;
using testing_support::TwoNodes;

Bundle RayScripts(const LaunchExample& example) {
  auto bundle = MakeRayScripts(example.input());
  EXPECT_TRUE(bundle) << bundle.error().ToString();
  return bundle.value_or(Bundle{});
}

TEST(RayCommandTest, OneCommandForAllNodes) {
  EXPECT_THAT(RayCommand({"vllm", "serve", "/m", "--tensor-parallel-size", "8",
                          "--distributed-executor-backend", "mp", "--nnodes", "2", "--node-rank",
                          "0", "--master-addr", "<MASTER_ADDR>", "--master-port", "29501", "--x"}),
              ElementsAre("vllm", "serve", "/m", "--tensor-parallel-size", "8", "--x",
                          "--distributed-executor-backend", "ray"));
}

TEST(RayCommandTest, RayPlacesEnginesOnOtherNodes) {
  EXPECT_THAT(
      RayCommand({"vllm", "serve", "/m", "--data-parallel-size", "16", "--data-parallel-size-local",
                  "8", "--data-parallel-start-rank", "0", "--data-parallel-address",
                  "<MASTER_ADDR>", "--data-parallel-rpc-port", "13345"}),
      ElementsAre("vllm", "serve", "/m", "--data-parallel-size", "16", "--data-parallel-size-local",
                  "8", "--data-parallel-backend", "ray"));
}

TEST(RayScriptsTest, AReplicaMayTakeSeveralNodes) {
  LaunchExample example = TwoNodes();
  example.plan.sizes.dp = 2;
  const Bundle bundle = RayScripts(example);
  const std::string& common = bundle.files.back().text;
  EXPECT_THAT(common, HasSubstr("export VLLM_RAY_DP_PACK_STRATEGY=span\n"));
  EXPECT_THAT(common, HasSubstr("--data-parallel-backend ray\n"));
  EXPECT_THAT(RayCommand({"vllm", "serve", "/m", "--data-parallel-size-local", "1"}, true),
              ElementsAre("vllm", "serve", "/m", "--data-parallel-backend", "ray"));
  example.plan.engine_version = "0.11.0";
  EXPECT_FALSE(MakeRayScripts(example.input()));
}

TEST(RayScriptsTest, TheHeadWaitsAndServes) {
  const TempDir dir;
  dir.Write("a model/config.json", "{}");
  LaunchExample example = TwoNodes(HostileWords());
  FillSite(&example.site);
  MoveModel(&example, dir.Path("a model"));
  BundleWorld world(RayScripts(example));
  world.ExpectParses();
  world.AddStub("ray",
                "[[ $1 != status ]] || printf 'Active:\\n 1 node_aa\\n 1 node_bb\\nPending:\\n'");
  const BundleRun run = world.Run("head.sh");
  ASSERT_EQ(run.code, 0) << run.err;
  ASSERT_EQ(run.calls.size(), 3U);
  EXPECT_THAT(run.calls[0].argv,
              ElementsAre("ray", "start", "--head", "--node-ip-address=10.0.0.1", "--port=6379",
                          "--num-gpus=8", "--include-dashboard=false", "--disable-usage-stats"));
  EXPECT_EQ(run.calls[0].env.at("NCCL_SOCKET_IFNAME"), "lo");
  EXPECT_EQ(run.calls[0].env.at("VLLM_PP_LAYER_PARTITION"), "48,45");
  EXPECT_EQ(run.calls[1].argv[1], "status");
  std::vector<std::string> expected = example.plan.launch[0].argv;
  expected.insert(expected.end(), {"--host", "127.0.0.1", "--port", "8000"});
  EXPECT_EQ(run.calls[2].argv, RayCommand(expected));
}

TEST(RayScriptsTest, WorkersJoin) {
  const TempDir dir;
  dir.Write("m/config.json", "{}");
  LaunchExample example = TwoNodes();
  FillSite(&example.site);
  MoveModel(&example, dir.Path("m"));
  BundleWorld world(RayScripts(example));
  const BundleRun run = world.Run("worker-1.sh");
  ASSERT_EQ(run.code, 0) << run.err;
  ASSERT_EQ(run.calls.size(), 1U);
  EXPECT_THAT(run.calls[0].argv,
              ElementsAre("ray", "start", "--address=10.0.0.1:6379", "--node-ip-address=10.0.0.2",
                          "--num-gpus=8", "--disable-usage-stats", "--block"));
  example.site.hosts = {"fd00::1", "fd00::2"};
  EXPECT_EQ(BundleWorld(RayScripts(example)).Run("worker-1.sh").calls.at(0).argv[2],
            "--address=[fd00::1]:6379");
  world.RemoveProgram("ray");
  EXPECT_THAT(world.Run("worker-1.sh").err, HasSubstr("ray: not found"));
}

TEST(RayScriptsTest, DryRunsPrint) {
  BundleWorld world(RayScripts(TwoNodes()));
  const BundleRun run = world.Run("head.sh", {"--dry-run"});
  EXPECT_EQ(run.code, 0);
  EXPECT_TRUE(run.calls.empty());
  EXPECT_THAT(run.out, HasSubstr("ray start --head"));
  EXPECT_THAT(run.out, HasSubstr("--distributed-executor-backend ray"));
}

TEST(RayScriptsTest, OneNodeHasNoWorkers) {
  const Bundle bundle = RayScripts(OneNode());
  ASSERT_EQ(bundle.files.size(), 2U);
  EXPECT_THAT(bundle.files[1].text, HasSubstr("--node-ip-address=127.0.0.1"));
}

TEST(RayScriptsTest, ShellcheckIsContent) {
  SHARDPLAN_NEED_SHELLCHECK();
  LaunchExample example = TwoNodes(HostileWords());
  EXPECT_EQ(BundleWorld(RayScripts(example)).Shellcheck(), "");
  EXPECT_EQ(BundleWorld(RayScripts(OneNode())).Shellcheck(), "");
}

TEST(RayScriptsTest, SglangHasNoUseForIt) {
  LaunchExample example = TwoNodes();
  example.plan.engine = "sglang";
  const auto bundle = MakeRayScripts(example.input());
  ASSERT_FALSE(bundle);
  EXPECT_EQ(bundle.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace shardplan
