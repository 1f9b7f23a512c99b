#include "launch/docker_scripts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "launch/launch_example.h"
#include "launch/run_bundle.h"

namespace shardplan {
namespace {

using testing::Contains;
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

Bundle DockerScripts(const LaunchExample& example, const ContainerOptions& options = {}) {
  auto bundle = MakeDockerScripts(example.input(), options);
  EXPECT_TRUE(bundle) << bundle.error().ToString();
  return bundle.value_or(Bundle{});
}

// The values of an option that stands as two words.
std::vector<std::string> ValuesOf(const std::vector<std::string>& argv, const std::string& option) {
  std::vector<std::string> out;
  for (size_t i = 0; i + 1 < argv.size(); ++i) {
    if (argv[i] == option) out.push_back(argv[i + 1]);
  }
  return out;
}

TEST(DockerScriptsTest, TheContainerGetsEveryWordAsItIs) {
  const TempDir dir;
  const std::string model = dir.Path("a, \"$(model)\"");
  dir.Write("a, \"$(model)\"/config.json", "{}");
  LaunchExample example = OneNode(HostileWords());
  MoveModel(&example, model);
  ContainerOptions options;
  options.mounts = {"/it's, here"};
  BundleWorld world(DockerScripts(example, options));
  world.ExpectParses();
  const BundleRun run = world.Run("node-0.sh");
  ASSERT_EQ(run.code, 0) << run.err;
  ASSERT_EQ(run.calls.size(), 1U);
  const std::vector<std::string>& argv = run.calls[0].argv;
  EXPECT_EQ(argv[0], "docker");
  EXPECT_EQ(argv[1], "run");
  // Behind the image stands the engine's command.
  const auto image = std::find(argv.begin(), argv.end(), "vllm/vllm-openai:v0.31.0");
  ASSERT_NE(image, argv.end());
  std::vector<std::string> expected(example.plan.launch[0].argv.begin() + 1,
                                    example.plan.launch[0].argv.end());
  expected.insert(expected.end(), {"--host", "0.0.0.0", "--port", "8000"});
  EXPECT_EQ(std::vector<std::string>(image + 1, argv.end()), expected);
  const std::vector<std::string> words(argv.begin(), image);
  EXPECT_THAT(ValuesOf(words, "--entrypoint"), testing::ElementsAre("vllm"));
  EXPECT_THAT(ValuesOf(words, "--publish"), testing::ElementsAre("127.0.0.1:8000:8000"));
  EXPECT_THAT(ValuesOf(words, "--restart"), testing::ElementsAre("on-failure:2"));
  EXPECT_THAT(ValuesOf(words, "--gpus"), testing::ElementsAre("2"));
  EXPECT_THAT(ValuesOf(words, "--ulimit"), Contains("memlock=-1"));
  EXPECT_EQ(ValuesOf(words, "--memory"), ValuesOf(words, "--memory-swap"));
  std::string csv = model;
  for (size_t at = 0; (at = csv.find('"', at)) != csv.npos; at += 2) csv.insert(at, "\"");
  EXPECT_THAT(
      ValuesOf(words, "--mount"),
      testing::ElementsAre("type=bind,\"source=" + csv + "\",\"target=" + csv + "\",readonly",
                           "type=bind,\"source=/it's, here\",\"target=/it's, here\",readonly"));
  std::vector<std::string> env;
  for (const auto& [name, value] : example.plan.launch[0].env) env.push_back(name + "=" + value);
  env.emplace_back("VLLM_API_KEY");  // where the caller has one
  EXPECT_EQ(ValuesOf(words, "--env"), env);
  // A shell in the container reads the check back.
  const std::vector<std::string> health = ValuesOf(words, "--health-cmd");
  ASSERT_EQ(health.size(), 1U);
  EXPECT_EQ(health[0],
            "python3 -c 'import urllib.request as r; "
            "r.urlopen(\"http://127.0.0.1:8000/health\", timeout=5)'");
  EXPECT_FALSE(std::filesystem::exists("/tmp/shardplan-was-here"));
}

TEST(DockerScriptsTest, SeveralNodes) {
  const TempDir dir;
  dir.Write("m/config.json", "{}");
  LaunchExample example = TwoNodes();
  FillSite(&example.site);
  MoveModel(&example, dir.Path("m"));
  BundleWorld world(DockerScripts(example));
  const BundleRun run = world.Run("node-1.sh", {"--dry-run"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("--network host"));
  EXPECT_THAT(run.out, HasSubstr("--device /dev/infiniband --cap-add IPC_LOCK"));
  EXPECT_THAT(run.out, HasSubstr("--env VLLM_HOST_IP=10.0.0.2"));
  EXPECT_THAT(run.out, HasSubstr("--no-healthcheck"));
  EXPECT_THAT(run.out, HasSubstr("--name kimi-k3-1"));
  EXPECT_THAT(run.out, HasSubstr("--master-addr 10.0.0.1"));
  if (!std::filesystem::exists("/dev/infiniband")) {
    const BundleRun start = world.Run("node-1.sh");
    EXPECT_EQ(start.code, 1);
    EXPECT_EQ(start.err, "node-1.sh: /dev/infiniband: not on this node: RDMA has no devices\n");
  }
}

TEST(DockerScriptsTest, ChosenCardsAreHandedIn) {
  const TempDir dir;
  dir.Write("m/config.json", "{}");
  LaunchExample example = OneNode();
  MoveModel(&example, dir.Path("m"));
  example.plan.launch[0].env.emplace_back("CUDA_VISIBLE_DEVICES", "4,5");
  BundleWorld world(DockerScripts(example));
  const BundleRun run = world.Run("node-0.sh");
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(ValuesOf(run.calls.at(0).argv, "--gpus"), testing::ElementsAre("\"device=4,5\""));
  EXPECT_THAT(ValuesOf(run.calls[0].argv, "--env"),
              testing::Not(Contains(HasSubstr("CUDA_VISIBLE_DEVICES"))));
}

TEST(DockerScriptsTest, KeysAreNamedAndNotWritten) {
  const TempDir dir;
  dir.Write("m/config.json", "{}");
  LaunchExample example = OneNode();
  MoveModel(&example, dir.Path("m"));
  example.site.secrets = {"--api-key", "HF_TOKEN"};
  BundleWorld world(DockerScripts(example));
  const BundleRun missing = world.Run("node-0.sh");
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.err, HasSubstr("VLLM_API_KEY is not set"));
  const BundleRun run = world.Run("node-0.sh", {}, {{"VLLM_API_KEY", "zz"}});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(ValuesOf(run.calls.at(0).argv, "--env"), Contains("VLLM_API_KEY"));
  EXPECT_THAT(ValuesOf(run.calls[0].argv, "--env"), Contains("HF_TOKEN"));
  EXPECT_EQ(run.calls[0].env.at("VLLM_API_KEY"), "zz");
  EXPECT_THAT(world.Run("node-0.sh", {"--dry-run"}, {{"VLLM_API_KEY", "zz"}}).out,
              testing::Not(HasSubstr("zz")));
}

// SGLang reads no variable: its flag gets the key from one.
TEST(DockerScriptsTest, SglangsKeyStandsBehindItsFlag) {
  const TempDir dir;
  dir.Write("m/config.json", "{}");
  LaunchExample example = OneNode();
  example.plan.engine = "sglang";
  example.site.model_path = dir.Path("m");
  example.site.secrets = {"--api-key"};
  example.plan.launch[0].argv = {"python3", "-m", "sglang.launch_server", "--model-path",
                                 dir.Path("m")};
  const Bundle bundle = DockerScripts(example);
  EXPECT_THAT(bundle.files.back().text, HasSubstr("    --api-key \"$SGLANG_API_KEY\"\n"));
  BundleWorld world(bundle);
  const BundleRun run = world.Run("node-0.sh", {}, {{"SGLANG_API_KEY", "z z"}});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(ValuesOf(run.calls.at(0).argv, "--api-key"), testing::ElementsAre("z z"));
  EXPECT_EQ(world.Run("node-0.sh").code, 1);
}

TEST(DockerScriptsTest, APinnedImageNeedsNoComment) {
  ContainerOptions options;
  EXPECT_THAT(DockerScripts(OneNode()).files.back().text, HasSubstr("# A tag can be moved"));
  options.image_digest = "sha256:" + std::string(64, '0');
  options.cpuset_cpus = "0-47";
  options.cpuset_mems = "0";
  options.ipc = "host";
  const std::string text = DockerScripts(OneNode(), options).files.back().text;
  EXPECT_THAT(text, testing::Not(HasSubstr("# A tag can be moved")));
  EXPECT_THAT(text, HasSubstr("    --cpuset-cpus 0-47\n    --cpuset-mems 0\n"));
  EXPECT_THAT(text, HasSubstr("    --ipc host\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("--shm-size")));
}

TEST(DockerScriptsTest, ShellcheckIsContent) {
  SHARDPLAN_NEED_SHELLCHECK();
  ContainerOptions options;
  options.stage_index = "/it's/stages";
  EXPECT_EQ(BundleWorld(DockerScripts(TwoNodes(HostileWords()), options)).Shellcheck(), "");
  EXPECT_EQ(BundleWorld(DockerScripts(OneNode())).Shellcheck(), "");
  LaunchExample example = OneNode();
  example.site.secrets = {"--api-key"};
  example.plan.launch[0].env.emplace_back("CUDA_VISIBLE_DEVICES", "4,5");
  EXPECT_EQ(BundleWorld(DockerScripts(example)).Shellcheck(), "");
}

}  // namespace
}  // namespace shardplan
