#include "launch/node_launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "launch/launch_example.h"

namespace shardplan {
namespace {

using testing::ElementsAre;
using testing_support::FillSite;
using testing_support::LaunchExample;
using testing_support::OneNode;
using testing_support::TwoNodes;

std::vector<std::string> Names(const PreparedLaunch& launch) {
  std::vector<std::string> out;
  for (const SiteVariable& variable : launch.variables) out.push_back(variable.name);
  return out;
}

TEST(PrepareLaunchTest, SeveralNodesNeedToKnowTheirNetwork) {
  const auto launch = PrepareLaunch(TwoNodes().input());
  ASSERT_TRUE(launch) << launch.error().ToString();
  EXPECT_THAT(Names(*launch),
              ElementsAre("MODEL_PATH", "MASTER_ADDR", "VLLM_HOST_IP", "NCCL_SOCKET_IFNAME",
                          "GLOO_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_IB_GID_INDEX"));
  EXPECT_FALSE(launch->Find("MASTER_ADDR")->known());
  EXPECT_EQ(launch->Find("MODEL_PATH")->ValueOf(1), "/models/Kimi-K3");
  EXPECT_TRUE(launch->rdma);
  EXPECT_EQ(launch->name, "kimi-k3");
  EXPECT_EQ(launch->engine, "vLLM 0.31.0");
  ASSERT_EQ(launch->nodes.size(), 2U);
  EXPECT_EQ(launch->nodes[1].first_rank, 8);
  EXPECT_EQ(launch->nodes[1].gpus, 8);
  EXPECT_THAT(launch->nodes[1].stages, ElementsAre(1));
  EXPECT_EQ(launch->nodes[0].argv[2], "<MODEL_PATH>");
}

TEST(PrepareLaunchTest, OneNodeNeedsNone) {
  const auto launch = PrepareLaunch(OneNode().input());
  ASSERT_TRUE(launch) << launch.error().ToString();
  EXPECT_THAT(Names(*launch), ElementsAre("MODEL_PATH"));
  EXPECT_FALSE(launch->rdma);
}

TEST(PrepareLaunchTest, TheApiIsOnNodesThatServeIt) {
  LaunchExample example = TwoNodes();
  example.site.port = 9000;
  const auto launch = PrepareLaunch(example.input());
  ASSERT_TRUE(launch);
  EXPECT_TRUE(launch->nodes[0].serves_api);
  EXPECT_FALSE(launch->nodes[1].serves_api);
  const std::vector<std::string>& argv = launch->nodes[0].argv;
  EXPECT_THAT(std::vector<std::string>(argv.end() - 4, argv.end()),
              ElementsAre("--host", "127.0.0.1", "--port", "9000"));
  EXPECT_EQ(launch->nodes[1].argv.back(), "--headless");
}

TEST(PrepareLaunchTest, ThePastedCommandMaySayWhereItListens) {
  LaunchExample example = OneNode();
  std::vector<std::string>& argv = example.plan.launch[0].argv;
  argv.insert(argv.end(), {"--port=30000", "--host", "0.0.0.0"});
  const auto launch = PrepareLaunch(example.input());
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->port, 30000);
  EXPECT_EQ(launch->api_host, "0.0.0.0");
  EXPECT_EQ(std::count(launch->nodes[0].argv.begin(), launch->nodes[0].argv.end(), "--port"), 1);
  argv.back() = "$(id)";
  EXPECT_FALSE(PrepareLaunch(example.input()));
  argv.back() = "::";
  argv[argv.size() - 3] = "--port=9x";
  EXPECT_FALSE(PrepareLaunch(example.input()));
}

TEST(PrepareLaunchTest, HostsAreAddressesOrNames) {
  LaunchExample example = TwoNodes();
  FillSite(&example.site);
  const auto by_address = PrepareLaunch(example.input());
  ASSERT_TRUE(by_address);
  EXPECT_EQ(by_address->Find("MASTER_ADDR")->ValueOf(1), "10.0.0.1");
  EXPECT_EQ(by_address->Find("VLLM_HOST_IP")->ValueOf(1), "10.0.0.2");
  EXPECT_TRUE(by_address->host_names.empty());
  EXPECT_EQ(by_address->Find("NCCL_IB_GID_INDEX")->ValueOf(0), "3");
  example.site.hosts = {"node-a", "node-b"};
  const auto by_name = PrepareLaunch(example.input());
  ASSERT_TRUE(by_name);
  EXPECT_FALSE(by_name->Find("VLLM_HOST_IP")->known());
  EXPECT_THAT(by_name->host_names, ElementsAre("node-a", "node-b"));
  EXPECT_EQ(by_name->Find("MASTER_ADDR")->ValueOf(0), "node-a");
}

TEST(PrepareLaunchTest, TheFabricDecidesWhatMatters) {
  LaunchExample example = TwoNodes();
  example.site.fabric = Fabric::kInfiniband;
  auto launch = PrepareLaunch(example.input());
  ASSERT_TRUE(launch);
  EXPECT_NE(launch->Find("NCCL_IB_HCA"), nullptr);
  EXPECT_EQ(launch->Find("NCCL_IB_GID_INDEX"), nullptr);
  example.site.fabric = Fabric::kSocket;
  launch = PrepareLaunch(example.input());
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->Find("NCCL_IB_HCA"), nullptr);
  EXPECT_FALSE(launch->rdma);
  EXPECT_EQ(launch->nodes[1].env.back(),
            std::pair(std::string("NCCL_IB_DISABLE"), std::string("1")));
  example.site.fabric = Fabric::kRoce;
  for (LaunchPlan& node : example.plan.launch) node.env.emplace_back("NCCL_IB_DISABLE", "1");
  launch = PrepareLaunch(example.input());
  ASSERT_TRUE(launch);
  EXPECT_FALSE(launch->rdma);
  EXPECT_EQ(launch->Find("NCCL_IB_HCA"), nullptr);
}

