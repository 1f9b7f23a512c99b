#include "launch/compose_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "launch/launch_example.h"
#include "support/openapi_schema.h"
#include "support/temp_dir.h"
#include "support/yaml_json.h"

namespace shardplan {
namespace {

using testing_support::FillSite;
using testing_support::HostileWords;
using testing_support::LaunchExample;
using testing_support::MoveModel;
using testing_support::OneNode;
using testing_support::TwoNodes;

// What compose makes of a value: $$ is a dollar, and none of ours stands alone.
std::string Interpolated(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$') {
      EXPECT_EQ(text.substr(i, 2), "$$") << text;
      ++i;
    }
    out += text[i];
  }
  return out;
}

std::vector<std::string> Words(const YAML::Node& list) {
  std::vector<std::string> out;
  for (const YAML::Node& word : list) out.push_back(Interpolated(word.as<std::string>()));
  return out;
}

YAML::Node Service(const LaunchExample& example, size_t node,
                   const ContainerOptions& options = {}) {
  auto bundle = MakeComposeFiles(example.input(), options);
  EXPECT_TRUE(bundle) << bundle.error().ToString();
  if (!bundle) return {};
  EXPECT_EQ(bundle->files[node].path, "node-" + std::to_string(node) + "/compose.yaml");
  return YAML::Load(bundle->files[node].text)["services"][example.plan.engine];
}

TEST(ComposeFileTest, EveryWordComesThrough) {
  LaunchExample example = TwoNodes(HostileWords());
  FillSite(&example.site);
  MoveModel(&example, "/models/it's: $(a) \"K3\"");
  for (size_t node = 0; node < 2; ++node) {
    const YAML::Node service = Service(example, node);
    std::vector<std::string> expected(example.plan.launch[node].argv.begin() + 1,
                                      example.plan.launch[node].argv.end());
    for (std::string& word : expected) {
      if (word == "<MASTER_ADDR>") word = "10.0.0.1";
    }
    if (node == 0) expected.insert(expected.end(), {"--host", "127.0.0.1", "--port", "8000"});
    EXPECT_EQ(Words(service["command"]), expected);
    EXPECT_EQ(Words(service["entrypoint"]), std::vector<std::string>{"vllm"});
    EXPECT_EQ(Interpolated(service["volumes"][0]["source"].as<std::string>()),
              example.site.model_path);
    EXPECT_EQ(service["volumes"][0]["read_only"].as<std::string>(), "true");
    EXPECT_EQ(service["environment"]["VLLM_HOST_IP"].as<std::string>(), example.site.hosts[node]);
    for (const auto& [name, value] : example.plan.launch[node].env) {
      EXPECT_EQ(Interpolated(service["environment"][name].as<std::string>()), value) << name;
    }
  }
}

TEST(ComposeFileTest, AsksForWhatIsNotKnown) {
  const YAML::Node service = Service(TwoNodes(), 1);
  EXPECT_EQ(service["environment"]["NCCL_IB_GID_INDEX"].as<std::string>(),
            "${NCCL_IB_GID_INDEX:?index of the RoCE v2 address of those adapters, as show_gids "
            "lists it, such as 3}");
}

TEST(ComposeFileTest, LimitsAndNetwork) {
  const YAML::Node one = Service(OneNode(), 0);
  EXPECT_EQ(one["ports"][0]["host_ip"].as<std::string>(), "127.0.0.1");
  EXPECT_EQ(one["ports"][0]["target"].as<int>(), 8000);
  EXPECT_FALSE(one["network_mode"]);
  EXPECT_EQ(one["restart"].as<std::string>(), "on-failure:2");
  EXPECT_EQ(one["mem_limit"].as<int64_t>(), one["memswap_limit"].as<int64_t>());
  EXPECT_EQ(one["pids_limit"].as<int>(), 16384);
  EXPECT_EQ(one["ulimits"]["memlock"].as<int>(), -1);
  EXPECT_EQ(one["deploy"]["resources"]["reservations"]["devices"][0]["count"].as<int>(), 2);
  EXPECT_EQ(one["healthcheck"]["test"][0].as<std::string>(), "CMD");
  EXPECT_EQ(one["healthcheck"]["start_period"].as<std::string>(), "660s");
  const YAML::Node two = Service(TwoNodes(), 1);
  EXPECT_EQ(two["network_mode"].as<std::string>(), "host");
  EXPECT_EQ(two["devices"][0].as<std::string>(), "/dev/infiniband:/dev/infiniband");
  EXPECT_EQ(two["cap_add"][0].as<std::string>(), "IPC_LOCK");
  EXPECT_EQ(two["healthcheck"]["disable"].as<std::string>(), "true");
}

