#include "launch/slurm_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/launch_example.h"
#include "launch/run_bundle.h"

namespace shardplan {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing_support::BundleRun;
using testing_support::BundleWorld;
using testing_support::HostileWords;
using testing_support::LaunchExample;
using testing_support::MoveModel;
using testing_support::OneNode;
using testing_support::TempDir;
using testing_support::TwoNodes;

Bundle Job(const LaunchExample& example, const SlurmOptions& options = {}) {
  auto bundle = MakeSlurmJob(example.input(), options);
  EXPECT_TRUE(bundle) << bundle.error().ToString();
  return bundle.value_or(Bundle{});
}

TEST(SlurmJobTest, TakesWholeNodes) {
  LaunchExample example = TwoNodes();
  example.site.hosts = {"node-a", "node-b"};
  const Bundle bundle = Job(example, {"gpu", "", "", "2-00:00:00"});
  EXPECT_EQ(bundle.files[0].path, "job.sbatch");
  EXPECT_THAT(bundle.files[0].text, testing::StartsWith("#!/usr/bin/env bash\n"
                                                        "#SBATCH --job-name=kimi-k3\n"
                                                        "#SBATCH --nodes=2\n"
                                                        "#SBATCH --ntasks-per-node=1\n"
                                                        "#SBATCH --exclusive\n"
                                                        "#SBATCH --gres=gpu:8\n"
                                                        "#SBATCH --mem=0\n"
                                                        "#SBATCH --partition=gpu\n"
                                                        "#SBATCH --time=2-00:00:00\n"
                                                        "#SBATCH --nodelist=node-a,node-b\n"
                                                        "#SBATCH --output=%x-%j.out\n"));
}

TEST(SlurmJobTest, EveryTaskRunsItsNode) {
  const TempDir dir;
  dir.Write("it's $(m)/config.json", "{}");
  LaunchExample example = TwoNodes(HostileWords());
  MoveModel(&example, dir.Path("it's $(m)"));
  example.site.socket_ifname = "lo";
  example.site.ib_hca = "mlx5_0";
  example.site.gid_index = 3;
  BundleWorld world(Job(example));
  world.ExpectParses();
  world.AddProgram("scontrol", "echo node-7; echo node-9");
  world.AddProgram("ip", "echo '1: lo    inet 10.9.0.'$((SLURM_NODEID + 7))'/16 scope global lo'");
  world.AddStub("srun",
                "while [[ $1 == --* ]]; do shift; done\n"
                "for SLURM_NODEID in 0 1; do export SLURM_NODEID; \"$@\"; done");
  const std::map<std::string, std::string> env = {{"SLURM_JOB_NODELIST", "node-[7,9]"},
                                                  {"SLURM_CPUS_ON_NODE", "96"}};
  const BundleRun run = world.Run("job.sbatch", {}, env);
  ASSERT_EQ(run.code, 0) << run.err;
  ASSERT_EQ(run.calls.size(), 3U);
  EXPECT_THAT(run.calls[0].argv, Contains("--cpus-per-task=96"));
  EXPECT_THAT(run.calls[0].argv, Contains("--ntasks-per-node=1"));
  for (size_t node = 0; node < 2; ++node) {
    std::vector<std::string> expected = example.plan.launch[node].argv;
    for (std::string& word : expected) {
      if (word == "<MASTER_ADDR>") word = "node-7";
    }
    if (node == 0) expected.insert(expected.end(), {"--host", "127.0.0.1", "--port", "8000"});
    EXPECT_THAT(run.calls[node + 1].argv, testing::UnorderedElementsAreArray(expected));
    EXPECT_EQ(run.calls[node + 1].env.at("VLLM_HOST_IP"), node == 0 ? "10.9.0.7" : "10.9.0.8");
  }
  const BundleRun dry = world.Run("job.sbatch", {"--dry-run"}, env);
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_EQ(dry.calls.size(), 1U);
  EXPECT_THAT(dry.out, HasSubstr("vllm serve "));
}

TEST(SlurmJobTest, SaysWhatIsMissing) {
  BundleWorld world(Job(TwoNodes()));
  const BundleRun node = world.Run("node.sh");
  EXPECT_EQ(node.code, 1);
  EXPECT_THAT(node.err, HasSubstr("SLURM_NODEID is not set"));
  world.AddProgram("scontrol", "exit 1");
  const BundleRun job = world.Run("job.sbatch", {}, {{"SLURM_JOB_NODELIST", "x"}});
  EXPECT_EQ(job.code, 1);
  EXPECT_THAT(job.err, HasSubstr("scontrol names no hosts for x"));
}

TEST(SlurmJobTest, AsksForNothingThatItFinds) {
  const Bundle bundle = Job(TwoNodes());
  for (const SiteVariable& variable : bundle.variables) {
    EXPECT_NE(variable.name, "MASTER_ADDR");
    EXPECT_NE(variable.name, "VLLM_HOST_IP");
  }
  EXPECT_THAT(bundle.files[0].text, HasSubstr("\nunset VLLM_HOST_IP\n"));
  BundleWorld world(bundle);
  const BundleRun outside = world.Run("job.sbatch");
  EXPECT_EQ(outside.code, 1);
  EXPECT_EQ(outside.err, "job.sbatch: SLURM_JOB_NODELIST is not set: submit it with sbatch\n");
}

TEST(SlurmJobTest, TimesAreSbatchs) {
  const auto takes = [](const std::string& time) {
    return MakeSlurmJob(TwoNodes().input(), {"", "", "", time}).has_value();
  };
  for (const char* time :
       {"30", "30:00", "1:00:00", "2-00", "2-00:00", "2-00:00:00", "UNLIMITED"}) {
    EXPECT_TRUE(takes(time)) << time;
  }
  for (const char* time : {"1x", "-1", "1:", ":1", "1-2-3", "1:2:3:4", "1:2-3", "x"}) {
    EXPECT_FALSE(takes(time)) << time;
  }
}

TEST(SlurmJobTest, OneNodeNeedsNoMaster) {
  EXPECT_THAT(Job(OneNode()).files[0].text, Not(HasSubstr("MASTER_ADDR")));
}

TEST(SlurmJobTest, ShellcheckIsContent) {
  SHARDPLAN_NEED_SHELLCHECK();
  EXPECT_EQ(BundleWorld(Job(TwoNodes(HostileWords()))).Shellcheck(), "");
  EXPECT_EQ(BundleWorld(Job(OneNode())).Shellcheck(), "");
}

TEST(SlurmJobTest, RefusesWhatALineCannotHold) {
  const LaunchExample example = TwoNodes();
  EXPECT_FALSE(MakeSlurmJob(example.input(), {"a b", "", "", ""}));
  EXPECT_FALSE(MakeSlurmJob(example.input(), {"", "a\n#SBATCH --x", "", ""}));
  EXPECT_FALSE(MakeSlurmJob(example.input(), {"", "", "$(id)", ""}));
  EXPECT_FALSE(MakeSlurmJob(example.input(), {"", "", "", "--x"}));
  LaunchExample hosts = TwoNodes();
  hosts.site.hosts = {"a"};
  EXPECT_FALSE(MakeSlurmJob(hosts.input(), {}));
  hosts.site.hosts = {"a", "a"};
  EXPECT_FALSE(MakeSlurmJob(hosts.input(), {}));
  hosts.site.hosts = {"a", "b c"};
  EXPECT_FALSE(MakeSlurmJob(hosts.input(), {}));
}

}  // namespace
}  // namespace shardplan