TEST(PrepareLaunchTest, ThePlansEnvironmentFillsVariables) {
  LaunchExample example = TwoNodes();
  for (LaunchPlan& node : example.plan.launch) {
    node.env.emplace_back("NCCL_IB_HCA", "mlx5_9");
    node.env.emplace_back("VLLM_HOST_IP",
                          "10.0.0.1");  // of a command that was pasted from one node
  }
  const auto launch = PrepareLaunch(example.input());
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->Find("NCCL_IB_HCA")->ValueOf(0), "mlx5_9");
  EXPECT_FALSE(launch->Find("VLLM_HOST_IP")->known());
  EXPECT_EQ(launch->nodes[0].env.size(), 1U);
}

TEST(PrepareLaunchTest, WordsBeginWithAVariableOrAreText) {
  const auto launch = PrepareLaunch(TwoNodes().input());
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->Split("<MASTER_ADDR>").variable->name, "MASTER_ADDR");
  EXPECT_EQ(launch->Split("<MASTER_ADDR>:5000").text, ":5000");
  EXPECT_EQ(launch->Split("<MASTER_ADDR>:$(id)").variable, nullptr);
  EXPECT_EQ(launch->Split("a <MASTER_ADDR>").variable, nullptr);
  EXPECT_EQ(launch->Split("<OTHER>").variable, nullptr);
}

TEST(PrepareLaunchTest, AModelThatIsServedByNameStaysAName) {
  LaunchExample example = OneNode();
  example.site.model_path.clear();
  example.plan.launch[0].argv[2] = "moonshotai/Kimi-K3";
  const auto launch = PrepareLaunch(example.input());
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->nodes[0].argv[2], "moonshotai/Kimi-K3");
  EXPECT_EQ(launch->Find("MODEL_PATH"), nullptr);
  example.plan.launch[0].argv[2] = "<MODEL_PATH>";
  const auto asked = PrepareLaunch(example.input());
  ASSERT_TRUE(asked);
  EXPECT_FALSE(asked->Find("MODEL_PATH")->known());
}