// Every key is one of the specification's, with a value of its type.
TEST(ComposeFileTest, IsAsTheSpecificationSays) {
  const nlohmann::json schema = nlohmann::json::parse(
      testing_support::ReadText(std::string(SHARDPLAN_TEST_DATA) + "/compose/compose-spec.json"));
  ContainerOptions tight;
  tight.memory = Bytes(int64_t{200} << 30);
  tight.cpuset_cpus = "0-7";
  tight.ipc = "host";
  LaunchExample chosen = OneNode();
  chosen.plan.launch[0].env.emplace_back("CUDA_VISIBLE_DEVICES", "4,5");
  for (const LaunchExample& example : {OneNode(), TwoNodes(HostileWords()), chosen}) {
    for (const ContainerOptions& options : {ContainerOptions(), tight}) {
      const auto bundle = MakeComposeFiles(example.input(), options);
      ASSERT_TRUE(bundle) << bundle.error().ToString();
      for (const Artefact& file : bundle->files) {
        EXPECT_THAT(
            testing_support::OpenApiCheck::Run(schema, testing_support::YamlToJson(file.text)),
            testing::IsEmpty())
            << file.text;
      }
    }
  }
  // What the check is worth.
  nlohmann::json wrong = {{"services", {{"vllm", {{"image", 3}, {"cpuset_mems", "0"}}}}}};
  EXPECT_EQ(testing_support::OpenApiCheck::Run(schema, wrong).size(), 2U);
}

TEST(ComposeFileTest, AnIpv6AddressStandsInBracketsBeforeAPort) {
  LaunchExample example = TwoNodes();
  FillSite(&example.site);
  example.site.hosts = {"[fd00::1]", "fd00::2"};
  example.site.master_addr.clear();
  for (LaunchPlan& launch : example.plan.launch) {
    launch.argv = {"vllm",
                   "serve",
                   "/models/Kimi-K3",
                   "--dist-init-addr",
                   "<MASTER_ADDR>:5000",
                   "--master-addr",
                   "<MASTER_ADDR>"};
  }
  const std::vector<std::string> words = Words(Service(example, 1)["command"]);
  EXPECT_EQ(words[3], "[fd00::1]:5000");
  EXPECT_EQ(words[5], "fd00::1");
}

TEST(ComposeFileTest, ChosenCardsAndKeys) {
  LaunchExample example = OneNode();
  example.plan.launch[0].env.emplace_back("CUDA_VISIBLE_DEVICES", "4,5");
  const YAML::Node open = Service(example, 0);
  const YAML::Node cards = open["deploy"]["resources"]["reservations"]["devices"][0];
  EXPECT_FALSE(cards["count"]);
  EXPECT_EQ(Words(cards["device_ids"]), (std::vector<std::string>{"4", "5"}));
  EXPECT_FALSE(open["environment"]["CUDA_VISIBLE_DEVICES"]);
  EXPECT_TRUE(open["environment"]["VLLM_API_KEY"].IsNull());  // the caller's, if there is one
  example.site.secrets = {"VLLM_API_KEY"};
  EXPECT_THAT(Service(example, 0)["environment"]["VLLM_API_KEY"].as<std::string>(),
              testing::StartsWith("${VLLM_API_KEY:?"));
}

// Replicas bind node 0's address.
TEST(ComposeFileTest, ANameIsNoAddress) {
  LaunchExample example = TwoNodes();
  example.site.hosts = {"node-a", "node-b"};
  EXPECT_EQ(Words(Service(example, 0)["command"])[13], "node-a");
  for (LaunchPlan& launch : example.plan.launch) {
    launch.argv = {"vllm", "serve", "/models/Kimi-K3", "--data-parallel-address", "<MASTER_ADDR>"};
  }
  EXPECT_THAT(Service(example, 0)["command"][3].as<std::string>(),
              testing::StartsWith("${MASTER_ADDR:?"));
}

TEST(ComposeFileTest, Refusals) {
  ContainerOptions options;
  options.cpuset_mems = "0";
  EXPECT_FALSE(MakeComposeFiles(OneNode().input(), options));
  EXPECT_FALSE(MakeComposeFiles(OneNode({"\xff"}).input(), {}));  // YAML is UTF-8
}

TEST(ComposeTextTest, DollarsAreDoubled) {
  EXPECT_EQ(ComposeText("${A:?b} $$"), "$${A:?b} $$$$");
  EXPECT_EQ(ComposeText("plain"), "plain");
}

}  // namespace
}  // namespace shardplan
