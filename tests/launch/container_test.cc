#include "launch/container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/launch_example.h"

namespace shardplan {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::LaunchExample;
using testing_support::OneNode;
using testing_support::TwoNodes;

Containers Made(const LaunchExample& example, const ContainerOptions& options = {}) {
  auto containers = MakeContainers(example.input(), options);
  EXPECT_TRUE(containers) << containers.error().ToString();
  return containers.value_or(Containers{});
}

TEST(ContainerTest, OneNodePublishesItsApiOnTheLoopback) {
  const Containers made = Made(OneNode());
  const Container& c = made.nodes.at(0);
  EXPECT_EQ(c.name, "kimi-k3-0");
  EXPECT_EQ(c.image, "vllm/vllm-openai:v0.31.0");
  EXPECT_EQ(c.entrypoint, "vllm");
  EXPECT_FALSE(c.host_network);
  EXPECT_EQ(c.publish_address, "127.0.0.1");
  EXPECT_THAT(c.command, Contains("0.0.0.0"));  // inside its own network
  EXPECT_THAT(c.devices, IsEmpty());
  EXPECT_THAT(c.capabilities, IsEmpty());
  EXPECT_EQ(c.gpus, 2);
  EXPECT_EQ(c.shm_size, Bytes(int64_t{32} << 30));
  EXPECT_EQ(*c.memory, Bytes((int64_t{4} + 32 + 2 * 8 + 16) << 30));
  ASSERT_TRUE(c.health);
  EXPECT_THAT(c.health->test.back(), HasSubstr("http://127.0.0.1:8000/health"));
  EXPECT_THAT(made.notes, Contains(HasSubstr("--image-digest")));
  EXPECT_THAT(made.assumptions, Contains(HasSubstr("at 1 GB/s")));
}

TEST(ContainerTest, SeveralNodesShareTheHostsNetwork) {
  const Containers made = Made(TwoNodes());
  const Container& c = made.nodes.at(1);
  EXPECT_TRUE(c.host_network);
  EXPECT_THAT(c.devices, ElementsAre("/dev/infiniband"));
  EXPECT_THAT(c.capabilities, ElementsAre("IPC_LOCK"));
  EXPECT_FALSE(c.health);  // headless
  EXPECT_TRUE(made.nodes[0].health);
  EXPECT_THAT(made.nodes[0].command, Contains("127.0.0.1"));
  LaunchExample plain = TwoNodes();
  plain.site.fabric = Fabric::kSocket;
  EXPECT_THAT(Made(plain).nodes[1].devices, IsEmpty());
}

TEST(ContainerTest, NumaBindingNeedsACapability) {
  EXPECT_THAT(Made(OneNode({"x"})).nodes[0].capabilities, IsEmpty());
  LaunchExample example = OneNode();
  example.plan.launch[0].argv.emplace_back("--numa-bind");
  EXPECT_THAT(Made(example).nodes[0].capabilities, ElementsAre("SYS_NICE"));
}

TEST(ContainerTest, MountsTheIndexOfItsStageOverTheModels) {
  ContainerOptions options;
  options.stage_index = "/models/k3-stages";
  options.mounts = {"/drafts"};
  const Container c = Made(TwoNodes(), options).nodes.at(1);
  ASSERT_EQ(c.mounts.size(), 3U);
  EXPECT_EQ(c.mounts[0].source, "<MODEL_PATH>");
  EXPECT_EQ(c.mounts[1].source, "/models/k3-stages/stage-1/model.safetensors.index.json");
  EXPECT_EQ(c.mounts[1].below, "model.safetensors.index.json");
  EXPECT_EQ(c.mounts[2].target, "/drafts");
  EXPECT_FALSE(MakeContainers(OneNode().input(), options));  // every stage
  LaunchExample several = TwoNodes();
  several.plan.sizes.pp = 3;
  several.plan.ranks[0].place.stage = 2;
  EXPECT_EQ(Made(several, options).nodes[0].mounts[1].source,
            "/models/k3-stages/stages-0-2/model.safetensors.index.json");
}

TEST(ContainerTest, LimitsCanBeGiven) {
  ContainerOptions options;
  options.image = "registry.local:5000/vllm:v1";
  options.image_digest = "sha256:" + std::string(64, 'a');
  options.limit_memory = false;
  options.pids_limit = 99;
  options.shm_size = Bytes(1 << 20);
  const Containers made = Made(OneNode(), options);
  EXPECT_EQ(made.nodes[0].image, options.image + "@" + options.image_digest);
  EXPECT_FALSE(made.nodes[0].memory);
  EXPECT_EQ(made.nodes[0].pids_limit, 99);
  EXPECT_THAT(made.notes, testing::Not(Contains(HasSubstr("--image-digest"))));
  EXPECT_EQ(made.assumptions.size(), 1U);  // the start alone
}

TEST(ContainerTest, ARepositoryOfTheHubsCacheIsMountedWhole) {
  LaunchExample example = OneNode();
  const std::string root = "/hub/models--a--b";
  example.site.model_path = root + "/snapshots/0a1b";
  example.plan.launch[0].argv[2] = example.site.model_path;
  const Container c = Made(example).nodes.at(0);
  EXPECT_EQ(c.mounts[0].source, root);
  EXPECT_EQ(c.mounts[0].target, root);
  EXPECT_EQ(c.command[1], "<MODEL_PATH>");
  EXPECT_EQ(MountedRoot("/hub/models--a--b/snapshots/0a1b/"), root);
  EXPECT_EQ(MountedRoot("/snapshots/x"), "/snapshots/x");
  EXPECT_EQ(MountedRoot("/models/k3"), "/models/k3");
  EXPECT_EQ(MountedRoot(""), "");
}

TEST(ContainerTest, ChosenCards) {
  const auto with = [](const std::string& list) {
    LaunchExample example = OneNode();
    example.plan.launch[0].env.emplace_back("CUDA_VISIBLE_DEVICES", list);
    return MakeContainers(example.input(), {});
  };
  const auto chosen = with("4,5,6");
  ASSERT_TRUE(chosen);
  EXPECT_THAT(chosen->nodes[0].gpu_ids, ElementsAre("4", "5"));  // as many as there are ranks
  EXPECT_FALSE(with("4"));
  EXPECT_FALSE(with("4,-1"));
  EXPECT_FALSE(with("4,\" --privileged"));
}

TEST(ContainerTest, NamesFilesThatItDoesNotSee) {
  LaunchExample example = OneNode({"/t/x.jinja", "/m/y"});
  std::vector<std::string>& argv = example.plan.launch[0].argv;
  argv.insert(argv.end(), {"--ssl-certfile", "/m/c.pem", "--root-path", "/api", "--lora-modules",
                           R"({"model": "/drafts/d"})"});
  ContainerOptions options;
  options.mounts = {"/m"};
  const Containers made = Made(example, options);
  EXPECT_THAT(made.notes, Contains(HasSubstr("--chat-template names /t/x.jinja")));
  EXPECT_THAT(made.notes, Contains(HasSubstr("--mount /drafts.")));
  EXPECT_THAT(made.notes, testing::Not(Contains(HasSubstr("/m/"))));
  EXPECT_THAT(made.notes, testing::Not(Contains(HasSubstr("/api"))));
  EXPECT_THAT(made.nodes[0].health->test.back(), HasSubstr("https://127.0.0.1:8000/health"));
}

// No image has a draft: a start would end after the model was loaded.
TEST(ContainerTest, DraftsAreMounted) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--speculative-config", R"({"model": "/drafts/d"})"},
        std::vector<std::string>{"--speculative-draft-model-path", "/drafts/d"}}) {
    LaunchExample example = OneNode();
    std::vector<std::string>& argv = example.plan.launch[0].argv;
    argv.insert(argv.end(), words.begin(), words.end());
    ContainerOptions options;
    const auto refused = MakeContainers(example.input(), options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().ToString(),
              "--mount: expected the draft model's directory, found that /drafts/d is not mounted; "
              "give --mount DIR");
    options.mounts = {"/drafts"};
    EXPECT_TRUE(MakeContainers(example.input(), options));
  }
}