TEST(PrepareLaunchTest, SglangsNodesAllHaveAPort) {
  LaunchExample example = TwoNodes();
  example.plan.engine = "sglang";
  for (LaunchPlan& node : example.plan.launch) {
    node.argv = {"python3",
                 "-m",
                 "sglang.launch_server",
                 "--model-path",
                 "/models/Kimi-K3",
                 "--dist-init-addr",
                 "<MASTER_ADDR>:5000"};
  }
  const auto launch = PrepareLaunch(example.input());
  ASSERT_TRUE(launch);
  EXPECT_NE(launch->Find("SGLANG_HOST_IP"), nullptr);
  EXPECT_EQ(launch->nodes[1].argv[4], "<MODEL_PATH>");
  EXPECT_EQ(launch->nodes[1].argv.back(), "8000");
  EXPECT_FALSE(launch->nodes[1].serves_api);
}

TEST(PrepareLaunchTest, AKeyThatTheCommandHadIsAskedFor) {
  LaunchExample example = OneNode();
  example.site.secrets = {"HF_TOKEN"};
  auto launch = PrepareLaunch(example.input());
  ASSERT_TRUE(launch);
  EXPECT_THAT(Names(*launch), ElementsAre("MODEL_PATH"));
  example.site.secrets = {"--api-key"};
  launch = PrepareLaunch(example.input());
  ASSERT_TRUE(launch);
  EXPECT_TRUE(launch->Find("VLLM_API_KEY")->secret);
  example.plan.engine = "sglang";
  example.site.secrets = {"--api-key", "--admin-api-key"};
  launch = PrepareLaunch(example.input());
  ASSERT_TRUE(launch);
  const std::vector<std::string>& argv = launch->nodes[0].argv;
  EXPECT_THAT(
      std::vector<std::string>(argv.end() - 4, argv.end()),
      ElementsAre("--api-key", "<SGLANG_API_KEY>", "--admin-api-key", "<SGLANG_ADMIN_API_KEY>"));
}

TEST(PrepareLaunchTest, PortsOfThePastedCommandCount) {
  LaunchExample example = TwoNodes();
  example.site.ports = {{"--master-port", "1234"}, {"--dist-init-addr", "77"}};
  for (LaunchPlan& node : example.plan.launch) {
    node.argv.insert(node.argv.end(), {"--dist-init-addr", "<MASTER_ADDR>:5000"});
  }
  const auto launch = PrepareLaunch(example.input());
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->nodes[1].argv[16], "1234");
  EXPECT_EQ(launch->nodes[1].argv.back(), "<MASTER_ADDR>:77");
  example.site.ports = {{"--master-port", "70000"}};
  EXPECT_FALSE(PrepareLaunch(example.input()));
}

TEST(PrepareLaunchTest, KnowsWhatTheCommandDoes) {
  LaunchExample example = TwoNodes();
  auto launch = PrepareLaunch(example.input());
  ASSERT_TRUE(launch);
  EXPECT_FALSE(launch->binds_master);
  EXPECT_FALSE(launch->tls);
  example.plan.launch[0].argv.insert(
      example.plan.launch[0].argv.end(),
      {"--data-parallel-address", "<MASTER_ADDR>", "--ssl-certfile=/c.pem"});
  launch = PrepareLaunch(example.input());
  ASSERT_TRUE(launch);
  EXPECT_TRUE(launch->binds_master);
  EXPECT_TRUE(launch->tls);
  example.site.engine_version = "0.30.9";
  EXPECT_EQ(PrepareLaunch(example.input())->engine, "vLLM 0.30.9");
  EXPECT_TRUE(IsAddress("::1"));
  EXPECT_FALSE(IsAddress("node-1"));
  EXPECT_FALSE(HasFlag({"--ssl-certfiles"}, "--ssl-certfile"));
}