TEST(ContainerTest, AMemoryLimitHoldsWhatIsSure) {
  ContainerOptions options;
  options.memory = Bytes(1024);
  EXPECT_FALSE(MakeContainers(OneNode().input(), options));
  options.memory = Bytes(int64_t{10} << 30);  // 4 GiB pinned, 2 ranks
  EXPECT_THAT(Made(OneNode(), options).notes, Contains(HasSubstr("--memory 10")));
  options.memory = Bytes(int64_t{100} << 30);
  EXPECT_THAT(Made(OneNode(), options).notes, testing::Not(Contains(HasSubstr("--memory"))));
}

TEST(ContainerTest, Refusals) {
  const auto refuses = [](auto change) {
    ContainerOptions options;
    change(&options);
    return !MakeContainers(OneNode().input(), options);
  };
  EXPECT_TRUE(refuses([](ContainerOptions* o) { o->image = "--privileged"; }));
  EXPECT_TRUE(refuses([](ContainerOptions* o) { o->image = "a b"; }));
  EXPECT_TRUE(refuses([](ContainerOptions* o) { o->image = "a$(id)"; }));
  EXPECT_TRUE(refuses([](ContainerOptions* o) { o->image_digest = "sha256:12"; }));
  EXPECT_TRUE(refuses([](ContainerOptions* o) { o->cpuset_cpus = "0-3 --privileged"; }));
  EXPECT_TRUE(refuses([](ContainerOptions* o) { o->cpuset_mems = "-1"; }));
  EXPECT_TRUE(refuses([](ContainerOptions* o) { o->cpuset_cpus = "5-1"; }));
  EXPECT_TRUE(refuses([](ContainerOptions* o) { o->cpuset_cpus = "1,,2"; }));
  EXPECT_TRUE(refuses([](ContainerOptions* o) { o->cpuset_cpus = "1-"; }));
  EXPECT_FALSE(refuses([](ContainerOptions* o) { o->cpuset_cpus = "0-47,96-143,200"; }));
  EXPECT_TRUE(refuses([](ContainerOptions* o) { o->stage_index = "relative"; }));
  EXPECT_TRUE(refuses([](ContainerOptions* o) { o->mounts = {"relative"}; }));
  EXPECT_TRUE(refuses([](ContainerOptions* o) { o->mounts = {"//."}; }));
  LaunchExample root = OneNode();
  root.site.model_path = "/";
  EXPECT_EQ(MakeContainers(root.input(), {}).error().ToString(),
            "--model-path /: expected a directory below the root, found the root itself");
  EXPECT_TRUE(refuses([](ContainerOptions* o) { o->ipc = "container:x"; }));
  LaunchExample amd = OneNode();
  amd.plan.gpu_name = "AMD Instinct MI300X";
  EXPECT_FALSE(MakeContainers(amd.input(), {}));
  LaunchExample by_name = OneNode();
  by_name.site.model_path.clear();
  by_name.plan.launch[0].argv[2] = "moonshotai/Kimi-K3";
  EXPECT_FALSE(MakeContainers(by_name.input(), {}));
}