TEST(PrepareLaunchTest, Refusals) {
  const auto refuses = [](auto change) {
    LaunchExample example = TwoNodes();
    change(&example);
    return !PrepareLaunch(example.input());
  };
  EXPECT_TRUE(refuses([](LaunchExample* e) { e->plan.launch.clear(); }));
  EXPECT_TRUE(refuses([](LaunchExample* e) { e->site.hosts = {"a"}; }));
  EXPECT_TRUE(refuses([](LaunchExample* e) { e->site.hosts = {"a", "b c"}; }));
  EXPECT_TRUE(refuses([](LaunchExample* e) { e->site.hosts = {"a", "-b"}; }));
  EXPECT_TRUE(refuses([](LaunchExample* e) { e->site.hosts = {"a", "a"}; }));
  EXPECT_TRUE(refuses([](LaunchExample* e) { e->site.hosts = {"a", "300.1.1.1"}; }));
  EXPECT_TRUE(refuses([](LaunchExample* e) { e->site.gid_index = 999; }));
  for (const char* name : {"DRY_RUN", "SHOWN", "OPTIONS", "MODEL_PATH", "HOST", "UID"}) {
    EXPECT_TRUE(refuses([&](LaunchExample* e) { e->plan.launch[0].env = {{name, "1"}}; })) << name;
  }
  EXPECT_TRUE(refuses([](LaunchExample* e) { e->site.hosts = {"a", "127.0.0.1"}; }));
  EXPECT_TRUE(refuses([](LaunchExample* e) { e->site.master_addr = "::1"; }));
  EXPECT_TRUE(refuses([](LaunchExample* e) { e->site.master_addr = "a$(id)"; }));
  EXPECT_TRUE(refuses([](LaunchExample* e) { e->site.api_host = "a\"b"; }));
  EXPECT_TRUE(refuses([](LaunchExample* e) { e->site.name = "Kimi K3"; }));
  EXPECT_TRUE(refuses([](LaunchExample* e) { e->site.name = "-k3"; }));
  EXPECT_TRUE(refuses([](LaunchExample* e) { e->site.name = std::string(41, 'a'); }));
  EXPECT_TRUE(refuses([](LaunchExample* e) { e->site.socket_ifname = "a b"; }));
  EXPECT_TRUE(refuses([](LaunchExample* e) { e->site.ib_hca = "`id`"; }));
  EXPECT_TRUE(refuses([](LaunchExample* e) { e->site.model_path = "models"; }));
  EXPECT_TRUE(refuses([](LaunchExample* e) { e->site.port = 65536; }));
  EXPECT_TRUE(refuses([](LaunchExample* e) { e->plan.launch[0].env = {{"A B", "c"}}; }));
}

TEST(ModelOfObjectTest, IsItsModel) {
  EXPECT_EQ(ModelOfObject(R"({"method": "eagle3", "model": "/drafts/d"})"), "/drafts/d");
  for (const char* other : {"", "{", "[1]", R"({"model": 1})", R"({"method": "ngram"})"}) {
    EXPECT_EQ(ModelOfObject(other), "") << other;
  }
}

TEST(DefaultNameTest, IsALabel) {
  EXPECT_EQ(DefaultName("/models/Kimi-K3"), "kimi-k3");
  EXPECT_EQ(DefaultName("/models/Kimi-K3/config.json"), "kimi-k3");
  EXPECT_EQ(DefaultName("/models/It's $(here)!/"), "it-s-here");
  EXPECT_EQ(DefaultName("/models/405B"), "b");
  EXPECT_EQ(DefaultName("/\xe6\xa8\xa1"), "model");
  EXPECT_EQ(DefaultName(std::string(100, 'a')).size(), 40U);
}

}  // namespace
}  // namespace shardplan