TEST(DefaultImageTest, IsTheEnginesOwn) {
  Plan plan = OneNode().plan;
  plan.engine = "sglang";
  plan.engine_version = "0.5.21";
  EXPECT_EQ(DefaultImage(plan), "lmsysorg/sglang:v0.5.21");
}

TEST(DefaultImageTest, IsWhatWasAskedFor) {
  LaunchExample example = OneNode();
  EXPECT_EQ(DefaultImage(example.input()), "vllm/vllm-openai:v0.31.0");
  example.site.engine_version = "0.9.2";
  EXPECT_EQ(DefaultImage(example.input()), "vllm/vllm-openai:v0.9.2");
  example.site.engine_version = "0.31";
  EXPECT_EQ(DefaultImage(example.input()), "vllm/vllm-openai:v0.31.0");
  example.site.engine_version = "0.5.4.post1";
  EXPECT_EQ(DefaultImage(example.input()), "vllm/vllm-openai:v0.5.4.post1");
  example.site.image = "vllm/vllm-openai:v0.31.0-cu129";
  EXPECT_EQ(DefaultImage(example.input()), example.site.image);
  example.site.image_digest = "sha256:" + std::string(64, 'b');
  EXPECT_EQ(Made(example).nodes[0].image,
            "vllm/vllm-openai:v0.31.0-cu129@sha256:" + std::string(64, 'b'));
}

}  // namespace
}  // namespace shardplan
